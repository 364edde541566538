//! JMH's `-rf json`: forks and iterations, modes and units, secondary metrics, raw data or histograms.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::json::Node;
use super::units::{self, Base, Direction};
use super::{Benchmark, Metric, Results, Stated};
use crate::import::ImportError;
use crate::profile::Note;

pub(super) fn detect(document: &Value) -> bool {
    document.as_array().is_some_and(|rows| rows.iter().any(|row| row.get("primaryMetric").is_some()))
}

/// The confidence level of `scoreError`.
const LEVEL: f64 = 0.999;

/// What the collector's profilers call MB.
const BYTES_OF_MB: f64 = 1_048_576.0;

/// Reads the document. The direction comes from the unit; a mode that says otherwise is noted. Rows that are equal in
/// all but their figures are further runs of one benchmark, as in files put together from several.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let mut results = Results { harness: "jmh".into(), ..Results::default() };
    let rows = Node::root("JMH", document).items()?;
    let mut threads: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for row in &rows {
        threads.entry(identity(row)).or_default().extend(row.value["threads"].as_u64());
    }
    let mut names: BTreeMap<(String, Option<u64>), usize> = BTreeMap::new();
    for row in rows {
        for key in ["jmhVersion", "jdkVersion", "vmName", "vmVersion", "jvm"] {
            if let Some(value) = row.get(key) {
                results.context.entry(key.to_owned()).or_insert(value.fact());
            }
        }
        let mode = row.need("mode")?.text()?;
        let mut name = row.need("benchmark")?.text()?.to_owned();
        let mut params: Vec<_> = row.get("params").map(|params| params.members()).unwrap_or_default();
        let several = threads.get(&identity(&row)).is_some_and(|threads| threads.len() > 1);
        params.extend(row.get("threads").filter(|_| several).map(|threads| ("threads", threads)));
        if !params.is_empty() {
            let params: Vec<_> = params.iter().map(|(key, value)| format!("{key}={}", value.fact())).collect();
            name.push_str(&format!("[{}]", params.join(",")));
        }
        let key = (identity(&row), row.value["threads"].as_u64());
        if let Some(at) = names.get(&key) {
            results.note("repeated-rows", format!("{name}: rows of this name are taken as further forks"));
            further(&mut results.benchmarks[*at], &row)?;
            continue;
        }
        names.insert(key, results.benchmarks.len());
        let same = results.benchmarks.iter().any(|benchmark| benchmark.name == name);
        if same || !matches!(mode, "thrpt" | "avgt") {
            name.push_str(&format!(":{mode}"));
        }
        let main = row.need("primaryMetric")?;
        let primary = metric("", &main)?;
        let higher = mode == "thrpt";
        if primary.base.direction() != if higher { Direction::Higher } else { Direction::Lower } {
            let (unit, mode) = (&primary.unit, mode);
            results.notes.push(Note {
                code: "mode-unit-mismatch".into(),
                message: format!("{name}: mode {mode} but unit {unit}; the unit decides"),
                count: 1,
            });
        }
        let mut benchmark = Benchmark { name, metrics: vec![primary], failure: None };
        if let Some(secondary) = row.get("secondaryMetrics") {
            for (key, node) in secondary.members() {
                benchmark.metrics.push(metric(key, &node)?);
            }
        }
        results.benchmarks.push(benchmark);
    }
    let disagreeing = results.benchmarks.iter().filter_map(allocation_disagrees);
    let note = |message| Note { code: "allocation-disagrees".into(), message, count: 1 };
    let disagreeing: Vec<Note> = disagreeing.map(note).collect();
    results.notes.extend(disagreeing);
    Ok(results)
}

/// What tells benchmarks apart, but for the number of threads: name, mode and parameters.
fn identity(row: &Node<'_>) -> String {
    let part = |key: &str| row.value.get(key).unwrap_or(&Value::Null);
    format!("{} {} {}", part("benchmark"), part("mode"), part("params"))
}

