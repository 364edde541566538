//! The state of a thread's run, and what a boundary call does in it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};

use super::recording::{Recording, ReplayError};
use super::run::{CapturedCall, Clock, Selection, Supply};
use super::{Alternative, Boundary, Closure, Purity, registry};

/// Number of runs in progress on any thread. While it is 0 a boundary call does nothing but read it.
static RUNS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

struct Run {
    mode: Mode,
    /// The primitive that is being executed, outermost.
    within: Option<usize>,
}

/// A run's mode with what it gathers.
pub(super) enum Mode {
    Count { outermost: Vec<(usize, u64)>, nested: Vec<((usize, usize), u64)> },
    Capture(Vec<CapturedCall>),
    Trace { clock: Clock, spans: Vec<(u64, u64)> },
    Dose { of: Selected, supply: Supply, times: u32, extra: u64 },
    Record(Recording),
    Swap { primitive: String, implementation: String, swapped: u64 },
    Replay { recording: Recording, of: Selected, compute: Compute, next: usize, parted: Option<ReplayError> },
}

/// Whether a replayed call is computed all the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compute {
    Skip,
    AsWell,
}

/// A selection with what is known already about each primitive, so that names are compared once.
pub(super) struct Selected {
    selection: Selection,
    known: Vec<Option<bool>>,
}

impl Selected {
    pub(super) fn new(selection: &Selection) -> Self {
        Self { selection: selection.clone(), known: Vec::new() }
    }

    fn contains(&mut self, index: usize, boundary: &Boundary) -> bool {
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        *self.known[index]
            .get_or_insert_with(|| boundary.purity == Purity::Pure && self.selection.contains(boundary.name))
    }
}

/// What a call does.
enum Step {
    /// Nothing but the call.
    Plain,
    /// The call, with calls inside it nested.
    Outermost,
    Trace(Clock),
    Dose(u32),
    DoseFrom(Supply, usize, u32),
    Record,
    Swap(Alternative),
    Replay(Recording, usize, Compute),
}

/// Whether no thread is in a run.
#[inline]
pub(super) fn nothing_runs() -> bool {
    RUNS.load(Ordering::Relaxed) == 0
}

/// Runs `body` with the calling thread in `mode`; the thread's earlier state is restored at the end.
pub(super) fn run<R>(mode: Mode, body: impl FnOnce() -> R) -> (R, Mode) {
    struct Restore {
        earlier: Option<Run>,
    }
    impl Drop for Restore {
        fn drop(&mut self) {
            RUNS.fetch_sub(1, Ordering::Relaxed);
            RUN.with_borrow_mut(|run| *run = self.earlier.take());
        }
    }
    let restore = Restore { earlier: RUN.replace(Some(Run { mode, within: None })) };
    RUNS.fetch_add(1, Ordering::Relaxed);
    let output = body();
    let ended = RUN.take().expect("runs within this one have restored it");
    drop(restore);
    (output, ended.mode)
}

/// A boundary call while some thread is in a run.
pub(super) fn call<T: Clone + 'static>(
    boundary: &'static Boundary,
    index: usize,
    inputs: &[&[u8]],
    closure: Closure,
    body: impl Fn() -> T,
) -> T {
    match step(boundary, index, inputs, closure) {
        Step::Record => {
            let output = within(index, body);
            let kept = output.clone();
            keep(boundary, index, inputs, kept);
            output
        }
        // An alternative of another output type is no alternative: the operation's own then computes.
        Step::Swap(alternative) => match within(index, || (alternative.compute)(inputs)).downcast::<T>() {
            Ok(output) => {
                with_mode(|mode| {
                    let Mode::Swap { swapped, .. } = mode else { return };
                    *swapped += 1;
                });
                *output
            }
            Err(_) => within(index, body),
        },
        Step::Replay(recording, at, compute) => match recording.output(at, inputs) {
            Ok(output) if compute == Compute::Skip => output,
            Ok(output) => {
                std::hint::black_box(output);
                within(index, body)
            }
            Err(error) => {
                with_mode(|mode| part(mode, error));
                within(index, body)
            }
        },
        step => computed(index, step, body),
    }
}

/// The same for an output that cannot be kept. Its call is recorded, so that replay finds the calls in order.
pub(super) fn call_borrowed<T>(
    boundary: &'static Boundary,
    index: usize,
    inputs: &[&[u8]],
    closure: Closure,
    body: impl Fn() -> T,
) -> T {
    let step = step(boundary, index, inputs, closure);
    match &step {
        Step::Record => keep(boundary, index, inputs, Unkept),
        Step::Replay(recording, at, _) => {
            if let Err(error) = recording.output::<Unkept>(*at, inputs) {
                with_mode(|mode| part(mode, error));
            }
        }
        _ => (),
    }
    computed(index, step, body)
}

