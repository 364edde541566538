//! The lines that a runner prints: one JSON object each, described in `scripts/jvm/README.md`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::RunnerError;
use crate::record::{Allocation, Measurement, TimingSample};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The first: what the process is.
    Start {
        /// Version of the protocol.
        protocol: u32,
        /// Everything else: versions, flags, clock.
        #[serde(flatten)]
        facts: BTreeMap<String, serde_json::Value>,
    },
    /// A row that was timed.
    Row(TimedRow),
    /// A row that this runtime has not.
    Skip {
        /// The row.
        name: String,
        /// Which of the process's runtimes.
        #[serde(default)]
        runtime: String,
        /// Why.
        message: String,
    },
    /// A row, or the whole process, that failed.
    Error {
        /// The row.
        name: String,
        /// Which of the process's runtimes.
        #[serde(default)]
        runtime: String,
        /// What happened.
        message: String,
    },
    /// Published vectors that held.
    Checked {
        /// The variant.
        variant: String,
        /// How many.
        vectors: u32,
    },
    /// Op counts of one ladder.
    Counts {
        /// The variant.
        variant: String,
        /// Products, squarings by product included.
        product: u64,
        /// Symmetric squarings.
        square: u64,
        /// Carries.
        carry: u64,
    },
    /// Ladder times under one dose.
    Dose {
        /// The variant.
        variant: String,
        /// Extra carries at each multiplication.
        carry: u32,
        /// Extra products at each multiplication.
        product: u32,
        /// Whether the warm-up became stable.
        warm_stable: bool,
        /// Thread CPU time of one ladder each.
        cpu_ns: Vec<u64>,
    },
    /// A flight recording that was made.
    Profiled {
        /// The variant.
        variant: String,
        /// Whether the warm-up became stable.
        warm_stable: bool,
        /// Ladders run under the recording.
        runs: u64,
        /// Thread CPU time used under the recording.
        cpu_ns: u64,
        /// Wall time of the recording.
        wall_ns: u64,
        /// The sampling period asked for.
        period_ms: u64,
    },
    /// The last line. A run without it failed.
    End,
}

/// A row that was timed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TimedRow {
    /// The workload's name.
    pub name: String,
    /// Which of the process's runtimes; empty where it has one.
    #[serde(default)]
    pub runtime: String,
    /// Which implementation ran.
    pub implementation: String,
    /// Iterations of the warm-up.
    pub warm_iterations: u64,
    /// Whether the warm-up became stable.
    pub warm_stable: bool,
    /// Digest of the pool's outputs in order, in hexadecimal.
    pub outputs: String,
    /// Iterations, CPU time and wall time of each timing sample, in nanoseconds.
    pub samples: Vec<(u64, u64, u64)>,
    /// Executions under the allocation counter.
    pub allocation_iterations: Option<u64>,
    /// Bytes allocated in them.
    pub allocation_bytes: Option<u64>,
}

impl TimedRow {
    /// The row as a measurement of one process.
    pub fn measurement(&self, process: u32, position: u32) -> Measurement {
        let samples = self.samples.iter().filter(|(iterations, ..)| *iterations > 0);
        let allocation = match (self.allocation_iterations, self.allocation_bytes) {
            (Some(iterations), Some(bytes)) if iterations > 0 => Allocation::BytesOnly { iterations, bytes },
            _ => Allocation::NotMeasured,
        };
        Measurement {
            process,
            position,
            samples: samples
                .map(|&(iterations, cpu_ns, wall_ns)| TimingSample { iterations, cpu_ns, wall_ns })
                .collect(),
            allocation,
        }
    }
}

/// Reads a runner's output.
///
/// # Errors
/// For a line that is not of the protocol, another version, and an output without its last line.
pub fn parse(what: &str, output: &str) -> Result<Vec<Line>, RunnerError> {
    let mut lines = Vec::new();
    for (index, text) in output.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let wrong = |found: String| RunnerError::Protocol { what: what.to_owned(), line: index + 1, found };
        let line: Line = serde_json::from_str(text).map_err(|error| {
            let beginning: String = text.chars().take(60).flat_map(char::escape_debug).collect();
            wrong(format!("{beginning} ({error})"))
        })?;
        if let Line::Start { protocol, .. } = &line
            && *protocol != VERSION
        {
            return Err(wrong(format!("protocol {protocol}")));
        }
        lines.push(line);
    }
    if lines.last() != Some(&Line::End) {
        let message = match lines.last() {
            Some(Line::Error { message, .. }) => message.clone(),
            _ => "its output has no last line `end`".to_owned(),
        };
        return Err(RunnerError::Failed { what: what.to_owned(), message });
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"type":"row","name":"a","implementation":"i","warm_iterations":5,"warm_stable":true,"outputs":"00","samples":[[2,10,11],[0,1,1]],"allocation_iterations":4,"allocation_bytes":64}"#;

    #[test]
    fn a_row_becomes_a_measurement() {
        let text = format!("{{\"type\":\"start\",\"protocol\":1,\"java\":\"17\"}}\n{ROW}\n{{\"type\":\"end\"}}\n");
        let lines = parse("runner", &text).unwrap();
        let Line::Row(row) = &lines[1] else { panic!() };
        let measurement = row.measurement(3, 1);
        assert_eq!(measurement.samples, [TimingSample { iterations: 2, cpu_ns: 10, wall_ns: 11 }]);
        assert_eq!(measurement.allocation, Allocation::BytesOnly { iterations: 4, bytes: 64 });
    }

    #[test]
    fn what_is_not_the_protocol_is_refused() {
        for (text, expected) in [
            ("", "no last line"),
            (ROW, "no last line"),
            ("{\"type\":\"error\",\"name\":\"\",\"message\":\"no clock\"}", "no clock"),
            ("hello\n{\"type\":\"end\"}", "runner, line 1: found hello"),
            ("{\"type\":\"start\",\"protocol\":2}\n{\"type\":\"end\"}", "found protocol 2"),
            ("{\"type\":\"dance\"}\n{\"type\":\"end\"}", "unknown variant `dance`"),
        ] {
            let message = parse("runner", text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
