//! The bodies under divan.

use peers::{SAME, SLOWED, same_steps, slowed_steps, walk};

fn main() {
    divan::main();
}

#[divan::bench]
fn empty() {}

#[divan::bench(args = 0..SAME)]
fn same(_index: usize) -> u64 {
    walk(divan::black_box(1), same_steps())
}

#[divan::bench(args = 0..SLOWED)]
fn slowed(_index: usize) -> u64 {
    walk(divan::black_box(1), slowed_steps())
}