/// Stands in a recording for an output that cannot be kept.
#[derive(Clone)]
struct Unkept;

/// Computes the output, timed or repeated as the step says.
fn computed<T>(index: usize, step: Step, body: impl Fn() -> T) -> T {
    match step {
        Step::Plain => body(),
        Step::Outermost | Step::Record | Step::Swap(_) | Step::Replay(..) => within(index, body),
        Step::Trace(clock) => {
            let start = clock();
            let output = within(index, body);
            let span = clock() - start;
            with_mode(|mode| {
                let Mode::Trace { spans, .. } = mode else { return };
                spans[index].0 += 1;
                spans[index].1 += span;
            });
            output
        }
        Step::Dose(times) => within(index, || {
            let output = body();
            for _ in 0..times {
                drop(std::hint::black_box(body()));
            }
            output
        }),
        Step::DoseFrom(supply, place, times) => within(index, || {
            let output = body();
            for _ in 0..times {
                std::hint::black_box(supply.execute(place));
            }
            output
        }),
    }
}

/// Adds a call to the recording.
fn keep<T: Clone + 'static>(boundary: &'static Boundary, index: usize, inputs: &[&[u8]], output: T) {
    with_mode(|mode| {
        let Mode::Record(recording) = mode else { return };
        recording.push(index, boundary.name, inputs, output);
    });
}

/// Notes the call in the run's state and says what to do.
fn step(boundary: &'static Boundary, index: usize, inputs: &[&[u8]], closure: Closure) -> Step {
    RUN.with_borrow_mut(|run| {
        let Some(run) = run else {
            boundary.foreign.fetch_add(1, Ordering::Relaxed);
            return Step::Plain;
        };
        if let Some(parent) = run.within {
            if let Mode::Count { nested, .. } = &mut run.mode {
                registry::saw_closure(index, closure);
                add_one(nested, (parent, index));
            }
            return Step::Plain;
        }
        match &mut run.mode {
            Mode::Count { outermost, .. } => {
                registry::saw_closure(index, closure);
                add_one(outermost, index);
                Step::Outermost
            }
            Mode::Capture(calls) => {
                let inputs = inputs.iter().map(|input| input.to_vec()).collect();
                calls.push(CapturedCall { primitive: boundary.name, inputs });
                Step::Outermost
            }
            Mode::Trace { clock, spans } => {
                if spans.len() <= index {
                    spans.resize(index + 1, (0, 0));
                }
                Step::Trace(*clock)
            }
            Mode::Dose { of, supply, times, extra } => {
                if !of.contains(index, boundary) {
                    return Step::Outermost;
                }
                *extra += u64::from(*times);
                match supply.place(boundary.name) {
                    Some(place) => Step::DoseFrom(supply.clone(), place, *times),
                    None => Step::Dose(*times),
                }
            }
            Mode::Record(_) => Step::Record,
            Mode::Swap { primitive, implementation, .. } => {
                let named = |one: &&Alternative| boundary.name == primitive && one.name == implementation;
                boundary.alternatives.iter().find(named).map_or(Step::Outermost, |one| Step::Swap(*one))
            }
            Mode::Replay { recording, of, compute, next, parted } => {
                if parted.is_some() {
                    return Step::Outermost;
                }
                let at = *next;
                *next += 1;
                if recording.primitive(at) != Some(index) {
                    *parted = Some(recording.error(at, boundary.name.to_owned()));
                    return Step::Outermost;
                }
                if of.contains(index, boundary) {
                    Step::Replay(recording.clone(), at, *compute)
                } else {
                    Step::Outermost
                }
            }
        }
    })
}

fn part(mode: &mut Mode, error: ReplayError) {
    if let Mode::Replay { parted, .. } = mode {
        parted.get_or_insert(error);
    }
}

fn add_one<K: PartialEq>(counts: &mut Vec<(K, u64)>, key: K) {
    match counts.iter_mut().find(|(one, _)| *one == key) {
        Some((_, calls)) => *calls += 1,
        None => counts.push((key, 1)),
    }
}

/// Runs a body with the calls inside it nested in `index`, by return or by panic.
fn within<T>(index: usize, body: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            set_within(None);
        }
    }
    set_within(Some(index));
    let _leave = Leave;
    body()
}

fn set_within(within: Option<usize>) {
    RUN.with_borrow_mut(|run| {
        if let Some(run) = run {
            run.within = within;
        }
    });
}

fn with_mode(then: impl FnOnce(&mut Mode)) {
    RUN.with_borrow_mut(|run| {
        if let Some(run) = run {
            then(&mut run.mode);
        }
    });
}
