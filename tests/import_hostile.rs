//! Damaged and hostile input: every reader answers with a profile or an error, never with a panic or without end.
#![cfg(feature = "import")]

use std::io::Write;

use countercheck::import::export::{ExportOptions, Target, write};
use countercheck::import::profile::{FORMATS, Options, read};
use countercheck::import::{ImportError, Limits};
use countercheck::profile::Profile;

const FOLDED: &str = "main;f;g 12\nmain;h 3\n";
const SCRIPT: &str =
    "a b 1/2 [000] 1.000000: 1001 cpu-clock:u: \n\t 10 f+0x1 (/bin/a b)\n\t 20 main+0x2 (/bin/a b)\n\n";
const CPUPROFILE: &str = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"callFrame":{"functionName":"f","url":"a.js","lineNumber":6},"hitCount":2}],"samples":[2,2],"timeDeltas":[5,7],"startTime":0,"endTime":20}"#;
const OLD_CPUPROFILE: &str = r#"{"head":{"functionName":"(root)","url":"","lineNumber":0,"hitCount":0,"children":[{"functionName":"f","url":"a","lineNumber":2,"hitCount":3,"children":[],"id":2}],"id":1},"startTime":1.5,"endTime":2.5,"samples":[2,2],"timestamps":[1600000,1700000]}"#;
const TRACE: &str = r#"{"traceEvents":[{"ph":"P","name":"Profile","pid":1,"tid":7,"id":"0x1","ts":100,"args":{"data":{"startTime":100}}},{"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":200,"args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"f"}}],"samples":[2,2]},"timeDeltas":[5,6]}}}]}"#;
const RAW_GECKO: &str = r#"{"meta":{"version":4,"interval":1,"product":"Firefox"},"libs":[],"threads":[{"name":"GeckoMain","pid":1,"tid":2,"samples":{"schema":{"stack":0,"time":1},"data":[[0,1.5],[null,2.5],[1,3.5]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1]]},"frameTable":{"schema":{"location":0,"line":1},"data":[[0],[1,12]]},"stringTable":["main (in app)","f (a.js:3:4)"]}]}"#;
const EVENTED: &str = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},"profiles":[{"type":"evented","name":"p","unit":"milliseconds","startValue":0,"endValue":3,"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1},{"type":"C","frame":1,"at":2},{"type":"C","frame":0,"at":3}]}]}"#;

/// A small valid input of every format, and what it weighs by default.
fn inputs() -> Vec<(&'static str, Vec<u8>, f64)> {
    let mut inputs: Vec<(&'static str, Vec<u8>, f64)> = vec![
        ("folded", FOLDED.into(), 15.0),
        ("perf-script", SCRIPT.into(), 1001.0),
        ("cpuprofile", CPUPROFILE.into(), 7e3),
        ("cpuprofile", OLD_CPUPROFILE.into(), 100e6),
        ("chrome-trace", TRACE.into(), 6e3),
        ("gecko", RAW_GECKO.into(), 3.0),
        ("speedscope", EVENTED.into(), 3e6),
    ];
    let folded = read(FOLDED.as_bytes(), &Options::default()).unwrap();
    for target in [Target::Pprof, Target::Otlp, Target::Speedscope, Target::Firefox] {
        inputs.push((target.name(), write(&folded, target, &ExportOptions::default()).bytes, 15.0));
    }
    let packed = inputs.iter().find(|(name, ..)| *name == "pprof").expect("pprof is written").1.clone();
    let mut raw = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed.as_slice()), &mut raw).unwrap();
    inputs.push(("pprof", raw, 15.0));
    for (name, path) in [("jfr", "jdk"), ("perf-data", "perf")] {
        inputs.extend(fixture(path, name).map(|(bytes, total)| (name, bytes, total)));
    }
    inputs
}

