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
    let shape = match memchr::memmem::find(head, b"\"preprocessedProfileVersion\"").is_some() {
        true => Shape::Processed,
        false => Shape::Raw,
    };
    if shape == wanted { Detection::Yes } else { Detection::No }
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
