//! A sampled profile: interned frames, stacks as a prefix tree, and weighted stack samples.
//!
//! Stacks are root first. Every reader in [`crate::import`] and every sampler ends here, and this is the
//! only form that attribution, flamegraphs and writers know.

mod check;
mod doubts;
pub mod facts;
mod names;
#[cfg(test)]
pub(crate) mod testing;
mod top;

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub use check::Inconsistent;
pub(crate) use names::bare;
pub use top::{GroupBy, Top, TopRow};

/// Index of a frame in [`Profile::frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FrameId(pub u32);

/// Index of a stack in [`Profile::stacks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackId(pub u32);

/// Index of a thread in [`Profile::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

/// One function (or address) on a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Demangled function name, or the address or the producer's own placeholder where there is none.
    pub function: String,
    /// Library, module or package, where known.
    pub module: Option<String>,
    /// Source file, where known.
    pub file: Option<String>,
    /// Source line, 1-based, where known.
    pub line: Option<u32>,
    /// Instruction address as recorded, where known.
    pub address: Option<u64>,
    /// What kind of frame the producer says that it is.
    pub kind: FrameKind,
}

/// Kinds of frame that a producer distinguishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// Ordinary code, or not said.
    #[default]
    Plain,
    /// Inlined into its parent: same physical frame.
    Inlined,
    /// Kernel code.
    Kernel,
    /// Interpreted code.
    Interpreted,
    /// Not code: `(idle)`, `(program)`, garbage collection, `[truncated]`.
    Synthetic,
}

/// A stack: its leaf frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stack {
    /// The caller's stack; `None` at the root.
    pub parent: Option<StackId>,
    /// The innermost frame.
    pub frame: FrameId,
}

/// What a weight counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WeightType {
    /// The producer's name: `samples`, `cpu`, `cycles`, `alloc_space`.
    pub name: String,
    /// Unit after normalisation: `count`, `nanoseconds`, `bytes`, or the producer's own.
    pub unit: String,
}

/// One stack sample, or several equal ones that the producer had already added up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackSample {
    /// The stack; `None` where the producer recorded none.
    pub stack: Option<StackId>,
    /// The thread, where known.
    pub thread: Option<ThreadId>,
    /// Nanoseconds since the recording's start, where known and not aggregated.
    pub time_ns: Option<u64>,
    /// How many samples this stands for; `None` where the producer gave only a weight.
    pub count: Option<u64>,
    /// One weight for each of [`Profile::weight_types`]; may be negative in differences.
    pub weights: Vec<f64>,
}

/// Something a reader left out or changed, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Note {
    /// Short fixed code: `lines-ignored`, `no-stack`.
    pub code: String,
    /// One sentence for people.
    pub message: String,
    /// How many samples or lines it concerns.
    pub count: u64,
}

/// What is known about how the profile was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The format it was read from, or the sampler that took it: `folded`, `pprof`, `own`.
    pub format: String,
    /// Program that wrote it and its version, where the file says.
    pub producer: Option<String>,
    /// Sampling rate asked for, per second.
    pub requested_hz: Option<f64>,
    /// Sampling period as written, in `period_unit`.
    pub period: Option<f64>,
    /// Unit of `period`: `nanoseconds`, `cycles`, `bytes`.
    pub period_unit: Option<String>,
    /// Thread CPU time used while sampling, in nanoseconds.
    pub cpu_time_ns: Option<u64>,
    /// Wall time of the recording, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// Whether the samples are of CPU time, of wall time, of allocation, or of something else.
    pub clock: SampleClock,
    /// Event types present in the file, with their number of events, the ones not read included.
    pub events: BTreeMap<String, u64>,
    /// Free facts of the producer: JVM flags, unwinder, tick rate.
    pub facts: BTreeMap<String, String>,
}

/// What advances between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleClock {
    /// Not said.
    #[default]
    Unknown,
    /// CPU time: a sleeping thread is not sampled.
    Cpu,
    /// Wall time: a sleeping thread is sampled.
    Wall,
    /// Bytes or objects allocated.
    Allocation,
    /// Another event: page faults, cache misses.
    Event,
}

/// A sampled profile. Build it with [`Builder`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Interned frames.
    pub frames: Vec<Frame>,
    /// Interned stacks; a parent comes before its children.
    pub stacks: Vec<Stack>,
    /// Names of threads.
    pub threads: Vec<String>,
    /// What the weights count; at least one.
    pub weight_types: Vec<WeightType>,
    /// Index into `weight_types` of the one that the producer means by default.
    pub default_weight: usize,
    /// The samples, in the producer's order.
    pub samples: Vec<StackSample>,
    /// How it was taken.
    pub provenance: Provenance,
    /// What was dropped or changed on the way in.
    pub notes: Vec<Note>,
}

/// Self and total weight of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SelfTotal {
    /// Weight of the samples whose leaf it is (pprof: flat).
    pub self_weight: f64,
    /// Weight of the samples in which it appears, each counted once (pprof: cum).
    pub total_weight: f64,
}

impl Profile {
    /// The frame of this index.
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// The stack of this index.
    pub fn stack(&self, id: StackId) -> Stack {
        self.stacks[id.0 as usize]
    }

