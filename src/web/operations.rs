//! What an operation is made of: its primitive calls, captured, counted, and run alone for their cost.

use std::hint::black_box;

use wasm_bindgen::prelude::*;

use super::{error, json};
use crate::boundary::{self, Prepared};
use crate::operation;

/// One primitive's calls within an operation.
struct Calls {
    primitive: &'static str,
    count: usize,
    /// The calls on their captured inputs; empty where nothing says how to run them alone.
    alone: Vec<Prepared>,
}

/// The primitive calls of one run of an operation, to be run alone on the inputs that they had.
#[wasm_bindgen]
pub struct Parts {
    parts: Vec<Calls>,
}

#[wasm_bindgen]
impl Parts {
    /// Runs the operation once, outside any clock, and captures its calls.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, seed: u32) -> Result<Parts, JsError> {
        let suite = operation::builtin();
        let workload = suite.resolve(name).ok_or_else(|| error(format!("no workload is called {name}")))?;
        let mut fixture = workload.fixture(seed.into()).map_err(error)?;
        fixture.load(0..1).map_err(error)?;
        let ((), capture) = boundary::capture(|| fixture.run());
        fixture.unload().map_err(error)?;
        let mut parts: Vec<Calls> = Vec::new();
        for call in &capture.calls {
            let at = parts.iter().position(|part| part.primitive == call.primitive).unwrap_or_else(|| {
                parts.push(Calls { primitive: call.primitive, count: 0, alone: Vec::new() });
                parts.len() - 1
            });
            parts[at].count += 1;
            if let Some(rerun) = boundary::known(call.primitive).and_then(|known| known.rerun) {
                let inputs: Vec<&[u8]> = call.inputs.iter().map(Vec::as_slice).collect();
                parts[at].alone.push(rerun(&inputs));
            }
        }
        Ok(Self { parts })
    }

    /// The primitives as a JSON array of `[primitive, calls, runs alone]`, in order of first call.
    pub fn primitives(&self) -> Result<String, JsError> {
        let listed: Vec<_> = self.parts.iter().map(|p| (p.primitive, p.count, p.alone.len() == p.count)).collect();
        json(&listed)
    }

    /// Runs all calls of the primitive at this index alone, this many times. This alone is timed.
    pub fn run(&self, index: usize, times: u32) {
        let Some(part) = self.parts.get(index) else { return };
        for _ in 0..times {
            for call in &part.alone {
                black_box(call());
            }
        }
    }
}
