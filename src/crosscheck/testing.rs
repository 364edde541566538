//! Profiles and explanations made by hand, whose errors are known, for tests.

use super::explanation::{Explained, Explanation, FramePattern};
use crate::profile::{Builder, Frame, FrameKind, Profile, SampleClock, StackSample, WeightType};
use crate::stats::Estimate;

/// A profile from folded lines: `main;a;b 10`.
pub fn folded(text: &str) -> Profile {
    let mut builder = builder();
    for line in text.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let frames: Vec<_> = stack.split(';').map(|name| builder.frame(frame(name))).collect();
        let stack = builder.stack_of(frames);
        let count: u64 = count.parse().unwrap();
        builder.sample(StackSample {
            stack,
            thread: None,
            time_ns: None,
            count: Some(count),
            weights: vec![count as f64],
        });
    }
    builder.finish()
}

/// A profile of stacks, root first, with kinds of frames and numbers of samples.
pub fn stacks(stacks: &[(&[(&str, FrameKind)], u64)]) -> Profile {
    let mut builder = builder();
    for (names, count) in stacks {
        let frames: Vec<_> =
            names.iter().map(|(name, kind)| builder.frame(Frame { kind: *kind, ..frame(name) })).collect();
        let stack = builder.stack_of(frames);
        let weights = vec![*count as f64];
        builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(*count), weights });
    }
    builder.finish()
}

/// A profile of single samples, one each millisecond, under `main`; an empty name is `main` itself.
pub fn timed<'a>(leaves: impl Iterator<Item = &'a str>) -> Profile {
    let mut builder = builder();
    for (index, leaf) in leaves.enumerate() {
        let names = ["main", leaf];
        let frames: Vec<_> =
            names.iter().filter(|name| !name.is_empty()).map(|name| builder.frame(frame(name))).collect();
        let stack = builder.stack_of(frames);
        builder.sample(StackSample {
            stack,
            thread: None,
            time_ns: Some(index as u64 * 1_000_000),
            count: Some(1),
            weights: vec![1.0],
        });
    }
    builder.finish()
}

fn builder() -> Builder {
    let mut builder = Builder::new(vec![WeightType { name: "samples".into(), unit: "count".into() }]);
    builder.provenance().clock = SampleClock::Cpu;
    builder
}

pub fn frame(name: &str) -> Frame {
    Frame { function: name.into(), ..Frame::default() }
}

/// A primitive known only by its frame, of its own name.
pub fn primitive(name: &str) -> Explained {
    Explained {
        primitive: name.into(),
        count: 1.0,
        frames: vec![FramePattern::Exact(name.into())],
        ..Explained::default()
    }
}

/// An operation of 1 ms whose primitives take these shares by dose and replay, known to 0.5 points.
pub fn explanation(shares: &[(&str, f64)]) -> Explanation {
    let part = |share: f64| Estimate::with_interval(share * 1e6, share * 1e6 - 5e3, share * 1e6 + 5e3);
    Explanation {
        operation: "op/1".into(),
        time_ns: Some(Estimate::with_interval(1e6, 0.999e6, 1.001e6)),
        primitives: shares
            .iter()
            .map(|(name, share)| Explained {
                unit_cost_ns: Some(part(*share)),
                cost_band_ns: Some((share * 0.9e6, share * 1.2e6)),
                predicted_ns: Some(part(*share)),
                dose_ns: Some(part(*share)),
                replay_ns: Some(part(*share)),
                ..primitive(name)
            })
            .collect(),
        dose_all_ns: None,
        replay_all_ns: None,
        causal_valid: true,
        warnings: Vec::new(),
    }
}