    /// The frames of a stack, leaf first.
    pub fn leaf_to_root(&self, id: StackId) -> impl Iterator<Item = FrameId> + '_ {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let stack = self.stack(next?);
            next = stack.parent;
            Some(stack.frame)
        })
    }

    /// The frames of a stack, root first.
    pub fn root_to_leaf(&self, id: StackId) -> Vec<FrameId> {
        let mut frames: Vec<_> = self.leaf_to_root(id).collect();
        frames.reverse();
        frames
    }

    /// The net sum of one weight over all samples, in the weight's unit.
    pub fn total(&self, weight: usize) -> f64 {
        self.samples.iter().filter_map(|sample| sample.weights.get(weight)).sum()
    }

    /// Self and total weight by a key of the frame; recursion counts once.
    pub fn by<K: Clone + Ord>(&self, weight: usize, key: impl Fn(&Frame) -> K) -> BTreeMap<K, SelfTotal> {
        self.by_value(|sample| sample.weights.get(weight).copied().unwrap_or(0.0), key)
    }

    /// Self and total of any value of a sample by a key of the frame; recursion counts once.
    pub fn by_value<K: Clone + Ord>(
        &self,
        value: impl Fn(&StackSample) -> f64,
        key: impl Fn(&Frame) -> K,
    ) -> BTreeMap<K, SelfTotal> {
        let mut per_stack: FxHashMap<StackId, f64> = FxHashMap::default();
        for sample in &self.samples {
            if let Some(stack) = sample.stack {
                *per_stack.entry(stack).or_default() += value(sample);
            }
        }
        let mut key_ids: BTreeMap<K, usize> = BTreeMap::new();
        let mut sums: Vec<SelfTotal> = Vec::new();
        let frame_keys: Vec<usize> = self
            .frames
            .iter()
            .map(|frame| {
                *key_ids.entry(key(frame)).or_insert_with(|| {
                    sums.push(SelfTotal::default());
                    sums.len() - 1
                })
            })
            .collect();
        let mut seen_in = vec![u32::MAX; sums.len()];
        for (turn, (stack, value)) in per_stack.into_iter().enumerate() {
            for (depth, frame) in self.leaf_to_root(stack).enumerate() {
                let id = frame_keys[frame.0 as usize];
                if depth == 0 {
                    sums[id].self_weight += value;
                }
                if seen_in[id] != turn as u32 {
                    seen_in[id] = turn as u32;
                    sums[id].total_weight += value;
                }
            }
        }
        key_ids.into_iter().map(|(key, id)| (key, sums[id])).collect()
    }
}

/// Builds a [`Profile`], interning frames and stacks.
#[derive(Debug, Default)]
pub struct Builder {
    profile: Profile,
    frame_ids: FxHashMap<Frame, FrameId>,
    branches: FxHashMap<u64, StackId>,
    thread_ids: FxHashMap<String, ThreadId>,
    note_ids: FxHashMap<String, usize>,
    cached: FxHashMap<Box<[u8]>, FrameId>,
    keep: Option<usize>,
    merged: Option<FxHashMap<MergeKey, usize>>,
}

/// Samples are merged where these are equal: the stack, the thread and which weights are not zero.
type MergeKey = (Option<StackId>, Option<ThreadId>, u64);

impl Builder {
    /// A builder for samples with these weights.
    pub fn new(weight_types: Vec<WeightType>) -> Self {
        Self { profile: Profile { weight_types, ..Profile::default() }, ..Self::default() }
    }

