//! hyperfine's `--export-json`: whole commands, in seconds.

use serde_json::Value;

use super::json::Node;
use super::units::Base;
use super::{Exactness, Metric, Results};
use crate::import::ImportError;

pub(super) fn detect(document: &Value) -> bool {
    document["results"].as_array().is_some_and(|results| results.iter().any(|result| result.get("command").is_some()))
}

/// Reads the document. Failed runs (exit code other than 0) are kept out of the times and counted apart;
/// `user` and `system` are means over all runs, and are named so.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let mut results = Results { harness: "hyperfine".into(), ..Results::default() };
    for result in Node::root("hyperfine", document).need("results")?.items()? {
        let command = result.need("command")?.text()?;
        let parameters: Vec<_> = result
            .get("parameters")
            .map(|parameters| {
                parameters.members().iter().map(|(key, value)| format!("{key}={}", value.fact())).collect()
            })
            .unwrap_or_default();
        let name =
            if parameters.is_empty() { command.to_owned() } else { format!("{command} [{}]", parameters.join(", ")) };
        let codes: Vec<Option<f64>> = match result.get("exit_codes") {
            Some(codes) => codes.items()?.iter().map(|code| code.number().ok()).collect(),
            None => Vec::new(),
        };
        let good = |run: usize| codes.get(run).is_none_or(|code| *code == Some(0.0));
        let mut time = Metric::new("time", Base::Nanoseconds, "s");
        let times = match result.get("times") {
            Some(times) => times.amounts()?,
            None => Vec::new(),
        };
        for (run, seconds) in times.iter().enumerate().filter(|(run, _)| good(*run)) {
            time.push(seconds * 1e9, Some(1), run as u32);
        }
        for statistic in ["mean", "median", "min", "max", "stddev"] {
            if let Some(figure) = result.get(statistic) {
                time.state(statistic, figure.number()? * 1e9);
            }
        }
        let mut metrics = vec![time];
        for (key, name) in [("user", "user time, mean of all runs"), ("system", "system time, mean of all runs")] {
            if let Some(figure) = result.get(key) {
                let mut metric = Metric::new(name, Base::Nanoseconds, "s");
                metric.state("mean", figure.number()? * 1e9);
                metrics.push(metric);
            }
        }
        if let Some(memory) = result.get("memory_usage_byte") {
            let mut metric = Metric::new("peak memory", Base::Bytes, "byte");
            metric.exactness = Exactness::Scattered;
            for (run, bytes) in memory.amounts()?.into_iter().enumerate().filter(|(run, _)| good(*run)) {
                metric.push(bytes, Some(1), run as u32);
            }
            metrics.push(metric);
        }
        let failed = (0..times.len()).filter(|run| !good(*run)).count();
        let benchmark = results.entry(&name);
        benchmark.metrics = metrics;
        if failed > 0 {
            benchmark.failure = Some(format!("{failed} of {} runs failed", times.len()));
            let message = format!(
                "{name}: {failed} of {} runs failed and are left out; the file's own mean has them in it",
                times.len()
            );
            results.note("failed-runs", message);
        }
    }
    Ok(results)
}
