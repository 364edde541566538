//! The text of `perf script`: a header line for each event, then its stack, leaf first.
//!
//! Headers come in many shapes (`-F` chooses the fields), and thread names and paths may hold blanks,
//! digits, colons and brackets. Each event type becomes a weight type of its own: cycles and instructions
//! have no common sum. The weight is the period; the number of samples is kept beside it.

mod header;

use rustc_hash::FxHashMap;

pub(super) use header::base_event;
use header::{Header, parse_header};

use super::symbol;
use super::{Format, Options, facts_of_event};
use crate::import::Detection;
use crate::import::error::{ImportError, Position, excerpt};
use crate::import::input::{Input, Lines};
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, StackSample, ThreadId, WeightType};

const NAME: &str = "perf-script";
const EXPECTED: &str = "`comm pid [cpu] time: period event:`, or a frame `address symbol (module)`";

pub(super) const FORMAT: Format = Format { name: NAME, description: "the text of perf script", detect, read };

/// What a line below a header is.
enum Below {
    /// One frame, as mostly.
    Frame(FrameId),
    /// Frames, leaf first; a range of `Reader::frames_of_lines`.
    Frames(std::ops::Range<usize>),
    /// Inlined into the next physical frame; an index of `Reader::inlined`.
    Inlined(usize),
}

struct Event {
    weight: usize,
    samples: u64,
}

struct Current {
    weight: usize,
    period: f64,
    time_ns: Option<u64>,
    thread: Option<ThreadId>,
}

struct Reader {
    builder: Builder,
    weights: usize,
    events: FxHashMap<Box<[u8]>, Event>,
    threads: FxHashMap<Box<[u8]>, ThreadId>,
    thread_key: Vec<u8>,
    lines: FxHashMap<Box<[u8]>, Below>,
    line_key: Vec<u8>,
    frames_of_lines: Vec<FrameId>,
    inlined: Vec<Frame>,
    current: Option<Current>,
    frames: Vec<FrameId>,
    pending: Vec<Frame>,
    times: Option<(u64, u64)>,
    samples: u64,
    without_stack: u64,
    with_module: bool,
    unreadable: u64,
    first_unreadable: Option<(u64, String)>,
}

fn detect(head: &[u8]) -> Detection {
    if head.iter().take(4096).any(|byte| *byte == 0) {
        return Detection::No;
    }
    let mut headers = 0;
    let mut after_header = false;
    for line in head.split(|byte| *byte == b'\n').take(400) {
        let indented = line.first().is_some_and(u8::is_ascii_whitespace);
        if after_header && (indented && looks_like_frame(line) || is_bare_frame(line)) {
            return Detection::Yes;
        }
        let header = if line.first() == Some(&b'#') { None } else { parse_header(line) };
        if header.is_some_and(|header| looks_like_frame(header.rest)) {
            return Detection::Yes;
        }
        after_header = header.is_some();
        headers += usize::from(header.is_some_and(|header| header.time_ns.is_some()));
    }
    if headers > 0 { Detection::NotSure } else { Detection::No }
}

fn looks_like_frame(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let address = memchr::memchr(b' ', line).map_or(line, |end| &line[..end]);
    symbol::parse_hex(address).is_some() || line.ends_with(b")")
}

/// Whether a line is a frame that lost its indentation: `address symbol (module)`.
fn is_bare_frame(line: &[u8]) -> bool {
    address_of(line) > 0 && line.trim_ascii_end().ends_with(b")") && parse_header(line).is_none()
}

/// The length of the address that begins a line below a header; 0 where none does.
fn address_of(line: &[u8]) -> usize {
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    if end < line.len() && symbol::parse_hex(&line[..end]).is_some() { end } else { 0 }
}

/// What all lines of one function and module have in common: the line without the offset in the function. A key that
/// keeps its offset is as right, and merely met less often.
fn key_of_line(text: &[u8], key: &mut Vec<u8>) {
    let module = memchr::memrchr(b'(', text).filter(|open| *open > 0 && text[open - 1] == b' ').map(|open| open - 1);
    let (name, module) = text.split_at(module.unwrap_or(text.len()));
    key.extend_from_slice(symbol::strip_offset(name));
    key.extend_from_slice(module);
}

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let mut reader = Reader {
        builder: Builder::new(Vec::new()),
        weights: 0,
        events: FxHashMap::default(),
        threads: FxHashMap::default(),
        thread_key: Vec::new(),
        lines: FxHashMap::default(),
        line_key: Vec::new(),
        frames_of_lines: Vec::new(),
        inlined: Vec::new(),
        current: None,
        frames: Vec::new(),
        pending: Vec::new(),
        times: None,
        samples: 0,
        without_stack: 0,
        with_module: false,
        unreadable: 0,
        first_unreadable: None,
    };
    reader.builder.keep_at_most(options.keep_samples);
    let mut lines = input.lines();
    while let Some(line) = lines.next_line()? {
        reader.line(line);
        if reader.unreadable > 0 && reader.first_unreadable.is_none() {
            let text = excerpt(line.trim_ascii());
            reader.first_unreadable = Some((lines.number(), text));
        }
    }
    reader.finish(&lines)
}

