//! Writes the processed Firefox format (version 49): one thread object with its own tables for each thread.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::{Losses, weighed};
use crate::profile::{FrameId, FrameKind, Profile, StackId, StackSample, ThreadId};

/// The version of the format whose columns are written.
const VERSION: u32 = 49;

pub(super) fn write(profile: &Profile, weight: usize, losses: &mut Losses) -> Vec<u8> {
    let weight_type = &profile.weight_types[weight];
    let (kind, scale) = match weight_type.unit.as_str() {
        "nanoseconds" => ("tracing-ms", 1e-6),
        "bytes" => ("bytes", 1.0),
        _ => ("samples", 1.0),
    };
    let cpu = profile.weight_types.iter().position(|known| known.name == "cpu" && known.unit == "nanoseconds");
    let cpu = cpu.filter(|cpu| *cpu != weight);
    let mut libs: Vec<&str> = profile.frames.iter().filter_map(|frame| frame.module.as_deref()).collect();
    libs.sort_unstable();
    libs.dedup();
    let threads = std::iter::once(None).chain((0..profile.threads.len() as u32).map(|thread| Some(ThreadId(thread))));
    let mut written = Vec::new();
    let mut untimed = 0;
    for (index, thread) in threads.enumerate() {
        let samples: Vec<_> = weighed(profile, weight).filter(|sample| sample.thread == thread).collect();
        if samples.is_empty() {
            continue;
        }
        untimed += samples.iter().filter(|sample| sample.time_ns.is_none()).count();
        let name = thread.map_or(weight_type.name.as_str(), |thread| &profile.threads[thread.0 as usize]);
        let mut tables = Tables::new(profile, &libs);
        let stacks: Vec<_> = samples.iter().map(|sample| sample.stack.map(|stack| tables.stack(stack))).collect();
        let mut columns = json!({
            "length": samples.len(),
            "stack": stacks,
            "time": samples.iter().enumerate().map(|(row, sample)| time_ms(sample, row)).collect::<Vec<_>>(),
            "weight": samples.iter().map(|sample| sample.weights[weight] * scale).collect::<Vec<_>>(),
            "weightType": kind,
        });
        if let Some(cpu) = cpu {
            columns["threadCPUDelta"] = samples.iter().map(|sample| sample.weights[cpu]).collect();
        }
        written.push(tables.thread(name, index, columns));
    }
    losses.add(
        "weights",
        "weights besides the one written and CPU time",
        profile.weight_types.len() - 1 - usize::from(cpu.is_some()),
    );
    let is_known = matches!(weight_type.unit.as_str(), "nanoseconds" | "bytes" | "count");
    losses.add("unit", "a unit other than nanoseconds, bytes or count becomes samples", usize::from(!is_known));
    losses.add("times", "samples without a time are written one millisecond apart", untimed);
    losses.kinds(profile, |kind| matches!(kind, FrameKind::Plain | FrameKind::Inlined));
    let interval =
        profile.provenance.period.filter(|_| profile.provenance.period_unit.as_deref() == Some("nanoseconds"));
    let document = json!({
        "meta": {
            "interval": interval.map_or(1.0, |period| period / 1e6),
            "startTime": 0.0,
            "processType": 0,
            "product": profile.provenance.producer.clone().unwrap_or_else(|| "countercheck".into()),
            "stackwalk": 1,
            "version": 24,
            "preprocessedProfileVersion": VERSION,
            "debug": false,
            "symbolicated": true,
            "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }],
            "extensions": { "length": 0, "id": [], "name": [], "baseURL": [] },
            "markerSchema": [],
            "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns" },
            "pausedRanges": [],
            "usesOnlyOneStackType": true,
            "doesNotUseFrameImplementation": true,
            "sourceCodeIsNotOnSearchfox": true,
        },
        "libs": libs.iter().map(|lib| json!({
            "name": lib, "path": lib, "debugName": lib, "debugPath": lib, "breakpadId": "", "codeId": null, "arch": null,
        })).collect::<Vec<_>>(),
        "pages": [],
        "profilerOverhead": [],
        "counters": [],
        "threads": written,
    });
    document.to_string().into_bytes()
}

fn time_ms(sample: &StackSample, row: usize) -> f64 {
    sample.time_ns.map_or(row as f64, |time| time as f64 / 1e6)
}

struct Tables<'a> {
    profile: &'a Profile,
    libs: &'a [&'a str],
    strings: Vec<String>,
    string_ids: FxHashMap<String, usize>,
    frames: Vec<Value>,
    frame_ids: FxHashMap<FrameId, usize>,
    funcs: Vec<Value>,
    func_ids: FxHashMap<(String, Option<String>, Option<String>), usize>,
    resources: Vec<(usize, usize)>,
    resource_ids: FxHashMap<String, usize>,
    stacks: Vec<(Option<usize>, usize)>,
    stack_ids: FxHashMap<StackId, usize>,
}

