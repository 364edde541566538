//! Java Flight Recorder files, by the JDK, async-profiler and others.
//!
//! A recording is a series of self-contained chunks; ids of classes, states and constants hold only within
//! their chunk, so everything is resolved by name there. Each kind of sample is a weight of its own:
//! execution samples, native samples, wall clock samples and allocations have no common sum.

mod chunk;
mod cursor;
mod metadata;
mod stack;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use self::chunk::Chunk;
use self::metadata::Value;
use self::stack::Stacks;
use super::{Format, Options};
use crate::import::Detection;
use crate::import::error::ImportError;
use crate::import::input::Input;
use crate::profile::{Builder, Profile, SampleClock, StackSample, ThreadId, WeightType, facts};

const NAME: &str = "jfr";

pub(super) const FORMAT: Format = Format {
    name: NAME,
    description: "a Java Flight Recorder file",
    detect: |head| if head.starts_with(b"FLR\0") { Detection::Yes } else { Detection::No },
    read,
};

/// An event that is a sample.
struct Kind {
    event: &'static str,
    /// What the value of one event is: a count of samples, bytes, or time.
    unit: &'static str,
    /// The field that holds it; where there is none, each event is one sample.
    value: Option<&'static str>,
    clock: SampleClock,
}

impl Kind {
    /// The weight that it feeds. Together the two events of allocation buffers are an estimate of all that was allocated: a
    /// new buffer stands for all objects that will lie in it, whatever the size of the first; one outside stands for itself.
    fn weight(&self) -> &'static str {
        match self.event {
            "jdk.ObjectAllocationInNewTLAB" | "jdk.ObjectAllocationOutsideTLAB" => "allocated",
            event => event,
        }
    }
}

/// The events that are read as samples, the likeliest default first.
const KINDS: &[Kind] = &[
    Kind { event: "jdk.CPUTimeSample", unit: "count", value: None, clock: SampleClock::Cpu },
    Kind { event: "jdk.ExecutionSample", unit: "count", value: None, clock: SampleClock::Cpu },
    Kind { event: "datadog.ExecutionSample", unit: "count", value: Some("weight"), clock: SampleClock::Cpu },
    Kind { event: "profiler.WallClockSample", unit: "count", value: Some("samples"), clock: SampleClock::Wall },
    Kind { event: "datadog.MethodSample", unit: "count", value: Some("weight"), clock: SampleClock::Wall },
    Kind { event: "jdk.NativeMethodSample", unit: "count", value: None, clock: SampleClock::Wall },
    Kind { event: "profiler.MethodTrace", unit: "ticks", value: Some("duration"), clock: SampleClock::Wall },
    Kind { event: "jdk.ObjectAllocationSample", unit: "bytes", value: Some("weight"), clock: SampleClock::Allocation },
    Kind {
        event: "jdk.ObjectAllocationInNewTLAB",
        unit: "bytes",
        value: Some("tlabSize"),
        clock: SampleClock::Allocation,
    },
    Kind {
        event: "jdk.ObjectAllocationOutsideTLAB",
        unit: "bytes",
        value: Some("allocationSize"),
        clock: SampleClock::Allocation,
    },
    Kind { event: "profiler.LiveObject", unit: "bytes", value: Some("allocationSize"), clock: SampleClock::Allocation },
    Kind { event: "profiler.Malloc", unit: "bytes", value: Some("size"), clock: SampleClock::Allocation },
    Kind { event: "jdk.JavaMonitorEnter", unit: "ticks", value: Some("duration"), clock: SampleClock::Event },
    Kind { event: "jdk.ThreadPark", unit: "ticks", value: Some("duration"), clock: SampleClock::Event },
];

/// Flags of the JVM that decide what its sampler can see.
const FLAGS: &[&str] = &[
    facts::DEBUG_NON_SAFEPOINTS,
    "UseCountedLoopSafepoints",
    "UseSerialGC",
    "UseParallelGC",
    "UseG1GC",
    "UseZGC",
    "UseShenandoahGC",
    "PreserveFramePointer",
    "Inline",
    "TieredCompilation",
];

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    // Lengths first: a truncated recording yields an error, not the numbers of its first chunks.
    let mut bounds = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = chunk::length(&bytes[at..], at as u64)?;
        bounds.push(at..at + length);
        at += length;
    }
    let mut reader = Reader::new(options);
    for range in bounds {
        let base = range.start as u64;
        reader.chunk(&Chunk::read(&bytes[range], base)?)?;
    }
    reader.finish()
}

