//! marmotBench's `--json`, which this program's own `--json` extends: quantiles in microseconds, bytes per operation.

use serde_json::Value;

use super::Results;
use super::json::Node;
use super::units::Base;
use crate::import::ImportError;

pub(super) fn detect(document: &Value) -> bool {
    document.as_array().is_some_and(|rows| rows.iter().any(|row| row.get("p50_us").is_some()))
}

/// Reads the list. Rows of one name (a runtime or a variant each) are told apart by their runtime.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let mut results = Results { harness: "marmotBench".into(), ..Results::default() };
    for row in Node::root("marmotBench", document).items()? {
        let mut name = row.need("name")?.text()?.to_owned();
        for key in ["variant", "runtime"] {
            let Some(value) = row.get(key).map(|value| value.fact()) else { continue };
            if !matches!(value.as_str(), "native" | "throughput") {
                name.push_str(&format!(" ({value})"));
            }
        }
        if results.find(&name).is_some() {
            return Err(row.error(format!("a second row named {name:?}"), "one row a name"));
        }
        let benchmark = results.entry(&name);
        let mut figures = false;
        for (key, statistic) in [("p50_us", "p50"), ("p90_us", "p90"), ("p99_us", "p99"), ("mean_us", "mean")] {
            if let Some(figure) = row.get(key) {
                benchmark.metric_mut("time", Base::Nanoseconds, "us").state(statistic, figure.amount()? * 1e3);
                figures = true;
            }
        }
        if let Some(bytes) = row.get("bytes_per_op") {
            benchmark.metric_mut("allocated", Base::Bytes, "B/op").state("mean", bytes.amount()?);
        }
        if !figures {
            benchmark.failure = Some(row.get("error").map_or("the row has no figure".to_owned(), |error| error.fact()));
        }
    }
    Ok(results)
}