    /// The index of a frame, new or known.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        if let Some(id) = self.frame_ids.get(&frame) {
            return *id;
        }
        let id = FrameId(self.profile.frames.len() as u32);
        self.profile.frames.push(frame.clone());
        self.frame_ids.insert(frame, id);
        id
    }

    /// The frame of an index that this builder gave.
    pub fn frame_of(&self, id: FrameId) -> &Frame {
        &self.profile.frames[id.0 as usize]
    }

    /// The index of the stack in which `parent` calls `frame`.
    ///
    /// A new stack's frames are stored one behind the other: of each parent the first child lies right behind it, and
    /// is found without a look-up. Only the further children need one.
    pub fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        let stack = Stack { parent, frame };
        let end = self.profile.stacks.len();
        let behind = parent.map_or(0, |parent| parent.0 as usize + 1);
        if behind == end || self.profile.stacks[behind] == stack {
            if behind == end {
                self.profile.stacks.push(stack);
            }
            return StackId(behind as u32);
        }
        *self.branches.entry((behind as u64) << 32 | u64::from(frame.0)).or_insert_with(|| {
            self.profile.stacks.push(stack);
            StackId(end as u32)
        })
    }

    /// The index of a stack given root first; `None` for an empty one.
    pub fn stack_of(&mut self, root_first: impl IntoIterator<Item = FrameId>) -> Option<StackId> {
        root_first.into_iter().fold(None, |parent, frame| Some(self.stack(parent, frame)))
    }

    /// The frames of a stack, root first.
    pub fn root_to_leaf(&self, id: StackId) -> Vec<FrameId> {
        self.profile.root_to_leaf(id)
    }

    /// The index of a thread name, new or known.
    pub fn thread(&mut self, name: &str) -> ThreadId {
        if let Some(id) = self.thread_ids.get(name) {
            return *id;
        }
        let id = ThreadId(self.profile.threads.len() as u32);
        self.profile.threads.push(name.to_owned());
        self.thread_ids.insert(name.to_owned(), id);
        id
    }

    /// A thread of its own, though another may have the same name: the second `main` is `main (2)`.
    pub fn new_thread(&mut self, name: &str) -> ThreadId {
        let mut unique = name.to_owned();
        let mut turn = 1;
        while self.thread_ids.contains_key(&unique) {
            turn += 1;
            unique = format!("{name} ({turn})");
        }
        self.thread(&unique)
    }

    /// The frame that these bytes stand for; `make` is asked only for bytes that were not seen before.
    pub fn cached_frame(&mut self, bytes: &[u8], make: impl FnOnce(&[u8]) -> Frame) -> FrameId {
        if let Some(id) = self.cached.get(bytes) {
            return *id;
        }
        let id = self.frame(make(bytes));
        // A cache, not a store: it must not grow with the input.
        if self.cached.len() >= 1 << 18 {
            self.cached.clear();
        }
        self.cached.insert(bytes.into(), id);
        id
    }

    /// From `samples` samples on, merges those of equal stack and thread and forgets their times, so that
    /// memory grows with the distinct stacks and not with the length of the recording.
    pub fn keep_at_most(&mut self, samples: usize) {
        self.keep = Some(samples);
    }

    /// Adds a weight type to those known so far; samples already added weigh zero in it.
    pub fn weight_type(&mut self, weight: WeightType) -> usize {
        self.profile.weight_types.push(weight);
        for sample in &mut self.profile.samples {
            sample.weights.push(0.0);
        }
        self.profile.weight_types.len() - 1
    }

    /// Adds a sample.
    pub fn sample(&mut self, sample: StackSample) {
        debug_assert_eq!(sample.weights.len(), self.profile.weight_types.len());
        if let Some(merged) = &mut self.merged {
            merge(&mut self.profile.samples, merged, sample);
            return;
        }
        self.profile.samples.push(sample);
        if self.keep.is_some_and(|keep| self.profile.samples.len() > keep) {
            let mut merged = FxHashMap::default();
            let before = std::mem::take(&mut self.profile.samples);
            let times = before.iter().filter(|sample| sample.time_ns.is_some()).count() as u64;
            for sample in before {
                merge(&mut self.profile.samples, &mut merged, sample);
            }
            self.merged = Some(merged);
            if times > 0 {
                self.note(
                    "times-forgotten",
                    "too many samples to keep the time of each: equal stacks are merged",
                    times,
                );
            }
        }
    }

    /// Adds to the note with this code; the first message of a code stays.
    pub fn note(&mut self, code: &str, message: impl Into<String>, count: u64) {
        if let Some(at) = self.note_ids.get(code) {
            self.profile.notes[*at].count += count;
            return;
        }
        self.note_ids.insert(code.to_owned(), self.profile.notes.len());
        self.profile.notes.push(Note { code: code.to_owned(), message: message.into(), count });
    }

    /// How the profile was taken, to be filled in.
    pub fn provenance(&mut self) -> &mut Provenance {
        &mut self.profile.provenance
    }

    /// Declares which weight is the producer's default.
    pub fn default_weight(&mut self, weight: usize) {
        self.profile.default_weight = weight;
    }

    /// The finished profile.
    pub fn finish(self) -> Profile {
        self.profile
    }
}

fn merge(samples: &mut Vec<StackSample>, merged: &mut FxHashMap<MergeKey, usize>, mut sample: StackSample) {
    let weighs =
        sample.weights.iter().take(64).enumerate().fold(0, |bits, (at, weight)| bits | u64::from(*weight != 0.0) << at);
    match merged.entry((sample.stack, sample.thread, weighs)) {
        Entry::Vacant(vacant) => {
            sample.time_ns = None;
            vacant.insert(samples.len());
            samples.push(sample);
        }
        Entry::Occupied(at) => {
            let sum = &mut samples[*at.get()];
            sum.count = sum.count.zip(sample.count).map(|(a, b)| a.saturating_add(b));
            for (sum, weight) in sum.weights.iter_mut().zip(sample.weights) {
                *sum += weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_counts_once() {
        let mut builder = Builder::new(vec![WeightType { name: "samples".into(), unit: "count".into() }]);
        let frames: Vec<_> =
            ["a", "b", "a", "c"].map(|name| builder.frame(Frame { function: name.into(), ..Frame::default() })).into();
        let stack = builder.stack_of(frames);
        builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(50), weights: vec![50.0] });
        let profile = builder.finish();
        let by = profile.by(0, |frame| frame.function.clone());
        assert_eq!(by["a"], SelfTotal { self_weight: 0.0, total_weight: 50.0 });
        assert_eq!(by["c"], SelfTotal { self_weight: 50.0, total_weight: 50.0 });
        assert_eq!(profile.total(0), 50.0);
    }
}
