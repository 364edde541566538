//! Chrome trace JSON with CPU profile chunks, as DevTools and `--cpu-prof`-less tracing write it.
//!
//! A profile arrives as one `Profile` event and many `ProfileChunk` events that share its process and id,
//! on any thread and in any order of the file: they are joined by id and sorted by time.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::v8::{self, Leaf, Node, NodeId};
use super::{Format, Options, json};
use crate::import::Detection;
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::profile::{Builder, Profile, SampleClock, WeightType};

const NAME: &str = "chrome-trace";

pub(super) const FORMAT: Format = Format { name: NAME, description: "a Chrome trace with a CPU profile", detect, read };

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    name: Lenient<String>,
    #[serde(default)]
    ph: Lenient<String>,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    tid: Value,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    ts: Lenient<f64>,
    #[serde(default)]
    args: Lenient<Args>,
}

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    data: Lenient<Data>,
    #[serde(default)]
    name: Lenient<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    #[serde(default)]
    start_time: Lenient<f64>,
    #[serde(default)]
    end_time: Lenient<f64>,
    #[serde(default)]
    cpu_profile: Option<Chunk>,
    #[serde(default)]
    time_deltas: Option<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    samples: Vec<NodeId>,
    #[serde(default)]
    time_deltas: Option<Vec<f64>>,
}

/// A value that events of other kinds may have in another shape: then there is none.
struct Lenient<T>(Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Lenient(None)
    }
}

macro_rules! lenient {
    ($type:ty { $($method:item)* }) => {
        impl<'de> Deserialize<'de> for Lenient<$type> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Any;
                impl<'de> Visitor<'de> for Any {
                    type Value = Lenient<$type>;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("any value")
                    }
                    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                        while seq.next_element::<IgnoredAny>()?.is_some() {}
                        Ok(Lenient(None))
                    }
                    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                        Ok(Lenient(None))
                    }
                    fn visit_unit<E>(self) -> Result<Self::Value, E> {
                        Ok(Lenient(None))
                    }
                    $($method)*
                }
                deserializer.deserialize_any(Any)
            }
        }
    };
}

macro_rules! lenient_struct {
    ($type:ty) => {
        lenient!($type {
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                <$type>::deserialize(MapAccessDeserializer::new(map)).map(|value| Lenient(Some(value)))
            }
            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Lenient(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Lenient(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Lenient(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Lenient(None))
            }
        });
    };
}

lenient_struct!(Args);
lenient_struct!(Data);

lenient!(f64 {
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Lenient(None))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Lenient(text.parse().ok().filter(|value: &f64| value.is_finite())))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Lenient(Some(value)))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Lenient(Some(value as f64)))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Lenient(Some(value as f64)))
    }
});

lenient!(String {
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Lenient(None))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Lenient(Some(text.to_owned())))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Lenient(None))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Lenient(None))
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Lenient(None))
    }
});

/// The document: the object form, or the bare array of events.
#[derive(Deserialize)]
struct Document {
    #[serde(rename = "traceEvents", deserialize_with = "kept_events")]
    events: Kept,
}

#[derive(Deserialize)]
struct Bare(#[serde(deserialize_with = "kept_events")] Kept);

/// The few events that matter, of many that do not.
#[derive(Default)]
struct Kept {
    events: Vec<Event>,
    others: u64,
}

fn kept_events<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Kept, D::Error> {
    struct Filter;
    impl<'de> Visitor<'de> for Filter {
        type Value = Kept;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an array of events")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kept, A::Error> {
            let mut kept = Kept::default();
            while let Some(event) = seq.next_element::<Event>()? {
                match event.name.0.as_deref() {
                    Some("Profile" | "ProfileChunk" | "CpuProfile" | "thread_name") => kept.events.push(event),
                    _ => kept.others += 1,
                }
            }
            Ok(kept)
        }
    }
    deserializer.deserialize_seq(Filter)
}

fn detect(head: &[u8]) -> Detection {
    if !json::looks_like(head) {
        return Detection::No;
    }
    let outline = json::outline(head);
    match outline.is_array {
        true if outline.has("ph") && (outline.has("ts") || outline.has("pid")) => Detection::Yes,
        false if outline.has("traceEvents") => Detection::Yes,
        _ => Detection::No,
    }
}

