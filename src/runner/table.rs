//! Runtimes side by side: each row's figures and its ratio to native, paired by round.

use serde::Serialize;

use super::rounds::Missing;
use crate::record::distrust::Context;
use crate::record::summary::Summary;
use crate::record::{Record, Row};
use crate::stats::{Estimate, paired};

/// The quantile of a round that stands for it in ratios: the undisturbed cost, since neighbours on the
/// machine add time and never take it away.
const QUANTILE: f64 = 0.25;

/// The whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideBySide {
    /// Rounds run.
    pub rounds: usize,
    /// Figures, workloads in the suite's order.
    pub cells: Vec<Cell>,
    /// Runtimes that did not run.
    pub missing: Vec<Missing>,
}

/// One workload on one runtime.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The workload.
    pub name: String,
    /// Where it ran.
    pub runtime: String,
    /// Which implementation ran.
    pub implementation: String,
    /// Median over rounds of each round's median, in nanoseconds.
    pub p50_ns: Option<Estimate>,
    /// 90 % quantile, where iterations were timed one by one and are enough.
    pub p90_ns: Option<Estimate>,
    /// 99 % quantile, likewise.
    pub p99_ns: Option<Estimate>,
    /// Bytes allocated for one operation; `None` where not measured.
    pub bytes_per_op: Option<f64>,
    /// Time over native's, lower quartiles paired by round; no interval below six rounds.
    pub ratio: Option<Estimate>,
    /// Why there is no figure.
    pub error: Option<String>,
}

/// Sets the rows of a record side by side.
pub fn side_by_side(record: &Record, missing: &[Missing]) -> SideBySide {
    let context = Context::of(record);
    let native = |name: &str| record.rows.iter().find(|row| row.name == name && row.runtime == "native");
    let cells = record.rows.iter().map(|row| {
        let summary = Summary::of(row, &context);
        Cell {
            name: row.name.clone(),
            runtime: row.runtime.clone(),
            implementation: row.implementation.clone(),
            p50_ns: summary.p50_ns,
            p90_ns: summary.p90_ns,
            p99_ns: summary.p99_ns,
            bytes_per_op: summary.bytes_per_op,
            ratio: native(&row.name).filter(|_| row.runtime != "native").and_then(|native| ratio(native, row)),
            error: row.error.clone(),
        }
    });
    let rounds = record.rows.iter().map(|row| row.processes.len()).max().unwrap_or(0);
    SideBySide { rounds, cells: cells.collect(), missing: missing.to_vec() }
}

fn ratio(native: &Row, other: &Row) -> Option<Estimate> {
    let figure = |row: &Row, round: u32| {
        row.processes.iter().find(|measurement| measurement.process == round)?.quantile_ns(QUANTILE)
    };
    let rounds = native.processes.iter().map(|measurement| measurement.process);
    let pairs: Vec<_> = rounds.filter_map(|round| Some((figure(native, round)?, figure(other, round)?))).collect();
    Some(paired::compare(&pairs)?.ratio)
}

impl SideBySide {
    /// The runtimes that have figures, native first.
    pub fn runtimes(&self) -> Vec<&str> {
        let mut runtimes: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !runtimes.contains(&cell.runtime.as_str()) {
                runtimes.push(&cell.runtime);
            }
        }
        runtimes.sort_by_key(|runtime| {
            (*runtime != "native", runtime.split('-').next().unwrap_or_default().to_owned(), *runtime != "jvm")
        });
        runtimes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Measurement, TimingSample};

    fn row(runtime: &str, each: &[u64]) -> Row {
        let measurement = |(process, ns): (usize, &u64)| Measurement {
            process: process as u32,
            samples: vec![TimingSample { iterations: 1, cpu_ns: *ns, wall_ns: *ns }; 9],
            ..Measurement::default()
        };
        Row {
            runtime: runtime.into(),
            processes: each.iter().enumerate().map(measurement).collect(),
            ..crate::record::testing::row("a", &[])
        }
    }

    #[test]
    fn ratios_are_paired_by_round() {
        // The machine halves its speed in every other round; the ratio does not see it.
        let native = [100, 200, 100, 200, 100, 200];
        let record = crate::record::testing::record(vec![row("native", &native), row("jvm", &native.map(|ns| ns * 3))]);
        let table = side_by_side(&record, &[]);
        let ratio = table.cells[1].ratio.unwrap();
        assert!((ratio.point - 3.0).abs() < 1e-9 && (ratio.low.unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(table.cells[0].ratio, None);
        assert_eq!(table.runtimes(), ["native", "jvm"]);
    }
}
