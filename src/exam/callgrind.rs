//! callgrind as an instruction counter: the cases run under valgrind in a process of their own, and
//! instructions are held against the CPU time that the same work takes without it.

use std::process::{Command, Stdio};

use super::case::{Case, Expectation};
use super::run::{Outcome, Plan, Truth, is_function, score};
use super::work::Known;
use crate::crosscheck::diagnose::Mechanism;
use crate::profile::{Builder, Frame, Profile, SampleClock, StackSample, WeightType, facts};
use crate::workload::Fixture;

/// Its name in the scoreboard.
pub const NAME: &str = "callgrind";

/// Iterations under valgrind, which is some fifty times slower.
const ITERATIONS: u64 = 20;

/// Runs a case without a sampler; what `primitives exam --only-run` does in the process under valgrind.
pub fn run_only(case: &Case, iterations: u64) -> Result<(), String> {
    let mut known = Known::new(case.body);
    known.load(0..iterations)?;
    counted_window(&mut known);
    known.unload().map(|_| ())
}

#[inline(never)]
fn counted_window(known: &mut Known) {
    known.run();
    std::hint::black_box(());
}

/// Examines callgrind on the plan's cases.
pub fn examine(plan: &Plan, mut progress: impl FnMut(&str, &str)) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for case in &plan.cases {
        progress(case.name, NAME);
        let expectation = match case.name {
            "instruction mix" | "system calls" | "C library" | "control: curves" => {
                Expectation::Misleads(vec![Mechanism::NotTime])
            }
            "bursts" | "lockstep" | "two threads" => continue,
            "inlined pair" => Expectation::Misleads(vec![Mechanism::InlinedMerged]),
            "tail call" => Expectation::Misleads(vec![Mechanism::TailCall, Mechanism::NotTime]),
            _ => Expectation::Sound,
        };
        outcomes.push(match instructions(case) {
            Ok(profile) => {
                let mut known = Known::new(case.body);
                let ran = known.load(0..ITERATIONS * 20).map(|()| known.run());
                debug_assert!(ran.is_ok(), "loading known work does not fail");
                let truth = Truth {
                    shares: (0..case.parts.len()).map(|part| known.truth.share(part)).collect(),
                    iteration_ns: known.truth.whole_ns() as f64 / (ITERATIONS * 20) as f64,
                };
                score(plan, case, NAME, &expectation, &truth, &profile)
            }
            Err(why) => Outcome::skipped(case, NAME, &expectation, why),
        });
    }
    outcomes
}

fn instructions(case: &Case) -> Result<Profile, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let data = folder.path().join("callgrind.out");
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", data.display()))
        .arg(program)
        .args(["exam", "--only-run", case.name, "--iterations", &ITERATIONS.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("valgrind does not start ({error}); install it (Debian: valgrind)"))?;
    if !run.status.success() {
        return Err(format!("valgrind ended with {}: {}", run.status, last_line(&run.stderr)));
    }
    let table = Command::new("callgrind_annotate")
        .args(["--inclusive=yes", "--threshold=100", "--auto=no"])
        .arg(&data)
        .output()
        .map_err(|error| format!("callgrind_annotate does not start: {error}"))?;
    if !table.status.success() {
        return Err(format!("callgrind_annotate ended with {}: {}", table.status, last_line(&table.stderr)));
    }
    profile(case, &String::from_utf8_lossy(&table.stdout))
}

/// The table of inclusive counts, as a profile of the window's parts and the rest.
fn profile(case: &Case, table: &str) -> Result<Profile, String> {
    let inclusive = |function: &str| -> f64 {
        table.lines().filter_map(row).filter(|(name, _)| is_function(name, function)).map(|(_, count)| count).sum()
    };
    let window = inclusive("counted_window");
    if window <= 0.0 {
        return Err("callgrind_annotate lists no function counted_window".to_owned());
    }
    let mut builder = Builder::new(vec![WeightType { name: "Ir".to_owned(), unit: "instructions".to_owned() }]);
    let mut add = |function: &str, weight: f64| {
        let root = builder.frame(Frame { function: "counted_window".to_owned(), ..Frame::default() });
        let frame = builder.frame(Frame { function: function.to_owned(), ..Frame::default() });
        let stack = builder.stack_of([root, frame]);
        // Every instruction is counted, none is drawn.
        let count = Some(weight as u64);
        builder.sample(StackSample { stack, thread: None, time_ns: None, count, weights: vec![weight] });
    };
    let mut rest = window;
    for part in &case.parts {
        let count = inclusive(part.function);
        rest -= count;
        add(part.function, count);
    }
    add("rest", rest.max(0.0));
    let provenance = builder.provenance();
    provenance.format = "callgrind".to_owned();
    provenance.producer = Some("valgrind".to_owned());
    provenance.clock = SampleClock::Event;
    provenance.facts.insert(facts::OPERATION.to_owned(), case.name.to_owned());
    Ok(builder.finish())
}

/// `1,234 (5.6%)  file:function [object]`; older versions leave the part in brackets out.
fn row(line: &str) -> Option<(&str, f64)> {
    let (count, rest) = line.trim().split_once(' ')?;
    let count = count.replace(',', "").parse().ok()?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
    let name = rest.split(" [").next()?.trim();
    let name = name.split_once(':').filter(|(_, after)| !after.starts_with(':')).map_or(name, |(_, name)| name);
    Some((without_hash(name), count))
}

/// A demangled name without the hash that older demanglers leave at its end.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => path,
        _ => name,
    }
}

fn last_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().last().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_table_are_read_in_both_forms() {
        let line = " 1,234,567 (12.30%)  src/exam/work.rs:countercheck::exam::work::adds [/x/primitives]";
        assert_eq!(row(line), Some(("countercheck::exam::work::adds", 1_234_567.0)));
        assert_eq!(row("77  ???:a::divides::h0123456789abcdef [/x]"), Some(("a::divides", 77.0)));
        assert_eq!(row("--------"), None);
    }
}
