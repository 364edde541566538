//! Benchmark results of other harnesses, read into one form: benchmarks with metrics, each with its unit,
//! direction, and the raw values where the file holds them.
//!
//! Times become nanoseconds for one operation, memory bytes, rates per second; the file's own unit is kept
//! beside. Content decides which harness wrote a file, never its name.

pub mod bench_tools;
pub mod compare;
pub mod criterion;
pub mod go;
pub mod google;
pub mod hyperfine;
pub mod jmh;
mod json;
pub mod marmot;
pub mod nanobench;
pub mod own;
pub mod pytest;
pub mod rebar;
pub mod units;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::excerpt;
use super::{ImportError, Input};
use crate::profile::Note;
use crate::stats::{self, Estimate};
use units::Base;

/// What one file, or one folder of criterion's, holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The harness: `criterion`, `jmh`, `go`, ….
    pub harness: String,
    /// Facts about the machine and the run, as the file has them.
    pub context: BTreeMap<String, String>,
    /// The benchmarks in the file's order, names unique.
    pub benchmarks: Vec<Benchmark>,
    /// What was left out or looks wrong.
    pub notes: Vec<Note>,
}

/// One benchmark: a name and what was measured under it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Full name: package, group and parameters included.
    pub name: String,
    /// What was measured, the main quantity first.
    pub metrics: Vec<Metric>,
    /// Why there is no figure, or how many runs failed.
    pub failure: Option<String>,
}

/// One quantity of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// What it is: `time`, `cpu time`, `allocated`, or the harness's own name.
    pub name: String,
    /// The dimension that values are in.
    pub base: Base,
    /// The unit as the file has it.
    pub unit: String,
    /// The raw values in units of `base` for one operation, in the file's order.
    pub values: Vec<Value>,
    /// What the file itself states about them.
    pub stated: Vec<Stated>,
    /// Whether the values are exact, so that a single one can be compared.
    pub exactness: Exactness,
}

/// One raw value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// In units of the metric's base for one operation.
    pub value: f64,
    /// How many operations it is the mean of, where known.
    pub iterations: Option<u64>,
    /// Which process (fork) it comes from: the unit of independence.
    pub process: u32,
}

/// A figure that the file states, in units of the metric's base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// `mean`, `median`, `slope`, `p90`, ….
    pub statistic: String,
    /// The figure; NaN where the harness wrote that.
    pub value: f64,
    /// Its interval, where stated.
    pub interval: Option<(f64, f64)>,
    /// The interval's confidence level: 0.95, 0.999.
    pub level: Option<f64>,
}

/// Whether values scatter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// They scatter: one value says little.
    #[default]
    Scattered,
    /// The harness says that they are exact: sizes, counts.
    Exact,
}

impl Results {
    /// The benchmark of this name.
    pub fn find(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks.iter().find(|benchmark| benchmark.name == name)
    }

    /// Adds to the note with this code.
    pub(super) fn note(&mut self, code: &str, message: impl Into<String>) {
        match self.notes.iter_mut().find(|note| note.code == code) {
            Some(note) => note.count += 1,
            None => self.notes.push(Note { code: code.to_owned(), message: message.into(), count: 1 }),
        }
    }

    /// The benchmark of this name, added where there is none yet. Files repeat a name for each repetition.
    fn entry(&mut self, name: &str) -> &mut Benchmark {
        let at = self.benchmarks.iter().position(|benchmark| benchmark.name == name).unwrap_or_else(|| {
            self.benchmarks.push(Benchmark { name: name.to_owned(), ..Benchmark::default() });
            self.benchmarks.len() - 1
        });
        &mut self.benchmarks[at]
    }
}