impl Reader {
    fn line(&mut self, line: &[u8]) {
        match line.first() {
            None => self.end_sample(),
            Some(b' ' | b'\t') if self.current.is_some() => self.below(line.trim_ascii()),
            Some(b'#') if self.current.is_none() => self.comment(line),
            Some(_) if self.current.is_some() && is_bare_frame(line) => self.below(line.trim_ascii()),
            Some(_) => self.header(line),
        }
    }

    fn header(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return self.end_sample();
        }
        let Some(header) = parse_header(line) else {
            self.unreadable += 1;
            return;
        };
        self.end_sample();
        let weight = self.event(&header);
        if let Some(time) = header.time_ns {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        let thread = self.thread(&header);
        let period = header.period.map_or(1.0, |period| period as f64);
        self.current = Some(Current { weight, period, time_ns: header.time_ns, thread });
        if looks_like_frame(header.rest) && header.rest.contains(&b' ') {
            self.below(header.rest);
            self.end_sample();
        }
    }

    fn event(&mut self, header: &Header<'_>) -> usize {
        if let Some(event) = self.events.get_mut(header.event) {
            event.samples += 1;
            return event.weight;
        }
        let full = String::from_utf8_lossy(header.event);
        let base = base_event(&full);
        let same_base = self
            .events
            .iter()
            .find_map(|(other, event)| (base_event(&String::from_utf8_lossy(other)) == base).then_some(event.weight));
        let weight = same_base.unwrap_or_else(|| {
            let unit = match base {
                _ if header.period.is_none() => "count",
                "cpu-clock" | "task-clock" => "nanoseconds",
                _ => base,
            };
            self.weights += 1;
            self.builder.weight_type(WeightType { name: base.to_owned(), unit: unit.to_owned() })
        });
        self.events.insert(header.event.into(), Event { weight, samples: 1 });
        weight
    }

    fn thread(&mut self, header: &Header<'_>) -> Option<ThreadId> {
        if header.comm.is_empty() && header.pid.is_empty() {
            return None;
        }
        self.thread_key.clear();
        self.thread_key.extend_from_slice(header.comm);
        self.thread_key.push(b' ');
        self.thread_key.extend_from_slice(header.pid);
        if let Some(thread) = self.threads.get(self.thread_key.as_slice()) {
            return Some(*thread);
        }
        let thread = self.builder.thread(String::from_utf8_lossy(self.thread_key.trim_ascii()).as_ref());
        self.threads.insert(self.thread_key.as_slice().into(), thread);
        Some(thread)
    }

    /// A line below a header: a frame, an inlined frame, or the source line of the frame above.
    fn below(&mut self, line: &[u8]) {
        let address = address_of(line);
        let text = line[address..].trim_ascii_start();
        self.line_key.clear();
        key_of_line(text, &mut self.line_key);
        match self.lines.get(self.line_key.as_slice()) {
            Some(Below::Frame(frame)) => {
                let frame = *frame;
                self.end_inlined(frame);
                self.frames.push(frame);
                return;
            }
            Some(Below::Frames(range)) => {
                let range = range.clone();
                self.end_inlined(self.frames_of_lines[range.start]);
                self.frames.extend_from_slice(&self.frames_of_lines[range]);
                return;
            }
            Some(Below::Inlined(at)) => {
                self.pending.push(self.inlined[*at].clone());
                return;
            }
            None if text.is_empty() => return self.end_sample(),
            // Events without stacks follow each other without a blank line.
            None if !text.ends_with(b")") && parse_header(line).is_some_and(|header| header.time_ns.is_some()) => {
                return self.header(line);
            }
            None => {}
        }
        let has_address = address > 0;
        if !text.ends_with(b")") {
            if !has_address && self.source_line(text) {
                return;
            }
            if self.with_module {
                // Keep as much as there is: the sample's other frames stay right.
                self.unreadable += 1;
                return;
            }
        }
        self.new_line(text);
    }

