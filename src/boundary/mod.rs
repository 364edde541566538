//! The boundary: the call site that counts, times, repeats or replays a primitive inside an operation.
//!
//! Put a static [`Boundary`] around each suspect and run the operation in one of the modes below. A mode
//! holds for one run on the calling thread and is restored when the run ends, by return or by panic.
//! Outside any run a call costs one relaxed load and a branch; the feature `boundary-off` removes those.
//!
//! ```
//! use countercheck::{Boundary, boundary};
//!
//! static MIX: Boundary = Boundary::new("mix");
//! static FOLD: Boundary = Boundary::new("fold");
//!
//! fn operation(seed: u64) -> u64 {
//!     let mix = |i: u64| MIX.call_on(&[&(seed ^ i).to_le_bytes()], || (seed ^ i).wrapping_mul(0x9e37_79b9));
//!     let mixed = mix(0) ^ mix(1) ^ mix(2);
//!     FOLD.call(|| mixed ^ (mixed >> 7))
//! }
//!
//! let (output, counts) = boundary::count(|| operation(7));
//! # if !boundary::COMPILED_OUT {
//! assert_eq!(counts.of("mix"), 3);
//! assert_eq!(counts.of("fold"), 1);
//!
//! // The recorded outputs stand in for the computation; other work than recorded is an error.
//! let (_, recording) = boundary::record(|| operation(7));
//! let replayed = boundary::replay(&recording, &boundary::Selection::all(), || operation(7));
//! assert_eq!(replayed, Ok(output));
//! assert!(boundary::replay(&recording, &boundary::Selection::all(), || operation(8)).is_err());
//! # }
//! ```

mod recording;
mod registry;
mod run;
mod state;

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub use recording::{Recording, ReplayError};
pub use registry::{Closure, Known, known};
pub use run::{
    Capture, CapturedCall, Clock, Counts, Nested, Selection, Supply, Traced, capture, count, dose, dose_from, record,
    replay, shadow, swap, trace,
};

/// Whether this build has the feature `boundary-off`: every mode then runs the operation and sees nothing.
pub const COMPILED_OUT: bool = cfg!(feature = "boundary-off");

/// Makes a call of a primitive alone from inputs in the form in which [`Boundary::call_on`] names them.
pub type Rerun = fn(&[&[u8]]) -> Prepared;

/// A prepared call of a primitive alone. It returns some word of the output, so that one call can be
/// made to wait for another.
pub type Prepared = Box<dyn Fn() -> u64>;

/// Another implementation of a primitive, to be swapped in for a run.
#[derive(Clone, Copy, Debug)]
pub struct Alternative {
    /// Its name.
    pub name: &'static str,
    /// Computes the boundary's output type from inputs as [`Boundary::call_on`] names them.
    pub compute: fn(&[&[u8]]) -> Box<dyn Any>,
}

/// A named call site of a primitive. Declare it `static` and put it around a pure call.
///
/// Several boundaries may share a name; they are one primitive.
#[derive(Debug)]
pub struct Boundary {
    name: &'static str,
    frames: &'static [&'static str],
    rerun: Option<Rerun>,
    alternatives: &'static [Alternative],
    purity: Purity,
    /// Index in the registry plus one; 0 until the first call within a run.
    id: AtomicU32,
    /// Whether an output was seen that cannot be kept.
    unkept: AtomicBool,
    /// Calls by threads that were in no run while another thread was.
    foreign: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purity {
    Pure,
    Stateful,
}

