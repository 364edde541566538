//! The primitives whose boundaries were called within some run of this process.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Alternative, Boundary, Purity, Rerun};

/// A closure that was called at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closure {
    /// The name of its type. All closures of one function have the same.
    pub name: &'static str,
    /// Address of the function that is compiled for it alone, whose symbol tells it from the function's others.
    pub code: usize,
}

impl Closure {
    pub(super) fn of<F>(code: *const ()) -> Self {
        Self { name: std::any::type_name::<F>(), code: code.addr() }
    }
}

/// What is known about a primitive from its boundaries.
#[derive(Clone, Debug)]
pub struct Known {
    /// The primitive's name.
    pub name: &'static str,
    /// The functions that were declared to belong to it.
    pub frames: Vec<&'static str>,
    /// The closures that counting runs saw in its boundaries.
    pub closures: Vec<Closure>,
    /// Runs it alone on captured inputs, where a boundary was given the means.
    pub rerun: Option<Rerun>,
    /// The implementations that can be swapped in.
    pub alternatives: Vec<Alternative>,
    /// Whether dose and replay leave it alone.
    pub stateful: bool,
    /// Whether replay computes it all the same, because an output of it borrows or cannot be cloned.
    pub unkept: bool,
}

struct Entry {
    known: Known,
    boundaries: Vec<&'static Boundary>,
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<Entry>> {
    // Entries are only appended to, so a panic elsewhere leaves them whole.
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The primitive of this name, if a boundary of it was called within a run of this process.
pub fn known(name: &str) -> Option<Known> {
    entries().iter().find(|entry| entry.known.name == name).map(|Entry { known, boundaries }| Known {
        unkept: boundaries.iter().any(|boundary| boundary.unkept.load(Ordering::Relaxed)),
        ..known.clone()
    })
}

/// Adds a boundary; the index of its primitive.
pub(super) fn register(boundary: &'static Boundary) -> usize {
    let mut entries = entries();
    let index = entries.iter().position(|entry| entry.known.name == boundary.name).unwrap_or_else(|| {
        let known = Known {
            name: boundary.name,
            frames: Vec::new(),
            closures: Vec::new(),
            rerun: None,
            alternatives: Vec::new(),
            stateful: false,
            unkept: false,
        };
        entries.push(Entry { known, boundaries: Vec::new() });
        entries.len() - 1
    });
    let Entry { known, boundaries } = &mut entries[index];
    if boundaries.iter().any(|other| std::ptr::eq(*other, boundary)) {
        return index;
    }
    boundaries.push(boundary);
    for frame in boundary.frames {
        if !known.frames.contains(frame) {
            known.frames.push(frame);
        }
    }
    known.alternatives.extend(boundary.alternatives);
    known.rerun = known.rerun.or(boundary.rerun);
    known.stateful |= boundary.purity == Purity::Stateful;
    index
}

/// Remembers a closure.
pub(super) fn saw_closure(index: usize, closure: Closure) {
    let closures = &mut entries()[index].known.closures;
    if !closures.contains(&closure) {
        closures.push(closure);
    }
}

/// The name of a primitive.
pub(super) fn name(index: usize) -> &'static str {
    entries()[index].known.name
}

/// Calls so far by threads in no run while another was, by primitive.
pub(super) fn foreign_calls() -> Vec<(&'static str, u64)> {
    let calls = |entry: &Entry| entry.boundaries.iter().map(|b| b.foreign.load(Ordering::Relaxed)).sum();
    entries().iter().map(|entry| (entry.known.name, calls(entry))).collect()
}