/// The smallest fixture of a producer that this format reads.
fn fixture(producer: &str, format: &str) -> Option<(Vec<u8>, f64)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles/fixtures").join(producer);
    let mut found: Vec<Vec<u8>> = Vec::new();
    for version in std::fs::read_dir(folder).ok()? {
        for file in std::fs::read_dir(version.ok()?.path()).ok()? {
            let bytes = std::fs::read(file.ok()?.path()).ok()?;
            let bytes = match bytes.starts_with(&[0x1f, 0x8b]) {
                true => {
                    let mut raw = Vec::new();
                    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes.as_slice()), &mut raw).ok()?;
                    raw
                }
                false => bytes,
            };
            let is_it =
                read(bytes.as_slice(), &Options::default()).is_ok_and(|profile| profile.provenance.format == format);
            if is_it {
                found.push(bytes);
            }
        }
    }
    let bytes = found.into_iter().min_by_key(Vec::len)?;
    let profile = read(bytes.as_slice(), &Options::default()).ok()?;
    Some((bytes, profile.total(profile.default_weight)))
}

fn default_total(profile: &Profile) -> f64 {
    profile.total(profile.default_weight)
}

#[test]
fn each_format_is_detected_and_read() {
    for (format, bytes, total) in inputs() {
        let profile = read(bytes.as_slice(), &Options::default()).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert_eq!(profile.provenance.format, format);
        assert_eq!(default_total(&profile), total, "{format}");
    }
}

/// Cut anywhere, an input yields an error that says where, or the part that is whole: never more than the whole.
#[test]
fn truncated_at_every_byte() {
    for (format, bytes, total) in inputs() {
        let step = (bytes.len() / 3000).max(1);
        for end in (0..bytes.len()).step_by(step) {
            match read(&bytes[..end], &Options::default()) {
                Ok(profile) => {
                    profile.check().unwrap();
                    assert!(default_total(&profile) <= total, "{format} cut at {end}");
                    // Text ends anywhere between lines, and raw pprof between fields.
                    let may_end = matches!(format, "folded" | "perf-script" | "pprof");
                    let blanks = bytes[end..].iter().all(u8::is_ascii_whitespace);
                    // What is cut off perf.data behind the samples describes the recording, not a sample.
                    let whole = format == "perf-data" && default_total(&profile) == total;
                    let between = format == "perf-data" && pipe_record_ends(&bytes).contains(&end);
                    assert!(may_end || blanks || whole || between, "{format} cut at {end} was read");
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

/// Where records of perf.data from a pipe end: nothing in them says how many follow. Empty for a file.
fn pipe_record_ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = if bytes[8..16] == 16u64.to_le_bytes() { 16 } else { bytes.len() };
    while at + 8 <= bytes.len() {
        ends.push(at);
        at += usize::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]])).max(8);
    }
    ends
}

#[test]
fn flipped_bits() {
    for (format, bytes, _) in inputs() {
        let bits = bytes.len() * 8;
        let step = (bits / 4000).max(1) | 1;
        for bit in (0..bits).step_by(step) {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(profile) = read(damaged.as_slice(), &Options::default()) {
                profile.check().unwrap_or_else(|error| panic!("{format}, bit {bit}: {error}"));
            }
        }
    }
}

