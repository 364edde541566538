//! What to distrust about a row: each suspicion a function of the measurements, a code and a remedy.

use super::{Environment, Measurement, Record, Row, Variant};
use crate::stats::{median, order, serial, sorted};
use crate::unit::counted;
use crate::warning::Warning;

/// What a row's suspicion needs to know about its run.
#[derive(Clone, Debug)]
pub struct Context {
    /// Largest clock step of the processes, in nanoseconds.
    step_ns: u64,
    /// Largest empty window of the processes, in nanoseconds.
    empty_ns: u64,
    environment: Environment,
}

impl Context {
    /// The context of a record's rows.
    pub fn of(record: &Record) -> Self {
        let largest = |part: fn(&super::ClockCalibration) -> u64| record.clocks.iter().map(part).max().unwrap_or(0);
        Self {
            step_ns: largest(|clock| clock.step_ns),
            empty_ns: largest(|clock| clock.empty_ns),
            environment: record.environment.clone(),
        }
    }
}

/// A window shorter than this many clock steps cannot be told to 0.1 %.
pub const STEPS: u64 = 1_000;

/// Everything to distrust about a row, in a fixed order.
pub fn of(row: &Row, context: &Context) -> Vec<Warning> {
    if row.error.is_some() || row.processes.is_empty() {
        return Vec::new();
    }
    let checks: [fn(&Row, &Context) -> Option<Warning>; 13] = [
        unoptimised,
        few_processes,
        few_iterations,
        clock_coarse,
        batch_mean,
        processes_disagree,
        first_row,
        position_effect,
        drift,
        autocorrelated,
        allocation_varies,
        noisy_host,
        steal,
    ];
    checks.iter().filter_map(|check| check(row, context)).collect()
}

