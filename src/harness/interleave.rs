//! Several ways of doing one piece of work, timed in one process in interleaved, random order.
//!
//! Each round runs every arm once, in random order, with the stack moved by a random amount of up to a page. No arm
//! runs on the input of the arm before it: the processor would have learnt the branches that the input takes. An arm's
//! figure is a low quantile over rounds, which stays put where means and medians follow the load of the machine; figures
//! of several arms are combined over the same resampled rounds, so that what the arms of a round share cancels.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::clock::{take_interruptions, thread_cpu_ns, window};
use super::stack::at_random_depth;
use crate::boundary::{self, Recording, Selection, Supply, Traced};
use crate::stats::resample::{below, block_length, shuffle};
use crate::stats::serial::autocorrelation;
use crate::stats::{CONFIDENCE, Estimate, quantile, sorted};
use crate::workload::{Digest, Fixture, Workload, WorkloadError};

/// One way of doing the work: given the round, does it once and returns its time in nanoseconds.
pub type Arm<'a> = Box<dyn FnMut(u64) -> Result<f64, WorkloadError> + 'a>;

/// How long to go on, and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed of the order and of the stack's moves.
    pub seed: u64,
    /// Thread CPU time to use, set-up included.
    pub budget: Duration,
    /// Rounds to run whatever they take; a discarded one comes first.
    pub at_least: usize,
    /// Rounds after which to stop whatever is left.
    pub at_most: usize,
    /// The quantile over rounds that is an arm's figure.
    pub quantile: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { seed: 1, budget: Duration::from_secs(25), at_least: 12, at_most: 2_000, quantile: LOWER_QUARTILE }
    }
}

/// The times of every arm in every round.
#[derive(Clone, Debug)]
pub struct Samples {
    times: Vec<Vec<f64>>,
    /// Which rounds count, by arm: see [`Samples::interrupted`].
    counts: Vec<Vec<bool>>,
    interrupted: f64,
    quantile: f64,
    /// Low quantile of each arm in each resample of rounds.
    resampled: Vec<Vec<f64>>,
}

/// An arm with fewer uninterrupted rounds than this is judged by all of them.
const LEAST: usize = 12;

const RESAMPLES: usize = 1_000;
const LOWER_QUARTILE: f64 = 0.25;