/// Every reader is given every other format's input by force.
#[test]
fn every_format_passed_off_as_every_other() {
    for (format, bytes, _) in inputs() {
        for asked in FORMATS.iter().map(|format| format.name) {
            let options = Options { format: Some(asked.into()), ..Options::default() };
            match read(bytes.as_slice(), &options) {
                Ok(profile) => assert_eq!(profile.provenance.format, asked),
                Err(error) if asked == format => panic!("{format}: {error}"),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

/// Random damage, several wounds at a time: bytes set, runs copied over others, pieces cut out or repeated,
/// numbers made extreme. `IMPORT_MUTATE_SECONDS` sets how long (default: 300 inputs of each format).
#[test]
fn random_damage() {
    let seconds = std::env::var("IMPORT_MUTATE_SECONDS").ok().and_then(|text| text.parse::<u64>().ok());
    let deadline = seconds.map(|seconds| std::time::Instant::now() + std::time::Duration::from_secs(seconds));
    let limits = Limits { unpacked: 1 << 24, in_memory: 1 << 24, ratio: 100, line: 1 << 20 };
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = move |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % limit.max(1) as u64) as usize
    };
    let inputs = inputs();
    let mut tried = 0u64;
    for turn in 0.. {
        let done = deadline.map_or(turn >= 300, |deadline| std::time::Instant::now() > deadline);
        if done {
            break;
        }
        for (format, bytes, _) in &inputs {
            let mut damaged = bytes.clone();
            for _ in 0..1 + below(6) {
                let at = below(damaged.len());
                let length = 1 + below(16.min(damaged.len() - at).max(1));
                match below(6) {
                    0 => damaged[at] = below(256) as u8,
                    1 => damaged[at] = [0x00, 0xff, 0x7f, 0x80, b'"', b'9', b'-', b'['][below(8)],
                    2 if length < damaged.len() => {
                        let last = damaged.len() - length;
                        let from = below(last + 1);
                        damaged.copy_within(from..from + length, at.min(last));
                    }
                    3 => drop(damaged.drain(at..(at + length).min(damaged.len()))),
                    4 => {
                        let piece = damaged[at..(at + length).min(damaged.len())].to_vec();
                        damaged.splice(at..at, piece);
                    }
                    _ => drop(damaged.splice(at..at, *b"99999999999999999999")),
                }
                if damaged.is_empty() {
                    damaged.push(b' ');
                }
            }
            for asked in [None, Some((*format).to_owned())] {
                tried += 1;
                let options = Options { format: asked, limits, keep_samples: 100 };
                let Ok(profile) = read(damaged.as_slice(), &options) else { continue };
                profile.check().unwrap_or_else(|error| panic!("{format}: {error}"));
                for target in Target::ALL {
                    write(&profile, target, &ExportOptions::default());
                }
            }
        }
    }
    println!("{tried} damaged inputs read");
}

#[test]
fn json_nested_without_end_is_an_error() {
    for text in [
        "[".repeat(1_000_000),
        "{\"a\":".repeat(1_000_000),
        format!("{{\"head\":{}", "{\"children\":[".repeat(300_000)),
    ] {
        assert!(read(text.as_bytes(), &Options::default()).is_err());
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let trace = TRACE.replace("\"startTime\":100", &format!("\"startTime\":{deep}"));
    // Skipped without recursion, as nobody asks for it.
    assert_eq!(default_total(&read(trace.as_bytes(), &Options::default()).unwrap()), 6e3);
}

#[test]
fn a_bomb_of_folded_stacks_is_stopped() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..100 {
        encoder.write_all(&b"a;".repeat(1 << 19)).unwrap();
    }
    let error = read(encoder.finish().unwrap().as_slice(), &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::TooLarge { .. }), "{error}");
    let limits = Limits { line: 1000, ..Limits::default() };
    let long = format!("main;f 1\nmain;{} 2\n", "x".repeat(70_000));
    let error = read(long.as_bytes(), &Options { limits, ..Options::default() }).unwrap_err();
    assert!(matches!(error, ImportError::TooLarge { .. }), "{error}");
}

#[test]
fn counts_in_pprof_and_jfr_cannot_ask_for_memory() {
    // A packed list that claims 2^40 entries.
    let mut pprof = vec![0x0a, 0x04, 0x08, 0x01, 0x10, 0x02, 0x32, 0x00];
    pprof.extend([0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f]);
    assert!(read(pprof.as_slice(), &Options::default()).is_err());
    let mut jfr = b"FLR\0\0\x02\0\0".to_vec();
    jfr.extend(100u64.to_be_bytes());
    for word in [68u64, 68, 0, 0, 0, 1] {
        jfr.extend(word.to_be_bytes());
    }
    jfr.extend([0, 0, 0, 1]);
    jfr.extend([30, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    jfr.resize(100, 0);
    let error = read(jfr.as_slice(), &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::Malformed { format: "jfr", .. }), "{error}");
    // Never closed, and of another age.
    let mut open = jfr.clone();
    open[8..16].fill(0);
    assert!(read(open.as_slice(), &Options::default()).unwrap_err().to_string().contains("never closed"));
    let mut old = jfr;
    old[4..8].copy_from_slice(&[0, 0, 0, 9]);
    assert!(read(old.as_slice(), &Options::default()).unwrap_err().to_string().contains("0.9"));
}
