//! Registers a primitive and an operation of the crate; the library does the rest.

use std::process::ExitCode;

use countercheck::harness::alloc::Counting;
use countercheck::workload::Digest;
use countercheck::{Boundary, Suite, Workload};
use own_crate::hash;

/// Without this the allocation columns say "not measured".
#[global_allocator]
static ALLOCATOR: Counting = Counting;

static HASH: Boundary = Boundary::new("hash");

fn main() -> ExitCode {
    let primitive = Workload::primitive(
        "hash",
        |seed| (0..64).map(|i| (seed + i).to_le_bytes().to_vec()).collect(),
        |word: &Vec<u8>| hash(word),
        |word, output| if *output == hash(word) { Ok(Digest::of(&output.to_le_bytes())) } else { Err("wrong".into()) },
    );
    let operation = Workload::operation(
        "index/100",
        Ok,
        |seed: &u64, index| Ok((0..100).map(|i| (seed + index * 100 + i).to_le_bytes()).collect::<Vec<_>>()),
        |words| words.iter().map(|word| HASH.call_on(&[word], || hash(word))).fold(0u64, u64::wrapping_add),
        |_, _, sum| Ok(Digest::of(&sum.to_le_bytes())),
    );
    countercheck::cli::main(&Suite::new().with(primitive).with(operation))
}