fn warning(code: &str, message: String, remedy: &str) -> Option<Warning> {
    Some(Warning { code: code.to_owned(), message, remedy: remedy.to_owned() })
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn unoptimised(_: &Row, context: &Context) -> Option<Warning> {
    if context.environment.optimisation != "unoptimised" {
        return None;
    }
    warning("unoptimised", "the program was built without optimisation".to_owned(), "build with opt-level 3")
}

fn few_processes(row: &Row, _: &Context) -> Option<Warning> {
    let (found, needed) = (row.processes.len(), order::values_needed(0.5));
    if found >= needed {
        return None;
    }
    let message = format!("{}; an interval needs {needed}", counted(found, "process", "processes"));
    warning("few-processes", message, "measure without --quick, or with a larger --budget")
}

fn few_iterations(row: &Row, _: &Context) -> Option<Warning> {
    let fewest = row.processes.iter().map(|m| m.samples.len()).min()?;
    if fewest >= order::values_needed(0.5) {
        return None;
    }
    let message = format!("a process has only {}", counted(fewest, "timing sample", "timing samples"));
    warning("few-iterations", message, "give the row more time with --only and --budget")
}

fn clock_coarse(row: &Row, context: &Context) -> Option<Warning> {
    let windows = row.processes.iter().flat_map(|m| &m.samples).map(|s| s.cpu_ns as f64).collect::<Vec<_>>();
    let window = median(&windows)?;
    // An empty window is the other yardstick: it is part of each figure.
    let (steps, overhead) = (window / context.step_ns.max(1) as f64, context.empty_ns as f64 / window.max(1.0));
    if steps >= STEPS as f64 && overhead < 0.01 {
        return None;
    }
    let message = format!("a window is {steps:.0} clock steps, and reading the clock is {} of it", percent(overhead));
    warning("clock-coarse", message, "time several iterations at once, or use the throughput variant")
}

fn batch_mean(row: &Row, _: &Context) -> Option<Warning> {
    if !row.processes.iter().any(Measurement::is_batched) {
        return None;
    }
    let largest = row.processes.iter().flat_map(|m| &m.samples).map(|s| s.iterations).max()?;
    let message = format!("up to {largest} iterations to a timing sample: the median is of batch means");
    warning("batch-mean", message, "do not read p90 or p99 into it; single iterations are too short for the clock")
}

/// Processes further apart than both 5 % and three times what the scatter inside them explains.
fn processes_disagree(row: &Row, _: &Context) -> Option<Warning> {
    let medians: Vec<f64> = row.processes.iter().filter_map(Measurement::median_ns).collect();
    if medians.len() < 2 {
        return None;
    }
    let centre = median(&medians)?;
    let sorted_medians = sorted(medians);
    let range = sorted_medians.last()? - sorted_medians.first()?;
    let within: Vec<f64> = row
        .processes
        .iter()
        .filter_map(|m| {
            let quartiles = m.quantile_ns(0.75)? - m.quantile_ns(0.25)?;
            // Standard error of a median from the quartiles: 1.2533 σ ⁄ √n with σ = IQR ⁄ 1.349.
            Some(0.93 * quartiles / (m.samples.len() as f64).sqrt())
        })
        .collect();
    // The range of n normal values is about 3 σ for n = 10.
    let explained = 3.0 * 3.0 * median(&within)?;
    if range <= 0.05 * centre || range <= explained {
        return None;
    }
    let message = format!("the processes' medians lie {} apart", percent(range / centre));
    warning("processes-disagree", message, "more processes (--processes) show whether there are two levels")
}

/// The process in which the row ran first is off, on the slow side, by more than all the others.
fn first_row(row: &Row, _: &Context) -> Option<Warning> {
    let of = |first: bool| -> Vec<f64> {
        let chosen = row.processes.iter().filter(|m| (m.position == 0) == first);
        chosen.filter_map(Measurement::median_ns).collect()
    };
    let (first, others) = (median(&of(true))?, sorted(of(false)));
    if others.len() < 3 || first <= others.last()? * 1.05 {
        return None;
    }
    let message = format!("{} slower where it was its process's first row", percent(first / median(&others)? - 1.0));
    warning("first-row", message, "something warms up for longer than the warm-up row: lengthen the set-up's own")
}

fn position_effect(row: &Row, _: &Context) -> Option<Warning> {
    let (positions, medians): (Vec<f64>, Vec<f64>) =
        row.processes.iter().filter_map(|m| Some((f64::from(m.position), m.median_ns()?))).unzip();
    if medians.len() < 8 {
        return None;
    }
    let ranks = serial::ranks(&positions);
    let correlation = serial::correlation(&ranks, &serial::ranks(&medians))?;
    let mut by_position: Vec<(f64, f64)> = ranks.into_iter().zip(medians).collect();
    by_position.sort_by(|a, b| a.0.total_cmp(&b.0));
    let trend = serial::rank_p(correlation, by_position.len());
    let values: Vec<f64> = by_position.into_iter().map(|(_, ns)| ns).collect();
    let half = values.len() / 2;
    let change = median(&values[values.len() - half..])? / median(&values[..half])? - 1.0;
    if trend > 0.001 || change.abs() < 0.02 {
        return None;
    }
    let message = format!("late in a process it reads {} of what it reads early", percent(1.0 + change));
    warning("position-effect", message, "what runs before it matters: compare only with the same --only selection")
}

/// Most processes drift the same way, by more than 2 %.
fn drift(row: &Row, _: &Context) -> Option<Warning> {
    let trends: Vec<f64> = row
        .processes
        .iter()
        .map(|m| match serial::trend(&m.each_ns()) {
            Some(trend) if trend.p < 0.001 && trend.change.abs() > 0.02 => trend.change,
            _ => 0.0,
        })
        .collect();
    let up = trends.iter().filter(|change| **change > 0.0).count();
    let down = trends.iter().filter(|change| **change < 0.0).count();
    if up.max(down) * 2 <= trends.len() {
        return None;
    }
    let moved: Vec<f64> =
        trends.into_iter().filter(|change| (*change > 0.0) == (up > down) && *change != 0.0).collect();
    let message = format!("inside a process it moves by {} from first to last third", percent(median(&moved)?));
    warning(
        "drift",
        message,
        "the state grows or the machine heats up: reset the state in the input, or rest the machine",
    )
}

fn autocorrelated(row: &Row, _: &Context) -> Option<Warning> {
    let correlations: Vec<f64> = row
        .processes
        .iter()
        .filter(|m| m.samples.len() >= 30)
        .filter_map(|m| serial::autocorrelation(&m.each_ns()))
        .collect();
    let typical = median(&correlations)?;
    if typical < 0.4 {
        return None;
    }
    let message = format!("neighbouring samples correlate by {typical:.2}");
    warning("autocorrelated", message, "intervals inside a process would be too narrow; those over processes hold")
}

fn allocation_varies(row: &Row, _: &Context) -> Option<Warning> {
    let bytes: Vec<f64> =
        row.processes.iter().filter_map(|m| m.allocation.per_operation()).map(|(bytes, _)| bytes).collect();
    let bytes = sorted(bytes);
    let (low, high) = (*bytes.first()?, *bytes.last()?);
    if high <= low * 1.001 {
        return None;
    }
    let message = format!("{low:.0} to {high:.0} bytes an operation, by process");
    warning("allocation-varies", message, "look for hash seeds, pools or random sizes")
}

/// Wall time above CPU time by more than 5 % in the median sample.
fn noisy_host(row: &Row, _: &Context) -> Option<Warning> {
    if row.variant == Variant::Cold {
        return None;
    }
    let ratios: Vec<f64> = row
        .processes
        .iter()
        .filter_map(|m| {
            let cpu: u64 = m.samples.iter().map(|s| s.cpu_ns).sum();
            let wall: u64 = m.samples.iter().map(|s| s.wall_ns).sum();
            (cpu > 0).then(|| wall as f64 / cpu as f64)
        })
        .collect();
    let ratio = median(&ratios)?;
    if ratio <= 1.05 {
        return None;
    }
    let message =
        format!("wall time is {} above CPU time: other work took the time, or this one waited", percent(ratio - 1.0));
    warning("noisy-host", message, "stop other work; the figure is CPU time, but shared caches still suffer")
}

fn steal(_: &Row, context: &Context) -> Option<Warning> {
    let steal = context.environment.steal.filter(|share| *share > 0.01)?;
    let message = format!("the hypervisor took {} of the CPU time during the run", percent(steal));
    warning("steal", message, "measure on a machine of your own, or when its neighbours sleep")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, row, sample};
    use super::super::{Allocation, TimingSample};
    use super::*;
    use crate::stats::resample::{normal, shuffle};
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Ten processes of 60 samples around 1 ms with 0.5 % of noise, positions 0 to 9 in random order.
    fn clean(seed: u64) -> Row {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let samples: Vec<Vec<TimingSample>> = (0..10)
            .map(|_| (0..60).map(|_| sample(1, (1e6 * (1.0 + 0.005 * normal(&mut random))) as u64)).collect())
            .collect();
        let mut row = row("x", &samples);
        let mut positions: Vec<u32> = (0..10).collect();
        shuffle(&mut random, &mut positions);
        for (m, position) in row.processes.iter_mut().zip(positions) {
            m.position = position;
        }
        row
    }

    fn codes_in(row: Row, change: impl Fn(&mut Record)) -> Vec<String> {
        let mut record = record(vec![row]);
        change(&mut record);
        record.summaries()[0].distrust.iter().map(|warning| warning.code.clone()).collect()
    }

    fn codes(row: Row) -> Vec<String> {
        codes_in(row, |_| ())
    }

    fn scale(m: &mut Measurement, factor: f64) {
        for s in &mut m.samples {
            s.cpu_ns = (s.cpu_ns as f64 * factor) as u64;
            s.wall_ns = s.cpu_ns;
        }
    }

    #[test]
    fn clean_rows_raise_nothing() {
        for seed in 0..200 {
            assert_eq!(codes(clean(seed)), Vec::<String>::new(), "seed {seed}");
        }
    }

    #[test]
    fn an_unoptimised_build_says_so() {
        let found = codes_in(clean(0), |record| record.environment.optimisation = "unoptimised".to_owned());
        assert_eq!(found, ["unoptimised"]);
    }

    #[test]
    fn few_processes_and_few_samples_say_so() {
        let mut row = clean(1);
        row.processes.truncate(5);
        assert_eq!(codes(row), ["few-processes"]);
        let mut row = clean(1);
        row.processes[3].samples.truncate(5);
        assert_eq!(codes(row), ["few-iterations"]);
    }

    #[test]
    fn a_coarse_clock_says_so() {
        let coarse = |record: &mut Record| record.clocks[0].step_ns = 10_000;
        assert_eq!(codes_in(clean(2), coarse), ["clock-coarse"]);
        let slow_clock = |record: &mut Record| record.clocks[0].empty_ns = 20_000;
        assert_eq!(codes_in(clean(2), slow_clock), ["clock-coarse"]);
    }

    #[test]
    fn a_batch_says_so() {
        let mut row = clean(3);
        for s in row.processes.iter_mut().flat_map(|m| &mut m.samples) {
            s.iterations = 4;
        }
        assert_eq!(codes(row), ["batch-mean"]);
    }

    #[test]
    fn two_processes_that_disagree_say_so() {
        let mut row = clean(4);
        scale(&mut row.processes[2], 1.2);
        scale(&mut row.processes[7], 1.2);
        let found = codes(row);
        assert!(found.contains(&"processes-disagree".to_owned()), "{found:?}");
    }

    #[test]
    fn an_injected_first_row_cost_says_so() {
        let mut row = clean(5);
        let first = row.processes.iter_mut().find(|m| m.position == 0).unwrap();
        scale(first, 1.3);
        assert!(codes(row).contains(&"first-row".to_owned()));
    }

    #[test]
    fn an_effect_of_the_position_says_so() {
        let mut row = clean(6);
        for m in &mut row.processes {
            scale(m, 1.0 + 0.005 * f64::from(m.position));
        }
        assert_eq!(codes(row), ["position-effect"]);
    }

    #[test]
    fn a_synthetic_drift_says_so() {
        let mut row = clean(7);
        for m in &mut row.processes {
            for (i, s) in m.samples.iter_mut().enumerate() {
                s.cpu_ns += 1_000 * i as u64;
                s.wall_ns = s.cpu_ns;
            }
        }
        let found = codes(row);
        assert!(found.contains(&"drift".to_owned()), "{found:?}");
    }

    #[test]
    fn correlated_neighbours_say_so() {
        let mut row = clean(8);
        for m in &mut row.processes {
            for (i, s) in m.samples.iter_mut().enumerate() {
                s.cpu_ns += if i / 5 % 2 == 0 { 0 } else { 30_000 };
                s.wall_ns = s.cpu_ns;
            }
        }
        assert_eq!(codes(row), ["autocorrelated"]);
    }

    #[test]
    fn varying_allocation_says_so() {
        let mut row = clean(9);
        for (i, m) in row.processes.iter_mut().enumerate() {
            m.allocation = Allocation::Measured { iterations: 10, bytes: 1_000 + 100 * i as u64, calls: 10 };
        }
        assert_eq!(codes(row), ["allocation-varies"]);
    }

    #[test]
    fn time_taken_by_the_host_says_so() {
        let mut row = clean(10);
        for s in row.processes.iter_mut().flat_map(|m| &mut m.samples) {
            s.wall_ns = s.cpu_ns + s.cpu_ns / 10;
        }
        assert_eq!(codes(row), ["noisy-host"]);
        assert_eq!(codes_in(clean(10), |record| record.environment.steal = Some(0.03)), ["steal"]);
    }

    #[test]
    fn every_warning_names_a_remedy() {
        let mut row = clean(11);
        row.processes.truncate(2);
        scale(&mut row.processes[0], 2.0);
        for warning in of(&row, &Context::of(&record(vec![]))) {
            assert!(!warning.message.is_empty() && !warning.remedy.is_empty(), "{warning:?}");
        }
    }
}
