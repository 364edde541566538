//! A program of one's own: registers a primitive and an operation that calls it, and has every subcommand.
//!
//! `cargo run --example own -- list`, `cargo run --example own -- --quick`. A bench target looks the same,
//! with `harness = false` beside it in the manifest.

use std::process::ExitCode;

use countercheck::harness::alloc::Counting;
use countercheck::workload::Digest;
use countercheck::{Boundary, Suite, Workload};

/// Without this the allocation columns say "not measured".
#[global_allocator]
static ALLOCATOR: Counting = Counting;

static CHECKSUM: Boundary = Boundary::new("checksum");

/// The primitive: a pure function, kept out of line so that every caller runs the same code.
#[inline(never)]
fn checksum(block: &[u8]) -> u64 {
    block.iter().fold(0, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The operation: checks every block of a message.
fn check_message(message: &[u8]) -> Vec<u64> {
    message.chunks(256).map(|block| CHECKSUM.call_on(&[block], || checksum(block))).collect()
}

fn main() -> ExitCode {
    let primitive = Workload::primitive(
        "checksum",
        |seed| (0..64).map(|i| vec![(seed + i) as u8; 256]).collect(),
        |block: &Vec<u8>| checksum(block),
        |block, sum| same(*sum == checksum(block), &sum.to_le_bytes()),
    );
    let operation = Workload::operation(
        "check_message/4096",
        Ok,
        |seed: &u64, index| Ok(vec![(seed + index) as u8; 4096]),
        |message| check_message(message),
        |seed, index, sums| {
            let block = vec![(seed + index) as u8; 256];
            same(sums.len() == 16 && sums[0] == checksum(&block), &sums[0].to_le_bytes())
        },
    );
    countercheck::cli::main(&Suite::new().with(primitive).with(operation))
}

fn same(right: bool, output: &[u8]) -> Result<Digest, String> {
    if right { Ok(Digest::of(output)) } else { Err("a wrong checksum".to_owned()) }
}
