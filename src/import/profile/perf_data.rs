//! `perf.data` itself, as a file or from a pipe.
//!
//! The file holds addresses and mappings, not names: a frame is named by its module and its offset there.
//! Bring the text of `perf script` where names are wanted. Call chains recorded with DWARF stay short, as
//! unwinding them takes the programs.

mod counters;
mod lengths;

use std::io::Cursor;

use linux_perf_data::linux_perf_event_reader::constants::{
    PERF_CONTEXT_GUEST_KERNEL, PERF_CONTEXT_KERNEL, PERF_CONTEXT_MAX,
};
use linux_perf_data::linux_perf_event_reader::{
    CpuMode, EventRecord, HardwareEventId, PerfEventType, SamplingPolicy, SoftwareCounterType,
};
use linux_perf_data::{AttributeDescription, Error, PerfFile, PerfFileReader, PerfFileRecord};
use rustc_hash::FxHashMap;

use self::counters::Sampled;
use self::lengths::Shape;
use super::perf_script::base_event;
use super::{Format, Options, facts_of_event};
use crate::import::Detection;
use crate::import::error::{ImportError, Position};
use crate::import::input::Input;
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, StackSample, ThreadId, WeightType};

const NAME: &str = "perf-data";

pub(super) const FORMAT: Format = Format { name: NAME, description: "perf.data", detect, read };

fn detect(head: &[u8]) -> Detection {
    let is_perf = head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP");
    if is_perf { Detection::Yes } else { Detection::No }
}

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let bytes = input.bytes()?;
    // The parser below adds and multiplies lengths of damaged files unchecked, and panics.
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| parse(bytes, options)));
    caught.unwrap_or_else(|_| Err(broken("a length that does not fit", 0)))
}

fn parse(bytes: Vec<u8>, options: &Options) -> Result<Profile, ImportError> {
    let shape = lengths::check(&bytes)?;
    let lost_counts = lengths::lost_counts(&bytes, shape);
    let parsed = match shape {
        Shape::Pipe => PerfFileReader::parse_pipe(Cursor::new(bytes)),
        Shape::File => PerfFileReader::parse_file(Cursor::new(bytes)),
    };
    let PerfFileReader { mut perf_file, mut record_iter } = parsed.map_err(|error| broken(&error.to_string(), 0))?;
    let mut reader = Reader::new(&perf_file, options);
    let mut records = 0;
    loop {
        let record = match record_iter.next_record(&mut perf_file) {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(Error::IoError(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                return Err(ImportError::Unsupported {
                    what: "perf.data that perf compressed (-z), on another system than Linux,".into(),
                    why: "record without -z, or bring the text of perf script".into(),
                });
            }
            Err(error) => return Err(broken(&error.to_string(), records)),
        };
        records += 1;
        if let PerfFileRecord::EventRecord { attr_index, record } = record {
            if counters::holds_values(&record) {
                let lost = lost_counts.get(attr_index).copied().unwrap_or(false);
                let sample = counters::sample(&record, lost);
                reader.with_values += 1;
                let sample = sample.ok_or_else(|| broken("a sample that ends within its counter values", records))?;
                reader.sample(attr_index, &sample);
                continue;
            }
            let parsed = record.parse().map_err(|error| broken(&error.to_string(), records))?;
            reader.record(attr_index, &parsed);
        }
    }
    reader.finish(&perf_file, records)
}

fn broken(found: &str, records: u64) -> ImportError {
    let position = if records == 0 { Position::Whole } else { Position::Item(format!("record {records}")) };
    ImportError::malformed(NAME, position, found, "a complete recording of perf record")
}

/// An event's name: the recording's, or perf's own; a pipe need not name its events.
fn name_of(event: &AttributeDescription) -> Option<&str> {
    event.name().or_else(|| generic_name(&event.attributes().type_))
}

/// What perf calls an event of the kernel's own list.
fn generic_name(event: &PerfEventType) -> Option<&'static str> {
    Some(match event {
        PerfEventType::Hardware(event, _) => match event {
            HardwareEventId::CpuCycles => "cycles",
            HardwareEventId::Instructions => "instructions",
            HardwareEventId::CacheReferences => "cache-references",
            HardwareEventId::CacheMisses => "cache-misses",
            HardwareEventId::BranchInstructions => "branches",
            HardwareEventId::BranchMisses => "branch-misses",
            HardwareEventId::BusCycles => "bus-cycles",
            HardwareEventId::StalledCyclesFrontend => "stalled-cycles-frontend",
            HardwareEventId::StalledCyclesBackend => "stalled-cycles-backend",
            HardwareEventId::RefCpuCycles => "ref-cycles",
            _ => return None,
        },
        PerfEventType::Software(event) => match event {
            SoftwareCounterType::CpuClock => "cpu-clock",
            SoftwareCounterType::TaskClock => "task-clock",
            SoftwareCounterType::PageFaults => "page-faults",
            SoftwareCounterType::ContextSwitches => "context-switches",
            SoftwareCounterType::CpuMigrations => "cpu-migrations",
            SoftwareCounterType::PageFaultsMin => "minor-faults",
            SoftwareCounterType::PageFaultsMaj => "major-faults",
            SoftwareCounterType::AlignmentFaults => "alignment-faults",
            SoftwareCounterType::EmulationFaults => "emulation-faults",
            SoftwareCounterType::Dummy => "dummy",
            SoftwareCounterType::BpfOutput => "bpf-output",
            SoftwareCounterType::CgroupSwitches => "cgroup-switches",
            _ => return None,
        },
        _ => return None,
    })
}

