//! The call tree and the clock that `.cpuprofile` and Chrome traces share.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;

use crate::import::error::{ImportError, Position};
use crate::profile::{Builder, Frame, FrameKind, StackId, StackSample, ThreadId};

/// Node ids are small integers; old files write them as strings or floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(u64);

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(number) if number.is_u64() => Ok(NodeId(number.as_u64().unwrap_or(0))),
            Value::Number(number) if number.as_f64().is_some_and(|id| id >= 0.0 && id.fract() == 0.0) => {
                Ok(NodeId(number.as_f64().unwrap_or(0.0) as u64))
            }
            Value::String(text) => text.parse().map(NodeId).map_err(serde::de::Error::custom),
            other => Err(serde::de::Error::custom(format_args!("{other} as the id of a node"))),
        }
    }
}

impl From<u64> for NodeId {
    fn from(id: u64) -> Self {
        NodeId(id)
    }
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CallFrame {
    pub function_name: String,
    pub url: String,
    pub line_number: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node {
    pub id: NodeId,
    #[serde(default)]
    pub call_frame: CallFrame,
    #[serde(default)]
    pub hit_count: Option<f64>,
    #[serde(default)]
    pub children: Option<Vec<NodeId>>,
    #[serde(default)]
    pub parent: Option<NodeId>,
}

/// The stacks of a call tree: what a sample's node stands for.
pub(super) enum Leaf {
    /// This stack; `None` for the root itself.
    Stack(Option<StackId>),
    /// `(idle)`: nothing ran.
    Idle,
    /// A node that the recording refers to and does not hold: what ran is not known.
    Lost,
}

/// Interns the stack of every node.
///
/// # Errors
/// A node without a known parent, or a circle of parents.
pub(super) fn stacks(
    format: &'static str,
    builder: &mut Builder,
    nodes: &[Node],
) -> Result<FxHashMap<NodeId, Leaf>, ImportError> {
    let index_of: FxHashMap<NodeId, usize> = nodes.iter().enumerate().map(|(index, node)| (node.id, index)).collect();
    let fail = |index: usize, found: String, expected: &str| {
        Err(ImportError::malformed(format, Position::Item(format!("nodes[{index}]")), found, expected))
    };
    let mut parents: Vec<Option<usize>> = vec![None; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for child in node.children.iter().flatten() {
            match index_of.get(child) {
                Some(child) => parents[*child] = Some(index),
                None => return fail(index, format!("the child {}", child.0), "the id of a node"),
            }
        }
        if let Some(parent) = node.parent {
            match index_of.get(&parent) {
                Some(parent) => parents[index] = Some(*parent),
                None => return fail(index, format!("the parent {}", parent.0), "the id of a node"),
            }
        }
    }
    let mut done: Vec<Option<Option<StackId>>> = vec![None; nodes.len()];
    let mut path = Vec::new();
    for index in 0..nodes.len() {
        let mut next = Some(index);
        while let Some(at) = next
            && done[at].is_none()
        {
            path.push(at);
            if path.len() > nodes.len() {
                return fail(at, "a node that is its own ancestor".into(), "a tree");
            }
            next = parents[at];
        }
        let mut stack = next.and_then(|at| done[at]).flatten();
        while let Some(at) = path.pop() {
            let call_frame = &nodes[at].call_frame;
            // The root stands for no code.
            if call_frame.function_name != "(root)" {
                let frame = builder.frame(frame(call_frame));
                stack = Some(builder.stack(stack, frame));
            }
            done[at] = Some(stack);
        }
    }
    let leaf = |index: usize| match nodes[index].call_frame.function_name.as_str() {
        "(idle)" => Leaf::Idle,
        _ => Leaf::Stack(done[index].flatten()),
    };
    Ok(nodes.iter().enumerate().map(|(index, node)| (node.id, leaf(index))).collect())
}

fn frame(call_frame: &CallFrame) -> Frame {
    let name = &call_frame.function_name;
    let synthetic = name.starts_with('(') && name.ends_with(')') && call_frame.url.is_empty();
    // V8 counts lines from 0, and -1 means none.
    let line = call_frame.line_number.filter(|line| *line >= 0.0 && *line < f64::from(u32::MAX));
    Frame {
        function: if name.is_empty() { "(anonymous)".into() } else { name.clone() },
        file: Some(call_frame.url.clone()).filter(|url| !url.is_empty()),
        line: line.filter(|_| !synthetic).map(|line| line as u32 + 1),
        kind: if synthetic { FrameKind::Synthetic } else { FrameKind::Plain },
        ..Frame::default()
    }
}

/// What the clock of a series of samples said.
#[derive(Default)]
pub(super) struct Clock {
    /// Microseconds before the first sample, which belong to none.
    pub lead_us: f64,
    /// Microseconds from the last sample to the end, which belong to none.
    pub tail_us: f64,
    /// Microseconds of `(idle)`.
    pub idle_us: f64,
    /// Samples of `(idle)`.
    pub idle: u64,
    /// Microseconds of samples whose node the recording lacks.
    pub lost_us: f64,
    /// Samples whose node the recording lacks.
    pub lost: u64,
    /// Deltas below zero.
    pub backwards: u64,
}

/// Adds the samples. The first delta precedes the first sample. Deltas may be negative: the running clock
/// is kept, and only a duration is clamped. Weight 0 is the number of samples, weight 1 the time in ns.
pub(super) fn add_samples(
    format: &'static str,
    builder: &mut Builder,
    leaves: &FxHashMap<NodeId, Leaf>,
    samples: &[NodeId],
    deltas_us: &[f64],
    span_us: Option<f64>,
    thread: Option<ThreadId>,
) -> Result<Clock, ImportError> {
    let mut clock = Clock::default();
    let times: Vec<f64> = deltas_us
        .iter()
        .scan(0.0, |now, delta| {
            *now += delta;
            Some(*now)
        })
        .collect();
    clock.backwards = deltas_us.iter().filter(|delta| **delta < 0.0).count() as u64;
    clock.lead_us = times.first().copied().unwrap_or(0.0);
    clock.tail_us = span_us.zip(times.last()).map_or(0.0, |(span, last)| (span - last).max(0.0));
    for (index, node) in samples.iter().enumerate() {
        let duration = match (times.get(index), times.get(index + 1)) {
            (Some(from), Some(to)) => (to - from).max(0.0),
            _ => 0.0,
        };
        let Some(leaf) = leaves.get(node) else {
            let position = Position::Item(format!("samples[{index}]"));
            return Err(ImportError::malformed(format, position, format!("the node {}", node.0), "the id of a node"));
        };
        let stack = match leaf {
            Leaf::Stack(stack) => stack,
            Leaf::Idle => {
                clock.idle += 1;
                clock.idle_us += duration;
                continue;
            }
            Leaf::Lost => {
                clock.lost += 1;
                clock.lost_us += duration;
                continue;
            }
        };
        let time_ns = times.get(index).map(|time| (time.max(0.0) * 1e3) as u64);
        let weights = vec![1.0, duration * 1e3];
        builder.sample(StackSample { stack: *stack, thread, time_ns, count: Some(1), weights });
    }
    Ok(clock)
}

impl Clock {
    /// Says in notes and facts what belongs to no sample.
    pub fn tell(&self, builder: &mut Builder) {
        if self.idle > 0 {
            let message = format!("(idle) is no work: its samples ({:.0} µs) were left out", self.idle_us);
            builder.note("idle-left-out", message, self.idle);
        }
        if self.lost > 0 {
            let message = format!(
                "the trace lacks the nodes of samples ({:.0} µs), which were left out: a chunk is missing, or the \
                 profile began before the trace",
                self.lost_us
            );
            builder.note("nodes-missing", message, self.lost);
        }
        if self.backwards > 0 {
            let message = "time deltas below zero: the running clock is kept, a duration is at least zero";
            builder.note("clock-backwards", message, self.backwards);
        }
        let facts = &mut builder.provenance().facts;
        for (name, value) in [
            ("before_first_sample_us", self.lead_us),
            ("after_last_sample_us", self.tail_us),
            ("idle_us", self.idle_us),
        ] {
            if value > 0.0 {
                facts.insert(name.into(), format!("{value:.0}"));
            }
        }
    }
}