/// Runs the arms. `progress` is told the part that is done, from 0 to 1.
///
/// # Errors
///
/// The first error of an arm; what was measured is then dropped.
pub fn interleave(arms: &mut [Arm<'_>], plan: &Plan, progress: &mut dyn FnMut(f64)) -> Result<Samples, WorkloadError> {
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    let mut times = vec![Vec::new(); arms.len()];
    let mut interrupted = vec![Vec::new(); arms.len()];
    let mut order: Vec<usize> = (0..arms.len()).collect();
    let start = thread_cpu_ns();
    let budget = plan.budget.as_nanos() as f64;
    for round in 0..=plan.at_most {
        shuffle(&mut random, &mut order);
        for arm in &order {
            let mut time = Err(WorkloadError { workload: String::new(), message: "the arm did not run".to_owned() });
            take_interruptions();
            at_random_depth(&mut random, &mut || time = arms[*arm](round as u64));
            if round > 0 {
                times[*arm].push(time?);
                interrupted[*arm].push(take_interruptions() > 0);
            } else {
                time?;
            }
        }
        let used = (thread_cpu_ns() - start) as f64;
        let done_of = |rounds: usize| round as f64 / rounds as f64;
        progress((used / budget).min(done_of(plan.at_least)).max(done_of(plan.at_most)).min(1.0));
        // Whether the next round still fits, by what a round took so far.
        if round >= plan.at_least && used * (1.0 + 1.0 / (round as f64 + 1.0)) > budget {
            break;
        }
    }
    Ok(Samples::new(times, interrupted, plan))
}

impl Samples {
    /// Times by arm and round, and which of them were interrupted; all arms with the same number of rounds.
    fn new(times: Vec<Vec<f64>>, interrupted: Vec<Vec<bool>>, plan: &Plan) -> Self {
        let all = interrupted.iter().map(Vec::len).sum::<usize>().max(1);
        let share = interrupted.iter().flatten().filter(|one| **one).count() as f64 / all as f64;
        let counting = |interrupted: Vec<bool>| {
            let few = interrupted.iter().filter(|one| !**one).count() < LEAST;
            interrupted.into_iter().map(|one| few || !one).collect::<Vec<bool>>()
        };
        let counts: Vec<Vec<bool>> = interrupted.into_iter().map(counting).collect();
        let rounds = times.first().map_or(0, Vec::len);
        let correlation = times.first().and_then(|times| autocorrelation(times)).unwrap_or(0.0);
        let block = block_length(rounds, correlation).min(rounds.max(2) / 2);
        let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
        let mut drawn: Vec<usize> = Vec::with_capacity(rounds + block);
        let resampled = (0..if rounds < 2 { 0 } else { RESAMPLES })
            .map(|_| {
                drawn.clear();
                while drawn.len() < rounds {
                    let first = below(&mut random, rounds);
                    drawn.extend((0..block).map(|i| (first + i) % rounds));
                }
                drawn.truncate(rounds);
                let quartile = |(times, counts): (&Vec<f64>, &Vec<bool>)| {
                    low(drawn.iter().filter(|round| counts[**round]).map(|round| times[*round]), plan.quantile)
                };
                times.iter().zip(&counts).map(quartile).collect()
            })
            .collect();
        Self { times, counts, interrupted: share, quantile: plan.quantile, resampled }
    }

    /// The part of all timings in which the thread had to make room for others. They are left out, because a long
    /// timing is interrupted more often than a short one: with them a difference of two arms is not what one does more
    /// than the other. An arm that is nearly always interrupted keeps them all.
    pub fn interrupted(&self) -> f64 {
        self.interrupted
    }

    /// How many rounds there are.
    pub fn rounds(&self) -> usize {
        self.times.first().map_or(0, Vec::len)
    }

    /// The times of an arm, by round, in nanoseconds.
    pub fn times(&self, arm: usize) -> &[f64] {
        &self.times[arm]
    }

    /// The low quantile of an arm with its interval.
    pub fn of(&self, arm: usize) -> Estimate {
        self.combine(&[arm], |quartiles| quartiles[0])
    }

    /// A function of several arms' low quantiles, with its interval over resampled rounds.
    pub fn combine(&self, arms: &[usize], function: impl Fn(&[f64]) -> f64) -> Estimate {
        let pick = |quartiles: &[f64]| arms.iter().map(|arm| quartiles[*arm]).collect::<Vec<_>>();
        let counting = |(times, counts): (&Vec<f64>, &Vec<bool>)| {
            low(times.iter().zip(counts).filter(|(_, counts)| **counts).map(|(time, _)| *time), self.quantile)
        };
        let all: Vec<f64> = self.times.iter().zip(&self.counts).map(counting).collect();
        let point = function(&pick(&all));
        let resampled = sorted(self.resampled.iter().map(|quartiles| function(&pick(quartiles))).collect());
        let tail = 0.5 * (1.0 - CONFIDENCE);
        match (quantile(&resampled, tail), quantile(&resampled, 1.0 - tail)) {
            (Some(low), Some(high)) => Estimate::with_interval(point, low, high),
            _ => Estimate::point(point),
        }
    }
}

fn low(times: impl Iterator<Item = f64>, at: f64) -> f64 {
    quantile(&sorted(times.collect()), at).unwrap_or(f64::NAN)
}

/// What is done to the primitives of an operation in one arm.
#[derive(Clone, Debug)]
pub enum Treatment {
    /// Nothing: no run, no mode.
    Off,
    /// Each call timed in place.
    Trace,
    /// This many extra executions at each call of the selected.
    Dose(Selection, u32),
    /// Recorded outputs returned for the selected.
    Replay(Selection),
    /// Recorded outputs looked up for the selected, and computed all the same.
    Shadow(Selection),
    /// Another implementation, named second, in the place of the primitive, named first.
    Swap(String, String),
}

impl std::fmt::Display for Treatment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Off => f.write_str("a second run"),
            Self::Trace => f.write_str("timing its calls"),
            Self::Dose(of, times) => write!(f, "repeating {of} {times} more times a call"),
            Self::Replay(of) => write!(f, "replaying {of}"),
            Self::Shadow(of) => write!(f, "recording {of}"),
            Self::Swap(primitive, implementation) => write!(f, "{primitive} by {implementation}"),
        }
    }
}

