//! The lengths and counts of `perf.data`, checked before the parser trusts them: it allocates whatever they ask for, and takes
//! a part of a record for the end.

use super::NAME;
use crate::import::error::{ImportError, Position};

/// How the records lie in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// In the data section of a file.
    File,
    /// Behind a short header, as perf writes to a pipe.
    Pipe,
}

/// The header of a pipe is 16 bytes long, and says so.
const PIPE_HEADER: u64 = 16;

/// Kinds of record of `tools/lib/perf/include/perf/event.h`: more data follows the first two than their size says, and the third
/// holds a feature's section in a pipe.
const TRACING_DATA: u64 = 66;
const AUXTRACE: u64 = 71;
const HEADER_FEATURE: u64 = 80;

/// The kind of record that describes an event in a pipe.
const HEADER_ATTRIBUTE: u64 = 64;

/// Where `read_format` lies in `perf_event_attr`, and its bit for lost counts.
const READ_FORMAT: usize = 32;
const PERF_FORMAT_LOST: u64 = 1 << 4;

/// Features of `tools/perf/util/header.h` that are read and hold counts or lengths of their own.
const VERSION: u64 = 5;
const COMMAND_LINE: u64 = 11;
const EVENT_DESCRIPTIONS: u64 = 12;

/// Checks every length that the parser will allocate by.
pub(super) fn check(bytes: &[u8]) -> Result<Shape, ImportError> {
    let words = Words { bytes, big: bytes.starts_with(b"2ELIFREP") };
    if words.number(8, 8) == Some(PIPE_HEADER) {
        words.records(PIPE_HEADER as usize, bytes.len())?;
        return Ok(Shape::Pipe);
    }
    words.sections()?;
    Ok(Shape::File)
}

/// Which of the recorded events put lost counts among their counter values (`PERF_FORMAT_LOST`), in the file's order.
pub(super) fn lost_counts(bytes: &[u8], shape: Shape) -> Vec<bool> {
    let words = Words { bytes, big: bytes.starts_with(b"2ELIFREP") };
    let attributes: Vec<usize> = match shape {
        Shape::File => {
            let size = words.number(16, 8).and_then(|size| usize::try_from(size).ok()).unwrap_or(0).max(8);
            words.section(24, "attributes").map_or(Vec::new(), |section| section.step_by(size).collect())
        }
        Shape::Pipe => words.attributes_of_pipe(),
    };
    let lost = |at: usize| at.checked_add(READ_FORMAT).and_then(|at| words.number(at, 8)).is_some_and(has_lost);
    attributes.into_iter().map(lost).collect()
}

fn has_lost(read_format: u64) -> bool {
    read_format & PERF_FORMAT_LOST != 0
}

fn fail<T>(at: usize, found: String, expected: impl Into<String>) -> Result<T, ImportError> {
    Err(ImportError::malformed(NAME, Position::Byte(at as u64), found, expected))
}

