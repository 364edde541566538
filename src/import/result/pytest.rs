//! pytest-benchmark's `--benchmark-json`: seconds for one iteration, a value a round.

use serde_json::Value;

use super::Results;
use super::json::Node;
use super::units::Base;
use crate::import::ImportError;

pub(super) fn detect(document: &Value) -> bool {
    let rows = document["benchmarks"].as_array();
    document.get("machine_info").is_some()
        || rows.is_some_and(|rows| rows.iter().any(|row| row["stats"].get("rounds").is_some()))
}

/// Reads the document. Without `--benchmark-save-data` there are no raw values; the stated ones remain.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let root = Node::root("pytest-benchmark", document);
    let mut results = Results { harness: "pytest-benchmark".into(), ..Results::default() };
    for section in ["machine_info", "commit_info"] {
        for (key, value) in root.get(section).map(|node| node.members()).unwrap_or_default() {
            if !value.value.is_object() && !value.value.is_array() {
                results.context.insert(format!("{section}.{key}"), value.fact());
            }
        }
    }
    for row in root.need("benchmarks")?.items()? {
        let name = row.either(&["fullname", "name"]).ok_or_else(|| row.error("no `name`", "`name`"))?.text()?;
        let stats = row.need("stats")?;
        let iterations = stats.get("iterations").map(|n| n.amount()).transpose()?.map(|n| n as u64);
        let time = results.entry(name).metric_mut("time", Base::Nanoseconds, "s");
        if let Some(data) = stats.get("data") {
            for seconds in data.amounts()? {
                time.push(seconds * 1e9, iterations, 0);
            }
        }
        for statistic in ["median", "mean", "min", "max", "stddev", "iqr"] {
            if let Some(figure) = stats.get(statistic) {
                time.state(statistic, figure.number()? * 1e9);
            }
        }
        if time.values.is_empty() && time.stated.is_empty() {
            return Err(stats.error("neither data nor a figure", "`data`, `median` or `mean`"));
        }
    }
    Ok(results)
}
