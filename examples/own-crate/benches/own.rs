//! Registers a primitive and an operation of the crate; the library does the rest.

use countercheck::harness::alloc::Counting;
use countercheck::workload::Digest;
use countercheck::{Boundary, Suite, Workload};
use own_crate::hash;

#[global_allocator] // Without it the allocation columns say "not measured".
static ALLOCATOR: Counting = Counting;

static HASH: Boundary = Boundary::new("hash");

fn main() -> std::process::ExitCode {
    let words = |seed: u64| (0..100).map(|i| (seed + i).to_le_bytes()).collect::<Vec<_>>();
    let input = move |seed: &u64, i| Ok(words(seed + 100 * i));
    let index = |words: &mut Vec<[u8; 8]>| words.iter().fold(0, |sum, word| sum ^ HASH.call_on(&[word], || hash(word)));
    let digest = |hash: &u64| Ok(Digest::of(&hash.to_le_bytes()));
    let primitive = Workload::primitive("hash", words, |word| hash(word), move |_, output| digest(output));
    let operation = Workload::operation("index/100", Ok, input, index, move |_, _, sum| digest(sum));
    countercheck::cli::main(&Suite::new().with(primitive).with(operation))
}
