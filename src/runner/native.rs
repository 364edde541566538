//! The native side of a comparison of runtimes: a fresh process of this program that prints the protocol.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use serde_json::json;

use super::{Line, Plan, RunnerError, protocol, run};
use crate::harness::clock::{thread_cpu_ns, wall_ns};
use crate::primitive::pool::POOL;
use crate::stats::{median, order, resample::shuffle};
use crate::workload::{Suite, Workload};

/// An iteration of this length is timed alone, so that its quantiles are real; shorter ones in batches.
const ALONE_NS: f64 = 40_000.0;

/// How long a batch lasts.
const BATCH_NS: f64 = 200_000.0;

/// No row takes longer than this and four times its budget, however busy the machine is.
const ROW_LIMIT: Duration = Duration::from_secs(20);

/// Starts this program again with these arguments and reads its lines.
///
/// # Errors
/// When the process fails or prints something else.
pub fn measure(arguments: &[String]) -> Result<Vec<Line>, RunnerError> {
    let program = std::env::current_exe()
        .map_err(|source| RunnerError::Io { what: "finding this program's file".into(), source })?;
    run("native", Command::new(program).args(arguments))
}

/// Times the plan's workloads in this process and prints the lines.
///
/// # Errors
/// Only where `out` cannot be written: a row that fails is a line.
pub fn emit(suite: &Suite, plan: &Plan, order_seed: u64, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{}", json!({"type": "start", "protocol": protocol::VERSION, "clock": "thread-cpu"}))?;
    let mut names = plan.names.clone();
    shuffle(&mut ChaCha8Rng::seed_from_u64(order_seed), &mut names);
    for name in &names {
        let row = match suite.find(name) {
            Some(workload) => row(workload, plan),
            None => Err("there is no such workload".to_owned()),
        };
        let line = row.unwrap_or_else(|message| json!({"type": "error", "name": name, "message": message}));
        writeln!(out, "{line}")?;
        out.flush()?;
    }
    writeln!(out, "{}", json!({"type": "end"}))
}

fn row(workload: &Workload, plan: &Plan) -> Result<serde_json::Value, String> {
    let mut fixture = workload.fixture(plan.seed.into()).map_err(|error| error.message)?;
    fixture.load(0..POOL as u64)?;
    fixture.run();
    let outputs = fixture.unload()?;
    let mut next = 0;
    let mut sample = |iterations: u64| -> Result<(u64, u64, u64), String> {
        fixture.load(next..next + iterations)?;
        next += iterations;
        let (wall, cpu) = (wall_ns(), thread_cpu_ns());
        fixture.run();
        let (cpu, wall) = (thread_cpu_ns() - cpu, wall_ns() - wall);
        fixture.unload()?;
        Ok((iterations, cpu, wall))
    };
    // The first executions pay for caches and page faults; they choose the batch and are thrown away.
    let mut each = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(20) || each.len() < 8 {
        let (n, cpu, _) = sample(1)?;
        each.push(cpu as f64 / n as f64);
    }
    let warm_iterations = each.len() as u64;
    let each = median(&each).unwrap_or(1.0).max(1.0);
    let batch = if each >= ALONE_NS { 1 } else { (BATCH_NS / each).ceil().min(50_000.0) as u64 };
    // The budget is time on the clock: wall time would leave a busy machine too few samples for the quantiles.
    let fewest = if batch == 1 { order::values_needed(0.99) } else { 8 };
    let (mut samples, mut spent) = (Vec::new(), 0);
    let begin = Instant::now();
    while (spent < plan.row.as_nanos() || samples.len() < fewest)
        && (samples.len() < 8 || begin.elapsed() < ROW_LIMIT + 4 * plan.row)
    {
        let timed = sample(batch)?;
        spent += u128::from(timed.1);
        samples.push(timed);
    }
    Ok(json!({
        "type": "row",
        "name": workload.name,
        "implementation": workload.implementation,
        "warm_iterations": warm_iterations,
        "warm_stable": true,
        "outputs": format!("{:016x}", outputs.0),
        "samples": samples,
    }))
}
