//! What the page calls. Values cross the border as JSON text, so that the page and the files that it
//! exports have one form, and nothing here reads a clock: one loop in JavaScript times every runtime.

use wasm_bindgen::prelude::*;

use crate::operation;
use crate::workload::{Fixture, Kind};

fn error(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

fn json(value: &impl serde::Serialize) -> Result<String, JsError> {
    serde_json::to_string(value).map_err(error)
}

#[derive(serde::Serialize)]
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
    let listed: Vec<Listed> = operation::builtin()
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
        let suite = operation::builtin();
        let workload = suite.find(name).ok_or_else(|| error(format!("no workload is called {name}")))?;
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

/// A chain of 32-bit steps whose time hardly depends on the engine, unless the engine runs unoptimised
/// code: the page times it beside the same steps in JavaScript.
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