    fn new_line(&mut self, text: &[u8]) {
        let parsed = symbol::parse_perf(text);
        if parsed.inlined {
            let frame = Frame { function: parsed.function, kind: FrameKind::Inlined, ..Frame::default() };
            if self.pending.len() < 10_000 {
                self.lines.insert(self.line_key.as_slice().into(), Below::Inlined(self.inlined.len()));
                self.inlined.push(frame.clone());
            }
            self.pending.push(frame);
            return;
        }
        self.with_module |= parsed.module.is_some();
        if self.lines.len() >= 1 << 18 {
            // A cache, not a store: it must not grow with the input.
            self.lines.clear();
            self.frames_of_lines.clear();
            self.inlined.clear();
        }
        let start = self.frames_of_lines.len();
        let kind =
            if parsed.module.as_deref().is_some_and(symbol::is_kernel) { FrameKind::Kernel } else { FrameKind::Plain };
        // `outer->inner` of a Java symbol map: the inner ones are inlined, and nearer to the leaf.
        let parts = symbol::java_inlines(&parsed.function, parsed.module.as_deref());
        for (depth, function) in parts.iter().enumerate().rev() {
            let kind = if depth > 0 { FrameKind::Inlined } else { kind };
            let frame =
                Frame { function: (*function).to_owned(), module: parsed.module.clone(), kind, ..Frame::default() };
            self.frames_of_lines.push(self.builder.frame(frame));
        }
        self.end_inlined(self.frames_of_lines[start]);
        self.frames.extend_from_slice(&self.frames_of_lines[start..]);
        let below = match self.frames_of_lines[start..] {
            [frame] => {
                self.frames_of_lines.truncate(start);
                Below::Frame(frame)
            }
            _ => Below::Frames(start..self.frames_of_lines.len()),
        };
        self.lines.insert(self.line_key.as_slice().into(), below);
    }

    /// The frames inlined into `physical` lie in its module.
    fn end_inlined(&mut self, physical: FrameId) {
        if self.pending.is_empty() {
            return;
        }
        for mut frame in std::mem::take(&mut self.pending) {
            frame.module.clone_from(&self.builder.frame_of(physical).module);
            let id = self.builder.frame(frame);
            self.frames.push(id);
        }
    }

    /// `file:line` below its frame, from `-F +srcline`; whether the line was one.
    fn source_line(&mut self, text: &[u8]) -> bool {
        let text = String::from_utf8_lossy(text);
        let text = text.strip_suffix(" (inlined)").unwrap_or(&text);
        // Where perf knows no line it prints `module[offset]` or `module+0xoffset`.
        if (text.ends_with(']') && text.contains('[')) || text == "??:0" {
            return true;
        }
        let Some((file, line)) = text.rsplit_once(':') else { return false };
        let Ok(line) = line.parse::<u32>() else { return false };
        if file.is_empty() || file.ends_with(':') {
            return false;
        }
        let attach = |frame: &mut Frame| {
            frame.file = Some(file.to_owned());
            frame.line = Some(line);
        };
        if let Some(frame) = self.pending.last_mut() {
            attach(frame);
        } else if let Some(last) = self.frames.last_mut() {
            let mut frame = self.builder.frame_of(*last).clone();
            attach(&mut frame);
            *last = self.builder.frame(frame);
        } else {
            return false;
        }
        true
    }

    fn end_sample(&mut self) {
        let Some(current) = self.current.take() else { return };
        for frame in std::mem::take(&mut self.pending) {
            let id = self.builder.frame(frame);
            self.frames.push(id);
        }
        let stack = self.builder.stack_of(self.frames.iter().rev().copied());
        self.frames.clear();
        self.without_stack += u64::from(stack.is_none());
        self.samples += 1;
        let mut weights = vec![0.0; self.weights];
        weights[current.weight] = current.period;
        let time_ns = current.time_ns.map(|time| time.saturating_sub(self.times.map_or(0, |(first, _)| first)));
        self.builder.sample(StackSample { stack, thread: current.thread, time_ns, count: Some(1), weights });
    }

