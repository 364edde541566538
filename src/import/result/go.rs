//! Go's benchmark text: configuration lines, result lines with any number of value and unit pairs, `Unit` lines.

use std::collections::BTreeMap;

use super::{Exactness, Results, units};
use crate::import::error::excerpt;
use crate::import::{ImportError, Position};

pub(super) fn detect(text: &str) -> bool {
    text.lines().any(|line| result_line(line).is_some())
}

/// The name and the fields after it, where a line is a result.
fn result_line(line: &str) -> Option<(&str, Vec<&str>)> {
    let mut fields = line.split_whitespace();
    let name = fields.next()?.strip_prefix("Benchmark")?;
    // `BenchmarkX` alone announces a benchmark; `Benchmarking foo` is prose (or criterion's).
    if name.chars().next().is_some_and(char::is_lowercase) {
        return None;
    }
    let rest: Vec<_> = fields.collect();
    rest.first()?.parse::<u64>().ok()?;
    Some((name, rest))
}

/// Reads the text. Repeated lines of one name are values of one benchmark; equal names in different
/// packages stay apart. Lines that are neither are counted.
pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut results = Results { harness: "go".into(), ..Results::default() };
    let mut package = String::new();
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let mut exact: Vec<String> = Vec::new();
    let mut seen: Vec<(String, String)> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    // The package is part of a name only where one name occurs in several.
    let mut current = "";
    for line in &lines {
        if let Some(value) = line.strip_prefix("pkg:") {
            current = value.trim();
        } else if let Some((name, _)) = result_line(line) {
            let pair = (name.to_owned(), current.to_owned());
            if !seen.contains(&pair) {
                seen.push(pair);
            }
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let position = Position::Line(index as u64 + 1);
        if let Some(rest) = line.strip_prefix("Unit ") {
            let mut fields = rest.split_whitespace();
            let unit = fields.next().unwrap_or_default();
            if fields.any(|field| field == "assume=exact") {
                exact.push(unit.to_owned());
            }
        } else if let Some((name, fields)) = result_line(line) {
            let iterations = fields[0].parse().ok();
            if fields.len() < 3 || fields.len() % 2 == 0 {
                let expected = "`BenchmarkName iterations value unit …`";
                return Err(ImportError::malformed("Go benchmark", position, excerpt(line.as_bytes()), expected));
            }
            let mut full = name.to_owned();
            if seen.iter().filter(|(other, _)| other == name).count() > 1 {
                full = format!("{package}.{name}");
            }
            // `note: before` and `note: after` separate runs in one file.
            if let Some(note) = labels.get("note") {
                full = format!("{full} [{note}]");
            }
            let benchmark = results.entry(&full);
            for pair in fields[1..].chunks_exact(2) {
                let value: f64 = pair[0].parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
                    ImportError::malformed("Go benchmark", position.clone(), excerpt(pair[0].as_bytes()), "a number")
                })?;
                let (base, factor) = units::normalise(pair[1]);
                let name = if pair[1] == "ns/op" { "time" } else { pair[1] };
                let metric = benchmark.metric_mut(name, base, pair[1]);
                if exact.iter().any(|unit| unit == pair[1]) {
                    metric.exactness = Exactness::Exact;
                }
                metric.push(value * factor, iterations, 0);
            }
        } else if let Some((key, value)) = configuration(line) {
            if key == "pkg" {
                value.clone_into(&mut package);
            }
            if matches!(key, "note") {
                labels.insert(key.to_owned(), value.to_owned());
            } else {
                results.context.insert(key.to_owned(), value.to_owned());
            }
        } else if !line.trim().is_empty()
            && !matches!(line.split_whitespace().next(), Some("PASS" | "ok" | "FAIL" | "---" | "testing:"))
        {
            results.note("lines-ignored", format!("line {}: neither a result nor a setting", index + 1));
        }
    }
    for benchmark in &results.benchmarks {
        for metric in benchmark.metrics.iter().filter(|metric| metric.exactness == Exactness::Exact) {
            let values = metric.numbers();
            if values.iter().any(|value| *value != values[0]) {
                let message = format!("{}: {} is declared exact, but its values differ", benchmark.name, metric.unit);
                results.notes.push(crate::profile::Note { code: "not-exact".into(), message, count: 1 });
            }
        }
    }
    Ok(results)
}

/// `key: value`, the key in lower case without spaces.
fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = !key.is_empty() && key.chars().all(|c| !c.is_whitespace() && !c.is_uppercase());
    (plain && key.starts_with(char::is_alphabetic)).then_some((key, value.trim()))
}
