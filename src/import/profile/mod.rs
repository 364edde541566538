//! Sampled profiles in: detection by content, then one reader per format.

pub(crate) mod json;

mod symbol;
mod v8;

pub mod chrome_trace;
pub mod cpuprofile;
pub mod folded;
pub mod gecko;
pub mod jfr;
pub mod js_self_profiling;
pub mod otlp;
#[cfg(not(target_arch = "wasm32"))]
pub mod perf_data;
pub mod perf_script;
pub mod pprof;
pub mod speedscope;

use std::io::Read;

use super::Detection;
use super::error::{ImportError, Position, excerpt};
use super::input::{Input, Limits};
use crate::profile::{Profile, SampleClock, WeightType};

/// The code of the note that callers are missing, because stacks were copied and nobody has unwound the copies.
pub const NOT_UNWOUND: &str = "stacks-not-unwound";

/// How to read a profile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Read as the format of this name, whatever detection says.
    pub format: Option<String>,
    /// What the input may cost.
    pub limits: Limits,
    /// From this many samples on, equal stacks are merged and their times forgotten (a note says so).
    pub keep_samples: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { format: None, limits: Limits::default(), keep_samples: 400_000 }
    }
}

/// A format that can be read.
pub struct Format {
    /// Its name, as `--from` takes it and [`crate::profile::Provenance::format`] holds it.
    pub name: &'static str,
    /// What it is, for people.
    pub description: &'static str,
    detect: fn(&[u8]) -> Detection,
    read: fn(Input<'_>, &Options) -> Result<Profile, ImportError>,
}

/// Every format that can be read, the more certain detections first.
pub const FORMATS: &[Format] = &[
    speedscope::FORMAT,
    cpuprofile::FORMAT,
    chrome_trace::FORMAT,
    js_self_profiling::FORMAT,
    gecko::PROCESSED,
    gecko::RAW,
    jfr::FORMAT,
    #[cfg(not(target_arch = "wasm32"))]
    perf_data::FORMAT,
    otlp::FORMAT,
    pprof::FORMAT,
    perf_script::FORMAT,
    folded::FORMAT,
];

/// Reads a profile of any known format from `reader`, unpacking it first.
///
/// # Errors
/// See [`ImportError`]: another kind of file, a known format broken, a version not read, nothing in it.
pub fn read(reader: impl Read, options: &Options) -> Result<Profile, ImportError> {
    let input = Input::open(reader, options.limits)?;
    if input.head().is_empty() {
        return Err(ImportError::NoSamples { why: "the input is empty (0 bytes); expected a profile".into() });
    }
    let input = if json::looks_like(input.head()) { Input::from(input.bytes()?) } else { input };
    let format = choose(input.head(), options)?;
    let profile = (format.read)(input, options)?;
    if let Err(broken) = profile.check() {
        return Err(ImportError::malformed(format.name, Position::Whole, broken.to_string(), "a consistent profile"));
    }
    Ok(profile)
}

/// The format of an unpacked input, judged by its first 64 KiB (JSON: by all of it).
///
/// # Errors
/// When no format takes it for its own, or when the one asked for does not and another surely does.
pub fn choose(head: &[u8], options: &Options) -> Result<&'static Format, ImportError> {
    let mut best: (Detection, Option<&Format>) = (Detection::No, None);
    for format in FORMATS {
        let detection = (format.detect)(head);
        if detection > best.0 {
            best = (detection, Some(format));
        }
    }
    let Some(name) = &options.format else {
        return best.1.ok_or_else(|| unrecognised(head));
    };
    let Some(asked) = FORMATS.iter().find(|format| format.name == name) else {
        let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
        return Err(ImportError::Unsupported {
            what: format!("the format {name:?}"),
            why: format!("known are {}", names.join(", ")),
        });
    };
    match best {
        (Detection::Yes, Some(found)) if (asked.detect)(head) == Detection::No => {
            let found = format!("{} ({})", found.description, found.name);
            let expected = format!("{}; pass the file as it is, without naming a format", asked.description);
            Err(ImportError::malformed(asked.name, Position::Whole, found, expected))
        }
        _ => Ok(asked),
    }
}

/// A unit as profiles hold it, and the factor that brings values to it.
fn normal_unit(unit: &str) -> (String, f64) {
    let (unit, scale) = match unit {
        "ns" | "nanosecond" | "nanoseconds" => ("nanoseconds", 1.0),
        "us" | "µs" | "μs" | "microsecond" | "microseconds" => ("nanoseconds", 1e3),
        "ms" | "millisecond" | "milliseconds" => ("nanoseconds", 1e6),
        "s" | "second" | "seconds" => ("nanoseconds", 1e9),
        "byte" | "bytes" | "B" => ("bytes", 1.0),
        "kilobyte" | "kilobytes" | "kb" | "KiB" => ("bytes", 1024.0),
        "megabyte" | "megabytes" | "mb" | "MiB" => ("bytes", 1024.0 * 1024.0),
        "" | "none" => ("unstated", 1.0),
        other => (other, 1.0),
    };
    (unit.to_owned(), scale)
}

