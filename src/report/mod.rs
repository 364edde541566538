//! Prints and draws what it is given; computes nothing.

pub mod columns;
pub mod counts;
pub mod crosscheck;
pub mod effect;
#[cfg(feature = "sampler")]
pub mod exam;
pub mod explanation;
pub mod flamegraph;
pub mod growth;
#[cfg(feature = "crypto")]
pub mod node_exam;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "crypto")]
pub mod representations;
pub mod results;
#[cfg(feature = "crypto")]
pub mod runtimes;
#[cfg(feature = "crypto")]
pub mod story;
pub mod style;
pub mod table;
pub mod top;

use crate::stats::Estimate;
use crate::unit::Nanos;
use crate::warning::Warning;

/// A time in nanoseconds with the half width of its interval, where it has one: `1.20 µs ±15.0 ns`.
fn with_interval(time: Estimate) -> String {
    match time.half_width() {
        Some(half) => format!("{} ±{}", Nanos(time.point), Nanos(half)),
        None => Nanos(time.point).to_string(),
    }
}

/// A warning in two lines, safe for a terminal.
pub(crate) fn warning(warning: &Warning) -> String {
    let [code, message, remedy] = [&warning.code, &warning.message, &warning.remedy].map(|text| style::plain(text));
    format!("{code}: {message}.\n    → {remedy}\n")
}
