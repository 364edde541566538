//! Workloads to time, the statistics of what was timed, and the record that it becomes.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::{error, json};
use crate::record::{Record, SCHEMA_VERSION};
use crate::stats::{Estimate, order, quantile, sorted};
use crate::workload::{Fixture, Kind, Suite};

/// What this module offers. The kernel, which every visitor loads, leaves the operations out.
fn suite() -> Suite {
    if cfg!(feature = "web-operations") {
        return crate::operation::builtin();
    }
    Suite { workloads: crate::primitive::all(), ..Suite::default() }
}

#[derive(Serialize)]
struct Listed {
    name: String,
    family: String,
    kind: Kind,
    parameter: Option<u64>,
    implementation: String,
}

/// The workloads of this module, as a JSON array of `{name, family, kind, parameter, implementation}`.
#[wasm_bindgen]
pub fn workloads() -> Result<String, JsError> {
    let listed: Vec<Listed> = suite()
        .workloads
        .into_iter()
        .map(|w| Listed {
            name: w.name,
            family: w.family,
            kind: w.kind,
            parameter: w.parameter,
            implementation: w.implementation,
        })
        .collect();
    json(&listed)
}

/// A workload set up from a seed, run in quanta by the caller's clock.
#[wasm_bindgen]
pub struct Prepared {
    fixture: Box<dyn Fixture>,
}

#[wasm_bindgen]
impl Prepared {
    /// Sets up the workload of this name.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, seed: u32) -> Result<Prepared, JsError> {
        let suite = suite();
        let workload = suite.resolve(name).ok_or_else(|| error(format!("no workload is called {name}")))?;
        Ok(Self { fixture: workload.fixture(seed.into()).map_err(error)? })
    }

    /// Builds the inputs of `count` iterations from `first`.
    pub fn load(&mut self, first: u32, count: u32) -> Result<(), JsError> {
        let first = u64::from(first);
        self.fixture.load(first..first + u64::from(count)).map_err(error)
    }

    /// Runs the loaded iterations. This alone is timed.
    pub fn run(&mut self) {
        self.fixture.run();
    }

    /// Checks and drops the outputs; returns their digest in hexadecimal.
    pub fn unload(&mut self) -> Result<String, JsError> {
        let digest = self.fixture.unload().map_err(error)?;
        Ok(format!("{:016x}", digest.0))
    }
}

#[derive(Serialize)]
struct Summary {
    n: usize,
    p50: Option<Estimate>,
    p90: Option<Estimate>,
    p99: Option<Estimate>,
}

/// Quantiles of values in any unit, with their 95 % intervals, as JSON `{n, p50, p90, p99}`. The tails
/// are `null` where the values are too few, and the median's interval likewise.
#[wasm_bindgen]
pub fn summary(values: &[f64]) -> Result<String, JsError> {
    let sorted = sorted(values.to_vec());
    let p50 = order::estimate(&sorted, 0.5).or_else(|| quantile(&sorted, 0.5).map(Estimate::point));
    let tail = |q| order::estimate(&sorted, q);
    json(&Summary { n: sorted.len(), p50, p90: tail(0.9), p99: tail(0.99) })
}

/// The version of the record's schema that the page must write.
#[wasm_bindgen]
pub fn schema_version() -> u32 {
    SCHEMA_VERSION
}

/// The crate's version, for the record.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Reads a record that the page assembled and writes it as the command line does: what is exported is
/// what the tool itself can read, or an error that says where it is not.
#[wasm_bindgen]
pub fn record(text: &str) -> Result<String, JsError> {
    let record: Record = serde_json::from_str(text).map_err(error)?;
    serde_json::to_string_pretty(&record).map_err(error)
}

/// A chain of 32-bit steps in which optimised code of wasm and of JavaScript take about as long; the
/// page times both to find out whether wasm runs unoptimised, as under an attached debugger.
#[wasm_bindgen]
pub fn spin(steps: u32) -> u32 {
    let (mut a, mut b, mut c, mut d) = (1u32, 2u32, 3u32, 4u32);
    for step in 0..steps {
        a = a.wrapping_add(b ^ step);
        b = b.rotate_left(7).wrapping_add(c);
        c ^= d.wrapping_add(a);
        d = d.rotate_left(13) ^ b;
    }
    a ^ b ^ c ^ d
}
