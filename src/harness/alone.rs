//! What a primitive costs standing alone, on the very inputs that an operation gave it.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::clock::window;
use super::cold::Disturber;
use super::interleave::{Session, caught};
use super::stack::at_random_depth;
use crate::boundary::{self, CapturedCall, Prepared, Rerun};
use crate::workload::{Fixture, Kind, Suite, Workload, WorkloadError};

/// A primitive that can be run alone.
pub struct Pool {
    /// The primitive.
    pub primitive: String,
    source: Source,
}

enum Source {
    Captured(Captured),
    Workload(Standalone),
}

/// Calls prepared from what an operation called the primitive with.
struct Captured {
    calls: Rc<[Prepared]>,
    /// Calls in one timing: whole iterations of the operation, so that sizes mix as they do in it.
    window: usize,
    passes: usize,
    /// Calls that follow each other at one stack address.
    run: usize,
    next: usize,
    random: ChaCha8Rng,
}

/// The primitive's own workload, on its own inputs.
struct Standalone {
    workload: Workload,
    throughput: Box<dyn Fixture>,
    chained: Option<Box<dyn Fixture>>,
    iterations: u64,
    next: u64,
}

/// How the calls of one timing follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chaining {
    /// Back to back: calls may overlap in the processor.
    Throughput,
    /// The address of each call's input waits for the output before.
    Chained,
    /// One call, after caches and predictors were disturbed.
    Cold,
}

/// Most bytes of inputs that are kept.
const KEPT: usize = 32 << 20;

/// Shortest and longest timing of a window, in nanoseconds. In between it is the operation's time: a
/// longer window is interrupted more often, and both should suffer alike.
const SHORTEST: f64 = 100_000.0;
const LONGEST: f64 = 5_000_000.0;

/// Calls are moved to another stack address when they have run this long at one, in nanoseconds: an operation
/// makes its calls at many, and a lower quartile over timings at one each would be of the lucky addresses.
const RUN: f64 = 20_000.0;

/// Captures the inputs of some iterations and makes a pool for every primitive that can be run alone: on
/// the captured inputs where its boundary has the means, else by the workload of its name in the suite.
/// `operation_ns` is what the operation takes, roughly.
///
/// # Errors
///
/// Where an iteration, or a primitive's workload, fails.
pub fn pools(
    session: &mut Session,
    suite: &Suite,
    seed: u64,
    iterations: u64,
    operation_ns: f64,
) -> Result<Vec<Pool>, WorkloadError> {
    let target = target(operation_ns);
    let (calls, captured) = capture(session, iterations)?;
    let mut names: Vec<&'static str> = Vec::new();
    for call in &calls {
        if !names.contains(&call.primitive) {
            names.push(call.primitive);
        }
    }
    let mut pools = Vec::new();
    for name in names {
        let source = if let Some(rerun) = boundary::known(name).and_then(|known| known.rerun) {
            Source::Captured(caught(name, || Captured::new(prepare(name, rerun, &calls), captured, target))?)
        } else if let Some(workload) = suite.find(name).filter(|workload| workload.kind == Kind::Primitive) {
            Source::Workload(caught(name, || Standalone::new(workload, seed, target))??)
        } else {
            continue;
        };
        pools.push(Pool { primitive: name.to_owned(), source });
    }
    Ok(pools)
}