struct Mapping {
    start: u64,
    end: u64,
    file_offset: u64,
    module: String,
}

struct Event {
    weight: usize,
    name: String,
    fixed_period: Option<u64>,
    samples: u64,
}

struct Reader {
    builder: Builder,
    events: Vec<Event>,
    weights: usize,
    mappings: FxHashMap<i32, Vec<Mapping>>,
    kernel: Vec<Mapping>,
    names: FxHashMap<i32, String>,
    threads: FxHashMap<i32, ThreadId>,
    frames: FxHashMap<(i32, u64, bool), FrameId>,
    times: Option<(u64, u64)>,
    without_stack: u64,
    with_values: u64,
    /// Samples with a copy of their stack, which only DWARF could unwind.
    copied: u64,
    lost: u64,
}

impl Reader {
    fn new(file: &PerfFile, options: &Options) -> Self {
        let mut weight_types: Vec<WeightType> = Vec::new();
        let mut events = Vec::new();
        for (index, description) in file.event_attributes().iter().enumerate() {
            let name = name_of(description).map_or_else(|| format!("event {index}"), str::to_owned);
            let base = base_event(&name);
            let unit = if matches!(base, "cpu-clock" | "task-clock") { "nanoseconds" } else { base };
            let weight = WeightType { name: base.to_owned(), unit: unit.to_owned() };
            let at = weight_types.iter().position(|known| *known == weight).unwrap_or_else(|| {
                weight_types.push(weight);
                weight_types.len() - 1
            });
            let fixed_period = match description.attributes().sampling_policy {
                SamplingPolicy::Period(period) => Some(period.get()),
                _ => None,
            };
            events.push(Event { weight: at, name, fixed_period, samples: 0 });
        }
        let weights = weight_types.len();
        let mut builder = Builder::new(weight_types);
        builder.keep_at_most(options.keep_samples);
        for description in file.event_attributes() {
            match description.attributes().sampling_policy {
                SamplingPolicy::Frequency(hz) => builder.provenance().requested_hz = Some(hz as f64),
                SamplingPolicy::Period(period) => {
                    builder.provenance().period = Some(period.get() as f64);
                    builder.provenance().period_unit = name_of(description).map(|name| base_event(name).to_owned());
                }
                SamplingPolicy::NoSampling => {}
            }
        }
        Reader {
            builder,
            events,
            weights,
            mappings: FxHashMap::default(),
            kernel: Vec::new(),
            names: FxHashMap::default(),
            threads: FxHashMap::default(),
            frames: FxHashMap::default(),
            times: None,
            without_stack: 0,
            with_values: 0,
            copied: 0,
            lost: 0,
        }
    }

