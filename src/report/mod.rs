//! Prints and draws what it is given; computes nothing.

pub mod flamegraph;
