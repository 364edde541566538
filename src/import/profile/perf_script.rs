//! The text of `perf script`: a header line for each event, then its stack, leaf first.
//!
//! Headers come in many shapes (`-F` chooses the fields), and thread names and paths may hold blanks,
//! digits, colons and brackets. Each event type becomes a weight type of its own: cycles and instructions
//! have no common sum. The weight is the period; the number of samples is kept beside it.

use rustc_hash::FxHashMap;

use super::symbol;
use super::{Format, Options, facts_of_event};
use crate::import::Detection;
use crate::import::error::{ImportError, Position, excerpt};
use crate::import::input::{Input, Lines};
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, StackSample, ThreadId, WeightType};

const NAME: &str = "perf-script";
const EXPECTED: &str = "`comm pid [cpu] time: period event:`, or a frame `address symbol (module)`";

pub(super) const FORMAT: Format = Format { name: NAME, description: "the text of perf script", detect, read };

/// The fields of a header line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Header<'a> {
    comm: &'a [u8],
    pid: &'a [u8],
    time_ns: Option<u64>,
    period: Option<u64>,
    event: &'a [u8],
    rest: &'a [u8],
}

fn parse_header(line: &[u8]) -> Option<Header<'_>> {
    let line = line.trim_ascii_end();
    let mut tokens = Tokens { line, at: 0 };
    while let Some((start, end)) = tokens.next() {
        if let Some(time_ns) = parse_time(&line[start..end])
            && let Some((period, event, rest)) = parse_event(line, end)
        {
            let (comm, pid) = split_comm(&line[..start]);
            return Some(Header { comm, pid, time_ns: Some(time_ns), period, event, rest });
        }
    }
    // Without a time, the first number that leaves `[cpu]? period? event:` behind it is the pid.
    let mut tokens = Tokens { line, at: 0 };
    while let Some((start, end)) = tokens.next() {
        if !is_pid(&line[start..end]) || start == 0 {
            continue;
        }
        let mut ahead = Tokens { line, at: end };
        let from = match ahead.next() {
            Some((cpu, after)) if is_cpu(&line[cpu..after]) => after,
            _ => end,
        };
        if let Some((period, event, rest)) = parse_event(line, from) {
            let (comm, pid) = (line[..start].trim_ascii(), &line[start..end]);
            return Some(Header { comm, pid, time_ns: None, period, event, rest });
        }
    }
    None
}

struct Tokens<'a> {
    line: &'a [u8],
    at: usize,
}

impl Tokens<'_> {
    fn next(&mut self) -> Option<(usize, usize)> {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let start = self.at + self.line[self.at..].iter().position(|byte| !is_blank(byte))?;
        let end = self.line[start..].iter().position(is_blank).map_or(self.line.len(), |length| start + length);
        self.at = end;
        Some((start, end))
    }
}

/// `1301.733789:` in nanoseconds.
fn parse_time(token: &[u8]) -> Option<u64> {
    let token = token.strip_suffix(b":")?;
    let point = memchr::memchr(b'.', token)?;
    let seconds = parse_number(&token[..point])?;
    let fraction = &token[point + 1..];
    let scale = 10u64.checked_pow(9u32.checked_sub(fraction.len() as u32)?)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(parse_number(fraction)? * scale)
}

fn parse_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
}

/// The period, the event and what follows it on the line.
fn parse_event(line: &[u8], from: usize) -> Option<(Option<u64>, &[u8], &[u8])> {
    let mut tokens = Tokens { line, at: from };
    let (mut start, mut end) = tokens.next()?;
    let period = parse_number(&line[start..end]);
    if period.is_some() {
        (start, end) = tokens.next()?;
    }
    let event = line[start..end].strip_suffix(b":")?;
    let is_event = !event.is_empty() && !event[0].is_ascii_digit() && parse_number(event).is_none();
    is_event.then(|| (period, event, line[end..].trim_ascii()))
}

/// What precedes the time: the thread's name, then its pid, perhaps a CPU and flags.
fn split_comm(prefix: &[u8]) -> (&[u8], &[u8]) {
    let mut text = prefix.trim_ascii();
    for allowed in [true, true, false] {
        let start = memchr::memrchr2(b' ', b'\t', text).map_or(0, |blank| blank + 1);
        let last = &text[start..];
        if is_pid(last) {
            return (text[..start].trim_ascii(), last);
        }
        // `[001]`, or flags such as `d.h1.`, stand between the pid and the time.
        let is_flags = last.len() <= 6 && last.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
        if !allowed || start == 0 || !(is_cpu(last) || is_flags) {
            break;
        }
        text = text[..start].trim_ascii();
    }
    (prefix.trim_ascii(), b"")
}