    fn record(&mut self, attribute: usize, record: &EventRecord<'_>) {
        match record {
            EventRecord::Sample(sample) => self.sample(attribute, &Sampled::from(sample)),
            EventRecord::Comm(comm) => {
                let name = String::from_utf8_lossy(&comm.name.as_slice()).into_owned();
                if comm.is_execve {
                    self.mappings.remove(&comm.pid);
                    self.frames.retain(|(pid, ..), _| *pid != comm.pid);
                }
                self.names.insert(comm.tid, name);
                self.threads.remove(&comm.tid);
            }
            EventRecord::Fork(fork) => {
                if let Some(name) = self.names.get(&fork.ptid).cloned() {
                    self.names.entry(fork.tid).or_insert(name);
                }
                if fork.pid != fork.ppid
                    && let Some(of_parent) = self.mappings.get(&fork.ppid)
                {
                    let copy = |mapping: &Mapping| Mapping { module: mapping.module.clone(), ..*mapping };
                    let copies = of_parent.iter().map(copy).collect();
                    self.mappings.insert(fork.pid, copies);
                }
            }
            EventRecord::Mmap(mmap) if mmap.is_executable => {
                let kernel = mmap.cpu_mode == CpuMode::Kernel || mmap.pid == -1;
                self.map(mmap.pid, kernel, (mmap.address, mmap.length, mmap.page_offset), &mmap.path.as_slice());
            }
            EventRecord::Mmap2(mmap) => {
                let kernel = mmap.cpu_mode == CpuMode::Kernel || mmap.pid == -1;
                self.map(mmap.pid, kernel, (mmap.address, mmap.length, mmap.page_offset), &mmap.path.as_slice());
            }
            EventRecord::Lost(lost) => self.lost += lost.count,
            _ => {}
        }
    }

    fn map(&mut self, pid: i32, kernel: bool, (start, length, file_offset): (u64, u64, u64), path: &[u8]) {
        let module = String::from_utf8_lossy(path).into_owned();
        let mapping = Mapping { start, end: start.saturating_add(length), file_offset, module };
        match kernel {
            true => self.kernel.push(mapping),
            false => self.mappings.entry(pid).or_default().push(mapping),
        }
    }

