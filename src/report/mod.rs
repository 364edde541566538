//! Prints and draws what it is given; computes nothing.

pub mod counts;
#[cfg(feature = "sampler")]
pub mod exam;
pub mod explanation;
pub mod flamegraph;
