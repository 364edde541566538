//! Profiles out: folded stacks, pprof, OpenTelemetry, speedscope and processed Firefox. What a format cannot hold is said.

mod firefox;
mod folded;
mod otlp;
mod pprof;
mod speedscope;

use std::ops::Range;

use crate::profile::{FrameId, FrameKind, Note, Profile, StackSample};

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Folded stacks of one weight.
    Folded,
    /// pprof protobuf, gzip-compressed, with all weights.
    Pprof,
    /// OpenTelemetry profiles (OTLP protobuf), with all weights.
    Otlp,
    /// speedscope JSON of one weight.
    Speedscope,
    /// Processed Firefox JSON of one weight.
    Firefox,
}

impl Target {
    /// Every format that can be written.
    pub const ALL: [Target; 5] = [Target::Folded, Target::Pprof, Target::Otlp, Target::Speedscope, Target::Firefox];

    /// Its name, as `--to` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Target::Folded => "folded",
            Target::Pprof => "pprof",
            Target::Otlp => "otlp",
            Target::Speedscope => "speedscope",
            Target::Firefox => "firefox-processed",
        }
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// The format that a file name asks for.
    pub fn of_file_name(name: &str) -> Option<Target> {
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        match name {
            _ if ends(&[".folded", ".collapsed", ".txt"]) => Some(Target::Folded),
            _ if ends(&[".otlp", ".otlp.pb"]) => Some(Target::Otlp),
            _ if ends(&[".pb.gz", ".pprof", ".pb"]) => Some(Target::Pprof),
            _ if ends(&[".speedscope.json", ".speedscope"]) => Some(Target::Speedscope),
            _ if ends(&[".firefox.json", ".gecko.json"]) => Some(Target::Firefox),
            _ => None,
        }
    }
}

/// How folded stacks show threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadRoots {
    /// Not at all: equal stacks of different threads are one.
    #[default]
    Merge,
    /// As the root frame.
    Prefix,
}

/// What to write.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// The weight to write, for formats that hold one; the profile's default where `None`.
    pub weight: Option<usize>,
    /// Whether folded stacks begin with the thread.
    pub threads: ThreadRoots,
}

/// A written profile and what is missing from it.
#[derive(Clone, Debug)]
pub struct Written {
    /// The file's content.
    pub bytes: Vec<u8>,
    /// What the format could not hold, with the number of things concerned.
    pub losses: Vec<Note>,
}

/// Writes a profile.
pub fn write(profile: &Profile, target: Target, options: &ExportOptions) -> Written {
    let weight = options.weight.unwrap_or(profile.default_weight);
    let mut losses = Losses::default();
    let bytes = match target {
        Target::Folded => folded::write(profile, weight, options.threads, &mut losses),
        Target::Pprof => pprof::write(profile, &mut losses),
        Target::Otlp => otlp::write(profile, &mut losses),
        Target::Speedscope => speedscope::write(profile, weight, &mut losses),
        Target::Firefox => firefox::write(profile, weight, &mut losses),
    };
    Written { bytes, losses: losses.0 }
}

/// Collects what a format cannot hold; nothing is said where nothing was lost.
#[derive(Default)]
struct Losses(Vec<Note>);

impl Losses {
    fn add(&mut self, code: &str, message: &str, count: usize) {
        if count > 0 {
            self.0.push(Note { code: code.into(), message: message.into(), count: count as u64 });
        }
    }

    fn other_weights(&mut self, profile: &Profile) {
        self.add("weights", "weights besides the one written", profile.weight_types.len().saturating_sub(1));
    }

    fn modules(&mut self, profile: &Profile) {
        self.add(
            "modules",
            "frames lose their module",
            profile.frames.iter().filter(|frame| frame.module.is_some()).count(),
        );
    }

    fn addresses(&mut self, profile: &Profile) {
        let with = profile.frames.iter().filter(|frame| frame.address.is_some()).count();
        self.add("addresses", "frames lose their address", with);
    }

    fn kinds(&mut self, profile: &Profile, held: impl Fn(crate::profile::FrameKind) -> bool) {
        let lost = profile.frames.iter().filter(|frame| !held(frame.kind)).count();
        self.add("frame-kinds", "frames lose their kind (inlined, kernel, interpreted, synthetic)", lost);
    }

    fn times(&mut self, profile: &Profile) {
        let timed = profile.samples.iter().filter(|sample| sample.time_ns.is_some()).count();
        self.add("times", "samples lose their time", timed);
    }
}

/// The samples that the written weight holds.
fn weighed(profile: &Profile, weight: usize) -> impl Iterator<Item = &StackSample> {
    profile.samples.iter().filter(move |sample| sample.weights[weight] != 0.0)
}

/// A stack's frames, root first, cut into physical frames: each with what is inlined into it. `apart` counts the inlined ones
/// that lie elsewhere than their caller, which become physical.
fn physical_frames(profile: &Profile, frames: &[FrameId], apart: &mut usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (at, id) in frames.iter().enumerate() {
        let frame = profile.frame(*id);
        if let Some(last) = ranges.last_mut().filter(|_| frame.kind == FrameKind::Inlined) {
            let physical = profile.frame(frames[last.start]);
            if frame.module == physical.module && frame.address == physical.address {
                last.end = at + 1;
                continue;
            }
            *apart += 1;
        }
        ranges.push(at..at + 1);
    }
    ranges
}
