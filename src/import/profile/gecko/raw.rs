//! The raw Gecko format: tables with a schema, processes within processes, times in milliseconds.

use serde::Deserialize;
use serde_json::Value;

use super::super::Options;
use super::super::symbol::demangle;
use super::{cell, cpu_scale};
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, SampleClock, StackId, StackSample, WeightType};

const NAME: &str = "gecko";

#[derive(Deserialize)]
struct Process {
    #[serde(default)]
    meta: Value,
    threads: Vec<Value>,
    #[serde(default)]
    processes: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    #[serde(default)]
    name: String,
    #[serde(default)]
    process_name: Option<String>,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    tid: Value,
    samples: Table,
    stack_table: Table,
    frame_table: Table,
    string_table: Vec<String>,
}

#[derive(Deserialize)]
struct Table {
    schema: serde_json::Map<String, Value>,
    data: Vec<Vec<Value>>,
}

impl Table {
    fn column(&self, name: &str) -> Option<usize> {
        self.schema.get(name).and_then(Value::as_u64).and_then(|column| usize::try_from(column).ok())
    }

    /// A cell; rows may end early, which means null.
    fn get(&self, row: usize, column: Option<usize>) -> Option<&Value> {
        self.data.get(row)?.get(column?).filter(|value| !value.is_null())
    }

    fn index(&self, row: usize, column: Option<usize>) -> Option<usize> {
        self.get(row, column)?.as_u64().and_then(|index| usize::try_from(index).ok())
    }
}

pub(super) fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    let document: Value = serde_json::from_slice(&bytes).map_err(|error| ImportError::json(NAME, &error))?;
    drop(bytes);
    // Test harnesses wrap the profile.
    let document = match document {
        Value::Object(mut map) if !map.contains_key("threads") => map.remove("profile").unwrap_or(Value::Null),
        other => other,
    };
    let mut builder = Builder::new(vec![
        WeightType { name: "samples".into(), unit: "count".into() },
        WeightType { name: "cpu".into(), unit: "nanoseconds".into() },
    ]);
    builder.keep_at_most(options.keep_samples);
    let mut queue = vec![("".to_owned(), document)];
    let mut threads = 0;
    let mut span = (f64::INFINITY, f64::NEG_INFINITY);
    let mut cpu_time = None;
    while let Some((path, value)) = queue.pop() {
        let process: Process = nested(value, &path)?;
        let units = &process.meta["sampleUnits"]["threadCPUDelta"];
        let scale = cpu_scale(units.as_str());
        if path.is_empty() {
            describe(&mut builder, &process.meta);
        }
        for (index, value) in process.threads.into_iter().enumerate() {
            let path = format!("{path}threads[{index}]");
            let value = unquoted(value, &path)?;
            // Firefox 48 lists the content process among the threads.
            if value.get("threads").is_some() && value.get("samples").is_none() {
                queue.push((format!("{path}."), value));
                continue;
            }
            let thread: Thread = nested(value, &path)?;
            add_thread(&mut builder, &path, &thread, scale, &mut span, &mut cpu_time)?;
            threads += 1;
        }
        for (index, value) in process.processes.into_iter().enumerate() {
            queue.push((format!("{path}processes[{index}]."), value));
        }
    }
    let provenance = builder.provenance();
    provenance.cpu_time_ns = cpu_time.map(|time: f64| time.max(0.0) as u64);
    provenance.duration_ns = (span.1 >= span.0).then_some(((span.1 - span.0) * 1e6) as u64);
    let profile = builder.finish();
    if profile.samples.is_empty() {
        return Err(ImportError::NoSamples { why: format!("{threads} threads, none with samples") });
    }
    Ok(profile)
}

/// A process or thread, which may be a string of JSON.
fn nested<T: for<'de> Deserialize<'de>>(value: Value, path: &str) -> Result<T, ImportError> {
    serde_json::from_value(unquoted(value, path)?).map_err(|error| unfit(&error, path))
}

fn unquoted(value: Value, path: &str) -> Result<Value, ImportError> {
    match value {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| unfit(&error, path)),
        other => Ok(other),
    }
}

fn unfit(error: &serde_json::Error, path: &str) -> ImportError {
    let at = if path.is_empty() { Position::Whole } else { Position::Item(path.to_owned()) };
    ImportError::malformed(NAME, at, error.to_string(), "the tables of a raw Gecko profile")
}

fn describe(builder: &mut Builder, meta: &Value) {
    let provenance = builder.provenance();
    provenance.format = NAME.into();
    provenance.producer = meta["product"].as_str().map(str::to_owned);
    provenance.clock = SampleClock::Wall;
    if let Some(interval) = meta["interval"].as_f64().filter(|interval| *interval > 0.0) {
        provenance.period = Some(interval * 1e6);
        provenance.period_unit = Some("nanoseconds".into());
        provenance.requested_hz = Some(1e3 / interval);
    }
}

