//! Bodies of known cost, for every harness the same.
//!
//! `same` is identical in the old and the new program. `slowed` takes 2 % more steps in the new one, which
//! is the same binary with `PEER_SIDE=new` in its environment.

use std::hint::black_box;

/// Rows that stay the same.
pub const SAME: usize = 10;

/// Rows that are slowed.
pub const SLOWED: usize = 5;

/// Steps of the chain: about ten microseconds.
const STEPS: u32 = 6_000;

/// Whether this run stands for the new version.
fn is_new() -> bool {
    std::env::var("PEER_SIDE").is_ok_and(|side| side == "new")
}

/// Steps of the body that is slowed in the new version.
pub fn slowed_steps() -> u32 {
    if is_new() { STEPS / 100 * 102 } else { STEPS }
}

/// Steps of the body that stays the same.
pub fn same_steps() -> u32 {
    STEPS
}

/// A chain of multiplications, each waiting for the one before.
#[inline(never)]
pub fn walk(start: u64, steps: u32) -> u64 {
    (0..black_box(steps)).fold(start, |x, _| (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9))
}
