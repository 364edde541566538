//! Go's benchmark text: configuration lines, result lines with any number of value and unit pairs, `Unit` lines.

use std::collections::{BTreeMap, BTreeSet};

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
    let rest: Vec<_> = fields.collect();
    rest.first()?.parse::<u64>().ok()?;
    // Prose (or criterion's) says `Benchmarking 3 things`; but a name may begin with a small letter as well.
    let is_number = |text: &&str| text.parse::<f64>().is_ok();
    if name.chars().next().is_some_and(char::is_lowercase) && !rest.get(1).is_some_and(is_number) {
        return None;
    }
    Some((name, rest))
}

/// The settings in force at a line, by key.
type Settings<'a> = BTreeMap<&'a str, &'a str>;

/// The settings under which each name was run, without repetition.
fn runs<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, Vec<Settings<'a>>> {
    let mut runs: BTreeMap<&str, Vec<Settings<'_>>> = BTreeMap::new();
    let mut settings = Settings::new();
    for line in lines {
        if let Some((name, _)) = result_line(line) {
            let of_name = runs.entry(name).or_default();
            if !of_name.contains(&settings) {
                of_name.push(settings.clone());
            }
        } else if let Some((key, value)) = configuration(line) {
            set(&mut settings, key, value);
        }
    }
    runs
}

fn set<'a>(settings: &mut Settings<'a>, key: &'a str, value: &'a str) {
    match value {
        "" => settings.remove(key),
        _ => settings.insert(key, value),
    };
}

/// A name with what tells its runs apart: `package.name [note] [cpu=…]`.
fn full_name(name: &str, settings: &Settings<'_>, runs: &[Settings<'_>]) -> String {
    let mut full = name.to_owned();
    for (key, value) in settings {
        let differs = runs.iter().any(|other| other.get(key) != Some(value));
        match *key {
            "pkg" if differs => full = format!("{value}.{full}"),
            // `note: before` and `note: after` separate runs in one file.
            "note" if differs => full = format!("{full} [{value}]"),
            key if differs => full = format!("{full} [{key}={value}]"),
            _ => {}
        }
    }
    full
}

/// Reads the text. Repeated lines of one name are values of one benchmark; equal names in different packages, or under
/// settings that changed in between, stay apart. Lines that are neither are counted.
pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut results = Results { harness: "go".into(), ..Results::default() };
    let mut exact: Vec<String> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let runs = runs(&lines);
    for (name, runs) in &runs {
        let differs = |key: &&&str| runs.iter().any(|other| other.get(**key) != runs[0].get(**key));
        let keys: BTreeSet<&str> = runs.iter().flat_map(|settings| settings.keys()).filter(differs).copied().collect();
        for key in keys.into_iter().filter(|key| !matches!(*key, "pkg" | "note")) {
            results.note("settings-differ", format!("{name}: run under several values of {key}, which stay apart"));
        }
    }
    let mut settings = Settings::new();
    let mut changing: BTreeSet<String> = BTreeSet::new();
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
            let benchmark = results.entry(&full_name(name, &settings, &runs[name]));
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
            set(&mut settings, key, value);
            // What changes within the file says nothing about all of it.
            let changed = results.context.get(key).is_some_and(|before| before != value);
            if changed {
                changing.insert(key.to_owned());
            }
            results.context.insert(key.to_owned(), value.to_owned());
        } else if !is_chatter(line) {
            results.note("lines-ignored", format!("line {}: neither a result nor a setting", index + 1));
        }
    }
    results.context.retain(|key, value| !changing.contains(key) && !value.is_empty());
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

/// What `go test` itself prints beside results: verdicts, and with `-v` the name of what it starts.
fn is_chatter(line: &str) -> bool {
    let mut fields = line.split_whitespace();
    match fields.next() {
        None | Some("PASS" | "ok" | "FAIL" | "?" | "---" | "===" | "testing:") => true,
        Some(first) => line.starts_with('#') || first.starts_with("Benchmark") && fields.next().is_none(),
    }
}

/// `key: value`: the key in lower case and without spaces, a blank before the value, which may be missing.
fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = key.chars().all(|c| !c.is_whitespace() && !c.is_uppercase());
    let apart = value.is_empty() || value.starts_with([' ', '\t']);
    (plain && apart && key.starts_with(char::is_lowercase)).then_some((key, value.trim()))
}
