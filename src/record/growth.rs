//! How the rows of a family grow with their parameter: time, bytes and calls to the allocator.

use serde::{Deserialize, Serialize};

use super::{Measurement, Record, Row, Variant};
use crate::stats::scaling::{Scaling, scaling};
use crate::stats::{Estimate, median, order::median_estimate};

/// The rows of one family and the laws that fit them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// The name before the slash.
    pub family: String,
    /// The rows that have figures, by size.
    pub points: Vec<Point>,
    /// Rows that failed: name and error.
    pub errors: Vec<(String, String)>,
    /// Time per operation over the size, in nanoseconds.
    pub time: Option<Scaling>,
    /// Bytes requested per operation over the size.
    pub bytes: Option<Scaling>,
    /// Calls to the allocator per operation over the size.
    pub allocations: Option<Scaling>,
}

/// The figures of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The size.
    pub size: u64,
    /// Time per operation in nanoseconds.
    pub time_ns: Estimate,
    /// Bytes requested per operation, where measured.
    pub bytes: Option<f64>,
    /// Calls to the allocator per operation, where measured.
    pub allocations: Option<f64>,
}

/// The growth of every family in a record, in the order of its rows.
pub fn growth(record: &Record) -> Vec<Growth> {
    let mut families: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in record.rows.iter().filter(|row| row.variant == Variant::Throughput && row.parameter.is_some()) {
        let Some((base, _)) = row.name.rsplit_once('/') else { continue };
        match families.iter_mut().find(|(name, _)| *name == base) {
            Some((_, rows)) => rows.push(row),
            None => families.push((base, vec![row])),
        }
    }
    families.into_iter().map(|(name, rows)| of_family(name, &rows)).collect()
}

fn of_family(name: &str, rows: &[&Row]) -> Growth {
    let mut points: Vec<Point> = rows.iter().filter_map(|row| point(row)).collect();
    points.sort_by_key(|point| point.size);
    let law = |figure: &dyn Fn(&Measurement) -> Option<f64>| scaling(&series(rows, figure));
    Growth {
        family: name.to_owned(),
        points,
        errors: rows.iter().filter_map(|row| Some((row.name.clone(), row.error.clone()?))).collect(),
        time: law(&Measurement::median_ns),
        bytes: law(&|process| Some(process.allocation.per_operation()?.0)),
        allocations: law(&|process| Some(process.allocation.per_operation()?.1)),
    }
}

fn point(row: &Row) -> Option<Point> {
    let times: Vec<f64> = row.processes.iter().filter_map(Measurement::median_ns).collect();
    let allocation = |part: fn((f64, f64)) -> f64| {
        let each: Vec<f64> = row.processes.iter().filter_map(|p| p.allocation.per_operation()).map(part).collect();
        median(&each)
    };
    Some(Point {
        size: row.parameter?,
        time_ns: median_estimate(&times)?,
        bytes: allocation(|(bytes, _)| bytes),
        allocations: allocation(|(_, calls)| calls),
    })
}

/// A figure by size, one series a process.
fn series(rows: &[&Row], figure: &dyn Fn(&Measurement) -> Option<f64>) -> Vec<Vec<(f64, f64)>> {
    let mut processes: Vec<u32> = rows.iter().flat_map(|row| row.processes.iter().map(|p| p.process)).collect();
    processes.sort_unstable();
    processes.dedup();
    let of = |process: u32| {
        let at = |row: &&Row| {
            let measurement = row.processes.iter().find(|one| one.process == process)?;
            Some((row.parameter? as f64, figure(measurement)?))
        };
        rows.iter().filter_map(at).collect()
    };
    processes.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Allocation, TimingSample};
    use crate::stats::scaling::Law;
    use crate::workload::Kind;

    /// Flat in time, linear in bytes, one allocation.
    fn row(size: u64) -> Row {
        let process = |process: u32| Measurement {
            process,
            samples: vec![TimingSample { iterations: 1, cpu_ns: 1000 + u64::from(process), wall_ns: 1000 }; 3],
            allocation: Allocation::Measured { iterations: 2, bytes: 2 * (100 + 32 * size), calls: 2 },
            ..Measurement::default()
        };
        Row {
            name: format!("send/{size}"),
            family: "mls".to_owned(),
            kind: Kind::Operation,
            parameter: Some(size),
            variant: Variant::Throughput,
            runtime: "native".to_owned(),
            implementation: String::new(),
            processes: (0..6).map(process).collect(),
            error: None,
        }
    }

    #[test]
    fn time_and_allocation_have_laws_of_their_own() {
        let mut rows: Vec<Row> = [1, 2, 4, 8, 16].map(row).into();
        rows.push(Row { error: Some("went wrong".to_owned()), processes: Vec::new(), ..row(32) });
        let all = growth(&crate::record::testing::record(rows));
        assert_eq!(all.len(), 1);
        let send = &all[0];
        assert_eq!((send.family.as_str(), send.points.len(), send.points[4].bytes), ("send", 5, Some(612.0)));
        assert_eq!(send.errors, [("send/32".to_owned(), "went wrong".to_owned())]);
        assert_eq!(send.time.as_ref().unwrap().law, Law::Flat);
        let bytes = send.bytes.as_ref().unwrap();
        assert_eq!((bytes.law, bytes.slope.point.round()), (Law::Linear, 32.0));
        assert_eq!(send.allocations.as_ref().unwrap().law, Law::Flat);
    }
}
