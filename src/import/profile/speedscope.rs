//! speedscope's own JSON: sampled and evented profiles, each with a unit of its own.

use serde::Deserialize;

use super::{Format, Options, normal_unit};
use crate::import::Detection;
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::import::profile::json;
use crate::profile::{Builder, Frame, FrameId, Profile, StackId, StackSample, ThreadId, WeightType};

pub(crate) const NAME: &str = "speedscope";

pub(super) const FORMAT: Format = Format { name: NAME, description: "speedscope JSON", detect, read };

#[derive(Deserialize)]
struct File {
    shared: Shared,
    profiles: Vec<FileProfile>,
    exporter: Option<String>,
    name: Option<String>,
    #[serde(rename = "activeProfileIndex")]
    active: Option<usize>,
}

#[derive(Deserialize)]
struct Shared {
    frames: Vec<FileFrame>,
}

#[derive(Deserialize)]
struct FileFrame {
    name: String,
    file: Option<String>,
    line: Option<f64>,
}

#[derive(Deserialize)]
struct FileProfile {
    r#type: String,
    name: Option<String>,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    events: Vec<Event>,
    #[serde(default)]
    samples: Vec<Vec<u32>>,
    #[serde(default)]
    weights: Vec<f64>,
    /// Samples that each row stands for: written by this crate alone, ignored by others.
    #[serde(default)]
    counts: Vec<u64>,
}

#[derive(Deserialize)]
struct Event {
    r#type: String,
    frame: u32,
    at: f64,
}

fn detect(head: &[u8]) -> Detection {
    if !json::looks_like(head) {
        return Detection::No;
    }
    let outline = json::outline(head);
    let schema = memchr::memmem::find(head, b"speedscope.app/file-format-schema.json").is_some();
    match (outline.has("shared"), outline.has("profiles"), schema) {
        (true, true, true) => Detection::Yes,
        (true, true, false) | (false, true, true) => Detection::NotSure,
        _ => Detection::No,
    }
}

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    let file: File = serde_json::from_slice(&bytes).map_err(|error| ImportError::json(NAME, &error))?;
    drop(bytes);
    let mut builder = Builder::new(Vec::new());
    builder.keep_at_most(options.keep_samples);
    let frames: Vec<FrameId> = file
        .shared
        .frames
        .into_iter()
        .map(|frame| {
            let line = frame.line.filter(|line| *line >= 1.0 && *line <= f64::from(u32::MAX)).map(|line| line as u32);
            let file = frame.file.filter(|file| !file.is_empty());
            builder.frame(Frame { function: frame.name, file, line, ..Frame::default() })
        })
        .collect();
    let mut weights: Vec<(String, usize)> = Vec::new();
    let mut reader = Reader { builder, frames, weight: 0, weights: 0, thread: None, scale: 1.0 };
    let mut wrote_rows = 0;
    for (index, profile) in file.profiles.iter().enumerate() {
        let (unit, scale) = match profile.unit.as_str() {
            "" | "none" => ("unstated".to_owned(), 1.0),
            unit => normal_unit(unit),
        };
        reader.scale = scale;
        reader.weight = match weights.iter().find(|(known, _)| *known == unit) {
            Some((_, weight)) => *weight,
            None => {
                let name = match unit.as_str() {
                    "nanoseconds" => "time",
                    "bytes" => "bytes",
                    _ => "weight",
                };
                reader.weights += 1;
                let weight = reader.builder.weight_type(WeightType { name: name.into(), unit: unit.clone() });
                weights.push((unit, weight));
                weight
            }
        };
        let name = profile.name.clone().unwrap_or_default();
        reader.thread = Some(reader.builder.new_thread(&name));
        match profile.r#type.as_str() {
            "sampled" => reader.sampled(index, profile)?,
            "evented" => reader.evented(index, profile)?,
            other => {
                let at = Position::Item(format!("profiles[{index}].type"));
                return Err(ImportError::malformed(NAME, at, format!("{other:?}"), "sampled or evented"));
            }
        }
        wrote_rows += profile.samples.len() + profile.events.len();
    }
    if weights.is_empty() || wrote_rows == 0 {
        return Err(ImportError::NoSamples {
            why: format!("{} profiles, none with samples or events", file.profiles.len()),
        });
    }
    if weights.len() > 1 {
        let message = "profiles with different units, each a weight of its own; they have no common sum";
        reader.builder.note("several-units", message, weights.len() as u64);
    }
    let active = file.active.and_then(|active| file.profiles.get(active)).map(|profile| profile.unit.as_str());
    let default = active.and_then(|unit| weights.iter().position(|(known, _)| *known == normal_unit(unit).0));
    reader.builder.default_weight(default.unwrap_or(0));
    let provenance = reader.builder.provenance();
    provenance.format = NAME.into();
    provenance.producer = file.exporter;
    if let Some(name) = file.name {
        provenance.facts.insert("name".into(), name);
    }
    Ok(reader.builder.finish())
}

