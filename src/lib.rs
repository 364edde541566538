//! Holds sampled profiles against what the work costs.
//!
//! A sampling profiler says where time goes and can be wrong without looking unsure. This crate times
//! each *primitive* end to end, counts how often an *operation* calls it, multiplies, and then settles
//! who is right by changing the amount of work and watching the clock.
//!
//! Modules in reading order; each uses only those above it.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod boundary;
#[cfg(feature = "cli")]
pub mod cli;
pub mod crosscheck;
#[cfg(feature = "sampler")]
pub mod exam;
pub mod harness;
#[cfg(feature = "import")]
pub mod import;
#[cfg(any(feature = "import", not(target_arch = "wasm32")))]
mod nearest;
pub mod operation;
pub mod primitive;
pub mod profile;
pub mod record;
#[cfg(feature = "cli")]
pub mod report;
#[cfg(all(feature = "cli", feature = "crypto"))]
pub mod runner;
#[cfg(feature = "sampler")]
pub mod sampler;
#[cfg(test)]
mod schemas;
pub mod stats;
pub mod unit;
pub mod warning;
#[cfg(all(target_arch = "wasm32", feature = "web"))]
pub mod web;
pub mod workload;

pub use boundary::Boundary;
pub use workload::{Family, Suite, Workload};

/// The examples in the documentation compile and run.
#[cfg(all(doctest, not(feature = "boundary-off")))]
#[doc = include_str!("../docs/EXPLAIN.md")]
mod explain_guide {}
#[cfg(doctest)]
#[doc = include_str!("../docs/ARCHITECTURE.md")]
mod architecture {}
