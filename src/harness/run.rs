//! The run loop: times one row in this process.
//!
//! Inputs are built before the window and outputs dropped after it; every output is checked outside it.
//! What is long enough for the clock is timed one by one, the rest in batches of bounded memory.

use std::time::Duration;

use rand_core::Rng;

use super::clock::{thread_cpu_ns, wall_ns};
use super::cold::Disturber;
use super::{alloc, stack};
use crate::record::distrust::STEPS;
use crate::record::{Allocation, ClockCalibration, Measurement, TimingSample, Variant};
use crate::workload::{Fixture, Workload, WorkloadError};

/// Timing samples after which a row of single iterations is done: p99 needs 368.
pub const ENOUGH: usize = 400;

/// Timing samples after which a row without tail quantiles is done.
const ENOUGH_FOR_A_MEDIAN: usize = 60;

/// Timing samples that every row gets, whatever its budget.
const FLOOR: usize = 2;

/// A batch lasts at least this long.
const BATCH_NS: u64 = 1_000_000;

/// Memory that the outputs of a batch may take.
const BATCH_BYTES: u64 = 32 << 20;

/// Iterations that a batch may have, where its memory is not known.
const BATCH_ITERATIONS: u64 = 1 << 17;

/// Whether the allocation pass runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocationPass {
    /// After the timing.
    Run,
    /// Not at all.
    Skip,
}

/// How one row is measured in one process.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Seed of the inputs.
    pub seed: u64,
    /// Wall time that set-up, timing and checks may take together.
    pub budget: Duration,
    /// Whether allocations are counted.
    pub allocation: AllocationPass,
    /// This process's clock.
    pub clock: ClockCalibration,
}

/// Measures one variant of a workload. `process` and `position` of the result are left at zero.
///
/// # Errors
///
/// A set-up, an input or a check that failed; a variant that the workload does not have.
pub fn measure(
    workload: &Workload,
    variant: Variant,
    settings: &Settings,
    random: &mut impl Rng,
) -> Result<Measurement, WorkloadError> {
    let deadline = wall_ns() + settings.budget.as_nanos() as u64;
    let mut fixture = match variant {
        Variant::Chained => {
            workload.chained_fixture(settings.seed).ok_or_else(|| workload.error("has no chained form"))??
        }
        Variant::Throughput | Variant::Cold => workload.fixture(settings.seed)?,
    };
    let mut session = Session { workload, fixture: fixture.as_mut(), next: 0 };
    let pilot = session.pilot(random)?;
    let batch = match variant {
        Variant::Cold if pilot.each_ns < 20.0 * settings.clock.empty_ns as f64 => {
            return Err(workload.error("too short to be timed cold: reading the clock would be a part of it"));
        }
        Variant::Cold => 1,
        _ => batch(&pilot, &settings.clock),
    };
    let mut disturber = (variant == Variant::Cold).then(|| Disturber::new(settings.seed));
    let enough = if batch > 1 || variant == Variant::Cold { ENOUGH_FOR_A_MEDIAN } else { ENOUGH };
    let mut samples = Vec::new();
    while samples.len() < FLOOR || (samples.len() < enough && wall_ns() < deadline) {
        samples.push(session.sample(batch, random, disturber.as_mut())?);
    }
    let allocation = match settings.allocation {
        AllocationPass::Run => session.count_allocations(&pilot)?,
        AllocationPass::Skip => Allocation::NotMeasured,
    };
    Ok(Measurement { samples, allocation, ..Measurement::default() })
}

/// What the pilot found: a rough cost of one iteration.
struct Pilot {
    each_ns: f64,
    each_bytes: Option<u64>,
}

/// Iterations in one timing sample: one where the clock can tell it, else enough for the clock and for
/// at least a millisecond, as far as memory allows.
fn batch(pilot: &Pilot, clock: &ClockCalibration) -> u64 {
    // Reading the clock is part of the window: below a hundredth of it, as below a thousand steps.
    let needed = (STEPS * clock.step_ns).max(100 * clock.empty_ns);
    if pilot.each_ns >= needed as f64 {
        return 1;
    }
    let wanted = (needed.max(BATCH_NS) as f64 / pilot.each_ns.max(0.01)).ceil() as u64;
    let fits = pilot.each_bytes.map_or(BATCH_ITERATIONS, |bytes| BATCH_BYTES / (bytes + 64));
    wanted.clamp(1, fits.clamp(1, BATCH_ITERATIONS * 8))
}

/// A fixture and how far its iterations have come.
struct Session<'a> {
    workload: &'a Workload,
    fixture: &'a mut dyn Fixture,
    next: u64,
}