/// Inputs that a session's timings take in turn. A branch predictor learns tens of thousands of branches when they come
/// again at once, and variable-time code then costs several percent less than on an input that is new to it.
const INPUTS: u64 = 16;

/// A workload's fixture, shared by the arms that treat it. Every treated run must give the output that the
/// recording run on its input gave.
pub struct Session {
    workload: Workload,
    fixture: Box<dyn Fixture>,
    /// Iterations in one timing, so that it is long against the clock.
    pub batch: u64,
    /// What doses execute; the operation's own call again where it is empty.
    pub supply: Supply,
    /// Recording and output on each input that was timed so far.
    recorded: Vec<(Recording, Digest)>,
    /// Timings so far: the next one's place among the inputs.
    timings: u64,
    /// Times in place, by the order of tracing runs.
    pub traced: Vec<Vec<Traced>>,
}

impl Session {
    /// Sets the workload up.
    ///
    /// # Errors
    ///
    /// Where the set-up fails.
    pub fn new(workload: &Workload, seed: u64) -> Result<Self, WorkloadError> {
        let fixture = caught(&workload.name, || workload.fixture(seed))??;
        Ok(Self {
            workload: workload.clone(),
            fixture,
            batch: 1,
            supply: Supply::default(),
            recorded: Vec::new(),
            timings: 0,
            traced: Vec::new(),
        })
    }

    /// Runs a batch on the input of that number under `run`, which is given the body; the output's fingerprint
    /// beside what `run` returned.
    ///
    /// # Errors
    ///
    /// Where the input cannot be built, the body panics, or an output is wrong.
    pub fn run<R>(
        &mut self,
        input: u64,
        run: impl FnOnce(&mut dyn FnMut()) -> R,
    ) -> Result<(R, Digest), WorkloadError> {
        let iterations = input * self.batch..(input + 1) * self.batch;
        let Self { workload, fixture, .. } = self;
        caught(&workload.name, || {
            fixture.load(iterations)?;
            let result = run(&mut || fixture.run());
            Ok((result, fixture.unload()?))
        })?
        .map_err(|message: String| workload.error(message))
    }

    /// Time of one iteration in nanoseconds under a treatment, on the input whose turn it is.
    ///
    /// # Errors
    ///
    /// As [`Session::run`], and where a replay parts from its recording or the output is not the recorded
    /// run's.
    pub fn time(&mut self, treatment: &Treatment) -> Result<f64, WorkloadError> {
        let input = self.timings % INPUTS;
        self.timings += 1;
        if self.recorded.len() as u64 <= input {
            let (((), recording), digest) = self.run(input, |body| boundary::record(body))?;
            self.recorded.push((recording, digest));
        }
        let (recording, expected) = self.recorded[input as usize].clone();
        let mut traced = Vec::new();
        let supply = self.supply.clone();
        let (elapsed, digest) = self.run(input, |body| {
            let mut timed = || window(&mut *body);
            match treatment {
                Treatment::Off => Ok(timed()),
                Treatment::Dose(of, times) => Ok(boundary::dose_from(&supply, of, *times, timed).0),
                Treatment::Replay(of) => boundary::replay(&recording, of, timed).map_err(|parted| parted.to_string()),
                Treatment::Shadow(of) => boundary::shadow(&recording, of, timed).map_err(|parted| parted.to_string()),
                Treatment::Swap(primitive, implementation) => match boundary::swap(primitive, implementation, timed) {
                    (_, 0) => Err(format!("{primitive} has no call that {implementation} could compute")),
                    (elapsed, _) => Ok(elapsed),
                },
                Treatment::Trace => {
                    let (elapsed, spans) = boundary::trace(thread_cpu_ns, timed);
                    traced = spans;
                    Ok(elapsed)
                }
            }
        })?;
        if !traced.is_empty() {
            self.traced.push(traced);
        }
        let elapsed = elapsed.map_err(|message: String| self.workload.error(message))?;
        if digest != expected {
            let message =
                format!("{treatment} gives another output than the plain run: is every call behind a boundary pure?");
            return Err(self.workload.error(message));
        }
        Ok(elapsed as f64 / self.batch as f64)
    }

