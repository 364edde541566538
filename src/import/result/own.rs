//! A record of this program, as results: a value a timing sample, grouped by process.

use serde_json::Value;

use super::Results;
use super::units::Base;
use crate::import::{ImportError, Position};
use crate::record::{Record, Row, SCHEMA_VERSION, Variant};

pub(super) fn detect(document: &Value) -> bool {
    document.get("schema_version").is_some() && document.get("rows").is_some()
}

pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let version = document["schema_version"].as_u64().unwrap_or(0);
    if version > u64::from(SCHEMA_VERSION) {
        let why = format!("this program reads up to version {SCHEMA_VERSION}; use a newer one");
        return Err(ImportError::Unsupported { what: format!("record version {version}"), why });
    }
    let record: Record = serde_json::from_value(document.clone()).map_err(|error| {
        ImportError::malformed("record", Position::Whole, error.to_string(), "a record of this program")
    })?;
    Ok(from_record(&record))
}

/// The rows of a record; other runtimes and variants than native throughput are named behind the row's name.
pub fn from_record(record: &Record) -> Results {
    let mut results = Results { harness: super::OWN.into(), ..Results::default() };
    results.context.insert("platform".into(), record.environment.platform.clone());
    if let Some(cpu) = &record.environment.cpu_model {
        results.context.insert("cpu".into(), cpu.clone());
    }
    for row in &record.rows {
        let name = row_name(row);
        let benchmark = results.entry(&name);
        benchmark.failure.clone_from(&row.error);
        for measurement in &row.processes {
            for sample in measurement.samples.iter().filter(|sample| sample.iterations > 0) {
                let each = |ns: u64| ns as f64 / sample.iterations as f64;
                let iterations = Some(sample.iterations);
                benchmark.metric_mut("cpu time", Base::Nanoseconds, "ns").push(
                    each(sample.cpu_ns),
                    iterations,
                    measurement.process,
                );
                benchmark.metric_mut("time", Base::Nanoseconds, "ns").push(
                    each(sample.wall_ns),
                    iterations,
                    measurement.process,
                );
            }
            if let Some(bytes) = measurement.allocation.bytes_per_operation() {
                benchmark.metric_mut("allocated", Base::Bytes, "B/op").push(bytes, None, measurement.process);
            }
        }
    }
    results
}

fn row_name(row: &Row) -> String {
    let mut name = row.name.clone();
    match row.variant {
        Variant::Throughput => {}
        Variant::Chained => name.push_str(" (chained)"),
        Variant::Cold => name.push_str(" (cold)"),
    }
    if !matches!(row.runtime.as_str(), "native" | "") {
        name.push_str(&format!(" ({})", row.runtime));
    }
    name
}
