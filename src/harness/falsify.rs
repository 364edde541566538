//! Measures what a rewrite saves: the operation with the blamed function and with its rewrite in the place,
//! and the two functions alone, all in one process in interleaved order.

use std::time::Duration;

use super::clock::thread_cpu_ns;
use super::interleave::{Arm, Plan, interleave};
use crate::stats::Estimate;
use crate::workload::{Fixture, Rewrite, Suite, WorkloadError};

/// What was measured; times in nanoseconds of thread CPU time.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Measured {
    /// One execution of the operation with the blamed function.
    pub before_ns: Estimate,
    /// One execution of the operation with the rewrite.
    pub after_ns: Estimate,
    /// What the rewrite saved: the difference of the two, over the same rounds.
    pub saved_ns: Estimate,
    /// One call of the blamed function alone.
    pub blamed_ns: Estimate,
    /// One call of the rewrite alone.
    pub rewrite_ns: Estimate,
    /// The difference of the two, over the same rounds.
    pub difference_ns: Estimate,
    /// Rounds, each of which ran all four once.
    pub rounds: usize,
}

/// Long enough against the clock that its step does not matter.
const SHORTEST_NS: u64 = 200_000;

/// Measures a rewrite of the suite for about `budget` of CPU time.
///
/// # Errors
///
/// Where a workload is missing, its set-up fails, or an output is wrong.
pub fn measure(suite: &Suite, rewrite: &Rewrite, seed: u64, budget: Duration) -> Result<Measured, WorkloadError> {
    let names = [&rewrite.operation, &rewrite.rewritten, &rewrite.blamed_alone, &rewrite.rewrite_alone];
    let mut arms: Vec<Arm<'_>> = Vec::new();
    for name in names {
        let missing = || WorkloadError { workload: name.clone(), message: "the suite has no such workload".to_owned() };
        let workload = suite.resolve(name).ok_or_else(missing)?;
        let mut fixture = workload.fixture(seed)?;
        let failed = move |message: String| workload.error(message);
        let mut batch = 1;
        while timed(fixture.as_mut(), 0, batch).map_err(&failed)? < SHORTEST_NS && batch < 1 << 20 {
            batch *= 2;
        }
        arms.push(Box::new(move |round| {
            Ok(timed(fixture.as_mut(), round, batch).map_err(&failed)? as f64 / batch as f64)
        }));
    }
    let plan = Plan { seed, budget, at_least: 30, ..Plan::default() };
    let samples = interleave(&mut arms, &plan, &mut |_| ())?;
    Ok(Measured {
        before_ns: samples.of(0),
        after_ns: samples.of(1),
        saved_ns: samples.combine(&[0, 1], |times| times[0] - times[1]),
        blamed_ns: samples.of(2),
        rewrite_ns: samples.of(3),
        difference_ns: samples.combine(&[2, 3], |times| times[0] - times[1]),
        rounds: samples.rounds(),
    })
}

/// Time of a batch on the round's own inputs, in nanoseconds.
fn timed(fixture: &mut dyn Fixture, round: u64, batch: u64) -> Result<u64, String> {
    fixture.load(round * batch..(round + 1) * batch)?;
    let start = thread_cpu_ns();
    fixture.run();
    let elapsed = thread_cpu_ns() - start;
    fixture.unload()?;
    Ok(elapsed)
}