struct Reader {
    builder: Builder,
    frames: Vec<FrameId>,
    weight: usize,
    weights: usize,
    thread: Option<ThreadId>,
    scale: f64,
}

impl Reader {
    fn frame(&self, frame: u32, place: impl Fn() -> String) -> Result<FrameId, ImportError> {
        self.frames.get(frame as usize).copied().ok_or_else(|| {
            let expected = format!("an index below {}", self.frames.len());
            ImportError::malformed(NAME, Position::Item(place()), format!("the frame {frame}"), expected)
        })
    }

    fn add(&mut self, stack: Option<StackId>, value: f64, count: Option<u64>) {
        let mut weights = vec![0.0; self.weights];
        weights[self.weight] = value * self.scale;
        self.builder.sample(StackSample { stack, thread: self.thread, time_ns: None, count, weights });
    }

    fn sampled(&mut self, index: usize, profile: &FileProfile) -> Result<(), ImportError> {
        let rows = profile.samples.len();
        if profile.weights.len() != rows {
            let at = Position::Item(format!("profiles[{index}].weights"));
            let found = format!("{} weights", profile.weights.len());
            return Err(ImportError::malformed(NAME, at, found, format!("{rows}, one for each sample")));
        }
        let is_time = self.scale != 1.0 || profile.unit == "nanoseconds";
        for (row, (sample, weight)) in profile.samples.iter().zip(&profile.weights).enumerate() {
            let mut stack = None;
            for (depth, frame) in sample.iter().enumerate() {
                let frame = self.frame(*frame, || format!("profiles[{index}].samples[{row}][{depth}]"))?;
                stack = Some(self.builder.stack(stack, frame));
            }
            // A row weighted in time is one sample; a row without a unit says how many it stands for.
            let whole = *weight >= 0.0 && weight.fract() == 0.0;
            let count = match profile.counts.get(row) {
                Some(count) => Some(*count),
                None if is_time => Some(1),
                None => whole.then_some(*weight as u64),
            };
            self.add(stack, *weight, count);
        }
        Ok(())
    }

    fn evented(&mut self, index: usize, profile: &FileProfile) -> Result<(), ImportError> {
        let mut open: Vec<(FrameId, StackId)> = Vec::new();
        let mut last = f64::NEG_INFINITY;
        for (row, event) in profile.events.iter().enumerate() {
            let place = || format!("profiles[{index}].events[{row}]");
            let fail = |found: String, expected: String| {
                Err(ImportError::malformed(NAME, Position::Item(place()), found, expected))
            };
            if event.at < last {
                return fail(format!("the time {}", event.at), format!("a time not before {last}"));
            }
            if let Some((_, stack)) = open.last()
                && event.at > last
            {
                self.add(Some(*stack), event.at - last, None);
            }
            last = event.at;
            let frame = self.frame(event.frame, place)?;
            match event.r#type.as_str() {
                "O" => {
                    let parent = open.last().map(|(_, stack)| *stack);
                    open.push((frame, self.builder.stack(parent, frame)));
                }
                "C" => match open.pop() {
                    Some((opened, _)) if opened == frame => {}
                    Some((opened, _)) => {
                        let name = |frame| self.builder.frame_of(frame).function.clone();
                        return fail(
                            format!("the close of {:?}", name(frame)),
                            format!("the close of {:?}", name(opened)),
                        );
                    }
                    None => return fail("a close".into(), "an open frame to close".into()),
                },
                other => return fail(format!("the type {other:?}"), "O or C".into()),
            }
        }
        if let Some((frame, _)) = open.last() {
            let at = Position::Item(format!("profiles[{index}].events[{}]", profile.events.len()));
            let name = &self.builder.frame_of(*frame).function;
            let found = format!("the end of the events with {} frames open", open.len());
            return Err(ImportError::malformed(NAME, at, found, format!("the close of {name:?}")));
        }
        Ok(())
    }
}
