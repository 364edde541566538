//! A record: the measurements of one run and the environment they were taken in, as versioned JSON.

pub mod compare;
pub mod distrust;
pub mod growth;
pub mod history;
#[cfg(not(target_arch = "wasm32"))]
pub mod published;
#[cfg(not(target_arch = "wasm32"))]
pub mod store;
pub mod summary;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::warning::Warning;
use crate::workload::Kind;

/// The schema version that this build writes. Readers refuse a newer one.
pub const SCHEMA_VERSION: u32 = 1;

/// The measurements of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Record {
    /// Version of this schema.
    pub schema_version: u32,
    /// The program that wrote it, with its version and commit.
    pub tool: Tool,
    /// Seconds since 1970-01-01 UTC at which the run began.
    pub started_at: u64,
    /// The machine and how the program was built.
    pub environment: Environment,
    /// Clock calibration, one entry a process.
    pub clocks: Vec<ClockCalibration>,
    /// The seed that inputs and orders derive from.
    pub seed: u64,
    /// The rows, in the order of the suite.
    pub rows: Vec<Row>,
    /// Warnings that concern the whole run.
    pub warnings: Vec<Warning>,
}

/// The program that wrote a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    /// `countercheck`, or the imported harness.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Source commit, where known.
    pub commit: Option<String>,
}

/// The machine and the build. What could not be read is `None`, never a guess.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Operating system and architecture: `linux-x86_64`.
    pub platform: String,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPU features that the implementations may choose by.
    pub cpu_features: Vec<String>,
    /// Logical cores.
    pub cores: Option<u32>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Kernel tick rate in hertz.
    pub tick_hz: Option<u32>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Whether turbo is on.
    pub turbo: Option<bool>,
    /// Hypervisor, where one shows.
    pub hypervisor: Option<String>,
    /// One-minute load average at the start.
    pub load: Option<f64>,
    /// Share of CPU time stolen by the host during the run.
    pub steal: Option<f64>,
    /// Compiler and its version.
    pub compiler: Option<String>,
    /// Optimisation: `opt-level 3`, `unoptimised`.
    pub optimisation: String,
    /// Compiler flags beyond the profile's.
    pub flags: Option<String>,
    /// Anything else, by name.
    pub facts: BTreeMap<String, String>,
}

/// What the clock of one process can tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockCalibration {
    /// Smallest non-zero step of the thread CPU clock, in nanoseconds.
    pub step_ns: u64,
    /// Median of an empty window of the thread CPU clock, in nanoseconds.
    pub empty_ns: u64,
    /// Smallest non-zero step of the wall clock, in nanoseconds.
    pub wall_step_ns: u64,
}

/// All measurements of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// The workload's name, parameter included.
    pub name: String,
    /// Its family.
    pub family: String,
    /// Primitive or operation.
    pub kind: Kind,
    /// Its size parameter.
    pub parameter: Option<u64>,
    /// Throughput, chained or cold.
    pub variant: Variant,
    /// Where it ran: `native`, `jvm`, `node-wasm`, `browser-wasm`, `webcrypto`.
    pub runtime: String,
    /// Which implementation ran.
    pub implementation: String,
    /// One measurement a process.
    pub processes: Vec<Measurement>,
    /// Why there is no figure, where the row failed.
    pub error: Option<String>,
}

/// How consecutive iterations depend on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Independent inputs, back to back.
    #[default]
    Throughput,
    /// Each iteration waits for the one before.
    Chained,
    /// Caches and predictors disturbed before each iteration.
    Cold,
}

/// The timing samples of one row in one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Measurement {
    /// Which process, from 0.
    pub process: u32,
    /// Place of this row in the process's random order, from 0 (the warm-up row does not count).
    pub position: u32,
    /// The timing samples, in order.
    pub samples: Vec<TimingSample>,
    /// The separate allocation pass.
    pub allocation: Allocation,
}

/// One clock interval over `iterations` executions. In JSON: `[iterations, cpu_ns, wall_ns]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct TimingSample {
    /// Executions in the interval.
    pub iterations: u64,
    /// Thread CPU time of the whole interval, in nanoseconds.
    pub cpu_ns: u64,
    /// Wall time of the whole interval, in nanoseconds.
    pub wall_ns: u64,
}

impl From<(u64, u64, u64)> for TimingSample {
    fn from((iterations, cpu_ns, wall_ns): (u64, u64, u64)) -> Self {
        Self { iterations, cpu_ns, wall_ns }
    }
}

impl From<TimingSample> for (u64, u64, u64) {
    fn from(sample: TimingSample) -> Self {
        (sample.iterations, sample.cpu_ns, sample.wall_ns)
    }
}

impl TimingSample {
    /// Thread CPU time of one execution, in nanoseconds; NaN without an execution.
    pub fn cpu_ns_each(self) -> f64 {
        if self.iterations == 0 { f64::NAN } else { self.cpu_ns as f64 / self.iterations as f64 }
    }
}

/// Allocation per operation: not measured, or measured (which may be zero).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// No allocation pass ran.
    #[default]
    NotMeasured,
    /// Counted on the measuring thread over `iterations` executions.
    Measured {
        /// Executions counted.
        iterations: u64,
        /// Bytes requested.
        bytes: u64,
        /// Calls to the allocator.
        calls: u64,
    },
    /// Bytes alone, where the runtime counts no calls: the JVM's counter of the thread.
    BytesOnly {
        /// Executions counted.
        iterations: u64,
        /// Bytes requested.
        bytes: u64,
    },
}
