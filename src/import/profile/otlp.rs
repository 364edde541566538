//! OpenTelemetry profiles: `ProfilesData` of `opentelemetry/proto/profiles/v1development`, protocol 1.11. The messages have
//! the layout of an `ExportProfilesServiceRequest`, so that what a collector receives is read too.
//!
//! Each profile in it has one kind of value: it becomes a weight. Samples of one stack and one thread are one.

use prost::Message;
use rustc_hash::FxHashMap;

use super::symbol::demangle;
use super::{Format, Options, clock_of, normal_unit};
use crate::import::Detection;
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, StackId, StackSample, ThreadId, WeightType};

const NAME: &str = "otlp";

pub(super) const FORMAT: Format = Format { name: NAME, description: "OpenTelemetry profiles", detect, read };

/// The messages of profiles.proto and of what it imports, with the fields that are used.
pub(crate) mod message {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ProfilesData {
        #[prost(message, repeated, tag = "1")]
        pub resource_profiles: Vec<ResourceProfiles>,
        #[prost(message, optional, tag = "2")]
        pub dictionary: Option<Dictionary>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ResourceProfiles {
        #[prost(message, repeated, tag = "2")]
        pub scope_profiles: Vec<ScopeProfiles>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ScopeProfiles {
        #[prost(message, optional, tag = "1")]
        pub scope: Option<Scope>,
        #[prost(message, repeated, tag = "2")]
        pub profiles: Vec<Profile>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Scope {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, tag = "2")]
        pub version: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, optional, tag = "1")]
        pub sample_type: Option<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub samples: Vec<Sample>,
        #[prost(uint64, tag = "4")]
        pub duration_nano: u64,
        #[prost(message, optional, tag = "5")]
        pub period_type: Option<ValueType>,
        #[prost(int64, tag = "6")]
        pub period: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int32, tag = "1")]
        pub type_strindex: i32,
        #[prost(int32, tag = "2")]
        pub unit_strindex: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(int32, tag = "1")]
        pub stack_index: i32,
        #[prost(int32, repeated, tag = "2")]
        pub attribute_indices: Vec<i32>,
        #[prost(int64, repeated, tag = "4")]
        pub values: Vec<i64>,
        #[prost(fixed64, repeated, tag = "5")]
        pub timestamps_unix_nano: Vec<u64>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Dictionary {
        #[prost(message, repeated, tag = "1")]
        pub mapping_table: Vec<Mapping>,
        #[prost(message, repeated, tag = "2")]
        pub location_table: Vec<Location>,
        #[prost(message, repeated, tag = "3")]
        pub function_table: Vec<Function>,
        #[prost(message, repeated, tag = "4")]
        pub link_table: Vec<Link>,
        #[prost(string, repeated, tag = "5")]
        pub string_table: Vec<String>,
        #[prost(message, repeated, tag = "6")]
        pub attribute_table: Vec<Attribute>,
        #[prost(message, repeated, tag = "7")]
        pub stack_table: Vec<Stack>,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
    pub struct Mapping {
        #[prost(int32, tag = "4")]
        pub filename_strindex: i32,
    }

    #[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
    pub struct Location {
        #[prost(int32, tag = "1")]
        pub mapping_index: i32,
        #[prost(uint64, tag = "2")]
        pub address: u64,
        #[prost(message, repeated, tag = "3")]
        pub lines: Vec<Line>,
        #[prost(int32, repeated, tag = "4")]
        pub attribute_indices: Vec<i32>,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
    pub struct Line {
        #[prost(int32, tag = "1")]
        pub function_index: i32,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
    pub struct Function {
        #[prost(int32, tag = "1")]
        pub name_strindex: i32,
        #[prost(int32, tag = "2")]
        pub system_name_strindex: i32,
        #[prost(int32, tag = "3")]
        pub filename_strindex: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Link {
        #[prost(bytes = "vec", tag = "1")]
        pub trace_id: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        pub span_id: Vec<u8>,
    }

    #[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
    pub struct Attribute {
        #[prost(int32, tag = "1")]
        pub key_strindex: i32,
        #[prost(message, optional, tag = "2")]
        pub value: Option<AnyValue>,
    }

    #[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
    pub struct AnyValue {
        #[prost(string, optional, tag = "1")]
        pub string_value: Option<String>,
    }

    #[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
    pub struct Stack {
        #[prost(int32, repeated, tag = "1")]
        pub location_indices: Vec<i32>,
    }
}

/// A message within a message within a message; in pprof, the first one holds numbers.
fn detect(head: &[u8]) -> Detection {
    let mut rest = head;
    for tags in [&[0x0a][..], &[0x0a, 0x12], &[0x0a, 0x12]] {
        let Some((tag, mut after)) = rest.split_first() else { return Detection::No };
        let length = prost::decode_length_delimiter(&mut after);
        if !tags.contains(tag)
            || !length.is_ok_and(|length| length > 1 && (length <= after.len() || head.len() > 60_000))
        {
            return Detection::No;
        }
        rest = after;
    }
    Detection::Yes
}

fn item(what: &str, index: usize, found: impl Into<String>, expected: impl Into<String>) -> ImportError {
    ImportError::malformed(NAME, Position::Item(format!("{what}[{index}]")), found, expected)
}

/// What makes two samples one, in reading and in writing.
pub(in crate::import) type Identity = (Option<StackId>, Option<ThreadId>);

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    let data = message::ProfilesData::decode(bytes.as_slice()).map_err(|error| {
        ImportError::malformed(NAME, Position::Whole, error.to_string(), "the messages of profiles.proto")
    })?;
    drop(bytes);
    let dictionary = data.dictionary.unwrap_or_default();
    let mut builder = Builder::new(Vec::new());
    builder.keep_at_most(options.keep_samples);
    builder.provenance().format = NAME.into();
    let reader = Reader { dictionary: &dictionary };
    let mut frames = Frames::default();
    let mut kinds: Vec<WeightType> = Vec::new();
    let mut values: FxHashMap<Identity, usize> = FxHashMap::default();
    let mut sums: Vec<(Identity, Vec<f64>)> = Vec::new();
    let scopes = data.resource_profiles.iter().flat_map(|resource| &resource.scope_profiles);
    let mut samples_read = 0u64;
    for profile in scopes.flat_map(|scope| &scope.profiles) {
        let kind = profile.sample_type.unwrap_or_default();
        let (unit, scale) = normal_unit(reader.text(kind.unit_strindex)?);
        let kind = WeightType { name: reader.text(kind.type_strindex)?.to_owned(), unit };
        let weight = kinds.iter().position(|known| *known == kind).unwrap_or(kinds.len());
        if weight == kinds.len() {
            kinds.push(kind);
        }
        reader.provenance(&mut builder, profile)?;
        for (index, sample) in profile.samples.iter().enumerate() {
            samples_read += 1;
            let stack = reader.stack(&mut builder, &mut frames, sample.stack_index)?;
            let thread = reader.thread(&mut builder, &sample.attribute_indices)?;
            // Without values, each observation counts as one.
            let value = match (sample.values.as_slice(), sample.timestamps_unix_nano.len()) {
                ([], 0) => return Err(item("sample", index, "neither values nor timestamps", "at least one of them")),
                ([], observations) => observations as f64,
                (values, _) => values.iter().map(|value| *value as f64).sum(),
            };
            let at = *values.entry((stack, thread)).or_insert(sums.len());
            if at == sums.len() {
                sums.push(((stack, thread), Vec::new()));
            }
            let weights = &mut sums[at].1;
            weights.resize(weights.len().max(weight + 1), 0.0);
            weights[weight] += value * scale;
        }
    }
    if kinds.is_empty() || samples_read == 0 {
        let why = format!("{} resources, no sample among their profiles", data.resource_profiles.len());
        return Err(ImportError::NoSamples { why });
    }
    let counted = kinds.iter().position(|kind| kind.unit == "count" && kind.name.starts_with("sample"));
    builder.provenance().clock = clock_of(&kinds[0].name);
    let width = kinds.len();
    for kind in kinds {
        builder.weight_type(kind);
    }
    for ((stack, thread), mut weights) in sums {
        weights.resize(width, 0.0);
        let count = counted.map(|counted| weights[counted].max(0.0) as u64);
        builder.sample(StackSample { stack, thread, time_ns: None, count, weights });
    }
    Ok(builder.finish())
}

/// What was already built: the frames of a location, and the stack of a stack.
#[derive(Default)]
struct Frames {
    locations: FxHashMap<i32, Vec<FrameId>>,
    stacks: FxHashMap<i32, Option<StackId>>,
}

struct Reader<'a> {
    dictionary: &'a message::Dictionary,
}

/// An entry of a table; entry 0 is the one that means none.
fn entry<'a, T>(table: &'a [T], index: i32, what: &str) -> Result<&'a T, ImportError> {
    let found = usize::try_from(index).ok().and_then(|index| table.get(index));
    found.ok_or_else(|| {
        let position = Position::Item(format!("dictionary.{what}"));
        ImportError::malformed(NAME, position, format!("the index {index}"), format!("one below {}", table.len()))
    })
}