impl<'a> Tables<'a> {
    fn new(profile: &'a Profile, libs: &'a [&'a str]) -> Self {
        Tables {
            profile,
            libs,
            strings: Vec::new(),
            string_ids: FxHashMap::default(),
            frames: Vec::new(),
            frame_ids: FxHashMap::default(),
            funcs: Vec::new(),
            func_ids: FxHashMap::default(),
            resources: Vec::new(),
            resource_ids: FxHashMap::default(),
            stacks: Vec::new(),
            stack_ids: FxHashMap::default(),
        }
    }

    fn string(&mut self, text: &str) -> usize {
        if let Some(id) = self.string_ids.get(text) {
            return *id;
        }
        self.strings.push(text.to_owned());
        self.string_ids.insert(text.to_owned(), self.strings.len() - 1);
        self.strings.len() - 1
    }

    /// The row of a stack; its callers get theirs first.
    fn stack(&mut self, stack: StackId) -> usize {
        let mut missing = Vec::new();
        let mut next = Some(stack);
        while let Some(at) = next
            && !self.stack_ids.contains_key(&at)
        {
            missing.push(at);
            next = self.profile.stack(at).parent;
        }
        let mut prefix = next.map(|at| self.stack_ids[&at]);
        for at in missing.into_iter().rev() {
            let frame = self.frame(self.profile.stack(at).frame);
            self.stacks.push((prefix, frame));
            prefix = Some(self.stacks.len() - 1);
            self.stack_ids.insert(at, self.stacks.len() - 1);
        }
        self.stack_ids[&stack]
    }

    fn frame(&mut self, id: FrameId) -> usize {
        if let Some(row) = self.frame_ids.get(&id) {
            return *row;
        }
        let frame = self.profile.frame(id);
        let key = (frame.function.clone(), frame.module.clone(), frame.file.clone());
        let func = match self.func_ids.get(&key) {
            Some(func) => *func,
            None => {
                let name = self.string(&frame.function);
                let resource = frame.module.as_ref().map_or(-1, |module| self.resource(module) as i64);
                let file = frame.file.as_ref().map(|file| self.string(file));
                self.funcs.push(json!([name, resource, file]));
                self.func_ids.insert(key, self.funcs.len() - 1);
                self.funcs.len() - 1
            }
        };
        let depth = u32::from(frame.kind == FrameKind::Inlined);
        let address = frame.address.and_then(|address| i64::try_from(address).ok()).unwrap_or(-1);
        self.frames.push(json!([func, address, frame.line, depth]));
        self.frame_ids.insert(id, self.frames.len() - 1);
        self.frames.len() - 1
    }

    fn resource(&mut self, module: &str) -> usize {
        if let Some(id) = self.resource_ids.get(module) {
            return *id;
        }
        let lib = self.libs.binary_search(&module).expect("every module is a library of the file");
        let name = self.string(module);
        self.resources.push((lib, name));
        self.resource_ids.insert(module.to_owned(), self.resources.len() - 1);
        self.resources.len() - 1
    }

    fn thread(self, name: &str, index: usize, samples: Value) -> Value {
        let column = |rows: &[Value], at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
        let all = |count: usize, value: Value| vec![value; count];
        let (frames, funcs) = (self.frames.len(), self.funcs.len());
        let resources = self.resources.len();
        json!({
            "name": name, "isMainThread": index < 2, "processType": "default", "processName": name,
            "processStartupTime": 0, "processShutdownTime": null, "registerTime": 0, "unregisterTime": null,
            "pausedRanges": [], "pid": "0", "tid": index,
            "samples": samples,
            "markers": { "length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": [] },
            "stackTable": {
                "length": self.stacks.len(),
                "prefix": self.stacks.iter().map(|(prefix, _)| *prefix).collect::<Vec<_>>(),
                "frame": self.stacks.iter().map(|(_, frame)| *frame).collect::<Vec<_>>(),
                "category": all(self.stacks.len(), json!(0)), "subcategory": all(self.stacks.len(), json!(0)),
            },
            "frameTable": {
                "length": frames,
                "func": column(&self.frames, 0), "address": column(&self.frames, 1), "line": column(&self.frames, 2),
                "inlineDepth": column(&self.frames, 3), "column": all(frames, Value::Null),
                "category": all(frames, json!(0)), "subcategory": all(frames, json!(0)),
                "nativeSymbol": all(frames, Value::Null), "innerWindowID": all(frames, Value::Null),
                "implementation": all(frames, Value::Null),
            },
            "funcTable": {
                "length": funcs,
                "name": column(&self.funcs, 0), "resource": column(&self.funcs, 1), "fileName": column(&self.funcs, 2),
                "isJS": all(funcs, json!(false)), "relevantForJS": all(funcs, json!(false)),
                "lineNumber": all(funcs, Value::Null), "columnNumber": all(funcs, Value::Null),
            },
            "resourceTable": {
                "length": resources,
                "lib": self.resources.iter().map(|(lib, _)| *lib).collect::<Vec<_>>(),
                "name": self.resources.iter().map(|(_, name)| *name).collect::<Vec<_>>(),
                "host": all(resources, Value::Null), "type": all(resources, json!(1)),
            },
            "nativeSymbols": { "length": 0, "address": [], "functionSize": [], "libIndex": [], "name": [] },
            "stringArray": self.strings,
        })
    }
}