    fn sample(&mut self, attribute: usize, sample: &Sampled) {
        let Some(event) = self.events.get_mut(attribute) else { return };
        event.samples += 1;
        let weight = event.weight;
        let period = sample.period.or(event.fixed_period).unwrap_or(1) as f64;
        let (pid, tid) = (sample.pid.unwrap_or(-1), sample.tid.unwrap_or(-1));
        let mut kernel = sample.cpu_mode == CpuMode::Kernel;
        let mut frames = Vec::new();
        for address in sample.chain.iter().copied() {
            if address >= PERF_CONTEXT_MAX {
                kernel = matches!(address, PERF_CONTEXT_KERNEL | PERF_CONTEXT_GUEST_KERNEL);
                continue;
            }
            frames.push(self.frame(pid, address, kernel));
        }
        if let (true, Some(address)) = (frames.is_empty(), sample.ip) {
            frames.push(self.frame(pid, address, kernel));
        }
        let stack = self.builder.stack_of(frames.into_iter().rev());
        self.without_stack += u64::from(stack.is_none());
        self.copied += u64::from(sample.has_copy);
        if let Some(time) = sample.timestamp {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        let time_ns = sample.timestamp.map(|time| time.saturating_sub(self.times.map_or(0, |(first, _)| first)));
        let thread = Some(self.thread(tid));
        let mut weights = vec![0.0; self.weights];
        weights[weight] = period;
        self.builder.sample(StackSample { stack, thread, time_ns, count: Some(1), weights });
    }

    fn thread(&mut self, tid: i32) -> ThreadId {
        if let Some(thread) = self.threads.get(&tid) {
            return *thread;
        }
        let name = self.names.get(&tid).map_or("", String::as_str);
        let thread = self.builder.thread(format!("{name} {tid}").trim());
        self.threads.insert(tid, thread);
        thread
    }

    fn frame(&mut self, pid: i32, address: u64, kernel: bool) -> FrameId {
        if let Some(frame) = self.frames.get(&(pid, address, kernel)) {
            return *frame;
        }
        let mappings: &[Mapping] =
            if kernel { &self.kernel } else { self.mappings.get(&pid).map_or(&[], Vec::as_slice) };
        // The latest mapping of an address hides those before.
        let mapping = mappings.iter().rev().find(|mapping| (mapping.start..mapping.end).contains(&address));
        let frame = match mapping {
            Some(mapping) => {
                let offset = if kernel { address } else { (address - mapping.start).wrapping_add(mapping.file_offset) };
                let kind = if kernel { FrameKind::Kernel } else { FrameKind::Plain };
                let module = mapping.module.strip_suffix("_text").unwrap_or(&mapping.module).to_owned();
                Frame {
                    function: format!("0x{offset:x}"),
                    module: Some(module),
                    address: Some(offset),
                    kind,
                    ..Frame::default()
                }
            }
            None => {
                let module = if kernel { "[kernel.kallsyms]" } else { "[unknown]" };
                let kind = if kernel { FrameKind::Kernel } else { FrameKind::Plain };
                let function = format!("0x{address:x}");
                Frame { function, module: Some(module.to_owned()), address: Some(address), kind, ..Frame::default() }
            }
        };
        let id = self.builder.frame(frame);
        // A mapping may come later: only found ones stay.
        if self.frames.len() < 1 << 20 {
            self.frames.insert((pid, address, kernel), id);
        }
        id
    }

    fn finish(mut self, file: &PerfFile, records: u64) -> Result<Profile, ImportError> {
        let samples: u64 = self.events.iter().map(|event| event.samples).sum();
        if samples == 0 {
            return Err(ImportError::NoSamples { why: format!("{records} records, none of them a sample") });
        }
        let message = "perf.data holds addresses, not names: frames are offsets in their module; perf script has names";
        self.builder.note("not-symbolised", message, samples);
        if self.without_stack > 0 {
            self.builder.note("no-stack", "samples without a stack or an address", self.without_stack);
        }
        if self.with_values > 0 {
            let message = "samples that also hold the values of their group's counters, which are left out";
            self.builder.note("counter-values", message, self.with_values);
        }
        if self.copied > 0 {
            let message = "recorded with --call-graph dwarf: the copies of stacks are not unwound here, so callers are missing; \
                           the text of perf script has them";
            self.builder.note(super::NOT_UNWOUND, message, self.copied);
        }
        let times = self.times;
        let provenance = self.builder.provenance();
        provenance.format = NAME.into();
        provenance.duration_ns = times.map(|(first, last)| last - first);
        provenance.producer = file.perf_version().ok().flatten().map(|version| format!("perf {version}"));
        if self.lost > 0 {
            provenance.facts.insert(crate::profile::facts::LOST.into(), self.lost.to_string());
        }
        if let Ok(Some(words)) = file.cmdline() {
            provenance.facts.insert("cmdline".into(), words.join(" "));
        }
        for dso in file.build_ids().unwrap_or_default().into_values() {
            let id: String = dso.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
            let path = String::from_utf8_lossy(&dso.path).into_owned();
            provenance.facts.insert(format!("{}{path}", crate::profile::facts::BUILD_ID), id);
        }
        for event in &self.events {
            *provenance.events.entry(event.name.clone()).or_default() += event.samples;
        }
        let mut profile = self.builder.finish();
        (profile.default_weight, profile.provenance.clock) = facts_of_event(&profile);
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_bytes;

    #[test]
    fn a_header_without_its_sections_is_truncated() {
        let mut bytes = b"PERFILE2".to_vec();
        assert!(read_bytes(&bytes).unwrap_err().to_string().contains("truncated"));
        for word in [104u64, 136, 200, 136, 1 << 40, 1 << 20, 0, 0, 0, 0, 0, 0] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let error = read_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains("truncated") && error.contains("attributes"), "{error}");
    }

    /// A description of cycles: what samples hold, and the form of counter values.
    fn attribute(kind: u32, sample_type: u64, read_format: u64) -> Vec<u8> {
        let mut bytes = [kind.to_le_bytes(), 136u32.to_le_bytes()].concat();
        bytes.extend([0, 1000, sample_type, read_format].iter().flat_map(|word: &u64| word.to_le_bytes()));
        bytes.resize(136, 0);
        bytes
    }

    fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let size = (body.len() as u32 + 8) << 16;
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), body].concat()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn file(attribute: &[u8], records: &[u8]) -> Vec<u8> {
        let data = 104 + attribute.len() as u64 + 16;
        let mut bytes = b"PERFILE2".to_vec();
        bytes.extend(words(&[104, 152, 104, 152, data, records.len() as u64, 0, 0, 0, 0, 0, 0]));
        bytes.extend(attribute);
        bytes.extend(words(&[0, 0]));
        bytes.extend(records);
        bytes
    }

    const SAMPLE: u32 = 9;
    const READ: u64 = 1 << 4;
    /// Address, thread, counter values, call chain, period.
    const FIELDS: u64 = 1 | 1 << 1 | READ | 1 << 5 | 1 << 8;
    const ID: u64 = 1 << 2;
    const GROUP: u64 = 1 << 3;
    const LOST: u64 = 1 << 4;

    #[test]
    fn counter_values_stand_before_the_call_chain() {
        for (format, values) in [
            (0, vec![77]),
            (3, vec![77, 8, 9]),
            (ID | LOST, vec![77, 1, 0]),
            (GROUP | ID, vec![2, 77, 1, 88, 2]),
            (GROUP | ID | LOST | 3, vec![2, 5, 5, 77, 1, 0, 88, 2, 0]),
        ] {
            let mut body = words(&[0x10, 7 << 32 | 7, 500]);
            body.extend(words(&values));
            body.extend(words(&[2, 0x10, 0x20]));
            let profile = read_bytes(&file(&attribute(0, FIELDS, format), &record(SAMPLE, &body))).unwrap();
            let stack = profile.root_to_leaf(profile.samples[0].stack.unwrap());
            let names: Vec<_> = stack.iter().map(|frame| profile.frame(*frame).function.as_str()).collect();
            assert_eq!(names, ["0x20", "0x10"], "{format:b}");
            assert_eq!((profile.total(0), profile.threads[0].as_str()), (500.0, "7"), "{format:b}");
            assert!(profile.notes.iter().any(|note| note.code == "counter-values"));
            let cut = record(SAMPLE, &body[..body.len() - 8]);
            let error = read_bytes(&file(&attribute(0, FIELDS, format), &cut)).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("record 1"), "{error}");
        }
    }

    // A count that no memory could hold.
    #[test]
    fn counts_of_counter_values_are_checked() {
        for count in [1 << 40, u64::MAX] {
            let body = words(&[0x10, 7, 500, count, 0, 0]);
            assert!(read_bytes(&file(&attribute(0, FIELDS, GROUP), &record(SAMPLE, &body))).is_err());
            let body = words(&[0x10, 7, 500, 77, count, 0]);
            assert!(read_bytes(&file(&attribute(0, FIELDS, 0), &record(SAMPLE, &body))).is_err());
        }
    }

    #[test]
    fn a_pipe_without_names_has_the_kernels_own() {
        for (kind, name, unit) in [(0, "cycles", "cycles"), (1, "cpu-clock", "nanoseconds"), (8, "event 0", "event 0")]
        {
            let mut bytes = b"PERFILE2".to_vec();
            bytes.extend(words(&[16]));
            bytes.extend(record(64, &[attribute(kind, FIELDS & !READ, 0), words(&[0])].concat()));
            bytes.extend(record(SAMPLE, &words(&[0x10, 7 << 32 | 7, 500, 1, 0x10])));
            let profile = read_bytes(&bytes).unwrap();
            let weight = &profile.weight_types[0];
            assert_eq!((weight.name.as_str(), weight.unit.as_str(), profile.total(0)), (name, unit, 500.0));
        }
    }
}