/// Of several events, the one that is time or nearest to it, and what it advances with. An event that never came
/// (`dummy`, that of a trace) is none of them.
fn facts_of_event(profile: &Profile) -> (usize, SampleClock) {
    let distance = |name: &str| match name {
        "cpu-clock" | "task-clock" => 0,
        "cycles" | "cpu-cycles" => 1,
        _ => 2,
    };
    let rank = |(index, weight): &(usize, &WeightType)| (profile.total(*index) == 0.0, distance(&weight.name));
    let nearest = profile.weight_types.iter().enumerate().min_by_key(rank);
    match nearest {
        Some((index, weight)) if distance(&weight.name) < 2 => (index, SampleClock::Cpu),
        Some((index, _)) => (index, SampleClock::Event),
        None => (0, SampleClock::Unknown),
    }
}

/// What a weight of this name advances with.
fn clock_of(weight: &str) -> SampleClock {
    match weight {
        "cpu" | "samples" | "cpu-clock" | "task-clock" | "cycles" => SampleClock::Cpu,
        "wall" | "time" | "delay" | "contentions" | "off_cpu" => SampleClock::Wall,
        name if ["alloc", "inuse"].iter().any(|prefix| name.starts_with(prefix)) => SampleClock::Allocation,
        "space" | "objects" => SampleClock::Allocation,
        _ => SampleClock::Unknown,
    }
}

fn unrecognised(head: &[u8]) -> ImportError {
    if let Some((what, why)) = known_but_unread(head) {
        return ImportError::Unsupported { what: what.into(), why: why.into() };
    }
    let descriptions: Vec<_> = FORMATS.iter().map(|format| format.description).collect();
    ImportError::Unrecognised { expected: descriptions.join(", "), found: describe(head) }
}

