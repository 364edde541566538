//! BenchmarkTools.jl's `save`: trials with nanoseconds for one evaluation, bytes and allocations.

use serde_json::Value;

use super::json::Node;
use super::units::Base;
use super::{Exactness, Results};
use crate::import::ImportError;

pub(super) fn detect(document: &Value) -> bool {
    document.as_array().is_some_and(|pair| {
        pair.len() == 2 && pair[0].is_object() && pair[1].as_array().is_some_and(|entries| entries.iter().all(is_typed))
    })
}

fn is_typed(entry: &Value) -> bool {
    entry.as_array().is_some_and(|pair| pair.len() == 2 && pair[0].is_string())
}

/// Reads `[versions, [[type, fields], …]]`. Groups are nested; their keys make the names.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let mut results = Results { harness: "BenchmarkTools".into(), ..Results::default() };
    let pair = Node::root("BenchmarkTools", document).items()?;
    for (key, version) in pair[0].members() {
        results.context.insert(key.to_owned(), version.fact());
    }
    let entries = pair[1].items()?;
    let several = entries.len() > 1;
    for (index, entry) in entries.iter().enumerate() {
        let prefix = if several { format!("trial {}", index + 1) } else { String::new() };
        read_entry(&mut results, entry, &prefix)?;
    }
    Ok(results)
}

fn read_entry(results: &mut Results, entry: &Node<'_>, path: &str) -> Result<(), ImportError> {
    let pair = entry.items()?;
    let [kind, fields] = &pair[..] else { return Err(entry.error("another shape", "[type, fields]")) };
    match kind.text()?.rsplit('.').next().unwrap_or_default() {
        "BenchmarkGroup" => {
            for (key, child) in fields.need("data")?.members() {
                let path = if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") };
                read_entry(results, &child, &path)?;
            }
        }
        "Trial" | "TrialEstimate" => trial(results, fields, if path.is_empty() { "trial" } else { path })?,
        other => results.note("not-a-trial", format!("{path}: {other} holds no measurement")),
    }
    Ok(())
}

fn trial(results: &mut Results, fields: &Node<'_>, name: &str) -> Result<(), ImportError> {
    let evaluations = fields.get("params").and_then(|params| params.get("evals")).map(|n| n.amount()).transpose()?;
    let benchmark = results.entry(name);
    let time = benchmark.metric_mut("time", Base::Nanoseconds, "ns");
    match (fields.get("times"), fields.get("time")) {
        (Some(times), _) => {
            for value in times.amounts()? {
                time.push(value, evaluations.map(|n| n as u64), 0);
            }
        }
        (None, Some(estimate)) => time.state("score", estimate.number()?),
        (None, None) => return Err(fields.error("no `times`", "`times` or `time`")),
    }
    for (key, base, unit) in [("memory", Base::Bytes, "bytes"), ("allocs", Base::Count("allocs".into()), "allocs")] {
        if let Some(value) = fields.get(key) {
            let metric = benchmark.metric_mut(key, base, unit);
            metric.exactness = Exactness::Exact;
            metric.push(value.amount()?, None, 0);
        }
    }
    Ok(())
}
