//! A run: every chosen row in several fresh processes, gathered into a record.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::environment::{self, MachineTime};
use super::fresh::{Event, Job, Launcher, RowJob};
use super::run::AllocationPass;
use super::{aa, clock::wall_ns};
use crate::record::{Measurement, Record, Row, SCHEMA_VERSION, Variant};
use crate::unit::counted;
use crate::warning::Warning;
use crate::workload::{Kind, Workload};

/// Which rows to measure, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rows: workloads and variants.
    pub rows: Vec<(Workload, Variant)>,
    /// Fresh processes.
    pub processes: u32,
    /// Wall time for the whole run. Rows that need more get it, and say so.
    pub budget: Duration,
    /// Seed of inputs and orders.
    pub seed: u64,
    /// Whether allocations are counted.
    pub allocation: AllocationPass,
    /// How a fresh process is started.
    pub launcher: Launcher,
}

/// What happens during a run, for a progress display.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The process, from 0.
    pub process: u32,
    /// Rows finished, over all processes.
    pub done: usize,
    /// Rows to be finished in all, as far as known.
    pub total: usize,
    /// The row that was just finished, with everything measured of it so far.
    pub row: &'a Row,
}

/// The variants that are measured of a workload: its cost band where it is a primitive.
pub fn variants(workload: &Workload, band: Band) -> Vec<Variant> {
    let mut variants = vec![Variant::Throughput];
    if band == Band::Measure && workload.kind == Kind::Primitive {
        if workload.has_chained() {
            variants.push(Variant::Chained);
        }
        variants.push(Variant::Cold);
    }
    variants
}

/// Whether primitives are measured chained and cold too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// Yes: the ends of the cost band beside the throughput.
    Measure,
    /// Throughput only.
    Skip,
}

/// Processes of a run by default.
pub const PROCESSES: u32 = 10;

/// The share of a run's time that rows with long set-ups may take together.
const LONG_ROWS: f64 = 0.3;

/// A row is long when it takes this many times its part of a process.
const LONG_ROW: f64 = 4.0;

/// Runs a plan. A row that fails is in the record with its error.
///
/// # Errors
///
/// A process that could not be started or talked to.
pub fn run(plan: &Plan, on_progress: &mut dyn FnMut(&Progress)) -> io::Result<Record> {
    let started_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (start, machine_start) = (wall_ns(), MachineTime::now());
    let mut planned = vec![(aa::workload(), Variant::Throughput)];
    planned.extend(plan.rows.iter().cloned());
    let mut rows: Vec<Row> = planned.iter().map(|(workload, variant)| row(workload, *variant)).collect();
    let weights: Vec<f64> = planned.iter().map(|(workload, variant)| weight(workload, *variant)).collect();
    let mut environment = environment::capture();
    let mut clocks = Vec::new();
    let mut last_process: Vec<u32> = vec![plan.processes; rows.len()];
    let mut spent: Vec<u64> = vec![0; rows.len()];
    let mut done = 0;
    for process in 0..plan.processes {
        let elapsed = wall_ns() - start;
        let left = (plan.budget.as_nanos() as u64).saturating_sub(elapsed) / u64::from(plan.processes - process);
        let mut pending: Vec<usize> =
            (0..rows.len()).filter(|i| process < last_process[*i] && rows[*i].error.is_none()).collect();
        while !pending.is_empty() {
            let job = Job {
                process,
                seed: plan.seed,
                order_seed: plan.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(process),
                budget_ns: left,
                allocation: plan.allocation,
                rows: pending.iter().map(|i| row_job(*i, &rows[*i], weights[*i])).collect(),
            };
            let mut current = None;
            let total = last_process.iter().map(|last| *last as usize).sum();
            let ended = plan.launcher.run(&job, &mut |event| {
                let finished = match event {
                    Event::Clock(clock) => {
                        clocks.push(clock);
                        return;
                    }
                    Event::Started(index) => {
                        current = Some(index);
                        return;
                    }
                    Event::Measured { row, spent_ns, measurement } => {
                        rows[row].processes.push(measurement);
                        spent[row] = spent_ns;
                        row
                    }
                    Event::Failed { row, message } => {
                        rows[row].error = Some(message);
                        row
                    }
                    Event::Done => return,
                };
                current = None;
                pending.retain(|index| *index != finished);
                done += 1;
                on_progress(&Progress { process, done, total, row: &rows[finished] });
            })?;
            match (ended, current) {
                (None, _) => break,
                // The row that took the process down is out; the others get another process.
                (Some(how), Some(index)) => {
                    rows[index].error = Some(format!("in process {process}: {how}"));
                    pending.retain(|i| *i != index);
                }
                (Some(how), None) => return Err(io::Error::other(how)),
            }
        }
        if process == 0 {
            bound_long_rows(&mut last_process, &spent, &weights, left, plan.processes);
        }
    }
    environment.steal = machine_start.zip(MachineTime::now()).and_then(|(then, now)| now.steal_since(then));
    Ok(Record {
        schema_version: SCHEMA_VERSION,
        tool: environment::tool(),
        started_at,
        environment,
        clocks,
        seed: plan.seed,
        rows,
        warnings: warnings(plan, &last_process),
    })
}

