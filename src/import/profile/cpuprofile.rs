//! V8's `.cpuprofile`: a call tree, and the node and time of each sample.
//!
//! A sample lasts until the next one. The time before the first and after the last belongs to no function.
//! The old shape (`head`, nested children, hit counts) is read without recursion.

mod nested;

use serde::Deserialize;

use super::v8::{self, Leaf, Node, NodeId};
use super::{Format, Options, json};
use crate::import::Detection;
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::profile::{Builder, Profile, SampleClock, StackSample, WeightType};

const NAME: &str = "cpuprofile";

pub(super) const FORMAT: Format = Format { name: NAME, description: "V8 .cpuprofile JSON", detect, read };

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct File {
    nodes: Vec<Node>,
    start_time: Option<f64>,
    end_time: Option<f64>,
    samples: Option<Vec<NodeId>>,
    time_deltas: Option<Vec<f64>>,
    /// The old shape: seconds for the whole, microseconds for the samples.
    timestamps: Option<Vec<f64>>,
}

fn detect(head: &[u8]) -> Detection {
    if !json::looks_like(head) {
        return Detection::No;
    }
    let outline = json::outline(head);
    let timed = outline.has("startTime") || outline.has("endTime") || outline.has("timeDeltas");
    match (outline.has("nodes"), outline.has("head"), timed || outline.has("samples")) {
        (true, _, true) => Detection::Yes,
        (false, true, true) => Detection::Yes,
        // The old tree comes first, and may be all that is left of a truncated file.
        (false, true, false) => Detection::NotSure,
        // So do the nodes of the present shape.
        (true, _, false) if memchr::memmem::find(head, b"\"callFrame\"").is_some() => Detection::NotSure,
        _ => Detection::No,
    }
}

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    let is_old = {
        let outline = json::outline(&bytes);
        outline.has("head") && !outline.has("nodes")
    };
    let file = if is_old { old_shape(&bytes)? } else { parse(&bytes)? };
    drop(bytes);
    let mut builder = Builder::new(vec![
        WeightType { name: "samples".into(), unit: "count".into() },
        WeightType { name: "time".into(), unit: "nanoseconds".into() },
    ]);
    builder.keep_at_most(options.keep_samples);
    let leaves = v8::stacks(NAME, &mut builder, &file.nodes)?;
    let hits: f64 = file.nodes.iter().filter_map(|node| node.hit_count).sum();
    // The old shape writes start and end in whole seconds: a span below that of the timestamps is rounding.
    let stamped = file.timestamps.as_deref().and_then(|times| Some(times.last()? - times.first()?));
    let span_us = file.start_time.zip(file.end_time).map(|(start, end)| end - start);
    let span_us = span_us.filter(|span| stamped.is_none_or(|stamped| *span >= stamped)).or(stamped);
    let samples = file.samples.unwrap_or_default();
    let clock_field = if file.time_deltas.is_some() { "timeDeltas" } else { "timestamps" };
    let deltas = match (file.time_deltas, file.timestamps) {
        (Some(deltas), _) => deltas,
        // One more than samples: the first is the start, to the microsecond.
        (None, Some(times)) if times.len() == samples.len() + 1 => {
            times.windows(2).map(|pair| pair[1] - pair[0]).collect()
        }
        (None, Some(times)) => {
            let before = file.start_time.into_iter().chain(times.iter().copied());
            times.iter().zip(before).map(|(time, before)| time - before).collect()
        }
        (None, None) => Vec::new(),
    };
    if !deltas.is_empty() && deltas.len() != samples.len() {
        let found = format!("{} time deltas", deltas.len());
        let at = Position::Item(clock_field.into());
        return Err(ImportError::malformed(NAME, at, found, format!("{}, one for each sample", samples.len())));
    }
    if samples.is_empty() {
        by_hits(&mut builder, &file.nodes, &leaves);
    } else {
        let clock = v8::add_samples(NAME, &mut builder, &leaves, &samples, &deltas, span_us, None)?;
        clock.tell(&mut builder);
    }
    builder.default_weight(usize::from(!deltas.is_empty() && samples.len() > 1));
    let provenance = builder.provenance();
    provenance.format = NAME.into();
    provenance.clock = SampleClock::Wall;
    provenance.duration_ns = span_us.filter(|span| *span >= 0.0).map(|span| (span * 1e3) as u64);
    provenance.facts.insert("hit_count".into(), hits.to_string());
    provenance.facts.insert("samples".into(), samples.len().to_string());
    if !samples.is_empty() && hits > 0.0 && hits != samples.len() as f64 {
        let message = format!("hit counts add up to {hits}, samples to {}: the samples are used", samples.len());
        builder.note("hit-count-differs", message, 1);
    }
    let profile = builder.finish();
    if profile.samples.is_empty() {
        return Err(ImportError::NoSamples { why: format!("{} nodes, no sample and no hit", file.nodes.len()) });
    }
    Ok(profile)
}