    /// Chooses [`Session::batch`] so that one timing takes at least 100 µs, of which reading the clock is a
    /// hundredth at most; the time of one iteration in
    /// nanoseconds, roughly.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub fn calibrate(&mut self) -> Result<f64, WorkloadError> {
        let mut shortest = f64::INFINITY;
        for _ in 0..5 {
            shortest = shortest.min(self.time(&Treatment::Off)?.max(1.0));
        }
        self.batch = ((100_000.0 / shortest).ceil() as u64).clamp(1, 4096);
        self.recorded.clear();
        self.timings = 0;
        Ok(shortest)
    }
}

/// Runs something of a workload that may panic; the panic becomes the workload's error.
pub(super) fn caught<R>(workload: &str, body: impl FnOnce() -> R) -> Result<R, WorkloadError> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        WorkloadError { workload: workload.to_owned(), message: format!("panicked: {text}") }
    })
}

#[cfg(all(test, not(feature = "boundary-off")))]
mod tests {
    use super::*;
    use crate::Boundary;

    static HALF: Boundary = Boundary::new("interleave_half");

    fn spin(turns: u64) -> u64 {
        (0..turns).fold(1, |x: u64, i| std::hint::black_box(x.rotate_left(5) ^ i))
    }

    /// An operation of which the boundary covers half.
    fn workload() -> Workload {
        Workload::operation(
            "halves",
            Ok,
            |seed, index| Ok(seed + index),
            |input| {
                let behind = HALF.call_on(&[&input.to_le_bytes()], || spin(20_000) ^ *input);
                behind ^ spin(20_000)
            },
            |_, _, output| Ok(Digest::of(&output.to_le_bytes())),
        )
    }

    #[test]
    fn dose_and_replay_find_the_half_that_is_behind_the_boundary() {
        let session = std::cell::RefCell::new(Session::new(&workload(), 1).unwrap());
        let all = Selection::all;
        let treatments = [
            Treatment::Off,
            Treatment::Dose(Selection::none(), 0),
            Treatment::Dose(all(), 2),
            Treatment::Shadow(all()),
            Treatment::Replay(all()),
        ];
        let mut arms: Vec<Arm> =
            treatments.iter().map(|treatment| -> Arm { Box::new(|_| session.borrow_mut().time(treatment)) }).collect();
        let plan = Plan { budget: Duration::from_millis(300), ..Plan::default() };
        let mut last = 0.0;
        let samples = interleave(&mut arms, &plan, &mut |done| last = done).unwrap();
        assert!(samples.rounds() >= plan.at_least && last > 0.9, "{} rounds, {last}", samples.rounds());
        // Whichever of budget and rounds ends it.
        let few = Plan { at_least: 1, at_most: 3, ..plan };
        assert_eq!(interleave(&mut arms, &few, &mut |done| last = done).unwrap().rounds(), 3);
        assert!((last - 1.0).abs() < f64::EPSILON, "{last}");
        let dose = samples.combine(&[0, 2], |t| (t[1] - t[0]) / 2.0 / t[0]);
        let replay = samples.combine(&[0, 3, 4], |t| (t[1] - t[2]) / t[0]);
        // Half the figure as leeway: noise between interleaved arms is a few percent.
        for share in [dose, replay] {
            assert!((share.point - 0.5).abs() < 0.25, "{share:?}");
        }
    }

