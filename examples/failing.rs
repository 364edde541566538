//! Workloads that fail in every way there is. A failed row is a row with an error, never a gap.
//!
//! `cargo run --example failing -- --processes 2`

use std::process::ExitCode;

use countercheck::workload::Digest;
use countercheck::{Suite, Workload};

fn main() -> ExitCode {
    let right = |_: &u64, _: &u64| Ok(Digest::default());
    let pool = |seed: u64| (0..64).map(|i| seed + i).collect();
    let suite = Suite::new()
        .with(Workload::primitive("fine", pool, |input: &u64| input.wrapping_mul(3), right))
        .with(Workload::primitive("aborts", pool, |_: &u64| std::process::abort(), right))
        .with(Workload::primitive(
            "wrong",
            pool,
            |input: &u64| input + 1,
            |_, output| Err::<Digest, _>(format!("{output} is not the answer")),
        ))
        .with(Workload::primitive("no_inputs", |_| Vec::new(), |input: &u64| *input, right))
        .with(Workload::primitive(
            "prints",
            pool,
            |input: &u64| {
                print!("{{\"done\":");
                *input
            },
            right,
        ));
    countercheck::cli::main(&suite)
}
