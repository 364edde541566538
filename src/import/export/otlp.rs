//! Writes OpenTelemetry profiles: one profile for each weight, all on one dictionary.

use std::hash::Hash;

use prost::Message;
use rustc_hash::FxHashMap;

use super::{Losses, physical_frames};
use crate::import::profile::otlp::{Identity, message};
use crate::profile::{Frame, FrameId, FrameKind, Profile, StackId, StackSample, ThreadId, WeightType};

pub(super) fn write(profile: &Profile, losses: &mut Losses) -> Vec<u8> {
    let mut writer = Writer::new(profile);
    let mut rounded = 0;
    let mut profiles = Vec::new();
    // Where samples are counted and no weight says so, they become a profile of their own, as in pprof.
    let uncounted = |weight: &WeightType| weight.unit != "count" || !weight.name.starts_with("sample");
    let counted =
        profile.weight_types.iter().all(uncounted) && profile.samples.iter().all(|sample| sample.count.is_some());
    let mixed = if counted { mixed_samples(profile) } else { 0 };
    let counted = counted && mixed == 0;
    losses.add("counts", "samples whose number goes: other events were sampled at the same stack", mixed);
    let kinds =
        profile.weight_types.iter().enumerate().map(|(at, kind)| (kind.name.as_str(), kind.unit.as_str(), Some(at)));
    for (name, unit, weight) in kinds.chain(counted.then_some(("samples", "count", None))) {
        // Samples of one stack and one thread are one sample.
        let mut places: FxHashMap<Identity, usize> = FxHashMap::default();
        let mut sums: Vec<(Identity, f64)> = Vec::new();
        for sample in &profile.samples {
            let value = weight.map_or(sample.count.unwrap_or(0) as f64, |weight| sample.weights[weight]);
            if value == 0.0 {
                continue;
            }
            let key = (sample.stack, sample.thread);
            let at = *places.entry(key).or_insert(sums.len());
            if at == sums.len() {
                sums.push((key, 0.0));
            }
            sums[at].1 += value;
        }
        rounded += sums.iter().filter(|(_, value)| value.fract() != 0.0).count();
        let samples = sums
            .into_iter()
            .map(|((stack, thread), value)| message::Sample {
                stack_index: stack.map_or(0, |stack| writer.stack(stack)),
                attribute_indices: thread.map(|thread| writer.thread(thread)).into_iter().collect(),
                values: vec![value.round() as i64],
                timestamps_unix_nano: Vec::new(),
            })
            .collect();
        let unit = if unit == "unstated" { "" } else { unit };
        let mut written = message::Profile {
            sample_type: Some(writer.value_type(name, unit)),
            samples,
            duration_nano: profile.provenance.duration_ns.unwrap_or(0),
            ..message::Profile::default()
        };
        if let Some(period) = profile.provenance.period {
            let facts = &profile.provenance.facts;
            let name = facts.get("period_type").map_or(name, String::as_str);
            let unit = profile.provenance.period_unit.as_deref().unwrap_or("");
            written.period = period.round() as i64;
            written.period_type = Some(writer.value_type(name, unit));
        }
        profiles.push(written);
    }
    // Readers show the first by default.
    profiles.swap(0, profile.default_weight);
    losses.times(profile);
    losses.kinds(profile, |kind| !matches!(kind, FrameKind::Interpreted | FrameKind::Synthetic));
    losses.add("fractions", "samples whose weight was rounded to a whole number", rounded);
    losses.add("inline-chains", "inlined frames in another module than their caller become plain ones", writer.apart);
    let scope = message::Scope { name: env!("CARGO_PKG_NAME").into(), version: env!("CARGO_PKG_VERSION").into() };
    let scope_profiles = vec![message::ScopeProfiles { scope: Some(scope), profiles }];
    message::ProfilesData {
        resource_profiles: vec![message::ResourceProfiles { scope_profiles }],
        dictionary: Some(writer.dictionary()),
    }
    .encode_to_vec()
}

/// A table whose first entry is the zero value, which means "none".
struct Table<T> {
    entries: Vec<T>,
    indices: FxHashMap<T, i32>,
}

impl<T: Clone + Default + Eq + Hash> Table<T> {
    fn new() -> Self {
        Table { entries: vec![T::default()], indices: FxHashMap::from_iter([(T::default(), 0)]) }
    }

    fn index(&mut self, entry: T) -> i32 {
        if let Some(index) = self.indices.get(&entry) {
            return *index;
        }
        let index = self.entries.len() as i32;
        self.entries.push(entry.clone());
        self.indices.insert(entry, index);
        index
    }
}

