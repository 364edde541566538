//! criterion.rs: the files of a baseline's folder, in the old and the new spelling, and cargo-criterion's messages.

use serde_json::Value;

use super::json::Node;
use super::units::{self, Base};
use super::{Metric, Results, Stated};
use crate::import::{ImportError, Position};
use crate::profile::Note;
use crate::stats;

/// The texts of one benchmark's folder (`…/new/`), as far as they are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folder<'a> {
    /// The path below `target/criterion`, which is the name where `benchmark.json` is absent.
    pub path: &'a str,
    /// `benchmark.json`.
    pub benchmark: Option<&'a str>,
    /// `sample.json`: the raw times.
    pub sample: Option<&'a str>,
    /// `estimates.json`.
    pub estimates: Option<&'a str>,
}

/// Reads the folders of one baseline.
///
/// # Errors
/// `Malformed` with the file's place, `NoSamples` where no folder holds `sample.json` or `estimates.json`.
pub fn read_folders(folders: &[Folder<'_>]) -> Result<Results, ImportError> {
    let mut results = Results { harness: "criterion".into(), ..Results::default() };
    for folder in folders {
        let parse = |text: &str| serde_json::from_str(text).map_err(|error| ImportError::json("criterion", &error));
        let benchmark: Option<Value> = folder.benchmark.map(parse).transpose()?;
        let name = benchmark.as_ref().and_then(|benchmark| benchmark["full_id"].as_str()).unwrap_or(folder.path);
        let mut time = Metric::new("time", Base::Nanoseconds, "ns");
        if let Some(text) = folder.sample {
            sample(&mut time, &parse(text)?)?;
        }
        if let Some(text) = folder.estimates {
            estimates(&mut time, &parse(text)?)?;
        }
        if time.values.is_empty() && time.stated.is_empty() {
            continue;
        }
        results.entry(name).metrics = vec![time];
        // Throughputs only say what one iteration works on; a kind that is not known changes nothing here.
        if let Some((kind, amount)) =
            benchmark.as_ref().and_then(|b| b["throughput"].as_object()).and_then(|t| t.iter().next())
        {
            results.context.insert(format!("throughput of {name}"), format!("{amount} {kind}"));
        }
    }
    if results.benchmarks.is_empty() {
        return Err(ImportError::NoSamples { why: "no folder holds sample.json or estimates.json".into() });
    }
    Ok(super::review(results))
}

pub(super) fn detect(document: &Value) -> bool {
    is_sample(document)
        || document.get("mean").or(document.get("Mean")).is_some_and(|mean| mean.get("point_estimate").is_some())
}

fn is_sample(document: &Value) -> bool {
    let old = document.as_array().is_some_and(|pair| pair.len() == 2 && pair.iter().all(Value::is_array));
    old || document.get("iters").is_some() && document.get("times").is_some()
}

/// Reads `sample.json` or `estimates.json` alone; neither says which benchmark it belongs to.
pub(super) fn read(document: &Value) -> Result<Results, ImportError> {
    let mut time = Metric::new("time", Base::Nanoseconds, "ns");
    if is_sample(document) {
        sample(&mut time, document)?
    } else {
        estimates(&mut time, document)?
    }
    let mut results = Results { harness: "criterion".into(), ..Results::default() };
    results.entry("unnamed").metrics = vec![time];
    results.note("unnamed", "this file alone does not name its benchmark; pass the folder");
    Ok(results)
}

/// Iterations and total times, as an object or (before 0.3) as a pair of arrays.
fn sample(time: &mut Metric, document: &Value) -> Result<(), ImportError> {
    let root = Node::root("criterion sample.json", document);
    let (iterations, times) = if document.is_array() {
        let pair = root.items()?;
        match &pair[..] {
            [iterations, times] => (iterations.amounts()?, times.amounts()?),
            _ => return Err(root.error(format!("{} arrays", pair.len()), "iterations and times")),
        }
    } else {
        (root.need("iters")?.amounts()?, root.need("times")?.amounts()?)
    };
    if iterations.len() != times.len() {
        return Err(
            root.error(format!("{} iteration counts and {} times", iterations.len(), times.len()), "as many of each")
        );
    }
    for (index, (n, total)) in iterations.iter().zip(&times).enumerate() {
        if *n < 1.0 {
            return Err(root.error(format!("{n} iterations in sample {index}"), "1 or more"));
        }
        time.push(total / n, Some(*n as u64), 0);
    }
    Ok(())
}

fn estimates(time: &mut Metric, document: &Value) -> Result<(), ImportError> {
    let root = Node::root("criterion estimates.json", document);
    for (name, old) in [
        ("mean", "Mean"),
        ("median", "Median"),
        ("slope", "Slope"),
        ("median_abs_dev", "MedianAbsDev"),
        ("std_dev", "StdDev"),
    ] {
        let Some(node) = root.either(&[name, old]) else { continue };
        let interval = node.need("confidence_interval")?;
        time.stated.push(Stated {
            statistic: name.into(),
            value: node.need("point_estimate")?.number()?,
            interval: Some((interval.need("lower_bound")?.number()?, interval.need("upper_bound")?.number()?)),
            level: Some(interval.need("confidence_level")?.number()?),
        });
    }
    if time.stated.is_empty() {
        return Err(root.error("none of them", "mean, median, slope, median_abs_dev or std_dev"));
    }
    Ok(())
}

/// The slope through the origin of total time over iterations, criterion's figure in linear sampling.
/// `None` without values, or where the iteration counts are all equal (flat sampling).
pub fn slope(metric: &Metric) -> Option<f64> {
    let points: Vec<_> =
        metric.values.iter().filter_map(|v| Some((v.iterations? as f64, v.value * v.iterations? as f64))).collect();
    let first = points.first()?.0;
    if points.iter().all(|(n, _)| *n == first) {
        return None;
    }
    let (xy, xx) = points.iter().fold((0.0, 0.0), |(xy, xx), (x, y)| (xy + x * y, xx + x * x));
    Some(xy / xx)
}

/// The median absolute deviation, scaled to a normal distribution's standard deviation as criterion does.
pub fn median_abs_dev(metric: &Metric) -> Option<f64> {
    let values = metric.numbers();
    let median = stats::median(&values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    Some(stats::median(&deviations)? * 1.4826)
}

pub(super) fn detect_messages(text: &str) -> bool {
    text.lines()
        .take(20)
        .any(|line| line.starts_with('{') && line.contains("\"reason\"") && line.contains("\"benchmark-complete\""))
        || text.lines().next().is_some_and(|line| line.starts_with("{\"reason\":"))
}

/// Reads `cargo criterion --message-format=json`: one object a line.
pub(super) fn read_messages(text: &str) -> Result<Results, ImportError> {
    let mut results = Results { harness: "criterion".into(), ..Results::default() };
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let document: Value = serde_json::from_str(line).map_err(|error| {
            let position = Position::LineColumn(index as u64 + 1, error.column() as u64);
            ImportError::malformed("cargo-criterion", position, error.to_string(), "one JSON object a line")
        })?;
        if document["reason"] != "benchmark-complete" {
            continue;
        }
        let root = Node::root("cargo-criterion", &document);
        let unit = root.need("unit")?.text()?;
        let (base, factor) = units::normalise(unit);
        let mut time = Metric::new("time", base, unit);
        let (iterations, values) = (root.need("iteration_count")?.amounts()?, root.need("measured_values")?.amounts()?);
        if iterations.len() != values.len() {
            return Err(
                root.error(format!("{} counts and {} values", iterations.len(), values.len()), "as many of each")
            );
        }
        for (n, total) in iterations.iter().zip(values).filter(|(n, _)| **n >= 1.0) {
            time.push(total / n * factor, Some(*n as u64), 0);
        }
        for name in ["typical", "mean", "median", "slope", "median_abs_dev"] {
            let Some(node) = root.get(name) else { continue };
            time.stated.push(Stated {
                statistic: name.into(),
                value: node.need("estimate")?.number()? * factor,
                interval: Some((
                    node.need("lower_bound")?.number()? * factor,
                    node.need("upper_bound")?.number()? * factor,
                )),
                level: Some(0.95),
            });
        }
        let name = root.need("id")?.text()?;
        results.entry(name).metrics = vec![time];
        if root.get("throughput").is_some_and(|throughput| throughput.value.as_array().is_none_or(|t| t.len() > 1)) {
            results.notes.push(Note {
                code: "throughput".into(),
                message: format!("{name}: several throughputs"),
                count: 1,
            });
        }
    }
    Ok(results)
}
