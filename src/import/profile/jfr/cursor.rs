//! Reads the primitive encodings of a JFR chunk, and never past its end.

use std::borrow::Cow;

use super::NAME;
use crate::import::error::{ImportError, Position};

/// A position in the bytes of one chunk.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Offset in the chunk.
    pub at: usize,
    /// Offset of the chunk in the file, for errors.
    base: u64,
}

/// A string as encoded: none, itself, or a reference into the pool of strings.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Text<'a> {
    None,
    Here(Cow<'a, str>),
    Pooled(u64),
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], base: u64) -> Self {
        Cursor { bytes, at: 0, base }
    }

    /// The same bytes from another offset, up to `end`.
    pub fn window(&self, at: usize, end: usize) -> Self {
        Cursor { bytes: &self.bytes[..end.min(self.bytes.len())], at, base: self.base }
    }

    pub fn fail<T>(&self, found: impl Into<String>, expected: impl Into<String>) -> Result<T, ImportError> {
        Err(ImportError::malformed(NAME, Position::Byte(self.base + self.at as u64), found, expected))
    }

    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], ImportError> {
        match self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += length;
                Ok(bytes)
            }
            None => self.fail(format!("{} bytes to the end", self.left()), format!("{length} bytes more")),
        }
    }

    pub fn byte(&mut self) -> Result<u8, ImportError> {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                Ok(*byte)
            }
            None => self.fail("the end", "one byte more"),
        }
    }

    /// LEB128, except that a ninth byte holds eight bits.
    pub fn varint(&mut self) -> Result<u64, ImportError> {
        let mut value = 0u64;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Ok(value | u64::from(self.byte()?) << 56)
    }

    /// A count of things that take at least one byte each.
    pub fn count(&mut self) -> Result<usize, ImportError> {
        let count = self.varint()?;
        match usize::try_from(count).ok().filter(|count| *count <= self.left()) {
            Some(count) => Ok(count),
            None => self.fail(format!("a count of {count}"), format!("at most {}, the bytes left", self.left())),
        }
    }

    pub fn text(&mut self) -> Result<Text<'a>, ImportError> {
        match self.byte()? {
            0 => Ok(Text::None),
            1 => Ok(Text::Here(Cow::Borrowed(""))),
            2 => Ok(Text::Pooled(self.varint()?)),
            3 => {
                let length = self.count()?;
                Ok(Text::Here(String::from_utf8_lossy(self.take(length)?)))
            }
            4 => {
                let length = self.count()?;
                let mut units = Vec::with_capacity(length);
                for _ in 0..length {
                    units.push(self.varint()? as u16);
                }
                Ok(Text::Here(Cow::Owned(String::from_utf16_lossy(&units))))
            }
            5 => {
                let length = self.count()?;
                let latin1: String = self.take(length)?.iter().map(|byte| char::from(*byte)).collect();
                Ok(Text::Here(Cow::Owned(latin1)))
            }
            other => {
                self.at -= 1;
                self.fail(format!("the string encoding {other}"), "0 to 5")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // grafana/pyroscope-java#166: indices beyond 2^31 overflowed.
    #[test]
    fn numbers_have_64_bits() {
        let read = |bytes: &[u8]| Cursor::new(bytes, 0).varint().unwrap();
        assert_eq!(read(&[0x7f]), 127);
        assert_eq!(read(&[0x80, 0x01]), 128);
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x7f]), (1 << 35) - 1);
        assert_eq!(read(&[0xff; 9]), u64::MAX);
    }

    // grafana/jfr-parser#20: string encodings beyond UTF-8.
    #[test]
    fn every_string_encoding_is_read() {
        fn read(bytes: &[u8]) -> Text<'_> {
            Cursor::new(bytes, 0).text().unwrap()
        }
        let here = |text: &'static str| Text::Here(Cow::Borrowed(text));
        assert_eq!(read(&[0]), Text::None);
        assert_eq!(read(&[1]), here(""));
        assert_eq!(read(&[2, 0x80, 0x01]), Text::Pooled(128));
        assert_eq!(read(&[3, 2, b'h', b'i']), here("hi"));
        assert_eq!(read(&[4, 2, b'h', 0xe9, 0x01]), here("hé"));
        assert_eq!(read(&[5, 1, 0xe9]), here("é"));
        assert!(Cursor::new(&[6], 0).text().is_err() && Cursor::new(&[3, 200, 1, b'a'], 0).text().is_err());
    }
}