#[derive(Default)]
struct Joined {
    start: Option<f64>,
    end: Option<f64>,
    thread: Option<(String, String)>,
    chunks: Vec<(f64, Chunk, Option<Vec<f64>>)>,
}

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    let is_array = json::outline(&bytes).is_array;
    let parsed =
        if is_array { parse_array(&bytes) } else { serde_json::from_slice::<Document>(&bytes).map(|d| d.events) };
    let kept = parsed.map_err(|error| ImportError::json(NAME, &error))?;
    drop(bytes);
    let total = kept.events.len() as u64 + kept.others;
    let mut profiles: BTreeMap<(String, String), Joined> = BTreeMap::new();
    let mut threads: FxHashMap<(String, String), String> = FxHashMap::default();
    for event in kept.events {
        let thread = (event.pid.to_string(), event.tid.to_string());
        let name = event.name.0.unwrap_or_default();
        let Some(args) = event.args.0 else { continue };
        if name == "thread_name" {
            threads.insert(thread, args.name.0.unwrap_or_default());
            continue;
        }
        let joined = profiles.entry((thread.0.clone(), event.id.to_string())).or_default();
        let Some(data) = args.data.0 else { continue };
        joined.start = joined.start.or(data.start_time.0);
        joined.end = data.end_time.0.or(joined.end);
        // The profiled thread is that of `Profile`; chunks are written by a thread of the profiler.
        if name != "ProfileChunk" || (joined.thread.is_none() && event.ph.0.as_deref() != Some("P")) {
            joined.thread = Some(thread);
        }
        if let Some(chunk) = data.cpu_profile {
            joined.chunks.push((event.ts.0.unwrap_or(0.0), chunk, data.time_deltas));
        }
    }
    if profiles.values().all(|joined| joined.chunks.is_empty()) {
        let why =
            format!("{total} events, none of them a CPU profile; record with JavaScript samples (v8.cpu_profiler)");
        return Err(ImportError::Unsupported { what: "a Chrome trace without CPU profile".into(), why });
    }
    let mut builder = Builder::new(vec![
        WeightType { name: "samples".into(), unit: "count".into() },
        WeightType { name: "time".into(), unit: "nanoseconds".into() },
    ]);
    builder.keep_at_most(options.keep_samples);
    builder.default_weight(1);
    let mut samples_read = 0;
    let mut samples_lost = 0;
    let mut duration: Option<f64> = None;
    for ((pid, _), mut joined) in profiles {
        joined.chunks.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let mut nodes = Vec::new();
        let (mut samples, mut deltas) = (Vec::new(), Vec::new());
        for (_, chunk, outer) in joined.chunks {
            nodes.extend(chunk.nodes);
            samples.extend(chunk.samples);
            deltas.extend(outer.or(chunk.time_deltas).unwrap_or_default());
        }
        let key = joined.thread.unwrap_or((pid, "?".into()));
        let name = threads.get(&key).filter(|name| !name.is_empty()).map_or("thread", String::as_str);
        let thread = builder.new_thread(&format!("{name} {}/{}", key.0, key.1));
        let cut = cut_lost_parents(&mut nodes);
        if cut > 0 {
            let message = "the trace lacks callers: a chunk is missing, or the profile began before the trace; their \
                           totals are too low";
            builder.note("callers-missing", message, cut);
        }
        let mut leaves = v8::stacks(NAME, &mut builder, &nodes)?;
        for node in &samples {
            leaves.entry(*node).or_insert(Leaf::Lost);
        }
        let span = joined.start.zip(joined.end).map(|(start, end)| end - start);
        deltas.resize(samples.len(), 0.0);
        let clock = v8::add_samples(NAME, &mut builder, &leaves, &samples, &deltas, span, Some(thread))?;
        clock.tell(&mut builder);
        duration = span.into_iter().chain(duration).reduce(f64::max);
        samples_read += samples.len();
        samples_lost += clock.lost;
    }
    if samples_read == 0 {
        return Err(ImportError::NoSamples { why: format!("{total} events with CPU profiles that hold no samples") });
    }
    if samples_lost == samples_read as u64 {
        let position = Position::Item("ProfileChunk".into());
        let found = format!("{samples_lost} samples, each of a node that no chunk holds");
        return Err(ImportError::malformed(NAME, position, found, "the chunks with the nodes of the samples"));
    }
    let provenance = builder.provenance();
    provenance.format = NAME.into();
    provenance.clock = SampleClock::Wall;
    provenance.duration_ns = duration.filter(|span| *span >= 0.0).map(|span| (span * 1e3) as u64);
    provenance.events.insert("ProfileChunk samples".into(), samples_read as u64);
    provenance.events.insert("other events".into(), kept.others);
    Ok(builder.finish())
}

/// Makes roots of nodes whose parent no chunk holds, and counts them; a child that no chunk holds is forgotten. A trace
/// buffer that ran full, or a profile that began before the trace, leaves the first chunks out; what the others say
/// still holds.
fn cut_lost_parents(nodes: &mut [Node]) -> u64 {
    let known: FxHashSet<NodeId> = nodes.iter().map(|node| node.id).collect();
    let mut cut = 0;
    for node in nodes {
        if let Some(children) = &mut node.children {
            children.retain(|child| known.contains(child));
        }
        if node.parent.is_some_and(|parent| !known.contains(&parent)) {
            node.parent = None;
            cut += 1;
        }
    }
    cut
}

