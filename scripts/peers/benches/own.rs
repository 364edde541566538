//! The bodies under this project's harness.

use std::process::ExitCode;

use countercheck::workload::Digest;
use countercheck::{Suite, Workload};
use peers::{SAME, SLOWED, same_steps, slowed_steps, walk};

fn main() -> ExitCode {
    let chain = |name: String, steps: u32| {
        Workload::primitive(
            &name,
            |seed| (0..64).map(|i| seed + i).collect(),
            move |start: &u64| walk(*start, steps),
            |_, end| Ok(Digest::of(&end.to_le_bytes())),
        )
    };
    let empty = Workload::primitive("empty", |_| vec![0u8; 64], |_| (), |_, ()| Ok(Digest::default()));
    let same = (0..SAME).map(|i| chain(format!("same/{i}"), same_steps()));
    let slowed = (0..SLOWED).map(|i| chain(format!("slowed/{i}"), slowed_steps()));
    countercheck::cli::main(&same.chain(slowed).fold(Suite::new().with(empty), Suite::with))
}
