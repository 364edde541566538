//! pprof protobuf (profile.proto), as Go, pprof-rs, gperftools' converter and many services write it.
//!
//! Locations come leaf first and the lines of a location innermost first. Time units become nanoseconds
//! and sizes bytes. Ids are not indices, and the default sample type is an index into the string table.

use prost::Message;
use rustc_hash::FxHashMap;

use super::symbol::demangle;
use super::{Format, Options, clock_of, normal_unit};
use crate::import::Detection;
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, StackSample, WeightType};

pub(crate) const NAME: &str = "pprof";

pub(super) const FORMAT: Format = Format { name: NAME, description: "pprof protobuf", detect, read };

/// The messages of profile.proto. Strings are bytes here: producers do write names that are not UTF-8.
pub(crate) mod message {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(bytes = "vec", repeated, tag = "6")]
        pub string_table: Vec<Vec<u8>>,
        #[prost(int64, tag = "9")]
        pub time_nanos: i64,
        #[prost(int64, tag = "10")]
        pub duration_nanos: i64,
        #[prost(message, optional, tag = "11")]
        pub period_type: Option<ValueType>,
        #[prost(int64, tag = "12")]
        pub period: i64,
        #[prost(int64, repeated, tag = "13")]
        pub comment: Vec<i64>,
        #[prost(int64, tag = "14")]
        pub default_sample_type: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub r#type: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        pub label: Vec<Label>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Label {
        #[prost(int64, tag = "1")]
        pub key: i64,
        #[prost(int64, tag = "2")]
        pub str: i64,
        #[prost(int64, tag = "3")]
        pub num: i64,
        #[prost(int64, tag = "4")]
        pub num_unit: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Mapping {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub memory_start: u64,
        #[prost(uint64, tag = "3")]
        pub memory_limit: u64,
        #[prost(uint64, tag = "4")]
        pub file_offset: u64,
        #[prost(int64, tag = "5")]
        pub filename: i64,
        #[prost(int64, tag = "6")]
        pub build_id: i64,
        #[prost(bool, tag = "7")]
        pub has_functions: bool,
        #[prost(bool, tag = "8")]
        pub has_filenames: bool,
        #[prost(bool, tag = "9")]
        pub has_line_numbers: bool,
        #[prost(bool, tag = "10")]
        pub has_inline_frames: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub mapping_id: u64,
        #[prost(uint64, tag = "3")]
        pub address: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
        #[prost(int64, tag = "3")]
        pub system_name: i64,
        #[prost(int64, tag = "4")]
        pub filename: i64,
        #[prost(int64, tag = "5")]
        pub start_line: i64,
    }
}

/// Walks the outermost fields; the offset at which they stop making sense.
fn walk(bytes: &[u8]) -> Result<(), usize> {
    let mut at = 0;
    let mut seen = 0u32;
    while at < bytes.len() {
        let start = at;
        let varint = |at: &mut usize| -> Option<u64> {
            let mut value = 0u64;
            for shift in (0..70).step_by(7) {
                let byte = *bytes.get(*at)?;
                *at += 1;
                value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
                if byte < 0x80 {
                    return Some(value);
                }
            }
            None
        };
        let tag = varint(&mut at).ok_or(start)?;
        let (field, kind) = (tag >> 3, tag & 7);
        // Fields 1 to 6 are messages and strings; of the others only `comment` may be packed.
        let right = match field {
            1..=6 | 11 => kind == 2,
            13 => kind == 2 || kind == 0,
            7..=10 | 12 | 14 | 15 => kind == 0,
            16..=1000 => kind == 0 || kind == 2,
            _ => false,
        };
        if !right {
            return Err(start);
        }
        let value = varint(&mut at).ok_or(start)?;
        if kind == 2 {
            at = usize::try_from(value).ok().and_then(|length| at.checked_add(length)).ok_or(start)?;
            if at > bytes.len() {
                return Err(start);
            }
        }
        seen |= 1 << field.min(31);
    }
    // Sample types and a string table are never missing.
    if seen & 0b100_0010 == 0b100_0010 { Ok(()) } else { Err(bytes.len()) }
}

fn detect(head: &[u8]) -> Detection {
    // An empty line has the byte of the first field's tag. But what follows that tag is a short length, no text.
    if !head.iter().take(512).any(|byte| *byte < b'\t') {
        return Detection::No;
    }
    match walk(head) {
        Ok(()) => Detection::Yes,
        // The head may end inside a field; what came before must have been plausible for a while.
        Err(at) if head.first().is_some_and(|byte| *byte == 0x0a || *byte == 0x12) && at > 0 => Detection::NotSure,
        Err(_) => Detection::No,
    }
}