/// Adds the forks of a further run. What its file states of them alone goes, as it holds for no run of both.
fn further(benchmark: &mut Benchmark, row: &Node<'_>) -> Result<(), ImportError> {
    let mut metrics = vec![metric("", &row.need("primaryMetric")?)?];
    for (key, node) in row.get("secondaryMetrics").map(|node| node.members()).unwrap_or_default() {
        metrics.push(metric(key, &node)?);
    }
    for added in metrics {
        let same = |metric: &&mut Metric| metric.name == added.name && metric.base == added.base;
        let Some(metric) = benchmark.metrics.iter_mut().find(same) else {
            benchmark.metrics.push(added);
            continue;
        };
        let forks = metric.values.iter().map(|value| value.process + 1).max().unwrap_or(0);
        metric
            .values
            .extend(added.values.iter().map(|value| super::Value { process: value.process + forks, ..*value }));
        if !metric.values.is_empty() {
            metric.stated.clear();
        }
    }
    Ok(())
}

fn metric(name: &str, node: &Node<'_>) -> Result<Metric, ImportError> {
    let unit = node.need("scoreUnit")?.text()?;
    let (base, factor) = match units::normalise(unit) {
        // The rates of the collector's profilers: of 2^20 bytes, and neither way better.
        (Base::BytesPerSecond, _) if !name.is_empty() => (Base::Other(unit.to_owned()), 1.0),
        other => other,
    };
    let name = match (name, &base) {
        ("", Base::Nanoseconds) => "time",
        ("", _) => "throughput",
        (other, _) => other,
    };
    let mut metric = Metric::new(name, base, unit);
    if let Some(forks) = node.get("rawData") {
        for (fork, iterations) in forks.items()?.iter().enumerate() {
            for value in iterations.numbers()? {
                metric.push(value * factor, None, fork as u32);
            }
        }
    } else if let Some(forks) = node.get("rawDataHistogram") {
        for (fork, iterations) in forks.items()?.iter().enumerate() {
            for iteration in iterations.items()? {
                histogram(&mut metric, &iteration, factor, fork as u32)?;
            }
        }
    }
    let score = node.need("score")?.number()? * factor;
    let interval = match node.get("scoreConfidence") {
        Some(bounds) => match bounds.numbers()?[..] {
            [low, high] => Some((low * factor, high * factor)),
            _ => return Err(bounds.error("another number of bounds", "two bounds")),
        },
        None => None,
    };
    metric.stated.push(Stated { statistic: "score".into(), value: score, interval, level: Some(LEVEL) });
    if let Some(error) = node.get("scoreError") {
        metric.state("error", error.number()? * factor);
    }
    for (percentile, value) in node.get("scorePercentiles").map(|node| node.members()).unwrap_or_default() {
        metric.state(&format!("p{}", percentile.trim_end_matches(".0")), value.number()? * factor);
    }
    Ok(metric)
}

/// `[[value, count], …]` of one iteration: its median stands for it. Single calls follow each other too closely to be
/// independent, and the file states their quantiles.
fn histogram(metric: &mut Metric, iteration: &Node<'_>, factor: f64, fork: u32) -> Result<(), ImportError> {
    let mut calls: Vec<(f64, f64)> = Vec::new();
    for pair in iteration.items()? {
        match pair.numbers()?[..] {
            [value, count] if value.is_finite() && count >= 0.0 && count.is_finite() => calls.push((value, count)),
            _ => return Err(pair.error("another shape", "[value, count]")),
        }
    }
    calls.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = calls.iter().map(|(_, count)| count).sum();
    let mut below = 0.0;
    let median = calls.iter().find(|(_, count)| {
        below += count;
        below > 0.0 && 2.0 * below >= all
    });
    if let Some((median, _)) = median {
        metric.push(median * factor, Some(all as u64), fork);
    }
    Ok(())
}

/// Allocation per operation times the rate of operations is the allocation rate; where it is not, within a
/// tenth, one of the three was timed over another interval (CODETOOLS-7903368).
fn allocation_disagrees(benchmark: &Benchmark) -> Option<String> {
    let point = |suffix: &str, unit: &str| {
        let metric = benchmark.metrics.iter().find(|metric| metric.name.trim_start_matches('·') == suffix)?;
        Some(metric.estimate().filter(|_| metric.unit.starts_with(unit))?.point)
    };
    let (norm, rate) = (point("gc.alloc.rate.norm", "B/")?, point("gc.alloc.rate", "MB/")?);
    let per_second = 1e9 / benchmark.time_ns()?.point;
    let expected = norm * per_second;
    let rate = rate * BYTES_OF_MB;
    let off = (rate / expected - 1.0).abs();
    (expected > 0.0 && off > 0.1).then(|| {
        format!(
            "{}: allocation per operation times operations per second differs from the allocation rate by {:.0} %",
            benchmark.name,
            off * 100.0
        )
    })
}