/// Mean length in bytes of the last input of each primitive's calls: of the message, where there is one.
///
/// # Errors
///
/// Where an iteration fails.
pub fn sizes(session: &mut Session, iterations: u64) -> Result<Vec<(String, f64)>, WorkloadError> {
    let (calls, _) = capture(session, iterations)?;
    let mut sums: Vec<(&'static str, usize, usize)> = Vec::new();
    for call in &calls {
        let length = call.inputs.last().map_or(0, Vec::len);
        match sums.iter_mut().find(|(name, ..)| *name == call.primitive) {
            Some((_, bytes, calls)) => (*bytes, *calls) = (*bytes + length, *calls + 1),
            None => sums.push((call.primitive, length, 1)),
        }
    }
    Ok(sums.into_iter().map(|(name, bytes, calls)| (name.to_owned(), bytes as f64 / calls as f64)).collect())
}

/// A pool of another implementation on what an operation called the primitive with. `None` where the
/// operation does not call it or no boundary of it knows the implementation.
///
/// # Errors
///
/// Where an iteration fails.
pub fn alternative(
    session: &mut Session,
    (primitive, implementation): (&str, &str),
    iterations: u64,
    operation_ns: f64,
) -> Result<Option<Pool>, WorkloadError> {
    let (calls, captured) = capture(session, iterations)?;
    let known = boundary::known(primitive);
    let found = known.and_then(|known| known.alternatives.into_iter().find(|one| one.name == implementation));
    let Some(alternative) = found else { return Ok(None) };
    let prepare = |call: CapturedCall| -> Prepared {
        Box::new(move || {
            black_box((alternative.compute)(&call.inputs.iter().map(Vec::as_slice).collect::<Vec<_>>()));
            0
        })
    };
    let calls: Vec<Prepared> = calls.into_iter().filter(|call| call.primitive == primitive).map(prepare).collect();
    if calls.is_empty() {
        return Ok(None);
    }
    let source = Source::Captured(Captured::new(calls, captured, target(operation_ns)));
    Ok(Some(Pool { primitive: primitive.to_owned(), source }))
}

fn target(operation_ns: f64) -> f64 {
    operation_ns.clamp(SHORTEST, LONGEST)
}

/// The calls of some iterations, and of how many.
fn capture(session: &mut Session, iterations: u64) -> Result<(Vec<CapturedCall>, u64), WorkloadError> {
    let mut calls: Vec<CapturedCall> = Vec::new();
    let mut rounds = 0;
    let mut kept = 0;
    while rounds < iterations.max(1) && kept < KEPT {
        let (((), capture), _) = session.run(rounds, |body| boundary::capture(body))?;
        kept += capture.calls.iter().flat_map(|call| &call.inputs).map(Vec::len).sum::<usize>();
        calls.extend(capture.calls);
        rounds += 1;
    }
    Ok((calls, rounds * session.batch))
}

fn prepare(name: &str, rerun: Rerun, calls: &[CapturedCall]) -> Vec<Prepared> {
    let prepare = |call: &CapturedCall| rerun(&call.inputs.iter().map(Vec::as_slice).collect::<Vec<_>>());
    calls.iter().filter(|call| call.primitive == name).map(prepare).collect()
}

impl Pool {
    /// The calls that were prepared from what an operation called the primitive with; none where the
    /// primitive's own workload stands in.
    pub fn prepared(&self) -> Option<Rc<[Prepared]>> {
        match &self.source {
            Source::Captured(captured) => Some(captured.calls.clone()),
            Source::Workload(_) => None,
        }
    }

    /// Time of one call in nanoseconds. `None` where there is no such form.
    ///
    /// # Errors
    ///
    /// Where the primitive's workload fails or panics.
    pub fn time(&mut self, chaining: Chaining) -> Result<Option<f64>, WorkloadError> {
        caught(&self.primitive, || match &mut self.source {
            Source::Captured(captured) => Ok(Some(captured.time(chaining))),
            Source::Workload(standalone) => standalone.time(chaining),
        })?
    }
}

impl Captured {
    fn new(calls: Vec<Prepared>, iterations: u64, target: f64) -> Self {
        let of_one = (calls.len() as u64).div_ceil(iterations).max(1) as usize;
        let random = ChaCha8Rng::seed_from_u64(calls.len() as u64);
        let mut pool = Self { calls: calls.into(), window: of_one, passes: 1, run: of_one, next: 0, random };
        let cost = (0..5).map(|_| pool.time(Chaining::Throughput)).fold(f64::INFINITY, f64::min).max(1.0);
        let iterations_needed = (target / (cost * of_one as f64)).ceil().max(1.0) as usize;
        pool.window = (iterations_needed * of_one).min(pool.calls.len());
        pool.passes = (target / (cost * pool.window as f64)).ceil().max(1.0) as usize;
        pool.run = (RUN / cost).ceil().max(1.0) as usize;
        pool
    }

    /// The mean over a window that moves on with each timing.
    fn time(&mut self, chaining: Chaining) -> f64 {
        if chaining == Chaining::Cold {
            let call = &self.calls[self.next % self.calls.len()];
            self.next += 1;
            disturb();
            return window(|| {
                black_box(call());
            }) as f64;
        }
        let first = self.next % self.calls.len();
        self.next = first + self.window;
        // Zero, but where calls are chained the processor has to wait for each output to know it.
        let waits = if chaining == Chaining::Chained { black_box(0) } else { 0 };
        let (mut at, mut in_pass) = (first, 0);
        let mut left = self.passes * self.window;
        let elapsed = window(|| {
            while left > 0 {
                let run = self.run.min(left);
                left -= run;
                let calls = &self.calls;
                at_random_depth(&mut self.random, &mut || {
                    for _ in 0..run {
                        if at >= calls.len() {
                            at = 0;
                        }
                        let output = black_box((calls[at])());
                        at += 1;
                        in_pass += 1;
                        if in_pass == self.window {
                            (at, in_pass) = (first, 0);
                        }
                        if chaining == Chaining::Chained {
                            at += (output & waits) as usize;
                        }
                    }
                });
            }
        });
        elapsed as f64 / (self.passes * self.window) as f64
    }
}

impl Standalone {
    fn new(workload: &Workload, seed: u64, target: f64) -> Result<Self, WorkloadError> {
        let throughput = workload.fixture(seed)?;
        let chained = workload.chained_fixture(seed).transpose()?;
        let mut standalone = Self { workload: workload.clone(), throughput, chained, iterations: 1, next: 0 };
        let mut shortest = f64::INFINITY;
        for _ in 0..5 {
            shortest = shortest.min(standalone.time(Chaining::Throughput)?.unwrap_or(f64::INFINITY));
        }
        standalone.iterations = (target / shortest.max(1.0)).ceil().max(1.0) as u64;
        Ok(standalone)
    }

    fn time(&mut self, chaining: Chaining) -> Result<Option<f64>, WorkloadError> {
        let iterations = if chaining == Chaining::Cold { 1 } else { self.iterations };
        let fixture = match chaining {
            Chaining::Chained => match &mut self.chained {
                Some(chained) => chained,
                None => return Ok(None),
            },
            _ => &mut self.throughput,
        };
        let range = self.next..self.next + iterations;
        self.next = range.end;
        fixture.load(range).map_err(|message| self.workload.error(message))?;
        if chaining == Chaining::Cold {
            disturb();
        }
        let elapsed = window(|| fixture.run());
        fixture.unload().map_err(|message| self.workload.error(message))?;
        Ok(Some(elapsed as f64 / iterations as f64))
    }
}

fn disturb() {
    thread_local!(static DISTURBER: RefCell<Disturber> = RefCell::new(Disturber::new(1)));
    DISTURBER.with_borrow_mut(Disturber::disturb);
}
