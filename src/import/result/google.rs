//! google-benchmark's JSON: only iteration rows are measurements; aggregates, fits and errors are told apart.

use serde_json::Value;

use super::Results;
use super::json::Node;
use super::units::{self, Base};
use crate::import::ImportError;

/// Members of a row that are not counters of the user's.
const KNOWN: [&str; 21] = [
    "name",
    "family_index",
    "per_family_instance_index",
    "run_name",
    "run_type",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "time_unit",
    "aggregate_name",
    "aggregate_unit",
    "big_o",
    "rms",
    "error_occurred",
    "error_message",
    "label",
    "cpu_coefficient",
    "real_coefficient",
];

pub(super) fn detect(document: &Value) -> bool {
    let rows = document["benchmarks"].as_array();
    rows.is_some_and(|rows| document.get("context").is_some() || rows.iter().any(|row| row.get("real_time").is_some()))
}

/// Reads the document. Repetitions of one run name become values of one benchmark. Times are taken as
/// written: real time is for one thread's iteration, counters are sums over threads.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let root = Node::root("google-benchmark", document);
    let mut results = Results { harness: "google-benchmark".into(), ..Results::default() };
    if let Some(context) = root.get("context") {
        for (key, value) in context.members().into_iter().filter(|(_, node)| !node.value.is_array()) {
            results.context.insert(key.to_owned(), value.fact());
        }
    }
    for row in root.need("benchmarks")?.items()? {
        let aggregate = row.get("run_type").is_some_and(|kind| kind.value == "aggregate")
            || row.get("big_o").is_some()
            || row.get("rms").is_some();
        if aggregate {
            results.note("aggregates", "rows that aggregate others (mean, median, cv, BigO, RMS) are not measurements");
            continue;
        }
        let name = row.either(&["run_name", "name"]).ok_or_else(|| row.error("no `name`", "`name`"))?.text()?;
        if row.get("error_occurred").is_some_and(|error| error.value == &Value::Bool(true)) {
            let message = row.get("error_message").map_or("no message".to_owned(), |message| message.fact());
            results.entry(name).failure = Some(message);
            results.note("errors", format!("{name}: the benchmark reported an error; it has no time"));
            continue;
        }
        let unit = row.get("time_unit").map_or(Ok("ns"), |unit| unit.text())?;
        let factor = units::time(unit).ok_or_else(|| row.error(format!("time_unit {unit:?}"), "ns, us, ms or s"))?;
        let iterations = row.need("iterations")?.amount()? as u64;
        if row.get("threads").is_some_and(|threads| threads.value.as_u64() > Some(1)) {
            results.note("threads", format!("{name} ran on several threads: its times are for one thread's iteration, its counters sums over threads"));
        }
        let benchmark = results.entry(name);
        for (key, metric) in [("real_time", "time"), ("cpu_time", "cpu time")] {
            let value = row.need(key)?.amount()? * factor;
            // Repetitions run one after the other in one process.
            benchmark.metric_mut(metric, Base::Nanoseconds, unit).push(value, Some(iterations), 0);
        }
        for (key, value) in row.members().into_iter().filter(|(key, _)| !KNOWN.contains(key)) {
            let Ok(value) = value.number() else { continue };
            let (base, unit) = match key {
                "bytes_per_second" => (Base::BytesPerSecond, "B/s"),
                "items_per_second" => (Base::PerSecond, "items/s"),
                _ => (Base::Other(key.to_owned()), key),
            };
            benchmark.metric_mut(key, base, unit).push(value, Some(iterations), 0);
        }
    }
    Ok(results)
}