/// The samples that another event shares a stack and a thread with. As one number is written for both, it could not be
/// told whose samples it counts.
fn mixed_samples(profile: &Profile) -> usize {
    let events = |sample: &StackSample| -> Vec<bool> { sample.weights.iter().map(|weight| *weight != 0.0).collect() };
    let mut first: FxHashMap<Identity, Vec<bool>> = FxHashMap::default();
    let differs = |sample: &&StackSample| {
        let events = events(sample);
        *first.entry((sample.stack, sample.thread)).or_insert_with(|| events.clone()) != events
    };
    profile.samples.iter().filter(differs).count()
}

struct Writer<'a> {
    profile: &'a Profile,
    strings: Table<String>,
    mappings: Table<message::Mapping>,
    functions: Table<message::Function>,
    locations: Table<message::Location>,
    attributes: Table<message::Attribute>,
    stacks: Table<message::Stack>,
    stacks_seen: FxHashMap<StackId, i32>,
    apart: usize,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile) -> Self {
        Writer {
            profile,
            strings: Table::new(),
            mappings: Table::new(),
            functions: Table::new(),
            locations: Table::new(),
            attributes: Table::new(),
            stacks: Table::new(),
            stacks_seen: FxHashMap::default(),
            apart: 0,
        }
    }

    fn string(&mut self, text: &str) -> i32 {
        self.strings.index(text.to_owned())
    }

    fn value_type(&mut self, name: &str, unit: &str) -> message::ValueType {
        message::ValueType { type_strindex: self.string(name), unit_strindex: self.string(unit) }
    }

    /// A string attribute, named as the semantic conventions do.
    fn attribute(&mut self, key: &str, value: &str) -> i32 {
        let key_strindex = self.string(key);
        let value = Some(message::AnyValue { string_value: Some(value.to_owned()) });
        self.attributes.index(message::Attribute { key_strindex, value })
    }

    fn thread(&mut self, thread: ThreadId) -> i32 {
        let profile = self.profile;
        self.attribute("thread.name", &profile.threads[thread.0 as usize])
    }

    fn stack(&mut self, stack: StackId) -> i32 {
        if let Some(index) = self.stacks_seen.get(&stack) {
            return *index;
        }
        let frames = self.profile.root_to_leaf(stack);
        let mut locations: Vec<i32> = Vec::new();
        for physical in physical_frames(self.profile, &frames, &mut self.apart) {
            locations.push(self.location(&frames[physical]));
        }
        locations.reverse();
        let index = self.stacks.index(message::Stack { location_indices: locations });
        self.stacks_seen.insert(stack, index);
        index
    }

    /// One location of a physical frame and what is inlined into it; the lines innermost first.
    fn location(&mut self, frames: &[FrameId]) -> i32 {
        let profile = self.profile;
        let physical = profile.frame(frames[0]);
        let mapping_index = match &physical.module {
            Some(module) => {
                let filename_strindex = self.string(module);
                self.mappings.index(message::Mapping { filename_strindex })
            }
            None => 0,
        };
        let lines = frames.iter().rev().map(|id| self.line(profile.frame(*id))).collect();
        let kernel = physical.kind == FrameKind::Kernel;
        let attribute_indices = kernel.then(|| self.attribute("profile.frame.type", "kernel")).into_iter().collect();
        let address = physical.address.unwrap_or(0);
        self.locations.index(message::Location { mapping_index, address, lines, attribute_indices })
    }

    fn line(&mut self, frame: &Frame) -> message::Line {
        let name_strindex = self.string(&frame.function);
        let filename_strindex = frame.file.as_deref().map_or(0, |file| self.string(file));
        let function = message::Function { name_strindex, system_name_strindex: name_strindex, filename_strindex };
        message::Line { function_index: self.functions.index(function), line: frame.line.map_or(0, i64::from) }
    }

    fn dictionary(self) -> message::Dictionary {
        message::Dictionary {
            mapping_table: self.mappings.entries,
            location_table: self.locations.entries,
            function_table: self.functions.entries,
            // Only the one that means "none"; codecs may insist on the lengths of real ids.
            link_table: vec![message::Link { trace_id: vec![0; 16], span_id: vec![0; 8] }],
            string_table: self.strings.entries,
            attribute_table: self.attributes.entries,
            stack_table: self.stacks.entries,
        }
    }
}