impl Session<'_> {
    /// Times one interval over `iterations` executions.
    fn sample(
        &mut self,
        iterations: u64,
        random: &mut impl Rng,
        disturber: Option<&mut Disturber>,
    ) -> Result<TimingSample, WorkloadError> {
        self.load(iterations)?;
        if let Some(disturber) = disturber {
            disturber.disturb();
        }
        let (mut cpu_ns, mut wall) = (0, 0);
        let fixture = &mut *self.fixture;
        stack::at_random_depth(random, &mut || {
            let wall_start = wall_ns();
            let cpu_start = thread_cpu_ns();
            fixture.run();
            cpu_ns = thread_cpu_ns() - cpu_start;
            wall = wall_ns() - wall_start;
        });
        self.unload()?;
        Ok(TimingSample { iterations, cpu_ns, wall_ns: wall })
    }

    /// Doubles the number of iterations until they take 50 µs. Warms up on the way.
    fn pilot(&mut self, random: &mut impl Rng) -> Result<Pilot, WorkloadError> {
        const LONG_ENOUGH_NS: u64 = 50_000;
        let mut iterations = 1;
        loop {
            let sample = self.sample(iterations, random, None)?;
            if sample.cpu_ns >= LONG_ENOUGH_NS || iterations >= BATCH_ITERATIONS {
                let each_ns = sample.cpu_ns_each();
                // What memory a batch needs matters only where there will be one.
                let counted = if each_ns < BATCH_NS as f64 { Some(self.count_allocations_of(1)?) } else { None };
                let each_bytes = match counted {
                    Some(Allocation::Measured { bytes, .. } | Allocation::BytesOnly { bytes, .. }) => Some(bytes),
                    Some(Allocation::NotMeasured) | None => None,
                };
                return Ok(Pilot { each_ns, each_bytes });
            }
            iterations *= 2;
        }
    }

    /// Counts over 64 iterations, or fewer where they are long.
    fn count_allocations(&mut self, pilot: &Pilot) -> Result<Allocation, WorkloadError> {
        let iterations = (5e6 / pilot.each_ns.max(1.0)).clamp(1.0, 64.0) as u64;
        self.count_allocations_of(iterations)
    }

    fn count_allocations_of(&mut self, iterations: u64) -> Result<Allocation, WorkloadError> {
        self.load(iterations)?;
        let counted = alloc::count(|| self.fixture.run());
        self.unload()?;
        Ok(match counted {
            Some((bytes, calls)) => Allocation::Measured { iterations, bytes, calls },
            None => Allocation::NotMeasured,
        })
    }

    fn load(&mut self, iterations: u64) -> Result<(), WorkloadError> {
        let range = self.next..self.next + iterations;
        self.next = range.end;
        self.fixture.load(range).map_err(|message| self.workload.error(message))
    }

    fn unload(&mut self) -> Result<(), WorkloadError> {
        self.fixture.unload().map(drop).map_err(|message| self.workload.error(message))
    }
}

#[cfg(test)]
mod tests {
    use super::super::aa;
    use super::*;
    use crate::workload::Digest;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    const CLOCK: ClockCalibration = ClockCalibration { step_ns: 20, empty_ns: 200, wall_step_ns: 20 };

    fn measured(workload: &Workload, variant: Variant) -> Result<Measurement, WorkloadError> {
        let settings =
            Settings { seed: 1, budget: Duration::from_millis(30), allocation: AllocationPass::Run, clock: CLOCK };
        measure(workload, variant, &settings, &mut ChaCha8Rng::seed_from_u64(1))
    }

    #[test]
    fn long_iterations_are_timed_singly_and_short_ones_in_bounded_batches() {
        let of = |each_ns, each_bytes| batch(&Pilot { each_ns, each_bytes }, &CLOCK);
        assert_eq!(of(20_000.0, None), 1);
        assert_eq!(of(10_000.0, None), 100);
        assert_eq!(of(19_999.0, Some(100)), 51);
        assert_eq!(of(50.0, Some(1 << 20)), 31);
        assert_eq!(of(0.0, None), BATCH_ITERATIONS);
        assert_eq!(of(1e9, Some(u64::MAX / 2)), 1);
    }

    #[test]
    fn a_chain_is_measured_with_the_ratio_of_its_lengths() {
        let median = |steps| {
            let workload = aa::chain("chain", steps, aa::Upkeep::Light);
            measured(&workload, Variant::Throughput).unwrap().quantile_ns(0.0).unwrap()
        };
        // Least times: what a loaded machine adds is left out. The ratio is 10 by construction.
        // A loaded processor may run at another speed from one to the next, so there are several attempts; what is measured
        // wrongly is wrong in each.
        let ratios: Vec<f64> = (0..8).map(|_| median(60_000) / median(6_000)).collect();
        assert!(ratios.iter().any(|ratio| (9.0..11.0).contains(ratio)), "{ratios:?}");
    }

    #[test]
    fn every_row_gets_its_floor() {
        let settings = Settings { seed: 1, budget: Duration::ZERO, allocation: AllocationPass::Skip, clock: CLOCK };
        let workload = aa::chain("chain", 60_000, aa::Upkeep::Light);
        let found = measure(&workload, Variant::Throughput, &settings, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        assert_eq!((found.samples.len(), found.allocation), (FLOOR, Allocation::NotMeasured));
    }

    #[test]
    fn failures_and_missing_variants_are_errors() {
        let wrong =
            Workload::primitive("wrong", |_| vec![1u8], |input: &u8| *input, |_, _| Err::<Digest, _>("bad".into()));
        assert_eq!(measured(&wrong, Variant::Throughput).unwrap_err().to_string(), "wrong: iteration 0: bad");
        let chain = aa::workload();
        assert_eq!(measured(&chain, Variant::Chained).unwrap_err().to_string(), "aa: has no chained form");
        let short = aa::chain("short", 10, aa::Upkeep::Light);
        assert!(measured(&short, Variant::Cold).unwrap_err().message.contains("too short"));
    }
}