    /// Facts from the comments that `perf script --header` prints.
    fn comment(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(&line[..line.len().min(2000)]);
        let Some((key, value)) = text.trim_start_matches('#').split_once(':') else { return };
        let (key, value) = (key.trim(), value.trim());
        let known = ["hostname", "os release", "perf version", "arch", "nrcpus online", "cpudesc", "cmdline"];
        let provenance = self.builder.provenance();
        if known.contains(&key) {
            if key == "perf version" {
                provenance.producer = Some(format!("perf {value}"));
            }
            provenance.facts.insert(key.to_owned(), value.to_owned());
        }
        if key == "event"
            && let Some((name, attributes)) = value.strip_prefix("name = ").and_then(|rest| rest.split_once(','))
        {
            let frequency = attributes.contains("sample_freq } = ") && attributes.contains("freq = 1");
            let rate = attributes.split("sample_freq } = ").nth(1).and_then(|rest| rest.split(',').next());
            if let Some(rate) = rate.and_then(|rate| rate.trim().parse::<f64>().ok()) {
                match frequency {
                    true => provenance.requested_hz = Some(rate),
                    false => (provenance.period, provenance.period_unit) = (Some(rate), Some(name.trim().to_owned())),
                }
            }
        }
    }

    fn finish(mut self, lines: &Lines<'_>) -> Result<Profile, ImportError> {
        if lines.was_cut() && self.current.is_some() && self.unreadable > 0 {
            // The unreadable end of the input is a frame cut in two: its sample lacks its roots.
            self.current = None;
            self.builder.note("cut-off", "the input ends inside a frame: the last sample was left out", 1);
        }
        self.end_sample();
        if let Some((line, found)) = &self.first_unreadable {
            let position = Position::Line(*line);
            if self.samples == 0 || self.unreadable > self.samples * 2 {
                return Err(ImportError::malformed(NAME, position, format!("\"{found}\""), EXPECTED));
            }
            let message = format!("lines were not understood and left out; the first is {position}: \"{found}\"");
            self.builder.note("lines-ignored", message, self.unreadable);
        }
        if self.samples == 0 {
            return Err(ImportError::NoSamples { why: format!("{} lines, none of them an event", lines.number()) });
        }
        if self.without_stack > 0 {
            self.builder.note("no-stack", "samples without a stack; record with -g", self.without_stack);
        }
        let provenance = self.builder.provenance();
        provenance.format = NAME.into();
        provenance.duration_ns = self.times.map(|(first, last)| last - first);
        let mut by_weight: Vec<Vec<String>> = vec![Vec::new(); self.weights];
        for (name, event) in &self.events {
            let name = String::from_utf8_lossy(name).into_owned();
            by_weight[event.weight].push(name.clone());
            provenance.events.insert(name, event.samples);
        }
        for names in by_weight.iter_mut().filter(|names| names.len() > 1) {
            names.sort();
            self.builder.note("events-merged", format!("read as one event: {}", names.join(", ")), names.len() as u64);
        }
        if self.weights > 1 {
            let message = "several events, each a weight of its own; they have no common sum";
            self.builder.note("several-events", message, self.weights as u64);
        }
        let mut profile = self.builder.finish();
        (profile.default_weight, profile.provenance.clock) = facts_of_event(&profile);
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read_text, self_total};
    use super::*;
    use crate::profile::SampleClock;

    const TWO: &str = "a 1 1.0: 1001001 cpu-clock:\n\t10 f+0x1 (/bin/a)\n\t20 main+0x2 (/bin/a)\n\na 1 1.5: 1001001 cpu-clock:\n\t11 g+0x1 (/bin/a)\n\t20 main+0x2 (/bin/a)\n";

    // brendangregg/FlameGraph#326: periods called samples. The last sample without a blank line counts too.
    #[test]
    fn samples_and_weight_are_told_apart() {
        let profile = read_text(TWO).unwrap();
        assert_eq!(profile.weight_types, [WeightType { name: "cpu-clock".into(), unit: "nanoseconds".into() }]);
        assert_eq!(profile.total(0), 2_002_002.0);
        assert_eq!(profile.samples.iter().map(|sample| sample.count.unwrap()).sum::<u64>(), 2);
        assert_eq!(self_total(&profile, 0, "main"), (0.0, 2_002_002.0));
        assert_eq!(profile.provenance.duration_ns, Some(500_000_000));
        assert_eq!(profile.provenance.clock, SampleClock::Cpu);
    }

    #[test]
    fn a_frame_cut_in_two_takes_its_sample_with_it() {
        for end in TWO.rfind("main").unwrap() + 1..TWO.len() - 1 {
            let profile = read_text(&TWO[..end]).unwrap();
            assert_eq!(profile.total(0), 1_001_001.0, "{:?}", &TWO[end - 10..end]);
            assert_eq!(profile.notes[0].code, "cut-off");
        }
    }