fn item(what: &str, index: usize, found: impl Into<String>, expected: &str) -> ImportError {
    ImportError::malformed(NAME, Position::Item(format!("{what}[{index}]")), found, expected)
}

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    walk(&bytes).map_err(|at| match at == bytes.len() {
        true => ImportError::malformed(NAME, Position::Byte(at as u64), "the end", "sample types and a string table"),
        false => ImportError::malformed(
            NAME,
            Position::Byte(at as u64),
            "a field that does not fit (truncated, or not a profile)",
            "a field of profile.proto that ends within the input",
        ),
    })?;
    let file = message::Profile::decode(bytes.as_slice()).map_err(|error| {
        ImportError::malformed(NAME, Position::Whole, error.to_string(), "the messages of profile.proto")
    })?;
    drop(bytes);
    Reader { file: &file }.profile(options)
}

struct Reader<'a> {
    file: &'a message::Profile,
}

impl Reader<'_> {
    fn text(&self, index: i64, what: &str, at: usize) -> Result<String, ImportError> {
        let bytes = usize::try_from(index).ok().and_then(|index| self.file.string_table.get(index));
        match bytes {
            Some(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            None => {
                let expected = format!("an index below {}", self.file.string_table.len());
                Err(item(what, at, format!("the string {index}"), &expected))
            }
        }
    }

    fn profile(&self, options: &Options) -> Result<Profile, ImportError> {
        let (types, scales) = self.weight_types()?;
        let default = self.default_weight(&types)?;
        let counted = types.iter().position(|weight| weight.unit == "count" && weight.name.starts_with("sample"));
        let mut builder = Builder::new(types.clone());
        builder.keep_at_most(options.keep_samples);
        builder.default_weight(default);
        let locations = self.locations(&mut builder)?;
        let mut labelled = 0;
        for (index, sample) in self.file.sample.iter().enumerate() {
            if sample.value.len() != types.len() {
                let expected = format!("{}, one for each sample type", types.len());
                return Err(item("sample", index, format!("{} values", sample.value.len()), &expected));
            }
            let mut stack = None;
            for id in sample.location_id.iter().rev() {
                let frames = locations
                    .get(id)
                    .ok_or_else(|| item("sample", index, format!("location {id}"), "the id of a location"))?;
                for frame in frames {
                    stack = Some(builder.stack(stack, *frame));
                }
            }
            let mut thread = None;
            for label in &sample.label {
                let key = self.text(label.key, "sample", index)?;
                match key.as_str() {
                    "thread" | "thread_name" | "thread name" if label.str != 0 => {
                        thread = Some(builder.thread(&self.text(label.str, "sample", index)?));
                    }
                    _ => labelled += 1,
                }
            }
            let count = counted.and_then(|weight| u64::try_from(sample.value[weight]).ok());
            let weights = sample.value.iter().zip(&scales).map(|(value, scale)| *value as f64 * scale).collect();
            builder.sample(StackSample { stack, thread, time_ns: None, count, weights });
        }
        if let Some((message, count)) = self.sizes_against_counts(&types)? {
            builder.note("sizes-disagree", message, count);
        }
        if labelled > 0 {
            builder.note("labels-left-out", "labels other than the thread's name are not kept", labelled);
        }
        self.provenance(&mut builder, &types[default])?;
        let mut profile = builder.finish();
        if profile.total(default) == 0.0
            && let Some(other) = (0..types.len()).rev().find(|other| profile.total(*other) != 0.0)
        {
            let message = format!(
                "{} is zero in every sample; {} is {}",
                types[default].name,
                types[other].name,
                profile.total(other)
            );
            profile.notes.push(crate::profile::Note { code: "default-is-zero".into(), message, count: 1 });
        }
        Ok(profile)
    }

    /// Heap profiles name each object's size in the label `bytes`: space over objects must be that, or one of the two was scaled
    /// up from what was sampled and the other was not.
    fn sizes_against_counts(&self, types: &[WeightType]) -> Result<Option<(String, u64)>, ImportError> {
        let pairs = [("alloc_objects", "alloc_space"), ("inuse_objects", "inuse_space"), ("objects", "space")];
        let index = |name: &str| types.iter().position(|weight| weight.name == name);
        let mut broken: Option<(String, u64)> = None;
        for (objects, space) in pairs.iter().filter_map(|(objects, space)| Some((index(objects)?, index(space)?))) {
            for (at, sample) in self.file.sample.iter().enumerate() {
                let mut size = None;
                for label in sample.label.iter().filter(|label| label.num > 0) {
                    if self.text(label.key, "sample", at)? == "bytes" {
                        size = Some(label.num as f64);
                    }
                }
                let (count, bytes) = (sample.value[objects] as f64, sample.value[space] as f64);
                let Some(size) = size.filter(|_| count != 0.0) else { continue };
                if (bytes / count - size).abs() > 0.1 * size {
                    let (objects, space) = (&types[objects].name, &types[space].name);
                    let first =
                        format!("{space} {bytes} over {objects} {count} where the label says {size} bytes each");
                    broken.get_or_insert((first, 0)).1 += 1;
                }
            }
        }
        Ok(broken.map(|(first, count)| {
            let message = "size over count is not the objects' size: one of them is scaled up from what was sampled";
            (format!("{message}; the first: {first}"), count)
        }))
    }

    fn weight_types(&self) -> Result<(Vec<WeightType>, Vec<f64>), ImportError> {
        let mut types = Vec::new();
        let mut scales = Vec::new();
        for (index, value_type) in self.file.sample_type.iter().enumerate() {
            let name = self.text(value_type.r#type, "sample_type", index)?;
            let (unit, scale) = normal_unit(&self.text(value_type.unit, "sample_type", index)?);
            types.push(WeightType { name, unit });
            scales.push(scale);
        }
        Ok((types, scales))
    }

    /// The default by name where the file has one, else the last: what pprof itself shows.
    fn default_weight(&self, types: &[WeightType]) -> Result<usize, ImportError> {
        let name = self.text(self.file.default_sample_type, "default_sample_type", 0)?;
        Ok(types.iter().position(|weight| !name.is_empty() && weight.name == name).unwrap_or(types.len() - 1))
    }

    /// The frames of each location, outermost first.
    fn locations(&self, builder: &mut Builder) -> Result<FxHashMap<u64, Vec<FrameId>>, ImportError> {
        let functions: FxHashMap<u64, (usize, &message::Function)> =
            self.file.function.iter().enumerate().map(|(index, function)| (function.id, (index, function))).collect();
        let mut modules: FxHashMap<u64, String> = FxHashMap::default();
        for (index, mapping) in self.file.mapping.iter().enumerate() {
            modules.insert(mapping.id, self.text(mapping.filename, "mapping", index)?);
        }
        let mut locations = FxHashMap::default();
        let (mut unnamed, mut dangling) = (0, 0);
        for (index, location) in self.file.location.iter().enumerate() {
            if location.id == 0 {
                return Err(item("location", index, "the id 0", "an id above 0"));
            }
            let module = modules.get(&location.mapping_id).filter(|module| !module.is_empty()).cloned();
            let address = (location.address != 0).then_some(location.address);
            let bare = || match address {
                Some(address) => format!("0x{address:x}"),
                None => "[unknown]".to_owned(),
            };
            let mut frames = Vec::new();
            for (depth, line) in location.line.iter().rev().enumerate() {
                let mut frame = Frame { module: module.clone(), address, ..Frame::default() };
                frame.kind = if depth > 0 { FrameKind::Inlined } else { FrameKind::Plain };
                frame.line = u32::try_from(line.line).ok().filter(|line| *line > 0);
                match functions.get(&line.function_id) {
                    Some((at, function)) => {
                        let name = self.text(function.name, "function", *at)?;
                        let name =
                            if name.is_empty() { self.text(function.system_name, "function", *at)? } else { name };
                        frame.function = if name.is_empty() { bare() } else { demangle(&name).into_owned() };
                        frame.file =
                            Some(self.text(function.filename, "function", *at)?).filter(|file| !file.is_empty());
                    }
                    None => {
                        dangling += u64::from(line.function_id != 0);
                        frame.function = bare();
                    }
                }
                frames.push(builder.frame(frame));
            }
            if frames.is_empty() {
                unnamed += 1;
                frames.push(builder.frame(Frame { function: bare(), module, address, ..Frame::default() }));
            }
            locations.insert(location.id, frames);
        }
        if unnamed > 0 {
            builder.note("not-symbolised", "locations without a function are named by their address", unnamed);
        }
        if dangling > 0 {
            builder.note("function-missing", "lines that refer to a function which the file lacks", dangling);
        }
        Ok(locations)
    }

    fn provenance(&self, builder: &mut Builder, default: &WeightType) -> Result<(), ImportError> {
        let period_type = match &self.file.period_type {
            Some(value_type) => Some((
                self.text(value_type.r#type, "period_type", 0)?,
                normal_unit(&self.text(value_type.unit, "period_type", 0)?),
            )),
            None => None,
        };
        let mut comments = Vec::new();
        for (index, comment) in self.file.comment.iter().take(20).enumerate() {
            comments.push(self.text(*comment, "comment", index)?);
        }
        let provenance = builder.provenance();
        provenance.format = NAME.into();
        provenance.duration_ns = u64::try_from(self.file.duration_nanos).ok().filter(|duration| *duration > 0);
        if let Some((name, (unit, scale))) = period_type {
            let period = self.file.period as f64 * scale;
            if self.file.period > 0 {
                provenance.period = Some(period);
                if unit == "nanoseconds" {
                    provenance.requested_hz = Some(1e9 / period);
                }
            }
            provenance.period_unit = Some(unit);
            provenance.facts.insert("period_type".into(), name);
        }
        if !comments.is_empty() {
            provenance.facts.insert("comments".into(), comments.join("; "));
        }
        provenance.clock = clock_of(&default.name);
        Ok(())
    }
}
