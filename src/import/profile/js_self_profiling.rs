//! What a page's own sampler returns (JS Self-Profiling, a draft of the W3C's Web Performance group):
//! `{resources, frames, stacks, samples}`, each stack a frame and a parent.
//!
//! Samples in which no script ran carry no stack: they are idle time. The draft has no place for the
//! interval, which pages therefore add as `sampleInterval`, in milliseconds.

use serde::Deserialize;

use super::{Format, Options, json};
use crate::import::Detection;
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, SampleClock, StackId, StackSample, WeightType};

const NAME: &str = "js-self-profiling";

pub(super) const FORMAT: Format = Format { name: NAME, description: "JS Self-Profiling trace JSON", detect, read };

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    #[serde(default)]
    resources: Vec<String>,
    frames: Vec<TraceFrame>,
    stacks: Vec<TraceStack>,
    samples: Vec<TraceSample>,
    sample_interval: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceFrame {
    name: String,
    resource_id: Option<usize>,
    line: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceStack {
    frame_id: usize,
    parent_id: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceSample {
    timestamp: f64,
    stack_id: Option<usize>,
}

fn detect(head: &[u8]) -> Detection {
    if !json::looks_like(head) {
        return Detection::No;
    }
    let outline = json::outline(head);
    if ["resources", "frames", "stacks", "samples"].iter().all(|key| outline.has(key)) {
        Detection::Yes
    } else {
        Detection::No
    }
}

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let trace: Trace = serde_json::from_slice(&input.bytes()?).map_err(|error| ImportError::json(NAME, &error))?;
    let mut builder = Builder::new(vec![WeightType { name: "samples".into(), unit: "count".into() }]);
    builder.keep_at_most(options.keep_samples);
    let frames = trace.frames.iter().map(|frame| named(&mut builder, &trace.resources, frame)).collect::<Vec<_>>();
    let stacks = stacks(&mut builder, &frames, &trace.stacks)?;
    let idle = builder.frame(Frame { function: "(idle)".into(), kind: FrameKind::Synthetic, ..Frame::default() });
    let idle = builder.stack(None, idle);
    let first = trace.samples.first().map_or(0.0, |sample| sample.timestamp);
    let mut last = first;
    for (at, sample) in trace.samples.iter().enumerate() {
        let stack = match sample.stack_id {
            None => idle,
            Some(id) => *stacks.get(id).ok_or_else(|| out_of_range("samples", at, "stack", id, stacks.len()))?,
        };
        last = last.max(sample.timestamp);
        builder.sample(StackSample {
            stack: Some(stack),
            thread: None,
            time_ns: Some(((sample.timestamp - first).max(0.0) * 1e6) as u64),
            count: Some(1),
            weights: vec![1.0],
        });
    }
    if trace.samples.is_empty() {
        return Err(ImportError::NoSamples { why: format!("{} frames, no sample", trace.frames.len()) });
    }
    let interval_ms = trace.sample_interval.filter(|interval| *interval > 0.0);
    let provenance = builder.provenance();
    provenance.format = NAME.into();
    provenance.clock = SampleClock::Wall;
    provenance.duration_ns = Some(((last - first + interval_ms.unwrap_or(0.0)) * 1e6) as u64);
    provenance.requested_hz = interval_ms.map(|interval| 1e3 / interval);
    provenance.period = interval_ms.map(|interval| interval * 1e6);
    provenance.period_unit = interval_ms.map(|_| "nanoseconds".into());
    Ok(builder.finish())
}

fn named(builder: &mut Builder, resources: &[String], frame: &TraceFrame) -> FrameId {
    builder.frame(Frame {
        function: if frame.name.is_empty() { "(anonymous)".into() } else { frame.name.clone() },
        file: frame.resource_id.and_then(|id| resources.get(id)).cloned(),
        line: frame.line,
        ..Frame::default()
    })
}

/// The stacks in the file's order, whatever the order of parents and children in it.
fn stacks(builder: &mut Builder, frames: &[FrameId], all: &[TraceStack]) -> Result<Vec<StackId>, ImportError> {
    let mut made: Vec<Option<StackId>> = vec![None; all.len()];
    for start in 0..all.len() {
        // Up to the first ancestor that is made, then down again: depth must not cost call stack.
        let mut path = Vec::new();
        let mut next = Some(start);
        while let Some(at) = next.filter(|at| made.get(*at).copied().flatten().is_none()) {
            let stack = all.get(at).ok_or_else(|| out_of_range("stacks", start, "parent", at, all.len()))?;
            path.push(at);
            if path.len() > all.len() {
                let at = Position::Item(format!("stacks[{start}]"));
                return Err(ImportError::malformed(NAME, at, "a stack among its own parents", "a tree"));
            }
            next = stack.parent_id;
        }
        let mut parent = next.and_then(|at| made[at]);
        for at in path.into_iter().rev() {
            let id = all[at].frame_id;
            let frame = *frames.get(id).ok_or_else(|| out_of_range("stacks", at, "frame", id, frames.len()))?;
            parent = Some(builder.stack(parent, frame));
            made[at] = parent;
        }
    }
    Ok(made.into_iter().flatten().collect())
}

fn out_of_range(list: &str, at: usize, what: &str, id: usize, length: usize) -> ImportError {
    let position = Position::Item(format!("{list}[{at}]"));
    ImportError::malformed(NAME, position, format!("{what} {id}"), format!("one of the {length} listed"))
}

#[cfg(test)]
mod tests {
    use crate::import::profile::{Options, read};
    use crate::profile::SelfTotal;

    #[test]
    fn stacks_are_root_first_and_idle_time_stays_apart() {
        let text = r#"{"resources": ["app.js"],
            "frames": [{"name": "main", "resourceId": 0, "line": 7, "column": 1}, {"name": "hash"}, {"name": ""}],
            "stacks": [{"frameId": 1, "parentId": 1}, {"frameId": 0}, {"frameId": 2, "parentId": 0}],
            "samples": [{"timestamp": 5.0, "stackId": 0}, {"timestamp": 15.0, "stackId": 1},
                        {"timestamp": 25.0}, {"timestamp": 35.0, "stackId": 2}],
            "sampleInterval": 10}"#;
        let profile = read(text.as_bytes(), &Options::default()).unwrap();
        let by = profile.by(0, |frame| frame.function.clone());
        assert_eq!(by["main"], SelfTotal { self_weight: 1.0, total_weight: 3.0 });
        assert_eq!(by["hash"], SelfTotal { self_weight: 1.0, total_weight: 2.0 });
        assert_eq!(by["(anonymous)"], SelfTotal { self_weight: 1.0, total_weight: 1.0 });
        assert_eq!(by["(idle)"], SelfTotal { self_weight: 1.0, total_weight: 1.0 });
        assert_eq!(profile.provenance.requested_hz, Some(100.0));
        assert_eq!(profile.provenance.duration_ns, Some(40_000_000));
        assert_eq!(profile.frames.iter().find(|f| f.function == "main").unwrap().file.as_deref(), Some("app.js"));
    }

    #[test]
    fn broken_references_say_where() {
        let broken = |frames: &str, stacks: &str, samples: &str| {
            let text = format!(r#"{{"resources": [], "frames": {frames}, "stacks": {stacks}, "samples": {samples}}}"#);
            read(text.as_bytes(), &Options::default()).unwrap_err().to_string()
        };
        let one = r#"[{"name": "a"}]"#;
        let cycle = broken(one, r#"[{"frameId": 0, "parentId": 1}, {"frameId": 0, "parentId": 0}]"#, "[]");
        assert!(cycle.contains("stacks[0]") && cycle.contains("its own parents"), "{cycle}");
        let frame = broken(one, r#"[{"frameId": 3}]"#, "[]");
        assert!(frame.contains("stacks[0]") && frame.contains("frame 3"), "{frame}");
        let parent = broken(one, r#"[{"frameId": 0, "parentId": 9}]"#, "[]");
        assert!(parent.contains("parent 9"), "{parent}");
        let sample = broken(one, "[]", r#"[{"timestamp": 1, "stackId": 4}]"#);
        assert!(sample.contains("samples[0]") && sample.contains("stack 4"), "{sample}");
        assert!(broken(one, "[]", "[]").contains("no sample"));
    }
}
