//! Runs: an operation run once in a mode, and what the mode saw.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::Prepared;
use super::recording::{Recording, ReplayError};
use super::registry;
use super::state::{self, Mode};

/// Reads a clock in nanoseconds.
pub type Clock = fn() -> u64;

/// A set of primitives, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Names);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Names {
    All,
    These(Arc<[String]>),
}

impl Selection {
    /// Every primitive.
    pub fn all() -> Self {
        Self(Names::All)
    }

    /// No primitive: the mode's own cost.
    pub fn none() -> Self {
        Self::only(std::iter::empty::<String>())
    }

    /// These primitives.
    pub fn only(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(Names::These(names.into_iter().map(Into::into).collect()))
    }

    /// Whether a primitive is in it.
    pub fn contains(&self, name: &str) -> bool {
        match &self.0 {
            Names::All => true,
            Names::These(names) => names.iter().any(|one| one == name),
        }
    }
}

impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Names::All => f.write_str("every primitive"),
            Names::These(names) if names.is_empty() => f.write_str("no primitive"),
            Names::These(names) => f.write_str(&names.join(", ")),
        }
    }
}

/// Exact numbers of calls in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls not nested in another primitive, by primitive, in order of first call.
    pub outermost: Vec<(&'static str, u64)>,
    /// Calls within another primitive. Never added to `outermost`.
    pub nested: Vec<Nested>,
    /// Calls by threads that were in no run themselves, by primitive: not part of this run's counts,
    /// and they may belong to other work of the process.
    pub foreign: Vec<(&'static str, u64)>,
}

/// Calls of a primitive within another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nested {
    /// The outermost primitive.
    pub parent: &'static str,
    /// The primitive called within it.
    pub primitive: &'static str,
    /// Number of calls.
    pub calls: u64,
}

impl Counts {
    /// Calls of a primitive that were not nested in another.
    pub fn of(&self, primitive: &str) -> u64 {
        self.outermost.iter().find(|(name, _)| *name == primitive).map_or(0, |(_, calls)| *calls)
    }

    /// Calls of a primitive within another.
    pub fn within(&self, parent: &str, primitive: &str) -> u64 {
        let found = self.nested.iter().find(|nested| nested.parent == parent && nested.primitive == primitive);
        found.map_or(0, |nested| nested.calls)
    }
}

/// The inputs of one run's outermost calls, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The calls.
    pub calls: Vec<CapturedCall>,
}

/// One outermost call with its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedCall {
    /// The primitive.
    pub primitive: &'static str,
    /// The inputs, as named to [`super::Boundary::call_on`].
    pub inputs: Vec<Vec<u8>>,
}

/// Time in place of one primitive's outermost calls, two clock reads a call included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The primitive.
    pub primitive: &'static str,
    /// Calls timed.
    pub calls: u64,
    /// Sum of the intervals, in nanoseconds.
    pub total_ns: u64,
}

/// Runs an operation and counts its calls.
pub fn count<R>(body: impl FnOnce() -> R) -> (R, Counts) {
    let before = registry::foreign_calls();
    let (output, mode) = state::run(Mode::Count { outermost: Vec::new(), nested: Vec::new() }, body);
    let Mode::Count { outermost, nested } = mode else { unreachable!("a run keeps its mode") };
    let outermost = outermost.into_iter().map(|(index, calls)| (registry::name(index), calls)).collect();
    let nested = nested
        .into_iter()
        .map(|((parent, index), calls)| Nested {
            parent: registry::name(parent),
            primitive: registry::name(index),
            calls,
        })
        .collect();
    let earlier = |name| before.iter().find(|(one, _)| *one == name).map_or(0, |(_, calls)| *calls);
    let foreign = registry::foreign_calls()
        .into_iter()
        .map(|(name, calls)| (name, calls - earlier(name)))
        .filter(|(_, calls)| *calls > 0)
        .collect();
    (output, Counts { outermost, nested, foreign })
}

/// Runs an operation and keeps the inputs of its outermost calls.
pub fn capture<R>(body: impl FnOnce() -> R) -> (R, Capture) {
    let (output, mode) = state::run(Mode::Capture(Vec::new()), body);
    let Mode::Capture(calls) = mode else { unreachable!("a run keeps its mode") };
    (output, Capture { calls })
}

/// Runs an operation and times its outermost calls in place.
pub fn trace<R>(clock: Clock, body: impl FnOnce() -> R) -> (R, Vec<Traced>) {
    let (output, mode) = state::run(Mode::Trace { clock, spans: Vec::new() }, body);
    let Mode::Trace { spans, .. } = mode else { unreachable!("a run keeps its mode") };
    let traced =
        |(index, (calls, total_ns)): (usize, (u64, u64))| Traced { primitive: registry::name(index), calls, total_ns };
    (output, spans.into_iter().enumerate().filter(|(_, (calls, _))| *calls > 0).map(traced).collect())
}