impl Boundary {
    /// A boundary for the primitive of this name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            frames: &[],
            rerun: None,
            alternatives: &[],
            purity: Purity::Pure,
            id: AtomicU32::new(0),
            unkept: AtomicBool::new(false),
            foreign: AtomicU64::new(0),
        }
    }

    /// The same with the functions that belong to the primitive, so that a profile's samples can be attributed to it: by full
    /// path, and by bare name too where the compiler may inline them, since debug information of lines alone names inlined
    /// functions so. Without this they are the functions called as the primitive is. The closures seen in counting runs are
    /// known in any case.
    #[must_use]
    pub const fn frames(mut self, frames: &'static [&'static str]) -> Self {
        self.frames = frames;
        self
    }

    /// The same with the means to run the primitive alone on captured inputs, so that its unit cost is
    /// measured on the sizes that an operation really uses.
    #[must_use]
    pub const fn rerun(mut self, rerun: Rerun) -> Self {
        self.rerun = Some(rerun);
        self
    }

    /// The same with other implementations that [`swap`] can put in its place.
    #[must_use]
    pub const fn alternatives(mut self, alternatives: &'static [Alternative]) -> Self {
        self.alternatives = alternatives;
        self
    }

    /// The same for a call that is not pure, such as a random source: counted and traced, never dosed
    /// or replayed.
    #[must_use]
    pub const fn stateful(mut self) -> Self {
        self.purity = Purity::Stateful;
        self
    }

    /// The primitive's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the closure. It must be pure: same output each time, no effect besides. Replay can then check
    /// the order of calls but not that they are on the recorded inputs; [`Boundary::call_on`] lets it.
    #[inline]
    pub fn call<T: Clone + 'static>(&'static self, body: impl Fn() -> T) -> T {
        self.call_on(&[], body)
    }

    /// Like [`Boundary::call`], with the inputs named so that replay can check them and costs can be
    /// matched to their sizes.
    #[inline]
    pub fn call_on<T: Clone + 'static>(&'static self, inputs: &[&[u8]], body: impl Fn() -> T) -> T {
        if COMPILED_OUT || state::nothing_runs() {
            return body();
        }
        self.call_in_run(inputs, body)
    }

    /// Like [`Boundary::call_on`], for inputs that are not at hand as bytes: they are made in runs only.
    #[inline]
    pub fn call_on_made<T: Clone + 'static>(
        &'static self,
        inputs: impl Fn() -> Vec<Vec<u8>>,
        body: impl Fn() -> T,
    ) -> T {
        if COMPILED_OUT || state::nothing_runs() {
            return body();
        }
        let inputs = inputs();
        self.call_in_run(&inputs.iter().map(Vec::as_slice).collect::<Vec<_>>(), body)
    }

    /// Like [`Boundary::call_on`], for an output that borrows or cannot be cloned. It cannot be kept, so replay computes
    /// it all the same: the primitive is counted, traced and dosed, and dose alone is its reference.
    #[inline]
    pub fn call_borrowed<T>(&'static self, inputs: &[&[u8]], body: impl Fn() -> T) -> T {
        if COMPILED_OUT || state::nothing_runs() {
            return body();
        }
        self.call_borrowed_in_run(inputs, body)
    }

    #[cold]
    #[inline(never)]
    fn call_borrowed_in_run<T, F: Fn() -> T>(&'static self, inputs: &[&[u8]], body: F) -> T {
        self.unkept.store(true, Ordering::Relaxed);
        let closure = Closure::of::<F>(Self::call_borrowed_in_run::<T, F> as *const ());
        state::call_borrowed(self, self.registered(), inputs, closure, body)
    }

    #[cold]
    #[inline(never)]
    fn call_in_run<T: Clone + 'static, F: Fn() -> T>(&'static self, inputs: &[&[u8]], body: F) -> T {
        let closure = Closure::of::<F>(Self::call_in_run::<T, F> as *const ());
        state::call(self, self.registered(), inputs, closure, body)
    }

    /// The primitive's index in the registry.
    fn registered(&'static self) -> usize {
        match self.id.load(Ordering::Relaxed) {
            0 => {
                let index = registry::register(self);
                self.id.store(index as u32 + 1, Ordering::Relaxed);
                index
            }
            id => id as usize - 1,
        }
    }
}

#[cfg(all(test, not(feature = "boundary-off")))]
mod tests;