struct Words<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl Words<'_> {
    fn number(&self, at: usize, width: usize) -> Option<u64> {
        let digits = self.bytes.get(at..at.checked_add(width)?)?.iter();
        let step = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if self.big { digits.fold(0, step) } else { digits.rev().fold(0, step) })
    }

    /// The part of the input that an offset and a size at this place speak of.
    fn section(&self, at: usize, what: &str) -> Result<std::ops::Range<usize>, ImportError> {
        let (Some(offset), Some(size)) = (self.number(at, 8), self.number(at + 8, 8)) else {
            return fail(at, format!("{} bytes (truncated)", self.bytes.len()), format!("where the {what} lie"));
        };
        match offset.checked_add(size).filter(|end| *end <= self.bytes.len() as u64) {
            Some(end) => Ok(offset as usize..end as usize),
            None => {
                let found = format!("{} bytes to the end of the file (truncated)", self.bytes.len());
                fail(at, found, format!("{what} of {size} bytes at byte {offset}"))
            }
        }
    }

    fn sections(&self) -> Result<(), ImportError> {
        // Magic, size, attribute size, three sections, then a bit for each feature.
        if self.bytes.len() < 104 {
            return fail(0, format!("{} bytes (truncated)", self.bytes.len()), "a header of 104 bytes");
        }
        self.section(24, "attributes")?;
        let data = self.section(40, "data")?;
        self.section(56, "event types")?;
        if data.is_empty() {
            let found = "a data section of 0 bytes: perf was killed before it finished the file".to_owned();
            return fail(40, found, "recorded data");
        }
        let features = (0..256u64).filter(|bit| {
            let word = self.number(72 + (bit / 64) as usize * 8, 8);
            word.is_some_and(|word| word >> (bit % 64) & 1 == 1)
        });
        for (index, feature) in features.enumerate() {
            let section = self.section(data.end + index * 16, &format!("contents of feature {feature}"))?;
            self.feature(feature, section)?;
        }
        self.followers(data.start, data.end)
    }

    /// In a file the parser itself refuses a record cut in two; what follows a record is allocated first.
    fn followers(&self, mut at: usize, end: usize) -> Result<(), ImportError> {
        while let (Some(kind), Some(size)) = (self.number(at, 4), self.number(at + 6, 2)) {
            let more = if kind == AUXTRACE { self.number(at + 8, 8).unwrap_or(u64::MAX) } else { 0 };
            if more > (end - at) as u64 {
                return fail(
                    at,
                    format!("{} bytes to the end of the data", end - at),
                    format!("a trace of {more} bytes"),
                );
            }
            at += size as usize + more as usize;
            if kind == TRACING_DATA || size < 8 || at >= end {
                break;
            }
        }
        Ok(())
    }

    fn records(&self, mut at: usize, end: usize) -> Result<(), ImportError> {
        while at < end {
            let found = format!("{} bytes to the end of the stream (truncated)", end - at);
            let (Some(kind), Some(size)) = (self.number(at, 4), self.number(at + 6, 2)) else {
                return fail(at, found, "a record's header of 8 bytes");
            };
            let follows = match kind {
                AUXTRACE => self.number(at + 8, 8),
                // Its padding differs by version of perf: what is behind it is left to the parser.
                TRACING_DATA => return Ok(()),
                _ => Some(0),
            };
            let next = follows.and_then(|more| more.checked_add(size)).and_then(|size| size.checked_add(at as u64));
            match next.and_then(|next| usize::try_from(next).ok()) {
                Some(next) if next <= end && size >= 8 => {
                    if kind == HEADER_FEATURE
                        && let Some(feature) = self.number(at + 8, 8)
                        && at + 16 <= next
                    {
                        // The parser takes the lower half of it.
                        self.feature(feature & u64::from(u32::MAX), at + 16..next)?;
                    }
                    at = next;
                }
                _ => return fail(at, found, format!("a record of {size} bytes")),
            }
        }
        Ok(())
    }

    /// Where the descriptions of events begin in a pipe, whose lengths were checked.
    fn attributes_of_pipe(&self) -> Vec<usize> {
        let mut attributes = Vec::new();
        let mut at = PIPE_HEADER as usize;
        while let (Some(kind), Some(size @ 8..)) = (self.number(at, 4), self.number(at + 6, 2)) {
            match kind {
                HEADER_ATTRIBUTE => attributes.push(at + 8),
                TRACING_DATA => break,
                _ => {}
            }
            let more = if kind == AUXTRACE { self.number(at + 8, 8).unwrap_or(0) } else { 0 };
            let next = more.checked_add(size).and_then(|size| size.checked_add(at as u64));
            match next.and_then(|next| usize::try_from(next).ok()) {
                Some(next) => at = next,
                None => break,
            }
        }
        attributes
    }

    /// Walks the lengths in a feature's section.
    fn feature(&self, feature: u64, section: std::ops::Range<usize>) -> Result<(), ImportError> {
        let size = section.len();
        let within = Words { bytes: &self.bytes[section.clone()], big: self.big };
        let fits = match feature {
            VERSION => within.walk(0, 1, |words, at| words.number(at, 4)?.checked_add(4)),
            COMMAND_LINE => match within.number(0, 4) {
                Some(count) => within.walk(4, count, |words, at| words.number(at, 4)?.checked_add(4)),
                None => false,
            },
            EVENT_DESCRIPTIONS => match (within.number(0, 4), within.number(4, 4)) {
                (Some(count), Some(attribute)) => within.walk(8, count, |words, at| {
                    let lengths = at.checked_add(attribute as usize)?;
                    let (ids, name) = (words.number(lengths, 4)?, words.number(lengths + 4, 4)?);
                    attribute.checked_add(8 + name)?.checked_add(ids.checked_mul(8)?)
                }),
                _ => false,
            },
            _ => true,
        };
        match fits {
            true => Ok(()),
            false => {
                let found = format!("counts or lengths that exceed its {size} bytes");
                fail(section.start, found, format!("the contents of feature {feature}"))
            }
        }
    }

    /// Whether `count` entries from `at` on, each as long as `length` says, lie within.
    fn walk(&self, mut at: usize, count: u64, length: impl Fn(&Self, usize) -> Option<u64>) -> bool {
        for _ in 0..count {
            let end = length(self, at).and_then(|size| at.checked_add(usize::try_from(size).ok()?));
            match end.filter(|end| *end <= self.bytes.len() && *end > at) {
                Some(end) => at = end,
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one record of 8 bytes and one feature with this section.
    fn file(feature: u64, section: &[u8]) -> Vec<u8> {
        let mut bytes = b"PERFILE2".to_vec();
        let words = [104, 136, 104, 0, 104, 8, 0, 0, 1 << feature, 0, 0, 0];
        bytes.extend(words.iter().flat_map(|word: &u64| word.to_le_bytes()));
        bytes.extend([68, 0, 0, 0, 0, 0, 8, 0]);
        bytes.extend([128u64, section.len() as u64].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(section);
        bytes
    }

    // Found by the fuzz target: 671 GB were asked for.
    #[test]
    fn counts_cannot_ask_for_memory() {
        let huge = u32::MAX.to_le_bytes();
        for (feature, section) in [
            (EVENT_DESCRIPTIONS, [huge, 136u32.to_le_bytes()].concat()),
            (COMMAND_LINE, huge.to_vec()),
            (VERSION, huge.to_vec()),
        ] {
            let error = check(&file(feature, &section)).unwrap_err().to_string();
            assert!(error.contains("exceed"), "{feature}: {error}");
        }
        assert_eq!(check(&file(COMMAND_LINE, &[1, 0, 0, 0, 2, 0, 0, 0, b'a', 0])).unwrap(), Shape::File);
        assert_eq!(check(&file(13, &huge)).unwrap(), Shape::File);
        let mut long = file(13, &[]);
        long[120..128].fill(0x4e);
        assert!(check(&long).unwrap_err().to_string().contains("truncated"));
        let pipe = |record: &[u8]| [b"PERFILE2".as_slice(), &PIPE_HEADER.to_le_bytes(), record].concat();
        let feature = [80, 0, 0, 0, 0, 0, 24, 0, 12, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 136, 0, 0, 0];
        assert!(check(&pipe(&feature)).unwrap_err().to_string().contains("exceed"));
        let mut wide = feature;
        wide[15] = 0x20;
        assert!(check(&pipe(&wide)).unwrap_err().to_string().contains("exceed"));
        let trace = [71, 0, 0, 0, 0, 0, 48, 0, 255, 255, 255, 255, 255, 0, 0, 0];
        let mut traced = file(13, &[]);
        traced[104..112].copy_from_slice(&trace[..8]);
        assert!(check(&traced).unwrap_err().to_string().contains("a trace of"));
    }
}