impl<'a> Reader<'a> {
    fn text(&self, index: i32) -> Result<&'a str, ImportError> {
        match (index, self.dictionary.string_table.is_empty()) {
            (0, true) => Ok(""),
            _ => entry(&self.dictionary.string_table, index, "string_table").map(String::as_str),
        }
    }

    fn stack(&self, builder: &mut Builder, frames: &mut Frames, index: i32) -> Result<Option<StackId>, ImportError> {
        if let Some(known) = frames.stacks.get(&index) {
            return Ok(*known);
        }
        let mut stack = None;
        if index != 0 {
            for location in entry(&self.dictionary.stack_table, index, "stack_table")?.location_indices.iter().rev() {
                if !frames.locations.contains_key(location) {
                    let read = self.location(builder, *location)?;
                    frames.locations.insert(*location, read);
                }
                for frame in &frames.locations[location] {
                    stack = Some(builder.stack(stack, *frame));
                }
            }
        }
        frames.stacks.insert(index, stack);
        Ok(stack)
    }

    /// The frames of a location, outermost first.
    fn location(&self, builder: &mut Builder, index: i32) -> Result<Vec<FrameId>, ImportError> {
        let location = entry(&self.dictionary.location_table, index, "location_table")?;
        let module = match location.mapping_index {
            0 => None,
            mapping => {
                let mapping = entry(&self.dictionary.mapping_table, mapping, "mapping_table")?;
                Some(self.text(mapping.filename_strindex)?.to_owned()).filter(|module| !module.is_empty())
            }
        };
        let address = (location.address != 0).then_some(location.address);
        let kernel = self.attribute(&location.attribute_indices, "profile.frame.type")? == Some("kernel");
        let outer = if kernel { FrameKind::Kernel } else { FrameKind::Plain };
        let bare = || address.map_or_else(|| "[unknown]".to_owned(), |address| format!("0x{address:x}"));
        let mut frames = Vec::new();
        for (depth, line) in location.lines.iter().rev().enumerate() {
            let mut frame = Frame { module: module.clone(), address, ..Frame::default() };
            frame.kind = if depth > 0 { FrameKind::Inlined } else { outer };
            frame.line = u32::try_from(line.line).ok().filter(|line| *line > 0);
            if line.function_index != 0 {
                let function = entry(&self.dictionary.function_table, line.function_index, "function_table")?;
                let name = match self.text(function.name_strindex)? {
                    "" => self.text(function.system_name_strindex)?,
                    name => name,
                };
                frame.function = demangle(name).into_owned();
                frame.file = Some(self.text(function.filename_strindex)?.to_owned()).filter(|file| !file.is_empty());
            }
            if frame.function.is_empty() {
                frame.function = bare();
            }
            frames.push(builder.frame(frame));
        }
        if frames.is_empty() {
            frames.push(builder.frame(Frame { function: bare(), module, address, kind: outer, ..Frame::default() }));
        }
        Ok(frames)
    }

    fn thread(&self, builder: &mut Builder, attributes: &[i32]) -> Result<Option<ThreadId>, ImportError> {
        Ok(self.attribute(attributes, "thread.name")?.map(|name| builder.thread(name)))
    }

    fn attribute(&self, attributes: &[i32], key: &str) -> Result<Option<&'a str>, ImportError> {
        for index in attributes {
            let attribute = entry(&self.dictionary.attribute_table, *index, "attribute_table")?;
            if self.text(attribute.key_strindex)? == key {
                return Ok(attribute.value.as_ref().and_then(|value| value.string_value.as_deref()));
            }
        }
        Ok(None)
    }

    fn provenance(&self, builder: &mut Builder, profile: &message::Profile) -> Result<(), ImportError> {
        let provenance = builder.provenance();
        provenance.duration_ns =
            provenance.duration_ns.max(Some(profile.duration_nano).filter(|duration| *duration > 0));
        if let (Some(kind), period @ 1..) = (profile.period_type, profile.period) {
            let (unit, scale) = normal_unit(self.text(kind.unit_strindex)?);
            let period = period as f64 * scale;
            if unit == "nanoseconds" {
                provenance.requested_hz = Some(1e9 / period);
            }
            provenance.period = Some(period);
            provenance.period_unit = Some(unit);
            provenance.facts.insert("period_type".into(), self.text(kind.type_strindex)?.to_owned());
        }
        Ok(())
    }
}
