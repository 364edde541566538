//! The bodies under divan.

use peers::{COPIES, same_steps, slowed_steps, walk};

fn main() {
    divan::main();
}

const INDICES: [usize; COPIES] = {
    let mut indices = [0; COPIES];
    let mut i = 0;
    while i < COPIES {
        indices[i] = i;
        i += 1;
    }
    indices
};

#[divan::bench]
fn empty() {}

#[divan::bench(args = INDICES)]
fn same(_index: usize) -> u64 {
    walk(divan::black_box(1), same_steps())
}

#[divan::bench(args = INDICES)]
fn slowed(_index: usize) -> u64 {
    walk(divan::black_box(1), slowed_steps())
}
