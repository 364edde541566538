//! What is known about an operation without a sampler: op counts, unit costs, dose and replay.
//!
//! `primitives explain` fills it by measuring; a counts file fills it from other people's figures;
//! verdicts are judged against it.

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;
use crate::warning::Warning;

/// One operation explained by its primitives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The operation's name, parameter included.
    pub operation: String,
    /// Measured time of one execution, in nanoseconds of thread CPU time.
    pub time_ns: Option<Estimate>,
    /// The primitives that it calls, or could.
    pub primitives: Vec<Explained>,
    /// All primitives dosed at once: slope per operation in nanoseconds.
    pub dose_all_ns: Option<Estimate>,
    /// All primitives replayed at once: saving per operation in nanoseconds.
    pub replay_all_ns: Option<Estimate>,
    /// Whether off, dose 0 and replay of nothing cost the same within their intervals. Where they do
    /// not, dose and replay are no reference.
    pub causal_valid: bool,
    /// What to distrust, each with a remedy.
    pub warnings: Vec<Warning>,
}

impl Explanation {
    /// Σ op count × unit cost, in nanoseconds, over the primitives that have one; the interval takes their
    /// errors as independent.
    pub fn predicted_ns(&self) -> Option<Estimate> {
        let parts: Vec<Estimate> = self.primitives.iter().filter_map(|one| one.predicted_ns).collect();
        let point = parts.iter().map(|part| part.point).sum();
        let square = |end: fn(&Estimate) -> Option<f64>| {
            parts.iter().map(|part| Some((end(part)? - part.point).powi(2))).sum::<Option<f64>>().map(f64::sqrt)
        };
        let (below, above) = (square(|part| part.low), square(|part| part.high));
        (!parts.is_empty()).then_some(Estimate {
            point,
            low: below.map(|below| point - below),
            high: above.map(|above| point + above),
        })
    }

    /// Measured − predicted, in nanoseconds.
    pub fn residual_ns(&self) -> Option<f64> {
        Some(self.time_ns?.point - self.predicted_ns()?.point)
    }

    /// Predicted ÷ measured.
    pub fn explained(&self) -> Option<f64> {
        Some(self.predicted_ns()?.point / self.time_ns?.point)
    }
}

/// One primitive's part of an operation. Times are nanoseconds per operation unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// The primitive's name.
    pub primitive: String,
    /// Calls per operation, not nested in another primitive.
    pub count: f64,
    /// Calls per operation nested in other primitives, by parent. Never added to `count`.
    pub nested: Vec<(String, f64)>,
    /// Cost of one call standing alone, in nanoseconds: throughput.
    pub unit_cost_ns: Option<Estimate>,
    /// The cost band of one call: lowest and highest of throughput, chained and cold, in nanoseconds.
    pub cost_band_ns: Option<(f64, f64)>,
    /// `count × unit cost`.
    pub predicted_ns: Option<Estimate>,
    /// Slope of operation time over extra executions, per execution that the operation does itself.
    pub dose_ns: Option<Estimate>,
    /// Operation time saved when recorded outputs are returned instead of computing.
    pub replay_ns: Option<Estimate>,
    /// Time measured in place, clock reads not subtracted.
    pub trace_ns: Option<Estimate>,
    /// Patterns of the frames that belong to it, see [`FramePattern`].
    pub frames: Vec<FramePattern>,
}

/// Which frames belong to a primitive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FramePattern {
    /// The function name, to the letter.
    Exact(String),
    /// A glob over the function name.
    Glob(String),
    /// A regular expression over the function name.
    Regex(String),
    /// A glob over the module.
    Module(String),
    /// A regular expression over the module.
    ModuleRegex(String),
}