    #[test]
    fn a_panic_and_a_wrong_output_are_errors_of_the_workload() {
        let failing = |index: u64, message: &'static str| {
            Workload::operation(
                "failing",
                Ok,
                |_, index| Ok(index),
                move |input| {
                    assert!(*input < index, "{message}");
                    *input
                },
                |_, _, output| Ok(Digest::of(&output.to_le_bytes())),
            )
        };
        let mut session = Session::new(&failing(2, "half way"), 1).unwrap();
        session.time(&Treatment::Off).unwrap();
        session.time(&Treatment::Off).unwrap();
        let error = session.time(&Treatment::Off).unwrap_err();
        assert_eq!(error.to_string(), "failing: panicked: half way");
    }

    #[test]
    fn no_timing_repeats_the_input_of_the_one_before() {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let log = seen.clone();
        let workload = Workload::operation(
            "noting",
            Ok,
            |_, index| Ok(index),
            move |input| {
                log.lock().unwrap().push(*input);
                *input
            },
            |_, _, output| Ok(Digest::of(&output.to_le_bytes())),
        );
        let mut session = Session::new(&workload, 1).unwrap();
        for treatment in [Treatment::Off, Treatment::Shadow(Selection::all())].iter().cycle().take(4 * INPUTS as usize)
        {
            session.time(treatment).unwrap();
        }
        // Each input is met for the first time by its recording.
        let seen = seen.lock().unwrap();
        let (recorded, timed) = seen.split_at(2 * INPUTS as usize);
        assert!(recorded.chunks(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(timed.len() as u64, 3 * INPUTS);
        assert!(timed.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(timed.iter().collect::<std::collections::BTreeSet<_>>().len() as u64, INPUTS);
    }

    #[test]
    fn an_output_that_changes_between_runs_of_one_input_is_an_error() {
        let runs = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let drifting = Workload::operation(
            "drifting",
            Ok,
            |_, index| Ok(index),
            move |_| runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            |_, _, output| Ok(Digest::of(&output.to_le_bytes())),
        );
        let error = Session::new(&drifting, 1).unwrap().time(&Treatment::Off).unwrap_err();
        assert!(error.message.contains("gives another output than the plain run"), "{error}");
    }

    /// Timings of 1 and 2 ms on a machine that takes the thread away every millisecond or so, for 100 µs of refilled
    /// caches each time: the difference of the two arms is known.
    #[test]
    fn interruptions_do_not_tilt_the_difference_of_a_short_and_a_long_arm() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut arm = |length: f64| -> (Vec<f64>, Vec<bool>) {
            let one = |_| {
                let hits = (0..(length / 1e5) as usize).filter(|_| below(&mut random, 10) == 0).count();
                let noise = below(&mut random, 4_000) as f64;
                (length + noise + 1e5 * hits as f64, hits > 0)
            };
            (0..400).map(one).unzip()
        };
        let (short, long) = (arm(1e6), arm(2e6));
        let difference = |flags: [Vec<bool>; 2]| {
            let samples = Samples::new(vec![short.0.clone(), long.0.clone()], flags.into(), &Plan::default());
            samples.combine(&[0, 1], |t| t[1] - t[0]).point / 1e6
        };
        let known = difference([short.1.clone(), long.1.clone()]);
        assert!((known - 1.0).abs() < 0.01, "{known}");
        let unknown = difference([vec![false; 400], vec![false; 400]]);
        assert!(unknown > 1.05, "{unknown}");
        // Nothing is left of an arm that is always interrupted: then all of it counts.
        let always = Samples::new(vec![vec![5.0; 20]], vec![vec![true; 20]], &Plan::default());
        assert_eq!((always.of(0).point, always.interrupted()), (5.0, 1.0));
    }

    #[test]
    fn combined_figures_keep_what_the_rounds_share() {
        // Rounds differ by a factor of ten, the arms by exactly 3.
        let first: Vec<f64> = (0..40).map(|round| f64::from(round * 10)).collect();
        let second: Vec<f64> = first.iter().map(|time| time + 3.0).collect();
        let samples = Samples::new(vec![first, second], vec![vec![false; 40]; 2], &Plan::default());
        let difference = samples.combine(&[0, 1], |t| t[1] - t[0]);
        assert_eq!((difference.point, difference.low, difference.high), (3.0, Some(3.0), Some(3.0)));
        assert!(samples.of(0).half_width().unwrap() > 10.0);
    }
}
