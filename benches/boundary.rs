//! What a boundary costs outside any run: the same call bare and through one, interleaved. Exits with
//! status 1 where the difference is 1 ns a call or more.

use std::hint::black_box;
use std::process::ExitCode;

use countercheck::harness::clock::thread_cpu_ns;
use countercheck::{Boundary, boundary, stats};

static MIX: Boundary = Boundary::new("mix");

const CALLS: u64 = 200_000;
const ROUNDS: usize = 101;

#[inline(never)]
fn mix(x: u64) -> u64 {
    (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn per_call_ns(call: impl Fn(u64) -> u64) -> f64 {
    let start = thread_cpu_ns();
    let mut x = 1;
    for _ in 0..CALLS {
        x = call(x);
    }
    black_box(x);
    (thread_cpu_ns() - start) as f64 / CALLS as f64
}

fn main() -> ExitCode {
    let mut bare = Vec::new();
    let mut bounded = Vec::new();
    for round in 0..ROUNDS {
        let of_bare = || per_call_ns(|x| mix(black_box(x)));
        let of_bounded = || per_call_ns(|x| MIX.call_on(&[&x.to_le_bytes()], || mix(black_box(x))));
        if round % 2 == 0 {
            bare.push(of_bare());
            bounded.push(of_bounded());
        } else {
            bounded.push(of_bounded());
            bare.push(of_bare());
        }
    }
    let lower_quartile = |values| stats::quantile(&stats::sorted(values), 0.25).unwrap_or(f64::NAN);
    let (bare, bounded) = (lower_quartile(bare), lower_quartile(bounded));
    let state = if boundary::COMPILED_OUT { "compiled out" } else { "off" };
    println!("bare {bare:.2} ns, boundary {state} {bounded:.2} ns, difference {:+.2} ns a call", bounded - bare);
    if bounded - bare < 1.0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