fn is_cpu(token: &[u8]) -> bool {
    token.len() > 2
        && token[0] == b'['
        && token[token.len() - 1] == b']'
        && token[1..token.len() - 1].iter().all(u8::is_ascii_digit)
}

fn is_pid(token: &[u8]) -> bool {
    let mut parts = token.splitn(2, |byte| *byte == b'/');
    // -1 is a thread that perf lost track of.
    let number = |part: &[u8]| part == b"-1" || parse_number(part).is_some();
    parts.next().is_some_and(number) && parts.next().is_none_or(number)
}

/// The event without modifiers and without the name of a hybrid processor's unit.
pub(super) fn base_event(event: &str) -> &str {
    let modifiers = |text: &str| !text.is_empty() && text.chars().all(|letter| "ukhHGIpPSDWeb".contains(letter));
    let event = match event.rsplit_once(':') {
        Some((base, tail)) if !base.is_empty() && modifiers(tail) => base,
        _ => event,
    };
    for unit in ["cpu_core/", "cpu_atom/", "cpu/"] {
        if let Some((inner, tail)) = event.strip_prefix(unit).and_then(|rest| rest.split_once('/'))
            && (tail.is_empty() || modifiers(tail))
            && !inner.contains('=')
        {
            return inner;
        }
    }
    event
}

/// What a line below a header is.
enum Below {
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
        if after_header && line.first().is_some_and(u8::is_ascii_whitespace) && looks_like_frame(line) {
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

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let mut reader = Reader {
        builder: Builder::new(Vec::new()),
        weights: 0,
        events: FxHashMap::default(),
        threads: FxHashMap::default(),
        thread_key: Vec::new(),
        lines: FxHashMap::default(),
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
        let address = memchr::memchr2(b' ', b'\t', line).unwrap_or(line.len());
        let has_address = address < line.len() && symbol::parse_hex(&line[..address]).is_some();
        let text = if has_address { line[address..].trim_ascii_start() } else { line };
        match self.lines.get(text) {
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
                self.lines.insert(text.into(), Below::Inlined(self.inlined.len()));
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
        self.lines.insert(text.into(), Below::Frames(start..self.frames_of_lines.len()));
    }

    /// The frames inlined into `physical` lie in its module.
    fn end_inlined(&mut self, physical: FrameId) {
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

    fn header(line: &str) -> (String, String, Option<u64>, Option<u64>, String) {
        let header = parse_header(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(header.comm), text(header.pid), header.time_ns, header.period, text(header.event))
    }

    // brendangregg/FlameGraph#78, #162, #357 and their fixes, each of which broke another form.
    #[test]
    fn headers_of_every_shape() {
        for (line, comm, pid, time_ns, period, event) in [
            (
                "java 10488  9962.502413:   10101010 cpu-clock: ",
                "java",
                "10488",
                Some(9_962_502_413_000),
                Some(10_101_010),
                "cpu-clock",
            ),
            (
                "Plex DLNA Serve 26638 [001] 856620.530720: 2654110 cycles:",
                "Plex DLNA Serve",
                "26638",
                Some(856_620_530_720_000),
                Some(2_654_110),
                "cycles",
            ),
            ("[ET_NET 0] 1234 1.0: 1 cycles:", "[ET_NET 0]", "1234", Some(1_000_000_000), Some(1), "cycles"),
            ("1234 5.678: 1 cycles:", "", "1234", Some(5_678_000_000), Some(1), "cycles"),
            (
                "my thr: 1/2 (x) 17853  1301.733789:    2004008 cpu-clock:ppp: ",
                "my thr: 1/2 (x)",
                "17853",
                Some(1_301_733_789_000),
                Some(2_004_008),
                "cpu-clock:ppp",
            ),
            (
                "swapper     0/0     [000] d.h1.  5.000001: sched:sched_switch: prev_comm=a",
                "swapper",
                "0/0",
                Some(5_000_001_000),
                None,
                "sched:sched_switch",
            ),
            ("a 7/8 [002] 1.123456789: cycles:u:", "a", "7/8", Some(1_123_456_789), None, "cycles:u"),
            ("java 12 cycles:", "java", "12", None, None, "cycles"),
            ("V8 Worker 3 991 [003] 77 cpu_core/cycles/P:", "V8 Worker 3", "991", None, Some(77), "cpu_core/cycles/P"),
            (":-1 -1 3.5: 1 cycles:", ":-1", "-1", Some(3_500_000_000), Some(1), "cycles"),
        ] {
            assert_eq!(header(line), (comm.into(), pid.into(), time_ns, period, event.into()), "{line}");
        }
        for line in ["", "main;f 5", "hello world", "\t29ebc cmd (/usr/bin/perf)", "1.5: 7:", "a 1.2.3: cycles:"] {
            assert_eq!(parse_header(line.as_bytes()), None, "{line}");
        }
    }

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
