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