struct Reader {
    builder: Builder,
    /// The weight of each kind, once one of its events occurred.
    weights: BTreeMap<usize, usize>,
    /// For each kind that tells of CPU time, the weight of its samples of running threads. At the end the first kind's
    /// stays: two samplers of one thread would count its time twice.
    cpu: BTreeMap<usize, usize>,
    width: usize,
    events: FxHashMap<String, u64>,
    start_ns: Option<u64>,
    duration_ns: u64,
    without_stack: u64,
    failed: u64,
    stacks: stack::Tally,
    /// Sampling periods in nanoseconds by event.
    periods: BTreeMap<String, f64>,
    facts: BTreeMap<String, String>,
    threads: FxHashMap<String, ThreadId>,
}

impl Reader {
    fn new(options: &Options) -> Self {
        let mut builder = Builder::new(Vec::new());
        builder.keep_at_most(options.keep_samples);
        Reader {
            builder,
            weights: BTreeMap::new(),
            cpu: BTreeMap::new(),
            width: 0,
            events: FxHashMap::default(),
            start_ns: None,
            duration_ns: 0,
            without_stack: 0,
            failed: 0,
            stacks: stack::Tally::default(),
            periods: BTreeMap::new(),
            facts: BTreeMap::new(),
            threads: FxHashMap::default(),
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>) -> Result<(), ImportError> {
        self.duration_ns = self.duration_ns.saturating_add(chunk.duration_ns);
        let start_ns = *self.start_ns.get_or_insert(chunk.start_ns);
        let mut stacks = Stacks::default();
        let mut counts: FxHashMap<u64, u64> = FxHashMap::default();
        let mut threads: FxHashMap<u64, Option<ThreadId>> = FxHashMap::default();
        let mut running: FxHashMap<u64, bool> = FxHashMap::default();
        chunk.each_event(|chunk, event, cursor| {
            *counts.entry(event).or_default() += 1;
            let Some(class) = chunk.metadata.classes.get(&event) else { return Ok(()) };
            match KINDS.iter().position(|kind| kind.event == class.name) {
                Some(kind) => {
                    self.sample(chunk, kind, event, cursor, start_ns, &mut stacks, &mut threads, &mut running)
                }
                None => self.fact(chunk, &class.name, event, cursor),
            }
        })?;
        for (event, count) in counts {
            let name = match (event, chunk.metadata.classes.get(&event)) {
                (0, _) => "jdk.Metadata".to_owned(),
                (1, _) => "jdk.CheckPoint".to_owned(),
                (_, Some(class)) => class.name.clone(),
                (_, None) => format!("event type {event}"),
            };
            *self.events.entry(name).or_default() += count;
        }
        self.stacks.add(&stacks.tally);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn sample<'a>(
        &mut self,
        chunk: &Chunk<'a>,
        kind: usize,
        event: u64,
        mut cursor: cursor::Cursor<'a>,
        start_ns: u64,
        stacks: &mut Stacks,
        threads: &mut FxHashMap<u64, Option<ThreadId>>,
        running: &mut FxHashMap<u64, bool>,
    ) -> Result<(), ImportError> {
        let Kind { event: name, value: value_field, clock, .. } = &KINDS[kind];
        let mut stack = None;
        let mut thread = None;
        let mut time_ns = None;
        let mut value = 1.0;
        let mut is_running = true;
        let mut failed = false;
        chunk.metadata.fields(&mut cursor, event, |field, field_value| {
            match (field, field_value) {
                ("stackTrace", Value::Pooled(class, index)) => {
                    stack = stacks.stack(chunk, &mut self.builder, class, index)?
                }
                ("sampledThread" | "eventThread", Value::Pooled(class, index)) => {
                    thread = match threads.get(&index) {
                        Some(thread) => *thread,
                        None => {
                            let found = self.thread(chunk, class, index)?;
                            threads.insert(index, found);
                            found
                        }
                    };
                }
                // The states of two chunks may share a number: only the name means anything.
                ("state", Value::Pooled(class, index)) => {
                    is_running = match running.get(&index) {
                        Some(is_running) => *is_running,
                        None => {
                            let state = chunk.string(Value::Pooled(class, index))?.unwrap_or_default();
                            let is_running = matches!(
                                state.as_str(),
                                "STATE_RUNNABLE" | "STATE_DEFAULT" | "DEFAULT" | "RUNNABLE" | ""
                            );
                            running.insert(index, is_running);
                            is_running
                        }
                    };
                }
                ("startTime", Value::Int(ticks)) => time_ns = Some(chunk.time_ns(ticks).saturating_sub(start_ns)),
                ("failed", Value::Int(1)) => failed = true,
                ("samplingPeriod", Value::Int(period)) if period > 0 => {
                    self.periods.insert((*name).to_owned(), period as f64);
                }
                (field, Value::Int(int)) if Some(field) == *value_field => value = int as i64 as f64,
                (field, Value::Float(float)) if Some(field) == *value_field && float.is_finite() => value = float,
                _ => {}
            }
            Ok(())
        })?;
        self.failed += u64::from(failed);
        self.without_stack += u64::from(stack.is_none());
        let weight = match self.weights.get(&kind) {
            Some(weight) => *weight,
            None => {
                let unit = if KINDS[kind].unit == "ticks" { "nanoseconds" } else { KINDS[kind].unit };
                let same = |known: &&usize| KINDS[**known].weight() == KINDS[kind].weight();
                let shared = self.weights.keys().find(same).map(|known| self.weights[known]);
                let weight = shared.unwrap_or_else(|| {
                    self.width += 1;
                    self.builder.weight_type(WeightType { name: KINDS[kind].weight().into(), unit: unit.into() })
                });
                self.weights.insert(kind, weight);
                weight
            }
        };
        if KINDS[kind].unit == "ticks" {
            value = chunk.ticks_ns(value.max(0.0) as u64) as f64;
        }
        let is_sample = KINDS[kind].unit == "count";
        // A running thread's wall clock sample is a sample of CPU time.
        let of_cpu = is_sample && (*clock == SampleClock::Cpu || *name == "profiler.WallClockSample");
        let cpu = of_cpu.then(|| {
            *self.cpu.entry(kind).or_insert_with(|| {
                self.width += 1;
                self.builder.weight_type(WeightType { name: "cpu".into(), unit: "count".into() })
            })
        });
        let mut weights = vec![0.0; self.width];
        weights[weight] = value;
        if let Some(cpu) = cpu.filter(|_| is_running) {
            weights[cpu] = value;
        }
        let count = Some(if is_sample { value.max(0.0) as u64 } else { 1 });
        self.builder.sample(StackSample { stack, thread, time_ns, count, weights });
        Ok(())
    }

    fn thread(&mut self, chunk: &Chunk<'_>, class: u64, index: u64) -> Result<Option<ThreadId>, ImportError> {
        let Some(mut cursor) = chunk.constant(class, index) else { return Ok(None) };
        let (mut java, mut os, mut id) = (None, None, 0);
        chunk.metadata.fields(&mut cursor, class, |field, value| {
            match (field, value) {
                ("javaName", value) => java = chunk.string(value)?,
                ("osName", value) => os = chunk.string(value)?,
                ("osThreadId", Value::Int(number)) => id = number,
                _ => {}
            }
            Ok(())
        })?;
        let name = java.filter(|name| !name.is_empty()).or(os).unwrap_or_default();
        let name = if id > 0 { format!("{name} {id}") } else { name };
        if let Some(thread) = self.threads.get(&name) {
            return Ok(Some(*thread));
        }
        let thread = self.builder.thread(&name);
        self.threads.insert(name, thread);
        Ok(Some(thread))
    }

    /// What the recording says about itself: periods, flags, versions.
    fn fact<'a>(
        &mut self,
        chunk: &Chunk<'a>,
        class: &str,
        event: u64,
        mut cursor: cursor::Cursor<'a>,
    ) -> Result<(), ImportError> {
        if !matches!(class, "jdk.ActiveSetting" | "jdk.JVMInformation" | "jdk.BooleanFlag" | "jdk.CPUInformation") {
            return Ok(());
        }
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        let mut ints: BTreeMap<String, u64> = BTreeMap::new();
        chunk.metadata.fields(&mut cursor, event, |field, value| {
            match value {
                Value::Int(int) => {
                    ints.insert(field.to_owned(), int);
                }
                Value::Text(_) => {
                    texts.extend(chunk.string(value)?.map(|text| (field.to_owned(), text)));
                }
                _ => {}
            }
            Ok(())
        })?;
        match class {
            "jdk.ActiveSetting" => {
                let (Some(name), Some(value)) = (texts.get("name"), texts.get("value")) else { return Ok(()) };
                let of = ints.get("id").and_then(|id| chunk.metadata.classes.get(id)).map(|class| class.name.clone());
                if let ("period" | "interval" | "wall", Some(period)) = (name.as_str(), parse_period(value)) {
                    let of = if name == "wall" { Some("profiler.WallClockSample".to_owned()) } else { of };
                    self.periods.insert(of.unwrap_or_default(), period);
                }
                if matches!(name.as_str(), "engine" | "event" | "clock" | "cstack") {
                    self.facts.insert(format!("setting_{name}"), value.clone());
                }
                if name == "jstackdepth" {
                    self.facts.insert(facts::MAX_DEPTH.into(), value.clone());
                }
                if name == "version" {
                    self.builder.provenance().producer = Some(format!("async-profiler {value}"));
                }
            }
            "jdk.JVMInformation" => {
                for (field, fact) in
                    [("jvmVersion", "jvm_version"), ("jvmArguments", "jvm_arguments"), ("jvmFlags", "jvm_flags")]
                {
                    if let Some(text) = texts.remove(field).filter(|text| !text.is_empty()) {
                        self.facts.insert(fact.to_owned(), text);
                    }
                }
            }
            "jdk.BooleanFlag" => {
                if let (Some(name), Some(value)) = (texts.get("name"), ints.get("value"))
                    && FLAGS.contains(&name.as_str())
                {
                    self.facts.insert(name.clone(), (*value != 0).to_string());
                }
            }
            _ => {
                if let Some(cpu) = texts.remove("cpu") {
                    self.facts.insert("cpu".into(), cpu);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Profile, ImportError> {
        if self.weights.is_empty() {
            let mut found: Vec<_> = self.events.iter().collect();
            found.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
            let found: Vec<_> = found.iter().take(12).map(|(name, count)| format!("{name} {count}")).collect();
            return Err(ImportError::NoSamples { why: format!("the recording's events are {}", found.join(", ")) });
        }
        if self.without_stack > 0 {
            self.builder.note("no-stack", "events without a stack", self.without_stack);
        }
        if self.failed > 0 {
            self.builder.note("failed-samples", "the JVM could not walk the stack", self.failed);
        }
        self.stacks.tell(&mut self.builder);
        let first = *self.weights.keys().next().expect("a sample was read");
        let index_of =
            |event: &str| self.weights.iter().find(|(kind, _)| KINDS[**kind].event == event).map(|(_, weight)| *weight);
        let wall = index_of("profiler.WallClockSample");
        // Running wall clock samples tell of CPU time only where nothing else does.
        let only_wall = self.cpu.keys().next().is_some_and(|kind| KINDS[*kind].clock == SampleClock::Wall);
        let cpu: Vec<usize> = self.cpu.values().copied().collect();
        let period = self.period_of(KINDS[first].event);
        let provenance = self.builder.provenance();
        provenance.format = NAME.into();
        provenance.duration_ns = Some(self.duration_ns);
        provenance.clock = KINDS[first].clock;
        provenance.events = self.events.into_iter().collect();
        provenance.facts = self.facts;
        if let Some(period) = period.filter(|_| KINDS[first].unit == "count") {
            provenance.period = Some(period);
            provenance.period_unit = Some("nanoseconds".into());
            provenance.requested_hz = Some(1e9 / period);
        }
        let default = self.weights[&first];
        let mut profile = self.builder.finish();
        profile.default_weight = default;
        settle_cpu(&mut profile, period.filter(|_| KINDS[first].unit == "count"), wall.filter(|_| only_wall), &cpu);
        Ok(profile)
    }

    /// The period set for an event; async-profiler sets one for whatever it samples.
    fn period_of(&self, event: &str) -> Option<f64> {
        let own = self.periods.get(event).or_else(|| match event {
            "profiler.WallClockSample" => self.periods.get("jdk.ExecutionSample"),
            _ => None,
        });
        own.or_else(|| self.periods.get("")).copied().filter(|period| *period > 0.0)
    }
}

/// Turns the CPU samples that the first of these weights counts into time where the period is known, and moves them to
/// the end; the other weights of CPU samples go, and all of them where no thread ran.
fn settle_cpu(profile: &mut Profile, period: Option<f64>, wall: Option<usize>, cpu: &[usize]) {
    let counted = cpu.first().copied().filter(|first| profile.total(*first) != 0.0);
    let wall = wall.filter(|_| period.is_some());
    let mut dropped = cpu.to_vec();
    dropped.sort_unstable_by(|a, b| b.cmp(a));
    for sample in &mut profile.samples {
        let values: Vec<f64> = counted.into_iter().chain(wall).map(|weight| sample.weights[weight]).collect();
        for weight in &dropped {
            sample.weights.remove(*weight);
        }
        sample.weights.extend(values.into_iter().map(|value| value * period.unwrap_or(1.0)));
    }
    profile.default_weight -= dropped.iter().filter(|weight| **weight < profile.default_weight).count();
    for weight in dropped {
        profile.weight_types.remove(weight);
    }
    let time = |name: &str, timed: bool| {
        let unit = if timed { "nanoseconds" } else { "count" };
        WeightType { name: name.into(), unit: unit.into() }
    };
    profile.weight_types.extend(counted.map(|_| time("cpu", period.is_some())));
    profile.weight_types.extend(wall.map(|_| time("wall", true)));
}

/// `20 ms`, `10000000` (nanoseconds), `everyChunk`.
fn parse_period(text: &str) -> Option<f64> {
    let digits = text.trim().trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = text.trim()[digits.len()..].trim();
    let scale = match unit {
        "" | "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|value| value * scale)
}
