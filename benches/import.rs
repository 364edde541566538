//! How fast profiles are read, beside inferno, in one run, on one thread, in thread CPU time; and in how much memory.
//!
//! `cargo bench --bench import` prints the first table of docs/FORMATS.md. `IMPORT_MIB` sets the size of the inputs
//! (default 64). With `--memory`, inputs of that size are read as streams, and the most memory that the process held is
//! printed. With a path as argument, that JFR file is read and timed instead: `cargo bench --bench import -- recording.jfr`.

use std::fmt::Write;
use std::hint::black_box;
use std::io::Read;

use countercheck::harness::clock::thread_cpu_ns;
use countercheck::import::profile::{Options, read};

/// Repetitions of each; the fastest counts.
const TURNS: usize = 3;

fn main() {
    let mib = std::env::var("IMPORT_MIB").ok().and_then(|text| text.parse::<usize>().ok()).unwrap_or(64);
    if std::env::args().any(|argument| argument == "--memory") {
        return memory(mib);
    }
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if let Some(path) = path {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let (ns, samples) = fastest(|| read(bytes.as_slice(), &Options::default()).expect("a recording").samples.len());
        println!("{path}: {} MiB, {samples} samples, {:.0} ms of CPU time", bytes.len() >> 20, ns / 1e6);
        return;
    }
    println!("{mib} MiB each, thread CPU time, fastest of {TURNS}\n");
    println!("{:<12} {:>14} {:>14} {:>7}", "input", "countercheck", "inferno", "ratio");
    let script = Generator::new(perf_sample).text(mib << 20);
    compare("perf script", script.as_bytes(), || {
        use inferno::collapse::Collapse;
        let mut folder = inferno::collapse::perf::Folder::default();
        folder.collapse(script.as_bytes(), std::io::sink()).expect("inferno collapses");
    });
    drop(script);
    let folded = Generator::new(folded_line).text(mib << 20);
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

/// Writes one sample after the other; almost every stack differs from all others, which is the worst case.
struct Generator {
    write: fn(&mut Generator, &mut String),
    numbers: Numbers,
    names: Vec<String>,
    time: u64,
}

impl Generator {
    fn new(write: fn(&mut Generator, &mut String)) -> Self {
        Generator { write, numbers: Numbers(1), names: (0..3100).map(function).collect(), time: 1_000_000 }
    }

    fn text(mut self, size: usize) -> String {
        let mut text = String::with_capacity(size + 8192);
        while text.len() < size {
            (self.write)(&mut self, &mut text);
        }
        text
    }
}

fn perf_sample(generator: &mut Generator, text: &mut String) {
    let numbers = &mut generator.numbers;
    generator.time += 1 + numbers.below(2000);
    let (thread, cpu) = (4000 + numbers.below(8), numbers.below(4));
    let (seconds, micros) = (generator.time / 1_000_000, generator.time % 1_000_000);
    let _ = writeln!(text, "worker {thread}/{thread} [{cpu:03}] {seconds}.{micros:06}: 1001001 cpu-clock:u: ");
    for id in stack(numbers).into_iter().rev() {
        let (name, offset) = (&generator.names[id as usize], numbers.below(24) * 4);
        let address = 0x7f00_0000 + id * 256 + offset;
        let _ = writeln!(text, "\t{address:16x} {name}+0x{offset:x} (/usr/lib/program/libwork.so.1)");
    }
    text.push('\n');
}

fn folded_line(generator: &mut Generator, text: &mut String) {
    text.push_str("worker");
    for id in stack(&mut generator.numbers) {
        text.push(';');
        text.push_str(&generator.names[id as usize]);
    }
    let _ = writeln!(text, " {}", 1 + generator.numbers.below(50));
}

/// What a generator writes, up to a number of bytes, without ever holding all of it.
struct Stream {
    generator: Generator,
    left: usize,
    pending: String,
    at: usize,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.pending.len() {
            self.pending.clear();
            self.at = 0;
            if self.left == 0 {
                return Ok(0);
            }
            (self.generator.write)(&mut self.generator, &mut self.pending);
            self.left = self.left.saturating_sub(self.pending.len());
        }
        let length = buffer.len().min(self.pending.len() - self.at);
        buffer[..length].copy_from_slice(&self.pending.as_bytes()[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// Reads a stream of each format and prints the most memory that the process held meanwhile.
fn memory(mib: usize) {
    println!("{mib} MiB each, read as a stream\n");
    println!("{:<12} {:>16} {:>10}", "input", "distinct stacks", "memory");
    for (name, write) in [("perf script", perf_sample as fn(&mut Generator, &mut String)), ("folded", folded_line)] {
        // Linux forgets the highest mark at the word 5.
        let forgotten = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        let stream = Stream { generator: Generator::new(write), left: mib << 20, pending: String::new(), at: 0 };
        let profile = read(stream, &Options::default()).expect("generated input is valid");
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let highest = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        let highest = highest.and_then(|kib| kib.trim().parse::<u64>().ok()).filter(|_| forgotten);
        let highest = highest.map_or("not known here".to_owned(), |kib| format!("{} MiB", kib >> 10));
        println!("{name:<12} {:>16} {highest:>10}", profile.samples.len());
    }
}
