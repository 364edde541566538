//! Records over time: one row's figure through the records of each machine, and where its level shifted.
//!
//! Figures of different machines, builds or implementations are never put into one series.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Record, Row, Variant, distrust::Context, summary::Summary};
use crate::stats::Estimate;
use crate::stats::changepoint::{Settings, change_points};

/// One row's figure in one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Where the record came from, as the caller named it.
    pub source: String,
    /// Seconds since 1970-01-01 UTC.
    pub started_at: u64,
    /// Source commit, where the record says.
    pub commit: Option<String>,
    /// Median time of one iteration in nanoseconds of thread CPU time.
    pub p50_ns: Estimate,
    /// Set on the first point after a shift of level.
    pub change: Option<Change>,
}

/// A shift of level that the series shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Level after ÷ level before (medians of the segments).
    pub ratio: f64,
    /// Permutation p of Pettitt's statistic.
    pub p: f64,
}

/// The figures that may be compared with each other, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// CPU model, platform and compiler.
    pub machine: String,
    /// Where it ran.
    pub runtime: String,
    /// Which implementation ran.
    pub implementation: String,
    /// Throughput, chained or cold.
    pub variant: Variant,
    /// The points in time order.
    pub points: Vec<Point>,
}

/// The history of the row of this name: a series for each machine, runtime, implementation and variant.
/// Records in which the row is missing or has no figure are left out.
pub fn of(records: &[(String, Record)], name: &str, settings: &Settings) -> Vec<Series> {
    let mut series: BTreeMap<(String, String, String, Variant), Vec<Point>> = BTreeMap::new();
    for (source, record) in records {
        let context = Context::of(record);
        for row in record.rows.iter().filter(|row| row.name == name) {
            if let Some(point) = point(source, record, row, &context) {
                let key = (machine(record), row.runtime.clone(), row.implementation.clone(), row.variant);
                series.entry(key).or_default().push(point);
            }
        }
    }
    series
        .into_iter()
        .map(|((machine, runtime, implementation, variant), mut points)| {
            points.sort_by_key(|point| point.started_at);
            let values: Vec<f64> = points.iter().map(|point| point.p50_ns.point).collect();
            for found in change_points(&values, settings) {
                points[found.at].change = Some(Change { ratio: found.after / found.before, p: found.p });
            }
            Series { machine, runtime, implementation, variant, points }
        })
        .collect()
}

/// What must be equal for two records' figures to be compared: CPU model, platform, compiler, optimisation.
pub fn machine(record: &Record) -> String {
    let environment = &record.environment;
    let unknown = || "unknown CPU".to_owned();
    let parts = [
        Some(environment.cpu_model.clone().unwrap_or_else(unknown)),
        Some(environment.platform.clone()),
        environment.compiler.clone(),
        Some(environment.optimisation.clone()),
    ];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn point(source: &str, record: &Record, row: &Row, context: &Context) -> Option<Point> {
    Some(Point {
        source: source.to_owned(),
        started_at: record.started_at,
        commit: record.tool.commit.clone(),
        p50_ns: Summary::of(row, context).p50_ns?,
        change: None,
    })
}

/// Why records cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("expected two or more records")]
    TooFew,
    /// Two records are of different machines or builds.
    #[error("{first} was measured on {first_machine}, {second} on {second_machine}: expected one machine and build")]
    OtherMachine {
        /// The first record's name.
        first: String,
        /// Its machine.
        first_machine: String,
        /// The record that differs.
        second: String,
        /// Its machine.
        second_machine: String,
    },
}

/// The measurements of several records of one machine and build as one: equal rows pool their processes.
pub fn merge(records: &[(String, Record)]) -> Result<Record, MergeError> {
    let [(first_name, first), rest @ ..] = records else { return Err(MergeError::TooFew) };
    if rest.is_empty() {
        return Err(MergeError::TooFew);
    }
    let mut merged = first.clone();
    for (name, record) in rest {
        if machine(record) != machine(first) {
            return Err(MergeError::OtherMachine {
                first: first_name.clone(),
                first_machine: machine(first),
                second: name.clone(),
                second_machine: machine(record),
            });
        }
        // Processes keep their identity across rows: they stay the unit of replication and of pairing.
        let offset = 1 + merged.rows.iter().flat_map(|row| &row.processes).map(|m| m.process).max().unwrap_or(0);
        merged.clocks.extend(&record.clocks);
        merged.warnings.extend(record.warnings.iter().filter(|w| !first.warnings.contains(w)).cloned());
        for row in &record.rows {
            let moved = row.processes.iter().cloned().map(|mut measurement| {
                measurement.process += offset;
                measurement
            });
            let same = |other: &&mut Row| {
                (&other.name, other.variant, &other.runtime, &other.implementation)
                    == (&row.name, row.variant, &row.runtime, &row.implementation)
            };
            match merged.rows.iter_mut().find(same) {
                Some(known) => {
                    known.processes.extend(moved);
                    known.error = known.error.take().or_else(|| row.error.clone());
                }
                None => merged.rows.push(Row { processes: moved.collect(), ..row.clone() }),
            }
        }
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, row, sample};
    use super::*;

    fn at(time: u64, ns: u64) -> (String, Record) {
        let processes = vec![vec![sample(1, ns), sample(1, ns + time % 3), sample(1, ns + 1)]; 6];
        (format!("r{time}.json"), Record { started_at: time, ..record(vec![row("f", &processes)]) })
    }

    #[test]
    fn a_slow_down_is_marked_at_the_record_that_brought_it() {
        let records: Vec<_> =
            (0..20).rev().map(|t| at(t, if t < 12 { 50_000 } else { 60_000 } + 7 * (t * t % 5))).collect();
        let series = of(&records, "f", &Settings::default());
        assert_eq!(series.len(), 1);
        let changed: Vec<_> = series[0].points.iter().filter(|p| p.change.is_some()).collect();
        assert_eq!(changed.iter().map(|p| p.started_at).collect::<Vec<_>>(), [12]);
        assert!((changed[0].change.unwrap().ratio - 1.2).abs() < 0.001);
    }

    #[test]
    fn machines_are_never_mixed() {
        let mut records: Vec<_> = (0..4).map(|t| at(t, 50_000)).collect();
        records[2].1.environment.cpu_model = Some("another".into());
        assert_eq!(of(&records, "f", &Settings::default()).len(), 2);
        assert!(matches!(merge(&records), Err(MergeError::OtherMachine { .. })));
        assert_eq!(of(&records, "no such row", &Settings::default()), []);
    }

    #[test]
    fn merging_pools_processes_and_keeps_them_apart() {
        let merged = merge(&[at(1, 50_000), at(2, 51_000)]).unwrap();
        let processes: Vec<u32> = merged.rows[0].processes.iter().map(|m| m.process).collect();
        assert_eq!(processes, (0..12).collect::<Vec<_>>());
        assert_eq!(merge(&[at(1, 50_000)]), Err(MergeError::TooFew));
    }
}
