//! Firefox profiles: the processed format (Firefox Profiler, samply) and the raw one of the browser.
//!
//! Both are tables of columns. The processed format has no base stack order to turn: a stack names its
//! prefix. A weight column may replace "one sample each", and a null stack is a sample without stack.

mod processed;
mod raw;

use super::{Format, json};
use crate::import::Detection;
use crate::import::error::{ImportError, Position};

pub(super) const PROCESSED: Format = Format {
    name: "firefox-processed",
    description: "a processed Firefox profile",
    detect: |head| detect(head, Shape::Processed),
    read: processed::read,
};

pub(super) const RAW: Format = Format {
    name: "gecko",
    description: "a raw Gecko profile",
    detect: |head| detect(head, Shape::Raw),
    read: raw::read,
};

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Processed,
    Raw,
}

fn detect(head: &[u8], wanted: Shape) -> Detection {
    if !json::looks_like(head) {
        return Detection::No;
    }
    let outline = json::outline(head);
    let wrapped = outline.has("profile") && memchr::memmem::find(head, b"\"threads\"").is_some();
    if !(outline.has("threads") && outline.has("meta") || wrapped) {
        return Detection::No;
    }
    let versioned = memchr::memmem::find(head, b"\"preprocessedProfileVersion\"").is_some();
    let shape = match versioned || first_key_of_stacks(head).is_some_and(|key| !matches!(key, b"schema" | b"data")) {
        true => Shape::Processed,
        false => Shape::Raw,
    };
    if shape == wanted { Detection::Yes } else { Detection::No }
}

/// The first key of the first table of stacks: raw tables have a schema and data, where the first processed profiles,
/// which lack a version, have columns. The table may lie in a string, its quotes escaped.
fn first_key_of_stacks(head: &[u8]) -> Option<&[u8]> {
    const TABLE: &[u8] = b"stackTable";
    let behind = &head[memchr::memmem::find(head, TABLE)? + TABLE.len()..];
    let key = &behind[behind.iter().position(u8::is_ascii_alphabetic)?..];
    Some(&key[..key.iter().position(|byte| !byte.is_ascii_alphabetic())?])
}

/// `table[row]`, or an error that says where it should have been.
fn cell<'a, T>(
    format: &'static str,
    column: &'a [T],
    row: usize,
    place: impl Fn() -> String,
) -> Result<&'a T, ImportError> {
    column.get(row).ok_or_else(|| {
        let expected = format!("an index below {}", column.len());
        ImportError::malformed(format, Position::Item(place()), format!("the index {row}"), expected)
    })
}

/// Nanoseconds of CPU for one unit of `threadCPUDelta`; `None` where it is cycles.
fn cpu_scale(unit: Option<&str>) -> Option<f64> {
    match unit {
        Some("ns") => Some(1.0),
        Some("µs" | "μs" | "us") => Some(1e3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read_text, self_total};

    const THREAD: &str = r#"{"name":"T","samples":{"schema":{"stack":0,"time":1},"data":[[0,1],[0,2]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},"frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["f"]}"#;

    #[test]
    fn a_process_among_the_threads_is_a_process() {
        let process = format!(r#"{{"meta":{{}},"threads":[{THREAD}]}}"#);
        let quoted = serde_json::to_string(&process).unwrap();
        for inner in [process, quoted] {
            let text = format!(r#"{{"meta":{{"interval":1}},"threads":[{THREAD},{inner}]}}"#);
            let profile = read_text(&text).unwrap();
            assert_eq!((profile.provenance.format.as_str(), profile.threads.len()), ("gecko", 2));
            assert_eq!(self_total(&profile, 0, "f"), (4.0, 4.0));
        }
        let text = format!(r#"{{"meta":{{}},"threads":[{THREAD},"{{\"threads\":[7]}}"]}}"#);
        let error = read_text(&text).unwrap_err().to_string();
        assert!(error.contains("threads[1].threads[0]"), "{error}");
    }

    // The first processed profiles: columns, and a schema only inside of what the JIT said of a frame.
    #[test]
    fn a_processed_profile_without_a_version_is_not_a_raw_one() {
        let thread = r#"{"name":"T","samples":{"length":2,"stack":[0,1],"time":[1,2]},"stackTable":{"length":2,"prefix":[null,0],"frame":[0,1]},"frameTable":{"length":2,"func":[0,1],"address":[-1,-1],"line":[null,null],"optimizations":[null,{"types":{"schema":{"site":0},"data":[]}}]},"funcTable":{"length":2,"name":[0,1],"resource":[-1,-1]},"stringArray":["(root)","f"]}"#;
        let quoted = serde_json::to_string(thread).unwrap();
        for thread in [thread, &quoted] {
            let profile =
                read_text(&format!(r#"{{"meta":{{"interval":1,"version":3}},"threads":[{thread}]}}"#)).unwrap();
            assert_eq!(profile.provenance.format, "firefox-processed");
            assert_eq!(self_total(&profile, 0, "f"), (1.0, 1.0));
            assert_eq!(self_total(&profile, 0, "(root)"), (1.0, 2.0));
        }
    }
}
