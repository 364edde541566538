//! google-benchmark's JSON: only iteration rows are measurements; aggregates, fits and errors are told apart.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Results;
use super::json::Node;
use super::units::{self, Base};
use crate::import::ImportError;

/// Members of a row that are not counters of the user's.
const KNOWN: [&str; 22] = [
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
    "skip_message",
    "cpu_coefficient",
    "real_coefficient",
];

pub(super) fn detect(document: &Value) -> bool {
    let rows = document["benchmarks"].as_array();
    rows.is_some_and(|rows| document.get("context").is_some() || rows.iter().any(|row| row.get("real_time").is_some()))
}

/// Reads the document. Repetitions of one run name become values of one benchmark. Times are taken as
/// written: real time is for one thread's iteration, counters are sums over threads. Of a benchmark whose repetitions
/// were left out (`--benchmark_report_aggregates_only`) the figures made from them are kept as stated ones.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let root = Node::root("google-benchmark", document);
    let mut results = Results { harness: "google-benchmark".into(), ..Results::default() };
    if let Some(context) = root.get("context") {
        for (key, value) in context.members().into_iter().filter(|(_, node)| !node.value.is_array()) {
            results.context.insert(key.to_owned(), value.fact());
        }
    }
    let rows = root.need("benchmarks")?.items()?;
    let names: BTreeSet<&str> = rows.iter().filter_map(|row| row.value["name"].as_str()).collect();
    let mut aggregates = Vec::new();
    for row in &rows {
        if let Some(aggregate) = Aggregate::of(row, &names) {
            results.note("aggregates", "rows that aggregate others (mean, median, cv, BigO, RMS) are not measurements");
            aggregates.push((row, aggregate));
            continue;
        }
        let name = row.either(&["run_name", "name"]).ok_or_else(|| row.error("no `name`", "`name`"))?.text()?;
        let failed = [("error_occurred", "error_message"), ("skipped", "skip_message")]
            .into_iter()
            .find(|(key, _)| row.get(key).is_some_and(|flag| flag.value == &Value::Bool(true)));
        if let Some((_, message)) = failed {
            let message = row.get(message).map_or("no message".to_owned(), |message| message.fact());
            results.entry(name).failure = Some(message);
            continue;
        }
        let (unit, factor) = time_unit(row)?;
        let iterations = row.need("iterations")?.amount()? as u64;
        if row.get("threads").is_some_and(|threads| threads.value.as_u64() > Some(1)) {
            results.note("threads", format!("{name} ran on several threads: its times are for one thread's iteration, its counters sums over threads"));
        }
        let benchmark = results.entry(name);
        for (key, metric) in TIMES {
            let value = row.need(key)?.amount()? * factor;
            // Repetitions run one after the other in one process.
            benchmark.metric_mut(metric, Base::Nanoseconds, unit).push(value, Some(iterations), 0);
        }
        for (key, value) in row.members().into_iter().filter(|(key, _)| !KNOWN.contains(key)) {
            let Ok(value) = value.number() else { continue };
            let (base, unit) = match key {
                "bytes_per_second" => (Base::BytesPerSecond, "B/s"),
                "items_per_second" => (Base::PerSecond, "items/s"),
                "allocs_per_iter" => (Base::Count("allocs".into()), "allocs"),
                "max_bytes_used" | "total_allocated_bytes" | "net_heap_growth" => (Base::Bytes, "B"),
                _ => (Base::Other(key.to_owned()), key),
            };
            benchmark.metric_mut(key, base, unit).push(value, Some(iterations), 0);
        }
    }
    let measured: BTreeSet<String> = results.benchmarks.iter().map(|benchmark| benchmark.name.clone()).collect();
    for (row, aggregate) in aggregates.into_iter().filter(|(_, aggregate)| !measured.contains(aggregate.of)) {
        let Some(statistic) = aggregate.statistic else { continue };
        let (unit, factor) = time_unit(row)?;
        results.note("aggregates-only", format!("{}: its repetitions are not in the file", aggregate.of));
        for (key, metric) in TIMES {
            let value = row.need(key)?.amount()? * factor;
            let metric = results.entry(aggregate.of).metric_mut(metric, Base::Nanoseconds, unit);
            metric.state(statistic, value);
        }
    }
    Ok(results)
}

/// Members that hold a time, and the metrics they become.
const TIMES: [(&str, &str); 2] = [("real_time", "time"), ("cpu_time", "cpu time")];

fn time_unit<'a>(row: &Node<'a>) -> Result<(&'a str, f64), ImportError> {
    let unit = row.get("time_unit").map_or(Ok("ns"), |unit| unit.text())?;
    let factor = units::time(unit).ok_or_else(|| row.error(format!("time_unit {unit:?}"), "ns, us, ms or s"))?;
    Ok((unit, factor))
}

/// A row made from other rows.
struct Aggregate<'a> {
    /// The run whose repetitions it aggregates.
    of: &'a str,
    /// Which figure it is; `None` where that is no time.
    statistic: Option<&'static str>,
}

impl<'a> Aggregate<'a> {
    fn of(row: &Node<'a>, names: &BTreeSet<&str>) -> Option<Self> {
        let name = row.value["name"].as_str().unwrap_or_default();
        let text = |key: &str| row.value[key].as_str();
        // The name of a row ends in that of its aggregate.
        let suffix = ["mean", "median", "stddev"].into_iter().find_map(|statistic| {
            let run = name.strip_suffix(statistic)?.strip_suffix('_')?;
            Some((run, statistic))
        });
        let run = text("run_name").unwrap_or(suffix.map_or(name, |(run, _)| run));
        if row.get("big_o").is_some() || row.get("rms").is_some() {
            return Some(Aggregate { of: run, statistic: None });
        }
        match text("run_type") {
            Some("aggregate") => {
                let known = |statistic: &&'static str| text("aggregate_name") == Some(*statistic);
                let statistic = ["mean", "median", "stddev"].iter().copied().find(|name| known(name));
                let is_time = text("aggregate_unit").is_none_or(|unit| unit == "time");
                Some(Aggregate { of: run, statistic: statistic.filter(|_| is_time) })
            }
            Some(_) => None,
            // Before 1.4.2 rows did not say what they are, only their names.
            None => {
                let (run, statistic) = suffix?;
                let siblings = ["mean", "stddev"].iter().all(|other| names.contains(format!("{run}_{other}").as_str()));
                (names.contains(run) || siblings).then_some(Aggregate { of: run, statistic: Some(statistic) })
            }
        }
    }
}
