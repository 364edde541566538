//! Writes pprof protobuf, compressed: all weights, inlined frames as lines of one location.

use std::io::Write;

use prost::Message;
use rustc_hash::FxHashMap;

use super::{Losses, physical_frames};
use crate::import::profile::pprof::message;
use crate::profile::{Frame, FrameId, FrameKind, Profile, StackId};

pub(super) fn write(profile: &Profile, losses: &mut Losses) -> Vec<u8> {
    let mut writer = Writer::new(profile);
    writer.string("");
    // Where samples are counted and no weight says so, pprof's own convention is a first type for it.
    let counted =
        profile.weight_types.iter().all(|weight| weight.unit != "count" || !weight.name.starts_with("sample"))
            && profile.samples.iter().all(|sample| sample.count.is_some());
    if counted {
        writer.sample_type("samples", "count");
    }
    for weight in &profile.weight_types {
        writer.sample_type(&weight.name, if weight.unit == "unstated" { "" } else { &weight.unit });
    }
    let mut rounded = 0;
    for sample in &profile.samples {
        let location_id = sample.stack.map_or_else(Vec::new, |stack| writer.stack(stack));
        let counts = counted.then_some(sample.count.unwrap_or(0) as i64);
        let value = counts.into_iter().chain(sample.weights.iter().map(|value| value.round() as i64)).collect();
        rounded += usize::from(sample.weights.iter().any(|value| value.fract() != 0.0));
        let mut label = Vec::new();
        if let Some(thread) = sample.thread {
            let (key, str) = (writer.string("thread"), writer.string(&profile.threads[thread.0 as usize]));
            label.push(message::Label { key, str, num: 0, num_unit: 0 });
        }
        writer.file.sample.push(message::Sample { location_id, value, label });
    }
    let default = profile.weight_types[profile.default_weight].name.clone();
    writer.file.default_sample_type = writer.string(&default);
    writer.file.duration_nanos = profile.provenance.duration_ns.map_or(0, |duration| duration as i64);
    if let Some(period) = profile.provenance.period {
        let unit = profile.provenance.period_unit.clone().unwrap_or_default();
        let name = profile.provenance.facts.get("period_type").cloned().unwrap_or(default);
        writer.file.period = period.round() as i64;
        writer.file.period_type = Some(message::ValueType { r#type: writer.string(&name), unit: writer.string(&unit) });
    }
    losses.times(profile);
    losses.kinds(profile, |kind| matches!(kind, FrameKind::Plain | FrameKind::Inlined));
    losses.add("fractions", "samples whose weight was rounded to a whole number", rounded);
    losses.add("inline-chains", "inlined frames in another module than their caller become plain ones", writer.apart);
    let bytes = writer.file.encode_to_vec();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("writing to memory does not fail")
}

struct Writer<'a> {
    profile: &'a Profile,
    file: message::Profile,
    strings: FxHashMap<String, i64>,
    functions: FxHashMap<(String, Option<String>), u64>,
    mappings: FxHashMap<String, u64>,
    locations: FxHashMap<Vec<FrameId>, u64>,
    stacks: FxHashMap<StackId, Vec<u64>>,
    apart: usize,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile) -> Self {
        Writer {
            profile,
            file: message::Profile::default(),
            strings: FxHashMap::default(),
            functions: FxHashMap::default(),
            mappings: FxHashMap::default(),
            locations: FxHashMap::default(),
            stacks: FxHashMap::default(),
            apart: 0,
        }
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(index) = self.strings.get(text) {
            return *index;
        }
        let index = self.file.string_table.len() as i64;
        self.file.string_table.push(text.as_bytes().to_vec());
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn sample_type(&mut self, name: &str, unit: &str) {
        let (r#type, unit) = (self.string(name), self.string(unit));
        self.file.sample_type.push(message::ValueType { r#type, unit });
    }

    /// The locations of a stack, leaf first.
    fn stack(&mut self, stack: StackId) -> Vec<u64> {
        if let Some(known) = self.stacks.get(&stack) {
            return known.clone();
        }
        let frames = self.profile.root_to_leaf(stack);
        let mut locations = Vec::new();
        for physical in physical_frames(self.profile, &frames, &mut self.apart) {
            locations.push(self.location(&frames[physical]));
        }
        locations.reverse();
        self.stacks.insert(stack, locations.clone());
        locations
    }

    /// One location of a physical frame and what is inlined into it, outermost first.
    fn location(&mut self, frames: &[FrameId]) -> u64 {
        if let Some(id) = self.locations.get(frames) {
            return *id;
        }
        let profile = self.profile;
        let physical = profile.frame(frames[0]);
        let mapping_id = physical.module.as_ref().map_or(0, |module| self.mapping(module));
        let line = frames
            .iter()
            .rev()
            .map(|id| {
                let frame = profile.frame(*id);
                message::Line { function_id: self.function(frame), line: frame.line.map_or(0, i64::from) }
            })
            .collect();
        let id = self.file.location.len() as u64 + 1;
        self.file.location.push(message::Location { id, mapping_id, address: physical.address.unwrap_or(0), line });
        self.locations.insert(frames.to_vec(), id);
        id
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let key = (frame.function.clone(), frame.file.clone());
        if let Some(id) = self.functions.get(&key) {
            return *id;
        }
        let id = self.file.function.len() as u64 + 1;
        let name = self.string(&frame.function);
        let filename = frame.file.as_ref().map_or(0, |file| self.string(file));
        self.file.function.push(message::Function { id, name, system_name: name, filename, start_line: 0 });
        self.functions.insert(key, id);
        id
    }

    fn mapping(&mut self, module: &str) -> u64 {
        if let Some(id) = self.mappings.get(module) {
            return *id;
        }
        let id = self.file.mapping.len() as u64 + 1;
        let filename = self.string(module);
        self.file.mapping.push(message::Mapping {
            id,
            filename,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
            ..message::Mapping::default()
        });
        self.mappings.insert(module.to_owned(), id);
        id
    }
}
