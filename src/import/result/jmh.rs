//! JMH's `-rf json`: forks and iterations, modes and units, secondary metrics, raw data or histograms.

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

/// Reads the document. The direction comes from the unit; a mode that says otherwise is noted.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let mut results = Results { harness: "jmh".into(), ..Results::default() };
    for row in Node::root("JMH", document).items()? {
        for key in ["jmhVersion", "jdkVersion", "vmName", "vmVersion", "jvm"] {
            if let Some(value) = row.get(key) {
                results.context.entry(key.to_owned()).or_insert(value.fact());
            }
        }
        let mode = row.need("mode")?.text()?;
        let mut name = row.need("benchmark")?.text()?.to_owned();
        if let Some(params) = row.get("params").filter(|params| !params.members().is_empty()) {
            let params: Vec<_> =
                params.members().iter().map(|(key, value)| format!("{key}={}", value.fact())).collect();
            name.push_str(&format!("[{}]", params.join(",")));
        }
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
        if let Some(message) = allocation_disagrees(&benchmark) {
            results.notes.push(Note { code: "allocation-disagrees".into(), message, count: 1 });
        }
        results.benchmarks.push(benchmark);
    }
    Ok(results)
}

fn metric(name: &str, node: &Node<'_>) -> Result<Metric, ImportError> {
    let unit = node.need("scoreUnit")?.text()?;
    let (base, factor) = units::normalise(unit);
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

/// `[[value, count], …]`: every value once with its count as iterations, so that 10⁹ counts need no memory.
fn histogram(metric: &mut Metric, iteration: &Node<'_>, factor: f64, fork: u32) -> Result<(), ImportError> {
    for pair in iteration.items()? {
        match pair.numbers()?[..] {
            [value, count] if count >= 0.0 => metric.push(value * factor, Some(count as u64), fork),
            _ => return Err(pair.error("another shape", "[value, count]")),
        }
    }
    Ok(())
}

/// Allocation per operation times the rate of operations is the allocation rate; where it is not, within a
/// tenth, one of the three was timed over another interval (CODETOOLS-7903368).
fn allocation_disagrees(benchmark: &Benchmark) -> Option<String> {
    let point = |suffix: &str| {
        let metric = benchmark.metrics.iter().find(|metric| metric.name.trim_start_matches('·') == suffix)?;
        Some(metric.estimate()?.point)
    };
    let (norm, rate) = (point("gc.alloc.rate.norm")?, point("gc.alloc.rate")?);
    let per_second = 1e9 / benchmark.time_ns()?.point;
    let expected = norm * per_second;
    // JMH's MB are 2^20 bytes.
    let rate = rate * 1.048_576;
    let off = (rate / expected - 1.0).abs();
    (expected > 0.0 && off > 0.1).then(|| {
        format!(
            "{}: allocation per operation times operations per second differs from the allocation rate by {:.0} %",
            benchmark.name,
            off * 100.0
        )
    })
}