impl Benchmark {
    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// The time of one operation in nanoseconds: CPU time where there is one, else the first time, else
    /// the inverse of the first rate.
    pub fn time_ns(&self) -> Option<Estimate> {
        let times = || self.metrics.iter().filter(|metric| metric.base == Base::Nanoseconds);
        let time = times().find(|metric| metric.name == "cpu time").or_else(|| times().next());
        if let Some(time) = time {
            return time.estimate();
        }
        let rate = self.metrics.iter().find(|metric| metric.base == Base::PerSecond)?.estimate()?;
        let inverse = |rate: f64| (rate > 0.0).then(|| 1e9 / rate);
        Some(Estimate {
            point: inverse(rate.point)?,
            low: rate.high.and_then(inverse),
            high: rate.low.and_then(inverse),
        })
    }

    fn metric_mut(&mut self, name: &str, base: Base, unit: &str) -> &mut Metric {
        let at = self.metrics.iter().position(|metric| metric.name == name && metric.base == base);
        let at = at.unwrap_or_else(|| {
            self.metrics.push(Metric::new(name, base, unit));
            self.metrics.len() - 1
        });
        &mut self.metrics[at]
    }
}

impl Metric {
    fn new(name: &str, base: Base, unit: &str) -> Self {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Self { name, base, unit, values: Vec::new(), stated: Vec::new(), exactness: Exactness::Scattered }
    }

    /// The raw values alone.
    pub fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|value| value.value).collect()
    }

    /// The figures that may count as independent: one a process where there are several processes, else all.
    pub fn independent(&self) -> Vec<f64> {
        let mut by_process: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for value in &self.values {
            by_process.entry(value.process).or_default().push(value.value);
        }
        match by_process.len() {
            0 | 1 => self.numbers(),
            _ => by_process.values().filter_map(|values| stats::median(values)).collect(),
        }
    }

    /// The figure for one operation: the median over processes (or over the values of the only process),
    /// with its order-statistic interval where there are six or more. Without raw values, what the file
    /// states; its interval only at 95 % and above zero.
    ///
    /// Values that follow each other too closely to be independent get the interval of a block bootstrap.
    pub fn estimate(&self) -> Option<Estimate> {
        let values = self.independent();
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        if let Some(point) = stats::median(&values) {
            if let Some(dependence) = stats::serial::autocorrelation(&values).filter(|r| values.len() >= 30 && *r > 0.3)
            {
                let block = stats::resample::block_length(values.len(), dependence);
                let median = |values: &[f64]| stats::median(values).unwrap_or(f64::NAN);
                return stats::resample::block_bootstrap(&values, block, median, Default::default());
            }
            return Some(stats::order::median_estimate(&values).unwrap_or(Estimate::point(point)));
        }
        let stated = ["median", "p50", "slope", "mean", "score"]
            .iter()
            .find_map(|name| self.stated.iter().find(|stated| stated.statistic == *name && stated.value.is_finite()))
            .or_else(|| self.stated.iter().find(|stated| stated.value.is_finite()))?;
        let interval = stated.interval.filter(|(low, _)| stated.level == Some(0.95) && *low >= 0.0);
        let (low, high) = interval.unzip();
        Some(Estimate { point: stated.value, low, high })
    }

    /// What the file states under this name.
    pub fn stated(&self, statistic: &str) -> Option<f64> {
        Some(self.stated.iter().find(|stated| stated.statistic == statistic)?.value)
    }

    fn push(&mut self, value: f64, iterations: Option<u64>, process: u32) {
        self.values.push(Value { value, iterations, process });
    }

    fn state(&mut self, statistic: &str, value: f64) {
        self.stated.push(Stated { statistic: statistic.to_owned(), value, interval: None, level: None });
    }
}

/// The harness of a record of this program.
pub const OWN: &str = "countercheck";

/// The harnesses that are read, for messages.
pub const FORMATS: &str = "criterion (folder, estimates.json, sample.json, cargo-criterion messages), JMH JSON, Go benchmark text, hyperfine JSON, \
google-benchmark JSON, BenchmarkTools JSON, pytest-benchmark JSON, nanobench JSON, rebar CSV, marmotBench JSON, a countercheck record";