/// Prepared calls of primitives on inputs of other iterations, for a dose to execute. Cheap to clone.
#[derive(Clone, Default)]
pub struct Supply(Rc<Vec<Stock>>);

/// The prepared calls of one primitive and which is next.
struct Stock {
    primitive: String,
    calls: Rc<[Prepared]>,
    next: Cell<usize>,
}

impl Supply {
    /// Calls by primitive, in the order in which an operation makes them.
    pub fn new(calls: impl IntoIterator<Item = (String, Rc<[Prepared]>)>) -> Self {
        let stocks = calls.into_iter().filter(|(_, calls)| !calls.is_empty());
        Self(Rc::new(stocks.map(|(primitive, calls)| Stock { primitive, calls, next: Cell::new(0) }).collect()))
    }

    /// Where a primitive's calls are, if it has any.
    pub(super) fn place(&self, primitive: &str) -> Option<usize> {
        self.0.iter().position(|stock| stock.primitive == primitive)
    }

    /// Executes the next call of those at a place.
    pub(super) fn execute(&self, place: usize) -> u64 {
        let stock = &self.0[place];
        let at = stock.next.get();
        stock.next.set(if at + 1 == stock.calls.len() { 0 } else { at + 1 });
        stock.calls[at]()
    }
}

impl std::fmt::Debug for Supply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|stock| (&stock.primitive, stock.calls.len()))).finish()
    }
}

/// Runs an operation with `times` extra executions at each outermost call of the selected primitives; the
/// number of extra executions. Extra outputs are dropped where they arise, as the operation drops its own.
pub fn dose<R>(of: &Selection, times: u32, body: impl FnOnce() -> R) -> (R, u64) {
    dose_from(&Supply::default(), of, times, body)
}

/// Like [`dose`], executing calls of the supply, in turn, where it has the primitive: on one input again and
/// again, the processor would learn the branches of variable-time code by heart.
pub fn dose_from<R>(supply: &Supply, of: &Selection, times: u32, body: impl FnOnce() -> R) -> (R, u64) {
    let mode = Mode::Dose { of: state::Selected::new(of), supply: supply.clone(), times, extra: 0 };
    let (output, mode) = state::run(mode, body);
    let Mode::Dose { extra, .. } = mode else { unreachable!("a run keeps its mode") };
    (output, extra)
}

/// Runs an operation with another implementation of one primitive at its outermost calls; how many calls it
/// computed. 0 where the primitive is not called or has no such [`super::Alternative`].
pub fn swap<R>(primitive: &str, implementation: &str, body: impl FnOnce() -> R) -> (R, u64) {
    let mode = Mode::Swap { primitive: primitive.to_owned(), implementation: implementation.to_owned(), swapped: 0 };
    let (output, mode) = state::run(mode, body);
    let Mode::Swap { swapped, .. } = mode else { unreachable!("a run keeps its mode") };
    (output, swapped)
}

/// Runs an operation and records the output of each outermost call.
pub fn record<R>(body: impl FnOnce() -> R) -> (R, Recording) {
    let (output, mode) = state::run(Mode::Record(Recording::default()), body);
    let Mode::Record(recording) = mode else { unreachable!("a run keeps its mode") };
    (output, recording)
}

/// Runs an operation with the recorded outputs returned at each outermost call of the selected primitives.
///
/// Errors where the calls, in order, or the inputs of a replayed call are not the recorded ones. The
/// operation then ran to its end with computed outputs, and its output is discarded. Whether the
/// operation's own output is the recorded run's is for the caller to compare.
pub fn replay<R>(recording: &Recording, of: &Selection, body: impl FnOnce() -> R) -> Result<R, ReplayError> {
    replaying(recording, of, state::Compute::Skip, body)
}

/// Like [`replay`], looking each output up and computing it all the same: what [`replay`] saves is counted
/// from this, so that look-up and checks cancel.
pub fn shadow<R>(recording: &Recording, of: &Selection, body: impl FnOnce() -> R) -> Result<R, ReplayError> {
    replaying(recording, of, state::Compute::AsWell, body)
}

fn replaying<R>(
    recording: &Recording,
    of: &Selection,
    compute: state::Compute,
    body: impl FnOnce() -> R,
) -> Result<R, ReplayError> {
    let of = state::Selected::new(of);
    let mode = Mode::Replay { recording: recording.clone(), of, compute, next: 0, parted: None };
    let (output, mode) = state::run(mode, body);
    let Mode::Replay { next, parted, .. } = mode else { unreachable!("a run keeps its mode") };
    match parted {
        Some(error) => Err(error),
        None if next < recording.len() && !super::COMPILED_OUT => Err(recording.error(next, "the end".to_owned())),
        None => Ok(output),
    }
}
