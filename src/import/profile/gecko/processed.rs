//! The processed Firefox format: one object of columns per thread, or tables shared by all threads.

use serde::Deserialize;
use serde_json::Value;

use super::super::symbol::demangle;
use super::super::{Options, normal_unit};
use super::{cell, cpu_scale};
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, SampleClock, StackId, StackSample, WeightType};

const NAME: &str = "firefox-processed";

#[derive(Deserialize)]
struct File {
    meta: Meta,
    #[serde(default)]
    libs: Vec<Lib>,
    threads: Vec<Value>,
    shared: Option<Tables>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    #[serde(default)]
    interval: f64,
    product: Option<String>,
    sample_units: Option<SampleUnits>,
}

#[derive(Deserialize)]
struct SampleUnits {
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: Option<String>,
}

#[derive(Deserialize)]
struct Lib {
    #[serde(default)]
    name: String,
}

/// The tables that a thread has, or that the file shares.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Tables {
    stack_table: Option<StackTable>,
    frame_table: Option<FrameTable>,
    func_table: Option<FuncTable>,
    resource_table: Option<ResourceTable>,
    sources: Option<Sources>,
    string_array: Option<Vec<String>>,
    /// What old versions call it.
    string_table: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct StackTable {
    frame: Vec<usize>,
    prefix: Vec<Option<usize>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable {
    func: Vec<usize>,
    #[serde(default)]
    address: Vec<Option<i64>>,
    #[serde(default)]
    line: Vec<Option<u32>>,
    #[serde(default)]
    inline_depth: Vec<Option<u32>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable {
    name: Vec<usize>,
    #[serde(default)]
    resource: Vec<Option<i64>>,
    #[serde(default)]
    file_name: Vec<Option<usize>>,
    /// Replaces `file_name` in newer versions.
    #[serde(default)]
    source: Vec<Option<usize>>,
}

#[derive(Deserialize)]
struct ResourceTable {
    #[serde(default)]
    name: Vec<usize>,
    #[serde(default)]
    lib: Vec<Option<usize>>,
}

#[derive(Deserialize)]
struct Sources {
    #[serde(default)]
    filename: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    #[serde(default)]
    name: String,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    tid: Value,
    samples: Samples,
    #[serde(flatten)]
    tables: Tables,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    stack: Vec<Option<usize>>,
    #[serde(default)]
    time: Option<Vec<f64>>,
    #[serde(default)]
    time_deltas: Option<Vec<f64>>,
    #[serde(default)]
    weight: Option<Vec<Option<f64>>>,
    #[serde(default)]
    weight_type: Option<String>,
    #[serde(default, rename = "threadCPUDelta")]
    thread_cpu_delta: Option<Vec<Option<f64>>>,
}

pub(super) fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    let file: File = serde_json::from_slice(&bytes).map_err(|error| ImportError::json(NAME, &error))?;
    drop(bytes);
    let mut threads = Vec::new();
    for (index, value) in file.threads.into_iter().enumerate() {
        // Some producers nest each thread as a string of JSON.
        let thread = match value {
            Value::String(text) => serde_json::from_str::<Thread>(&text),
            other => serde_json::from_value::<Thread>(other),
        };
        threads.push(thread.map_err(|error| {
            let found = error.to_string();
            ImportError::malformed(NAME, Position::Item(format!("threads[{index}]")), found, "the columns of a thread")
        })?);
    }
    let cpu = cpu_scale(file.meta.sample_units.as_ref().and_then(|units| units.thread_cpu_delta.as_deref()));
    let with_cpu = cpu.is_some() && threads.iter().any(|thread| thread.samples.thread_cpu_delta.is_some());
    let mut weight_types: Vec<WeightType> = Vec::new();
    let weights: Vec<(usize, f64)> = threads
        .iter()
        .map(|thread| {
            let (name, unit, scale) = match thread.samples.weight_type.as_deref() {
                Some("tracing-ms") => ("time", normal_unit("ms").0, 1e6),
                Some("bytes") => ("bytes", "bytes".to_owned(), 1.0),
                _ => ("samples", "count".to_owned(), 1.0),
            };
            let weight = WeightType { name: name.into(), unit };
            let at = weight_types.iter().position(|known| *known == weight).unwrap_or_else(|| {
                weight_types.push(weight);
                weight_types.len() - 1
            });
            (at, scale)
        })
        .collect();
    if weight_types.is_empty() {
        return Err(ImportError::NoSamples { why: "a profile without threads".into() });
    }
    if with_cpu {
        weight_types.push(WeightType { name: "cpu".into(), unit: "nanoseconds".into() });
    }
    let width = weight_types.len();
    let mut builder = Builder::new(weight_types);
    builder.keep_at_most(options.keep_samples);
    let empty = Tables::default();
    let shared = file.shared.as_ref().unwrap_or(&empty);
    let start =
        threads.iter().filter_map(|thread| times(&thread.samples).first().copied()).fold(f64::INFINITY, f64::min);
    let mut end = f64::NEG_INFINITY;
    let mut cpu_time = 0.0;
    for (index, (thread, (weight, scale))) in threads.iter().zip(weights).enumerate() {
        let samples = &thread.samples;
        let stacks = stacks(&mut builder, index, &thread.tables, shared, &file.libs)?;
        let name = match (&thread.pid, &thread.tid) {
            (Value::Null, Value::Null) => thread.name.clone(),
            (pid, tid) => format!("{} {}/{}", thread.name, plain(pid), plain(tid)),
        };
        let thread_id = builder.new_thread(&name);
        let rows = samples.stack.len();
        let times = times(samples);
        for (column, length) in [
            ("weight", samples.weight.as_ref().map(Vec::len)),
            ("threadCPUDelta", samples.thread_cpu_delta.as_ref().map(Vec::len)),
            ("time", Some(times.len()).filter(|length| *length > 0)),
        ] {
            if let Some(length) = length.filter(|length| *length != rows) {
                let at = Position::Item(format!("threads[{index}].samples.{column}"));
                return Err(ImportError::malformed(
                    NAME,
                    at,
                    format!("{length} rows"),
                    format!("{rows}, as many as stacks"),
                ));
            }
        }
        let (mut without, mut disorder) = (0, 0);
        for row in 0..rows {
            let stack = match samples.stack[row] {
                None => None,
                Some(stack) => *cell(NAME, &stacks, stack, || format!("threads[{index}].samples.stack[{row}]"))?,
            };
            without += u64::from(stack.is_none());
            let value = match &samples.weight {
                Some(weights) => weights[row].unwrap_or(1.0),
                None => 1.0,
            };
            let mut weights = vec![0.0; width];
            weights[weight] = value * scale;
            if let (Some(scale), Some(deltas)) = (cpu, &samples.thread_cpu_delta) {
                let delta = deltas[row].unwrap_or(0.0) * scale;
                weights[width - 1] = delta;
                cpu_time += delta;
            }
            let time_ns = times.get(row).map(|time| {
                end = end.max(*time);
                ((time - start).max(0.0) * 1e6) as u64
            });
            disorder += u64::from(row > 0 && times.get(row) < times.get(row - 1));
            let counted = scale == 1.0 && value >= 0.0 && value.fract() == 0.0;
            let count = Some(if counted { value as u64 } else { 1 });
            builder.sample(StackSample { stack, thread: Some(thread_id), time_ns, count, weights });
        }
        if without > 0 {
            builder.note("no-stack", "samples without a stack", without);
        }
        if disorder > 0 {
            builder.note("times-disordered", "samples earlier than the one before", disorder);
        }
    }
    let provenance = builder.provenance();
    provenance.format = NAME.into();
    provenance.producer = file.meta.product;
    if file.meta.interval > 0.0 {
        provenance.period = Some(file.meta.interval * 1e6);
        provenance.period_unit = Some("nanoseconds".into());
        provenance.requested_hz = Some(1e3 / file.meta.interval);
    }
    provenance.cpu_time_ns = with_cpu.then_some(cpu_time as u64);
    provenance.duration_ns = (end >= start).then_some(((end - start) * 1e6) as u64);
    provenance.clock = SampleClock::Wall;
    let profile = builder.finish();
    if profile.samples.is_empty() {
        return Err(ImportError::NoSamples { why: format!("{} threads, none with samples", threads.len()) });
    }
    Ok(profile)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn times(samples: &Samples) -> Vec<f64> {
    match (&samples.time, &samples.time_deltas) {
        (Some(times), _) => times.clone(),
        (None, Some(deltas)) => {
            let add = |now: &mut f64, delta: &f64| {
                *now += delta;
                Some(*now)
            };
            deltas.iter().scan(0.0, add).collect()
        }
        (None, None) => Vec::new(),
    }
}

/// The interned stack of each row of the stack table.
fn stacks(
    builder: &mut Builder,
    index: usize,
    own: &Tables,
    shared: &Tables,
    libs: &[Lib],
) -> Result<Vec<Option<StackId>>, ImportError> {
    macro_rules! table {
        ($field:ident) => {
            own.$field.as_ref().or(shared.$field.as_ref())
        };
    }
    let missing = |table: &str| {
        let at = Position::Item(format!("threads[{index}].{table}"));
        ImportError::malformed(NAME, at, "nothing", "a table, here or under shared")
    };
    let strings = table!(string_array).or(table!(string_table)).ok_or_else(|| missing("stringArray"))?;
    let stack_table = table!(stack_table).ok_or_else(|| missing("stackTable"))?;
    let frame_table = table!(frame_table).ok_or_else(|| missing("frameTable"))?;
    let func_table = table!(func_table).ok_or_else(|| missing("funcTable"))?;
    let resources = table!(resource_table);
    let sources = table!(sources);
    let string = |at: usize, what: &str, row: usize| {
        cell(NAME, strings, at, || format!("threads[{index}].{what}[{row}]")).cloned()
    };
    let mut frames: Vec<FrameId> = Vec::with_capacity(frame_table.func.len());
    for (row, func) in frame_table.func.iter().enumerate() {
        let name = *cell(NAME, &func_table.name, *func, || format!("threads[{index}].frameTable.func[{row}]"))?;
        let name = string(name, "funcTable.name", *func)?;
        let resource = func_table.resource.get(*func).copied().flatten().and_then(|at| usize::try_from(at).ok());
        let module = match (resource, resources) {
            (Some(resource), Some(resources)) => {
                match resources.lib.get(resource).copied().flatten().and_then(|lib| libs.get(lib)) {
                    Some(lib) => Some(lib.name.clone()),
                    None => match resources.name.get(resource) {
                        Some(name) => Some(string(*name, "resourceTable.name", resource)?),
                        None => None,
                    },
                }
            }
            _ => None,
        };
        let source = func_table.source.get(*func).copied().flatten();
        let file = match (source, sources, func_table.file_name.get(*func).copied().flatten()) {
            (Some(source), Some(sources), _) => sources.filename.get(source).copied(),
            (_, _, file) => file,
        };
        let inlined = frame_table.inline_depth.get(row).copied().flatten().unwrap_or(0) > 0;
        let frame = Frame {
            function: demangle(&name).into_owned(),
            module,
            file: file.map(|file| string(file, "funcTable.fileName", *func)).transpose()?,
            line: frame_table.line.get(row).copied().flatten().filter(|line| *line > 0),
            address: frame_table.address.get(row).copied().flatten().and_then(|address| u64::try_from(address).ok()),
            kind: if inlined { FrameKind::Inlined } else { FrameKind::Plain },
        };
        frames.push(builder.frame(frame));
    }
    let mut stacks: Vec<Option<StackId>> = Vec::with_capacity(stack_table.frame.len());
    for (row, frame) in stack_table.frame.iter().enumerate() {
        let place = |column: &str| format!("threads[{index}].stackTable.{column}[{row}]");
        let frame = *cell(NAME, &frames, *frame, || place("frame"))?;
        let parent = match cell(NAME, &stack_table.prefix, row, || place("prefix"))? {
            // Only rows above exist as yet, which also rules circles out.
            Some(prefix) => *cell(NAME, &stacks, *prefix, || place("prefix"))?,
            None => None,
        };
        stacks.push(Some(builder.stack(parent, frame)));
    }
    Ok(stacks)
}