    // brendangregg/FlameGraph#205: a source line after every frame.
    #[test]
    fn source_lines_belong_to_the_frame_above() {
        let profile = read_text(
            "a 1 1.0: 5 cycles:\n\t10 f+0x1 (/bin/a)\n  in.c:7\n\t20 main+0x2 (/bin/a)\n  ld-2.31.so[1234]\n\n",
        )
        .unwrap();
        assert_eq!(self_total(&profile, 0, "f"), (5.0, 5.0));
        let frame = profile.frames.iter().find(|frame| frame.line.is_some()).unwrap();
        assert_eq!((frame.function.as_str(), frame.file.as_deref(), frame.line), ("f", Some("in.c"), Some(7)));
        assert_eq!(profile.root_to_leaf(profile.samples[0].stack.unwrap()).len(), 2);
    }

    // google/perf_data_converter#179, mstange/samply#537.
    #[test]
    fn events_of_a_hybrid_processor_are_one_event() {
        let mut text = "a 1 1.0: 1 cpu_core/cycles/P:\n\t10 f (/bin/a)\n\n".repeat(9);
        text += "a 1 1.0: 1 cpu_atom/cycles/P:\n\t10 f (/bin/a)\n\n";
        let profile = read_text(&text).unwrap();
        assert_eq!((profile.total(0), profile.weight_types.len()), (10.0, 1));
        assert_eq!(profile.provenance.events["cpu_core/cycles/P"], 9);
        assert_eq!(profile.notes[0].code, "events-merged");
    }

    #[test]
    fn events_without_a_common_unit_are_not_added() {
        let text = "a 1 1.0: 100 instructions:\n\t10 f (/bin/a)\n\na 1 1.0: 7 cycles:u:\n\t10 g (/bin/a)\n\n";
        let profile = read_text(text).unwrap();
        assert_eq!((profile.total(0), profile.total(1), profile.default_weight), (100.0, 7.0, 1));
    }

    #[test]
    fn inlined_frames_lie_in_the_module_of_the_next() {
        let text = "a 1 1.0: 1 cycles:\n\t10 one (inlined)\n\t10 two (inlined)\n\t10 main+0x2 (/bin/a)\n\n";
        let profile = read_text(&text.repeat(2)).unwrap();
        let stack = profile.root_to_leaf(profile.samples[1].stack.unwrap());
        let frames: Vec<_> = stack.iter().map(|id| profile.frame(*id)).collect();
        assert_eq!(frames.iter().map(|frame| frame.function.as_str()).collect::<Vec<_>>(), ["main", "two", "one"]);
        assert!(frames.iter().all(|frame| frame.module.as_deref() == Some("/bin/a")));
        assert_eq!(frames[2].kind, FrameKind::Inlined);
        assert_eq!(profile.total(0), 2.0);
    }

    #[test]
    fn events_without_stacks_and_without_modules_are_read() {
        let profile = read_text("   fade 1 1.0: 1 cycles: \n   fade 1 1.1: 1 cycles: \n").unwrap();
        assert_eq!((profile.samples.len(), profile.notes[0].code.as_str()), (2, "no-stack"));
        let profile = read_text("a 1 1.0: 1 cycles:\n\t10 f\n\t20 main\n\n").unwrap();
        assert_eq!(self_total(&profile, 0, "f"), (1.0, 1.0));
    }

    #[test]
    fn frames_that_lost_their_indentation_are_frames() {
        let text = "java 19983 cycles:\nffffffff8103d0ca leaf ([kernel.kallsyms])\n7f7241fbe6d8 base(T) const (/lib jvm.so)\n\n\
                    java 19983 cycles:\n10 leaf ([kernel.kallsyms])\n\n";
        let profile = read_text(text).unwrap();
        assert_eq!(self_total(&profile, 0, "leaf"), (2.0, 2.0));
        assert_eq!(self_total(&profile, 0, "base(T) const"), (0.0, 1.0));
        assert_eq!((profile.samples.len(), profile.threads.len()), (2, 1));
    }

    // A script passed off as folded stacks (brendangregg/FlameGraph#132).
    #[test]
    fn asked_for_as_folded_it_is_named() {
        let options = Options { format: Some("folded".into()), ..Options::default() };
        let error = super::super::read(TWO.as_bytes(), &options).unwrap_err().to_string();
        assert!(error.contains("the text of perf script") && error.contains("pass the file as it is"), "{error}");
    }

    #[test]
    fn deep_stacks_cost_no_stack() {
        let text = format!("a 1 1.0: 1 cycles:\n{}\n", "\t10 f+0x1 (/bin/a)\n".repeat(100_000));
        let profile = read_text(&text).unwrap();
        assert_eq!(self_total(&profile, 0, "f"), (1.0, 1.0));
        assert_eq!(profile.stacks.len(), 100_000);
    }
}