/// Reads the results of whichever harness wrote the input.
///
/// # Errors
/// `Unrecognised` where it is none of [`FORMATS`]; `Malformed`, with the place, where it is one but broken;
/// `NoSamples` where it holds no benchmark.
pub fn read(input: Input<'_>) -> Result<Results, ImportError> {
    let text = input.text()?;
    let results = dispatch(&text)?;
    if results.benchmarks.is_empty() {
        return Err(ImportError::NoSamples { why: format!("the {} file holds no benchmark", results.harness) });
    }
    Ok(review(results))
}

fn dispatch(text: &str) -> Result<Results, ImportError> {
    let start = text.trim_start();
    if start.is_empty() {
        return Err(ImportError::NoSamples { why: "the input is empty".into() });
    }
    if rebar::detect(start) {
        return rebar::read(start);
    }
    if start.starts_with(['{', '[']) {
        if criterion::detect_messages(start) {
            return criterion::read_messages(start);
        }
        let document: serde_json::Value = match json::parse(start) {
            Ok(document) => document,
            Err(error) => return Err(ImportError::json("JSON", &error)),
        };
        type Reader = (fn(&serde_json::Value) -> bool, fn(&serde_json::Value) -> Result<Results, ImportError>);
        let readers: [Reader; 9] = [
            (own::detect, own::read),
            (google::detect, google::read),
            (hyperfine::detect, hyperfine::read),
            (pytest::detect, pytest::read),
            (nanobench::detect, nanobench::read),
            (jmh::detect, jmh::read),
            (bench_tools::detect, bench_tools::read),
            (marmot::detect, marmot::read),
            (criterion::detect, criterion::read),
        ];
        return match readers.iter().find(|(detect, _)| detect(&document)) {
            Some((_, read)) => read(&document),
            None => Err(unrecognised(&format!("JSON: {}", json::describe(&document)))),
        };
    }
    if go::detect(text) {
        return go::read(text);
    }
    Err(unrecognised(&excerpt(start.lines().next().unwrap_or_default().as_bytes())))
}

fn unrecognised(found: &str) -> ImportError {
    ImportError::Unrecognised { expected: format!("benchmark results: {FORMATS}"), found: found.to_owned() }
}

/// Notes what looks wrong in the figures themselves, whoever measured them.
fn review(mut results: Results) -> Results {
    let mut notes = Vec::new();
    for benchmark in &results.benchmarks {
        if let Some(failure) = benchmark.failure.as_ref().filter(|_| benchmark.metrics.is_empty()) {
            notes.push(("errors", format!("{} has no figure: {failure}", benchmark.name)));
        }
        for metric in benchmark.metrics.iter().filter(|metric| metric.base == Base::Nanoseconds) {
            let values = metric.numbers();
            if !values.is_empty() && values.iter().any(|value| *value <= 0.0) && metric.name == "time" {
                let message =
                    format!("{}: a time of zero or less is below the resolution of the measurement", benchmark.name);
                notes.push(("below-resolution", message));
            }
            if let Some((low, high)) = two_clusters(&values) {
                let [low, high] = [low, high].map(crate::unit::Nanos);
                let message = format!(
                    "{}: the values form two groups around {low} and {high}; no one figure describes both",
                    benchmark.name
                );
                notes.push(("bimodal", message));
            }
        }
    }
    for (code, message) in notes {
        results.note(code, message);
    }
    results
}

/// The medians of two groups of at least a tenth each that lie a factor of two apart with nothing between.
fn two_clusters(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = stats::sorted(values.to_vec());
    let least = (sorted.len() / 10).max(2);
    let split = (least..(sorted.len() + 1).checked_sub(least)?)
        .max_by(|a, b| (sorted[*a] / sorted[a - 1]).total_cmp(&(sorted[*b] / sorted[b - 1])))?;
    let (low, high) = sorted.split_at(split);
    let apart = low[0] > 0.0 && high[0] >= 2.0 * low[low.len() - 1];
    apart.then_some((stats::median(low)?, stats::median(high)?))
}