/// Formats that people do bring, named so that they know what to bring instead.
fn known_but_unread(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let word = |at: usize, size: usize| -> Option<u64> {
        let bytes = head.get(at * size..(at + 1) * size)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    // gperftools' legacy CPU profile: header count 0, header words 3, version 0, period in microseconds, 0.
    let is_legacy = |size| word(0, size) == Some(0) && word(1, size) == Some(3) && word(2, size) == Some(0);
    if is_legacy(8) || is_legacy(4) {
        return Some((
            "the legacy gperftools CPU profile",
            "it holds bare addresses; convert it with the program at hand: pprof -proto PROGRAM FILE",
        ));
    }
    let starts = |prefix: &str| head.starts_with(prefix.as_bytes());
    if starts("heap profile:") || starts("--- heap") || starts("--- contention") || starts("--- growth") {
        return Some((
            "the legacy gperftools text profile",
            "it holds bare addresses; convert it with the program at hand: pprof -proto PROGRAM FILE",
        ));
    }
    if starts("goroutine profile:") || starts("threadcreate profile:") {
        return Some(("Go's debug text profile", "fetch it without debug=1 to get pprof protobuf"));
    }
    if starts("\x7fELF") || starts("MZ") || head.starts_with(&[0xcf, 0xfa, 0xed, 0xfe]) {
        return Some(("a program or library", "profile it, and bring the profile"));
    }
    #[cfg(target_arch = "wasm32")]
    if starts("PERFILE2") {
        return Some(("perf.data in a browser", "bring the text of perf script"));
    }
    if starts("PERFFILE") {
        return Some(("perf.data of the first version (Linux 2.6)", "bring the text of perf script"));
    }
    if starts("PK\x03\x04") {
        return Some(("a zip archive", "unpack it first"));
    }
    if head.starts_with(b"\xfd7zXZ\0") || head.starts_with(b"BZh") || head.starts_with(&[0x04, 0x22, 0x4d, 0x18]) {
        return Some(("data packed by xz, bzip2 or lz4", "unpack it first; gzip and zstd are unpacked here"));
    }
    if head.get(257..262) == Some(b"ustar".as_slice()) || head.starts_with(b"7z\xbc\xaf\x27\x1c") {
        return Some(("an archive", "unpack it first, and bring the profile in it"));
    }
    if starts("CPU     ID                    FUNCTION:NAME") {
        return Some(("the output of DTrace", "bring its stacks folded, as stackcollapse.pl does"));
    }
    if starts("<?xml") || starts("<svg") || starts("<!DOCTYPE") {
        return Some(("an SVG, XML or HTML document", "a picture of a profile has lost its stacks; bring its source"));
    }
    if is_callgrind(head) {
        return Some(("a callgrind profile", "it counts instructions, not time; bring one that samples, as perf does"));
    }
    if starts("*version\n") || starts("SLOW") {
        return Some(("a method trace of Android's runtime", "it times every call; bring what simpleperf sampled"));
    }
    if starts("SIMPLEPERF") {
        return Some(("simpleperf's own samples", "bring what its stackcollapse.py or pprof_proto_generator.py makes"));
    }
    if starts("\x04\x08{") {
        return Some(("a Ruby object dump, as stackprof writes", "bring the text of stackprof --stackcollapse"));
    }
    if json::looks_like(head) && ["gc_samples", "frames"].iter().all(|key| json::outline(head).has(key)) {
        return Some(("stackprof's JSON", "bring the text of stackprof --stackcollapse"));
    }
    if starts("v8-version,") {
        return Some(("V8's log of node --prof", "record with node --cpu-prof, which writes a .cpuprofile"));
    }
    if json::looks_like(head) && json::outline(head).keys.iter().any(|key| *key == b"dhatFileVersion") {
        return Some(("a DHAT heap profile", "it holds allocations by place, and no time"));
    }
    if starts("# To display the perf.data header info") {
        return Some(("the text of perf report", "it holds no stacks; bring perf.data or the text of perf script"));
    }
    None
}

fn is_callgrind(head: &[u8]) -> bool {
    head.starts_with(b"# callgrind format") || head.starts_with(b"version: 1\ncreator: ")
}

fn describe(head: &[u8]) -> String {
    if json::looks_like(head) {
        let outline = json::outline(head);
        let kind = if outline.is_array { "a JSON array whose first element has" } else { "a JSON object with" };
        let keys: Vec<_> = outline.keys.iter().take(8).map(|key| excerpt(key)).collect();
        return if keys.is_empty() {
            "JSON without keys".into()
        } else {
            format!("{kind} the keys {}", keys.join(", "))
        };
    }
    let looked_at = &head[..head.len().min(512)];
    if looked_at.iter().any(|byte| *byte < 9) {
        let bytes: Vec<_> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        return format!("binary data beginning {}", bytes.join(" "));
    }
    let line = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or(head);
    format!("text whose first line is \"{}\"", excerpt(line.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn read_bytes(bytes: &[u8]) -> Result<Profile, ImportError> {
        read(bytes, &Options::default())
    }

    pub(super) fn read_text(text: &str) -> Result<Profile, ImportError> {
        read(text.as_bytes(), &Options::default())
    }

    /// Self and total of a function, zero where it does not occur.
    pub(super) fn self_total(profile: &Profile, weight: usize, function: &str) -> (f64, f64) {
        let by = profile.by(weight, |frame| frame.function.clone());
        by.get(function).map_or((0.0, 0.0), |sums| (sums.self_weight, sums.total_weight))
    }

    #[test]
    fn other_files_are_named() {
        for (bytes, part) in [
            (b"\x7fELF\x02\x01\x01\0".as_slice(), "a program or library"),
            (b"\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0", "gperftools"),
            (b"heap profile: 1: 2 [ 3: 4] @ heapprofile", "gperftools"),
            (b"# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npositions: line\nevents: Ir\n", "callgrind"),
            (b"SIMPLEPERF\x01\0", "stackcollapse.py"),
            (b"PERFFILEh\0\0\0\0\0\0\0", "the first version"),
            (b"\xfd7zXZ\0\0\x04", "unpack it first"),
            (b"BZh91AY&SY", "unpack it first"),
            (b"CPU     ID                    FUNCTION:NAME\n  0  64091                        :tick-60s\n", "DTrace"),
            (br#"{"version":1.2,"mode":"cpu","samples":3,"gc_samples":0,"frames":{}}"#, "stackprof's JSON"),
            (b"\x04\x08{\x0e:\x0cversion", "stackprof"),
            (b"v8-version,11,3,244,8,0\n", "--cpu-prof"),
            (br#"{"dhatFileVersion":2,"mode":"rust-heap","pps":[]}"#, "DHAT"),
            (b"<svg></svg>", "a picture"),
            (b"{\"results\": []}", "a JSON object with the keys results"),
            (b"[{\"benchmark\": 1, \"mode\": 2}]", "the keys benchmark, mode"),
            (b"\x01\x02\x03\x04", "binary data beginning 01 02 03 04"),
            (b"hello\nworld\n", "text whose first line is \"hello\""),
            (b"\nhello\nworld\n", "text whose first line is \"hello\""),
            (b"\r\n\nhello\nworld 7 a\n", "text whose first line is \"hello\""),
        ] {
            let error = read(bytes, &Options::default()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
