//! Small records for tests.

use super::*;

pub(crate) fn sample(iterations: u64, cpu_ns: u64) -> TimingSample {
    TimingSample { iterations, cpu_ns, wall_ns: cpu_ns }
}

/// A row with these timing samples, one list a process.
pub(crate) fn row(name: &str, processes: &[Vec<TimingSample>]) -> Row {
    let measurement = |(i, samples): (usize, &Vec<TimingSample>)| Measurement {
        process: i as u32,
        // Not the first row of its process, and no order to speak of.
        position: 1 + (i as u32 * 7) % 10,
        samples: samples.clone(),
        allocation: Allocation::NotMeasured,
    };
    Row {
        name: name.to_owned(),
        family: name.to_owned(),
        kind: Kind::Primitive,
        parameter: None,
        variant: Variant::Throughput,
        runtime: "native".to_owned(),
        implementation: String::new(),
        processes: processes.iter().enumerate().map(measurement).collect(),
        error: None,
    }
}

pub(crate) fn record(rows: Vec<Row>) -> Record {
    Record {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: "countercheck".to_owned(), version: "0.0.0".to_owned(), commit: None },
        started_at: 0,
        environment: Environment { optimisation: "opt-level 3".to_owned(), ..Environment::default() },
        clocks: vec![ClockCalibration { step_ns: 20, empty_ns: 200, wall_step_ns: 20 }],
        seed: 0,
        rows,
        warnings: Vec::new(),
    }
}
