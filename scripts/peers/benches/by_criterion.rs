//! The bodies under criterion.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use peers::{SAME, SLOWED, same_steps, slowed_steps, walk};

fn rows(criterion: &mut Criterion) {
    criterion.bench_function("empty", |bencher| bencher.iter(|| ()));
    let mut row = |name: String, steps: u32| {
        criterion.bench_function(&name, |bencher| bencher.iter(|| walk(black_box(1), steps)));
    };
    for i in 0..SAME {
        row(format!("same_{i}"), same_steps());
    }
    for i in 0..SLOWED {
        row(format!("slowed_{i}"), slowed_steps());
    }
}

criterion_group!(benches, rows);
criterion_main!(benches);