/// The array form may lack its end: a browser that died leaves it so, and viewers accept it.
fn parse_array(bytes: &[u8]) -> serde_json::Result<Kept> {
    let whole = serde_json::from_slice::<Bare>(bytes).map(|bare| bare.0);
    let text = bytes.trim_ascii_end();
    match whole {
        Err(error) if error.is_eof() && (text.ends_with(b"}") || text.ends_with(b"},")) => {
            let mut closed = text.strip_suffix(b",").unwrap_or(text).to_vec();
            closed.push(b']');
            serde_json::from_slice::<Bare>(&closed).map(|bare| bare.0).map_err(|_| error)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read_text, self_total};
    use super::*;

    const EVENTS: &str = r#"
    {"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"CrRendererMain"}},
    {"ph":"X","name":"Layout","pid":1,"tid":7,"ts":5,"args":{"data":{"startTime":"x","endTime":[1]},"name":3}},
    {"ph":"X","name":"Other","pid":1,"tid":7,"ts":5,"args":"text"},
    {"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":300,"args":{"data":{
        "cpuProfile":{"nodes":[{"id":3,"parent":2,"callFrame":{"functionName":"g"}}],"samples":[3,3]},"timeDeltas":[10,30]}}},
    {"ph":"P","name":"Profile","pid":1,"tid":7,"id":"0x1","ts":100,"args":{"data":{"startTime":100}}},
    {"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":200,"args":{"data":{
        "cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"f"}}],
        "samples":[2]},"timeDeltas":[5]}}}"#;

    #[test]
    fn chunks_are_joined_by_id_and_sorted_by_time() {
        for text in [
            format!("{{\"metadata\":{{}},\"traceEvents\":[{EVENTS}]}}"),
            format!("[{EVENTS}]"),
            format!("[{EVENTS},\n"),
            format!("[{EVENTS}"),
        ] {
            let profile = read_text(&text).unwrap();
            assert_eq!(profile.total(0), 3.0);
            assert_eq!(self_total(&profile, 1, "f"), (10e3, 40e3));
            assert_eq!(self_total(&profile, 1, "g"), (30e3, 30e3));
            assert_eq!(profile.threads, ["CrRendererMain 1/7"]);
        }
    }

    #[test]
    fn a_profile_that_began_before_the_trace_does_not_hide_the_others() {
        let early = r#"{"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x0","ts":50,"args":{"data":{
            "cpuProfile":{"samples":[8,8]},"timeDeltas":[4,6]}}}"#;
        let profile = read_text(&format!("[{early},{EVENTS}]")).unwrap();
        assert_eq!(profile.total(0), 3.0);
        assert_eq!(self_total(&profile, 1, "f"), (10e3, 40e3));
        assert!(profile.notes.iter().any(|note| note.code == "nodes-missing" && note.count == 2));

        let error = read_text(&format!("[{early}]")).unwrap_err().to_string();
        assert!(error.contains("2 samples, each of a node that no chunk holds"), "{error}");
    }

    #[test]
    fn a_missing_chunk_is_told_and_its_callers_are_not_invented() {
        let late = r#"{"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":300,"args":{"data":{
            "cpuProfile":{"nodes":[{"id":3,"parent":2,"callFrame":{"functionName":"g"}}],"samples":[3,2,3]},
            "timeDeltas":[10,30,20]}}}"#;
        let profile = read_text(&format!("[{late}]")).unwrap();
        assert_eq!(profile.total(0), 2.0);
        assert_eq!(self_total(&profile, 1, "g"), (30e3, 30e3));
        for code in ["nodes-missing", "callers-missing"] {
            assert!(profile.notes.iter().any(|note| note.code == code && note.count == 1), "{code}");
        }
    }

    #[test]
    fn a_child_that_no_chunk_holds_is_forgotten() {
        let text = r#"[{"ph":"P","name":"Profile","pid":1,"tid":9,"id":"0x1","ts":1,"args":{"data":{"startTime":1}}},
            {"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":30,"args":{"data":{"cpuProfile":{
            "nodes":[{"id":1,"callFrame":{"functionName":"f"},"children":[2,7]},
            {"id":2,"callFrame":{"functionName":"g"}}],"samples":[1,2]},"timeDeltas":[10,20]}}}]"#;
        let profile = read_text(text).unwrap();
        assert_eq!((self_total(&profile, 0, "f"), self_total(&profile, 0, "g")), ((1.0, 2.0), (1.0, 1.0)));
    }

    #[test]
    fn a_trace_without_a_profile_is_named() {
        let error = read_text(r#"{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":5,"pid":1,"tid":1}]}"#).unwrap_err();
        assert!(matches!(error, ImportError::Unsupported { .. }), "{error}");
        let error = read_text(&format!("{{\"traceEvents\":[{EVENTS}")).unwrap_err();
        assert!(error.to_string().contains("truncated"), "{error}");
    }
}
