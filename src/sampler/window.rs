//! Runs a fixture batch after batch and tells a gate when the body runs and when it does not.

use crate::harness::clock::thread_cpu_ns;
use crate::unit::Nanos;
use crate::workload::{Digest, Fixture};

/// The last part of the name of the frame under which the body runs.
pub const MARKER: &str = "sampled_window";

/// A batch runs for about this long, so that opening and closing the gate does not matter.
const BATCH_NS: u64 = 20_000_000;
const LARGEST_BATCH: u64 = 1 << 20;
/// A body that mostly sleeps is given up after this many times the CPU time asked for.
const WALL_LIMIT: f64 = 20.0;

/// Told when the body starts and stops running.
pub(super) trait Gate {
    fn open(&mut self);
    fn close(&mut self);

    /// CPU time that threads of the sampler's own have used so far, which is not the body's.
    fn own_cpu_ns(&mut self) -> u64 {
        0
    }
}

/// For runs without a sampler.
pub(super) struct Ungated;

impl Gate for Ungated {
    fn open(&mut self) {}
    fn close(&mut self) {}
}

/// What the windows of one run add up to.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    pub(super) iterations: u64,
    pub(super) cpu_ns: u64,
    pub(super) thread_cpu_ns: u64,
    pub(super) wall_ns: u64,
    /// Time that the thread was ready to run and had no CPU.
    pub(super) waited_ns: u64,
    /// Thread CPU time of one iteration, a value per batch.
    pub(super) per_iteration: Vec<f64>,
    /// Start and end of each window on the monotonic clock.
    pub(super) intervals: Vec<(u64, u64)>,
    pub(super) digest: Digest,
}

/// A fixture with the size of its batches and the index of its next iteration.
pub(super) struct Runner<'a> {
    fixture: &'a mut dyn Fixture,
    batch: u64,
    next: u64,
}

impl<'a> Runner<'a> {
    /// Doubles the batch until one takes [`BATCH_NS`] of CPU time.
    pub(super) fn calibrated(fixture: &'a mut dyn Fixture) -> Result<Self, String> {
        let mut runner = Self { fixture, batch: 1, next: 0 };
        loop {
            let mut windows = Windows::default();
            runner.batch(&mut Ungated, &mut windows)?;
            // A body that sleeps uses no CPU time; wall time ends the search then.
            if windows.thread_cpu_ns >= BATCH_NS || windows.wall_ns >= 10 * BATCH_NS || runner.batch >= LARGEST_BATCH {
                return Ok(runner);
            }
            runner.batch *= 2;
        }
    }

    /// Runs batches until their CPU time reaches `cpu`.
    pub(super) fn run(&mut self, cpu: Nanos, gate: &mut dyn Gate) -> Result<Windows, String> {
        let mut windows = Windows::default();
        while (windows.cpu_ns as f64) < cpu.0 && (windows.wall_ns as f64) < cpu.0 * WALL_LIMIT {
            self.batch(gate, &mut windows)?;
        }
        Ok(windows)
    }

    fn batch(&mut self, gate: &mut dyn Gate, windows: &mut Windows) -> Result<(), String> {
        let end = self.next + self.batch;
        self.fixture.load(self.next..end)?;
        self.next = end;
        let own = gate.own_cpu_ns();
        let waited = run_delay_ns();
        let (start, process, thread) = (monotonic_ns(), process_cpu_ns(), thread_cpu_ns());
        gate.open();
        sampled_window(self.fixture);
        gate.close();
        let thread = thread_cpu_ns() - thread;
        let process = process_cpu_ns().saturating_sub(process);
        let stop = monotonic_ns();
        windows.cpu_ns += process.saturating_sub(gate.own_cpu_ns().saturating_sub(own));
        windows.thread_cpu_ns += thread;
        windows.wall_ns += stop - start;
        windows.waited_ns += run_delay_ns().saturating_sub(waited);
        windows.intervals.push((start, stop));
        windows.iterations += self.batch;
        windows.per_iteration.push(thread as f64 / self.batch as f64);
        let digest = self.fixture.unload()?;
        windows.digest = windows.digest.with(&digest.0.to_le_bytes());
        Ok(())
    }
}

/// The frame that marks the window in every stack. The black box keeps the call from being the last thing
/// it does, which would make it a jump without a frame.
#[inline(never)]
fn sampled_window(fixture: &mut dyn Fixture) {
    fixture.run();
    std::hint::black_box(());
}

/// Time that this thread has been ready to run without a CPU; 0 where the system does not say.
fn run_delay_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// CPU time of all threads of the process, in nanoseconds; of this thread where there is no such clock.
fn process_cpu_ns() -> u64 {
    #[cfg(target_os = "linux")]
    return read(libc::CLOCK_PROCESS_CPUTIME_ID);
    #[cfg(not(target_os = "linux"))]
    thread_cpu_ns()
}

/// The monotonic clock, in nanoseconds, from the same origin as in other processes on Linux.
pub(super) fn monotonic_ns() -> u64 {
    #[cfg(target_os = "linux")]
    return read(libc::CLOCK_MONOTONIC);
    #[cfg(not(target_os = "linux"))]
    crate::harness::clock::wall_ns()
}

#[cfg(target_os = "linux")]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to write to.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    #[test]
    fn batches_fill_the_budget_and_every_output_is_checked() {
        let workload = Workload::primitive(
            "sum",
            |_| vec![1_000u64; 64],
            |n| (0..*n).fold(0u64, |sum, i| std::hint::black_box(sum ^ i)),
            |_, sum| Ok(Digest::of(&sum.to_le_bytes())),
        );
        let mut fixture = workload.fixture(1).unwrap();
        let mut runner = Runner::calibrated(fixture.as_mut()).unwrap();
        let windows = runner.run(Nanos(60e6), &mut Ungated).unwrap();
        assert!(windows.cpu_ns >= 60_000_000);
        assert_eq!(windows.iterations, windows.per_iteration.len() as u64 * runner.batch);
        assert_eq!(windows.intervals.len(), windows.per_iteration.len());
        assert_ne!(windows.digest, Digest::default());
    }
}
