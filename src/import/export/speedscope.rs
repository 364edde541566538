//! Writes speedscope JSON: one sampled profile for each thread, of one weight.

use serde_json::{Value, json};

use super::{Losses, weighed};
use crate::profile::{FrameKind, Profile, ThreadId};

pub(super) fn write(profile: &Profile, weight: usize, losses: &mut Losses) -> Vec<u8> {
    let weight_type = &profile.weight_types[weight];
    let unit = match weight_type.unit.as_str() {
        "nanoseconds" => "nanoseconds",
        "bytes" => "bytes",
        _ => "none",
    };
    let frames: Vec<Value> = profile
        .frames
        .iter()
        .map(|frame| {
            let mut object = json!({ "name": frame.function });
            if let Some(file) = &frame.file {
                object["file"] = json!(file);
            }
            if let Some(line) = frame.line {
                object["line"] = json!(line);
            }
            object
        })
        .collect();
    let threads: Vec<Option<ThreadId>> =
        std::iter::once(None).chain((0..profile.threads.len() as u32).map(|thread| Some(ThreadId(thread)))).collect();
    let mut profiles = Vec::new();
    for thread in threads {
        let of_thread = weighed(profile, weight).filter(|sample| sample.thread == thread);
        let (mut samples, mut weights, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for sample in of_thread {
            let stack = sample.stack.map_or_else(Vec::new, |stack| profile.root_to_leaf(stack));
            samples.push(stack.iter().map(|frame| frame.0).collect::<Vec<_>>());
            weights.push(sample.weights[weight]);
            counts.extend(sample.count);
        }
        if samples.is_empty() {
            continue;
        }
        let total: f64 = weights.iter().sum();
        let name = thread.map_or(weight_type.name.as_str(), |thread| &profile.threads[thread.0 as usize]);
        let mut object = json!({
            "type": "sampled", "name": name, "unit": unit, "startValue": 0, "endValue": total,
            "samples": samples, "weights": weights,
        });
        // What a row stands for, for our own reader; others ignore it.
        if counts.len() == samples_len(&object) {
            object["counts"] = json!(counts);
        }
        profiles.push(object);
    }
    losses.other_weights(profile);
    losses.add(
        "unit",
        "a unit other than nanoseconds or bytes becomes none",
        usize::from(unit == "none" && weight_type.unit != "unstated"),
    );
    losses.modules(profile);
    losses.addresses(profile);
    losses.kinds(profile, |kind| kind == FrameKind::Plain);
    losses.times(profile);
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("countercheck ", env!("CARGO_PKG_VERSION")),
        "name": weight_type.name,
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    });
    document.to_string().into_bytes()
}

fn samples_len(object: &Value) -> usize {
    object["samples"].as_array().map_or(0, Vec::len)
}
