//! The A/A row: the same code in every build, measured in every run.
//!
//! Where it changes between two records, the machine changed, and no verdict about the program stands.

use std::hint::black_box;

use crate::record::compare::AA_ROW;
use crate::workload::{Digest, Workload};

/// Steps of the body: some ten microseconds on a core of today.
const STEPS: u32 = 6_000;

/// The A/A row's workload: a chain of multiplications that touches no memory.
pub fn workload() -> Workload {
    chain(AA_ROW, STEPS, Upkeep::Light).family("harness").implementation("countercheck")
}

/// How much work building an input does outside the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Next to none.
    Light,
    /// Allocates, fills and frees 64 KiB an iteration, to see whether that leaks into the window. A batch of them sweeps
    /// the second-level cache too; more would leave the row fewer timing samples, which shifts its lower quartile.
    Heavy,
}

/// A workload whose cost is proportional to `steps`, of known size and with no data in memory.
pub fn chain(name: &str, steps: u32, upkeep: Upkeep) -> Workload {
    Workload::operation(
        name,
        // Where every chain ends, so that checking takes no time from measuring.
        move |seed| Ok((0..STARTS).map(|start| (seed ^ start, walk(seed ^ start, steps))).collect::<Vec<_>>()),
        move |chains: &Vec<(u64, u64)>, index| {
            if upkeep == Upkeep::Heavy {
                let page = vec![index as u8; 1 << 16];
                black_box(&page);
            }
            Ok(chains[(index % STARTS) as usize].0)
        },
        move |start| walk(*start, steps),
        move |chains, index, end| {
            if *end == chains[(index % STARTS) as usize].1 {
                Ok(Digest::of(&end.to_le_bytes()))
            } else {
                Err("the chain ended elsewhere the second time".to_owned())
            }
        },
    )
}

/// Chains that are walked in turn.
const STARTS: u64 = 64;

/// Multiplies and shifts `steps` times; each step waits for the one before.
#[inline(never)]
fn walk(start: u64, steps: u32) -> u64 {
    (0..steps).fold(start, |x, _| (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9))
}
