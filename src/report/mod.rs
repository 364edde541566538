//! Prints and draws what it is given; computes nothing.

pub mod counts;
pub mod explanation;
pub mod flamegraph;
