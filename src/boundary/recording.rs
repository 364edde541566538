//! A recording: the outputs of one run's outermost calls, packed by type, with the inputs' fingerprints.

use std::any::{Any, TypeId, type_name};
use std::hash::Hasher;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHasher};

/// The outermost calls of one run with their outputs. Cheap to clone; stays on its thread.
#[derive(Clone, Default)]
pub struct Recording(Rc<Calls>);

#[derive(Default)]
struct Calls {
    calls: Vec<Call>,
    arenas: Vec<Box<dyn Any>>,
    arena_of: FxHashMap<TypeId, usize>,
}

struct Call {
    primitive: usize,
    name: &'static str,
    inputs: u64,
    arena: usize,
    at: usize,
    output: &'static str,
}

/// Why a replay is no measurement: its calls were not the recorded ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("replay: call {at} was {found}, recorded was {expected}")]
pub struct ReplayError {
    /// The outermost call at which they parted, from 0.
    pub at: usize,
    /// What had been recorded there.
    pub expected: String,
    /// What was called instead.
    pub found: String,
}

impl Recording {
    /// How many outermost calls were recorded.
    pub fn len(&self) -> usize {
        self.0.calls.len()
    }

    /// Whether no call was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.calls.is_empty()
    }

    /// The primitive recorded at a call; `None` past the end.
    pub(super) fn primitive(&self, at: usize) -> Option<usize> {
        self.0.calls.get(at).map(|call| call.primitive)
    }

    /// The output of a call, if its inputs and its type are the recorded ones.
    pub(super) fn output<T: Clone + 'static>(&self, at: usize, inputs: &[&[u8]]) -> Result<T, ReplayError> {
        let call = &self.0.calls[at];
        if call.inputs != fingerprint(inputs) {
            return Err(self.error(at, format!("{} on other inputs", call.name)));
        }
        let arena = self.0.arenas[call.arena].downcast_ref::<Vec<T>>();
        match arena {
            Some(outputs) => Ok(outputs[call.at].clone()),
            None => Err(self.error(at, format!("{} with output {}", call.name, type_name::<T>()))),
        }
    }

    /// The error of parting at a call.
    pub(super) fn error(&self, at: usize, found: String) -> ReplayError {
        let expected = match self.0.calls.get(at) {
            Some(call) => format!("{} with output {}", call.name, call.output),
            None => "the end".to_owned(),
        };
        ReplayError { at, expected, found }
    }

    /// Adds a call. Only the run that records holds the recording, so this is never a copy.
    pub(super) fn push<T: Clone + 'static>(
        &mut self,
        primitive: usize,
        name: &'static str,
        inputs: &[&[u8]],
        output: T,
    ) {
        let calls = Rc::get_mut(&mut self.0).expect("a recording is shared only when its run has ended");
        let next = calls.arenas.len();
        let arena = *calls.arena_of.entry(TypeId::of::<T>()).or_insert(next);
        if arena == next {
            calls.arenas.push(Box::new(Vec::<T>::new()));
        }
        let outputs = calls.arenas[arena].downcast_mut::<Vec<T>>().expect("an arena is found by its type");
        let at = outputs.len();
        outputs.push(output);
        let inputs = fingerprint(inputs);
        calls.calls.push(Call { primitive, name, inputs, arena, at, output: type_name::<T>() });
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("calls", &self.len()).finish_non_exhaustive()
    }
}

/// A fast fingerprint of inputs and their lengths; it runs inside timed replays.
fn fingerprint(inputs: &[&[u8]]) -> u64 {
    let mut hasher = FxHasher::default();
    for input in inputs {
        hasher.write_usize(input.len());
        hasher.write(input);
    }
    hasher.finish()
}