fn add_thread(
    builder: &mut Builder,
    path: &str,
    thread: &Thread,
    cpu_scale: Option<f64>,
    span: &mut (f64, f64),
    cpu_time: &mut Option<f64>,
) -> Result<(), ImportError> {
    let location = thread.frame_table.column("location");
    let (line, inline) = (thread.frame_table.column("line"), thread.frame_table.column("inlineDepth"));
    let mut frames: Vec<FrameId> = Vec::with_capacity(thread.frame_table.data.len());
    for row in 0..thread.frame_table.data.len() {
        let at = thread.frame_table.index(row, location).unwrap_or(usize::MAX);
        let text = cell(NAME, &thread.string_table, at, || format!("{path}.frameTable.data[{row}]"))?;
        let mut frame = frame_of(text);
        if let Some(line) = thread.frame_table.index(row, line) {
            frame.line = u32::try_from(line).ok().filter(|line| *line > 0);
        }
        if thread.frame_table.index(row, inline).is_some_and(|depth| depth > 0) {
            frame.kind = FrameKind::Inlined;
        }
        frames.push(builder.frame(frame));
    }
    let (prefix, frame) = (thread.stack_table.column("prefix"), thread.stack_table.column("frame"));
    let mut stacks: Vec<StackId> = Vec::with_capacity(thread.stack_table.data.len());
    for row in 0..thread.stack_table.data.len() {
        let place = || format!("{path}.stackTable.data[{row}]");
        let frame = thread.stack_table.index(row, frame).unwrap_or(usize::MAX);
        let frame = *cell(NAME, &frames, frame, place)?;
        let parent = match thread.stack_table.get(row, prefix) {
            None => None,
            Some(_) => {
                let prefix = thread.stack_table.index(row, prefix).unwrap_or(usize::MAX);
                Some(*cell(NAME, &stacks, prefix, place)?)
            }
        };
        stacks.push(builder.stack(parent, frame));
    }
    let name = thread.process_name.as_ref().map_or(thread.name.clone(), |process| format!("{process} {}", thread.name));
    let id = builder.new_thread(&format!("{name} {}/{}", thread.pid, thread.tid));
    let (stack, time) = (thread.samples.column("stack"), thread.samples.column("time"));
    let cpu = thread.samples.column("threadCPUDelta");
    let mut without = 0;
    for row in 0..thread.samples.data.len() {
        let stack = match thread.samples.get(row, stack) {
            None => None,
            Some(_) => {
                let at = thread.samples.index(row, stack).unwrap_or(usize::MAX);
                Some(*cell(NAME, &stacks, at, || format!("{path}.samples.data[{row}]"))?)
            }
        };
        without += u64::from(stack.is_none());
        let time = thread.samples.get(row, time).and_then(Value::as_f64);
        if let Some(time) = time {
            *span = (span.0.min(time), span.1.max(time));
        }
        let mut weights = vec![1.0, 0.0];
        if let (Some(scale), Some(delta)) = (cpu_scale, thread.samples.get(row, cpu).and_then(Value::as_f64)) {
            weights[1] = delta * scale;
            *cpu_time = Some(cpu_time.unwrap_or(0.0) + weights[1]);
        }
        let time_ns = time.map(|time| (time.max(0.0) * 1e6) as u64);
        builder.sample(StackSample { stack, thread: Some(id), time_ns, count: Some(1), weights });
    }
    if without > 0 {
        builder.note("no-stack", "samples without a stack", without);
    }
    Ok(())
}

/// `name (file:line:column)` for scripts, `name (in library)` or an address for native code.
fn frame_of(text: &str) -> Frame {
    if let Some((name, rest)) = text.rsplit_once(" (in ")
        && let Some((library, _)) = rest.split_once(')')
    {
        return Frame { function: demangle(name).into_owned(), module: Some(library.to_owned()), ..Frame::default() };
    }
    if let Some((name, place)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("))
        && let Some((rest, last)) = place.rsplit_once(':')
        && let Ok(last) = last.parse::<u32>()
    {
        let (file, line) = match rest.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
            Some((file, line)) => (file, line),
            None => (rest, last),
        };
        let (file, line) = (Some(file.to_owned()), Some(line).filter(|line| *line > 0));
        return Frame { function: name.to_owned(), file, line, ..Frame::default() };
    }
    let address = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    Frame { function: demangle(text).into_owned(), address, ..Frame::default() }
}
