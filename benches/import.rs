//! How fast profiles are read, beside inferno, in one run, on one thread, in thread CPU time.
//!
//! `cargo bench --bench import` prints the table of docs/FORMATS.md. `IMPORT_MIB` sets the size of the inputs
//! (default 64). With a path as argument, that JFR file is read and timed instead:
//! `cargo bench --bench import -- recording.jfr`.

use std::fmt::Write;
use std::hint::black_box;

use countercheck::harness::clock::thread_cpu_ns;
use countercheck::import::profile::{Options, read};

/// Repetitions of each; the fastest counts.
const TURNS: usize = 3;

fn main() {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if let Some(path) = path {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let (ns, samples) = fastest(|| read(bytes.as_slice(), &Options::default()).expect("a recording").samples.len());
        println!("{path}: {} MiB, {samples} samples, {:.0} ms of CPU time", bytes.len() >> 20, ns / 1e6);
        return;
    }
    let mib = std::env::var("IMPORT_MIB").ok().and_then(|text| text.parse::<usize>().ok()).unwrap_or(64);
    println!("{mib} MiB each, thread CPU time, fastest of {TURNS}\n");
    println!("{:<12} {:>14} {:>14} {:>7}", "input", "countercheck", "inferno", "ratio");
    let script = perf_script(mib << 20);
    compare("perf script", script.as_bytes(), || {
        use inferno::collapse::Collapse;
        let mut folder = inferno::collapse::perf::Folder::default();
        folder.collapse(script.as_bytes(), std::io::sink()).expect("inferno collapses");
    });
    drop(script);
    let folded = folded(mib << 20);
    compare("folded", folded.as_bytes(), || {
        let mut options = inferno::flamegraph::Options::default();
        // Narrower frames are not drawn: what remains is reading and merging.
        options.min_width = 100.0;
        inferno::flamegraph::from_reader(&mut options, folded.as_bytes(), std::io::sink()).expect("inferno draws");
    });
}

fn compare(name: &str, input: &[u8], mut inferno: impl FnMut()) {
    let (own, _) =
        fastest(|| read(black_box(input), &Options::default()).expect("generated input is valid").samples.len());
    let (other, ()) = fastest(&mut inferno);
    let rate = |ns: f64| input.len() as f64 / (1 << 20) as f64 / (ns / 1e9);
    println!("{name:<12} {:>8.0} MiB/s {:>8.0} MiB/s {:>6.1}×", rate(own), rate(other), other / own);
}

fn fastest<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::INFINITY;
    let mut result = None;
    for _ in 0..TURNS {
        let start = thread_cpu_ns();
        result = Some(black_box(work()));
        best = best.min((thread_cpu_ns() - start) as f64);
    }
    (best, result.expect("there is a turn"))
}

/// A small generator of numbers: the same input in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn function(id: u64) -> String {
    format!("crate{}::module{}::Type{}::method_with_a_name_{id}", id % 17, id % 113, id % 251)
}

/// Stacks of 8 to 40 frames, of 3,000 functions; callers are few and callees many, as in programs.
fn stack(numbers: &mut Numbers) -> Vec<u64> {
    let depth = 8 + numbers.below(33);
    (0..depth).map(|level| level * 75 + numbers.below(if level < 6 { 2 } else { 5 })).collect()
}

fn perf_script(size: usize) -> String {
    let mut numbers = Numbers(1);
    let mut text = String::with_capacity(size + 8192);
    let names: Vec<String> = (0..3100).map(function).collect();
    let mut time = 1_000_000u64;
    while text.len() < size {
        time += 1 + numbers.below(2000);
        let (thread, cpu) = (4000 + numbers.below(8), numbers.below(4));
        let _ = writeln!(
            text,
            "worker {thread}/{thread} [{cpu:03}] {}.{:06}: 1001001 cpu-clock:u: ",
            time / 1_000_000,
            time % 1_000_000
        );
        for id in stack(&mut numbers).into_iter().rev() {
            let offset = numbers.below(24) * 4;
            let _ = writeln!(
                text,
                "\t{:16x} {}+0x{offset:x} (/usr/lib/program/libwork.so.1)",
                0x7f00_0000 + id * 256 + offset,
                names[id as usize]
            );
        }
        text.push('\n');
    }
    text
}

fn folded(size: usize) -> String {
    let mut numbers = Numbers(2);
    let mut text = String::with_capacity(size + 8192);
    let names: Vec<String> = (0..3100).map(function).collect();
    while text.len() < size {
        text.push_str("worker");
        for id in stack(&mut numbers) {
            text.push(';');
            text.push_str(&names[id as usize]);
        }
        let _ = writeln!(text, " {}", 1 + numbers.below(50));
    }
    text
}