/// Lets rows that take much longer than their part run in fewer processes, so that the run keeps its
/// budget. What the first process spent tells which.
fn bound_long_rows(last_process: &mut [u32], spent: &[u64], weights: &[f64], process_ns: u64, processes: u32) {
    let all_weights: f64 = weights.iter().sum();
    let is_long = |i: &usize| spent[*i] as f64 > LONG_ROW * process_ns as f64 * weights[*i] / all_weights;
    let long: Vec<usize> = (0..spent.len()).filter(is_long).collect();
    let one_round: u64 = long.iter().map(|i| spent[*i]).sum();
    let allowed = LONG_ROWS * process_ns as f64 * f64::from(processes);
    let fit = (allowed / one_round.max(1) as f64).floor() as u32;
    let rounds = fit.max(2).min(processes);
    for i in long {
        last_process[i] = rounds;
    }
}

fn weight(workload: &Workload, variant: Variant) -> f64 {
    match variant {
        _ if workload.name == crate::record::compare::AA_ROW => 0.5,
        Variant::Throughput => 1.0,
        Variant::Chained | Variant::Cold => 0.4,
    }
}

fn row(workload: &Workload, variant: Variant) -> Row {
    Row {
        name: workload.name.clone(),
        family: workload.family.clone(),
        kind: workload.kind,
        parameter: workload.parameter,
        variant,
        runtime: "native".to_owned(),
        implementation: workload.implementation.clone(),
        processes: Vec::<Measurement>::new(),
        error: None,
    }
}

fn row_job(index: usize, row: &Row, weight: f64) -> RowJob {
    RowJob { row: index, name: row.name.clone(), variant: row.variant, weight }
}

fn warnings(plan: &Plan, last_process: &[u32]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let fewer = last_process.iter().filter(|last| **last < plan.processes).count();
    if fewer > 0 {
        warnings.push(Warning {
            code: "long-rows".to_owned(),
            message: format!(
                "{} with long set-ups or iterations ran in fewer processes",
                counted(fewer, "row", "rows")
            ),
            remedy: "select them with --only, or give a larger --budget".to_owned(),
        });
    }
    if plan.launcher.was_replaced() {
        warnings.push(Warning {
            code: "program-replaced".to_owned(),
            message: "the program's file was replaced during the run; every process ran the program that began it"
                .to_owned(),
            remedy: "build first, then measure: the build also took time from the rows".to_owned(),
        });
    }
    if !super::clock::THREAD_CPU_CLOCK {
        warnings.push(Warning {
            code: "wall-clock".to_owned(),
            message: "this system has no thread CPU clock: every figure is wall time".to_owned(),
            remedy: "measure on Linux or macOS".to_owned(),
        });
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_run_in_as_many_processes_as_their_part_of_the_time_allows() {
        let ms = 1_000_000;
        // A process has 100 ms for four rows; two take 5 s and 500 ms.
        let mut last = [10; 4];
        bound_long_rows(&mut last, &[20 * ms, 5_000 * ms, 500 * ms, 25 * ms], &[1.0; 4], 100 * ms, 10);
        assert_eq!(last, [10, 2, 2, 10]);
        let mut last = [10; 4];
        bound_long_rows(&mut last, &[20 * ms, 20 * ms, 110 * ms, 25 * ms], &[1.0; 4], 100 * ms, 10);
        assert_eq!(last, [10, 10, 2, 10]);
        let mut last = [10; 3];
        bound_long_rows(&mut last, &[10, 10, 10], &[1.0; 3], 30, 10);
        assert_eq!(last, [10; 3]);
        let mut last = [1];
        bound_long_rows(&mut last, &[5_000 * ms], &[1.0], 1, 1);
        assert_eq!(last, [1]);
    }
}