fn parse(bytes: &[u8]) -> Result<File, ImportError> {
    serde_json::from_slice(bytes).map_err(|error| ImportError::json(NAME, &error))
}

/// `{"head": {…, "children": […]}, "startTime": seconds, …}`.
fn old_shape(bytes: &[u8]) -> Result<File, ImportError> {
    if memchr::memmem::find(bytes, b"\"selfSize\"").is_some() && memchr::memmem::find(bytes, b"\"hitCount\"").is_none()
    {
        let why = "it holds allocations by node, without the fields of a CPU profile".into();
        return Err(ImportError::Unsupported { what: "a V8 .heapprofile".into(), why });
    }
    let (nodes, rest) = nested::flatten(NAME, bytes)?;
    let mut file = parse(&rest)?;
    file.nodes = nodes;
    // Its times are in seconds, its timestamps in microseconds.
    if file.timestamps.is_none() || file.start_time.is_some_and(|start| start < 1e10) {
        file.start_time = file.start_time.map(|start| start * 1e6);
        file.end_time = file.end_time.map(|end| end * 1e6);
    }
    Ok(file)
}

/// A profile without samples: the hits of each node, without times.
fn by_hits(builder: &mut Builder, nodes: &[Node], leaves: &rustc_hash::FxHashMap<NodeId, Leaf>) {
    let mut any = 0;
    for node in nodes {
        let hits = node.hit_count.unwrap_or(0.0).max(0.0);
        if let (true, Some(Leaf::Stack(stack))) = (hits > 0.0, leaves.get(&node.id)) {
            any += 1;
            let weights = vec![hits, 0.0];
            builder.sample(StackSample {
                stack: *stack,
                thread: None,
                time_ns: None,
                count: Some(hits as u64),
                weights,
            });
        }
    }
    if any > 0 {
        builder.note("hits-only", "no samples in the file: the hit counts of its nodes are used, without times", any);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read_text, self_total};
    use super::*;

    fn file(samples: &str, deltas: &str, rest: &str) -> String {
        format!(
            r#"{{"nodes":[{{"id":1,"callFrame":{{"functionName":"(root)","url":"","lineNumber":-1}},"children":[2,4]}},
            {{"id":2,"callFrame":{{"functionName":"f","url":"a.js","lineNumber":6}},"hitCount":2,"children":[3]}},
            {{"id":3,"callFrame":{{"functionName":"","url":"a.js","lineNumber":0}}}},
            {{"id":4,"callFrame":{{"functionName":"(idle)","url":"","lineNumber":-1}}}}],
            "samples":{samples},"timeDeltas":{deltas}{rest}}}"#
        )
    }

    // microsoft/vscode-js-debug#1272: the lead-in is no function's time.
    #[test]
    fn the_first_delta_precedes_the_first_sample() {
        let profile = read_text(&file("[2,2,2]", "[200000,400000,500000]", "")).unwrap();
        assert_eq!(self_total(&profile, 1, "f"), (900e6, 900e6));
        assert_eq!(self_total(&profile, 0, "f"), (3.0, 3.0));
        assert_eq!(profile.provenance.facts["before_first_sample_us"], "200000");
        assert_eq!(profile.default_weight, 1);
    }

    // jlfwong/speedscope#70: clamping each delta lets the clock drift.
    #[test]
    fn negative_deltas_keep_the_running_clock() {
        let profile = read_text(&file("[2,3,2]", "[100,-20,100]", "")).unwrap();
        assert_eq!(self_total(&profile, 1, "f"), (0.0, 100e3));
        assert_eq!(self_total(&profile, 1, "(anonymous)"), (100e3, 100e3));
        let times: Vec<_> = profile.samples.iter().map(|sample| sample.time_ns.unwrap()).collect();
        assert_eq!(times, [100_000, 80_000, 180_000]);
        assert_eq!(profile.notes[0].code, "clock-backwards");
    }

    #[test]
    fn idle_leaves_the_denominator() {
        let profile = read_text(&file("[2,4,3,2]", "[10,10,70,20]", r#","startTime":0,"endTime":150"#)).unwrap();
        assert_eq!((profile.total(0), profile.total(1)), (3.0, 30e3));
        assert_eq!(profile.notes[0].code, "idle-left-out");
        assert_eq!(profile.provenance.facts["idle_us"], "70");
        assert_eq!(profile.provenance.facts["after_last_sample_us"], "40");
        let frame = profile.frames.iter().find(|frame| frame.function == "f").unwrap();
        assert_eq!((frame.file.as_deref(), frame.line), (Some("a.js"), Some(7)));
    }

    #[test]
    fn without_samples_the_hits_count() {
        let profile = read_text(&file("[]", "[]", "")).unwrap();
        assert_eq!((profile.total(0), profile.default_weight), (2.0, 0));
        assert_eq!(profile.notes[0].code, "hits-only");
    }

    #[test]
    fn broken_trees_are_refused_with_their_place() {
        for (samples, deltas, part) in [
            ("[9]", "[1]", "samples[0]: found the node 9"),
            ("[2,2]", "[1]", "timeDeltas: found 1 time deltas"),
            ("[2", "[1]", "cpuprofile, line "),
        ] {
            let error = read_text(&file(samples, deltas, "")).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let circle = r#"{"nodes":[{"id":1,"children":[2]},{"id":2,"children":[1]}],"samples":[1],"timeDeltas":[1]}"#;
        assert!(read_text(circle).unwrap_err().to_string().contains("its own ancestor"));
    }

    #[test]
    fn the_old_shape_is_read_at_any_depth() {
        let depth = 100_000;
        let node =
            |name: &str| format!(r#"{{"functionName":"{name}","url":"","lineNumber":3,"hitCount":0,"children":["#);
        let mut text = format!("{{\"head\":{}", node("(root)"));
        text += &node("f").repeat(depth);
        text += r#"{"functionName":"leaf","url":"x","lineNumber":3,"hitCount":5,"children":[],"id":7}"#;
        for id in 0..=depth {
            text += &format!("],\"id\":{}}}", 100 + id);
        }
        text += ",\"startTime\":1.0,\"endTime\":2.0,\"samples\":[7,7],\"timestamps\":[1100000,1300000]}";
        let profile = read_text(&text).unwrap();
        assert_eq!(self_total(&profile, 1, "leaf"), (200e6, 200e6));
        assert_eq!(self_total(&profile, 0, "f"), (0.0, 2.0));
        assert_eq!(profile.provenance.duration_ns, Some(1_000_000_000));
        assert!(matches!(read_text(&text[..text.len() / 2]), Err(ImportError::Malformed { .. })));
    }

    #[test]
    fn a_first_timestamp_more_than_samples_is_the_start() {
        let text = r#"{"head":{"functionName":"(root)","id":1,"hitCount":0,"children":[
            {"functionName":"f","id":2,"hitCount":1,"children":[]},
            {"functionName":"g","id":3,"hitCount":1,"children":[]}]},
            "startTime":5,"endTime":5,"samples":[2,3,2],"timestamps":[5000100,5000400,5000450,5000520]}"#;
        let profile = read_text(text).unwrap();
        assert_eq!(self_total(&profile, 1, "f"), (50e3, 50e3));
        assert_eq!(self_total(&profile, 1, "g"), (70e3, 70e3));
        assert_eq!(profile.provenance.duration_ns, Some(420_000));
    }

    #[test]
    fn a_file_that_ends_within_its_nodes_is_called_truncated() {
        let text = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"callFr"#;
        let error = read_text(text).unwrap_err().to_string();
        assert!(error.contains("truncated"), "{error}");
    }
}
