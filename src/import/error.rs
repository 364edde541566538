//! What can go wrong while reading somebody else's file, always with where, what was found and what was expected.

use std::fmt;

/// Where in the unpacked input something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// The input as a whole.
    Whole,
    /// Offset in bytes, from 0.
    Byte(u64),
    /// Line, from 1.
    Line(u64),
    /// Line and column, both from 1.
    LineColumn(u64, u64),
    /// A place inside a structured document: `threads[2].samples.stack[17]`.
    Item(String),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Whole => f.write_str("the whole input"),
            Position::Byte(offset) => write!(f, "byte {offset}"),
            Position::Line(line) => write!(f, "line {line}"),
            Position::LineColumn(line, column) => write!(f, "line {line}, column {column}"),
            Position::Item(path) => f.write_str(path),
        }
    }
}

/// Why an input could not be read. The file's name is added by whoever opened the file.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// None of the known formats: another kind of file.
    #[error("not recognised: found {found}; expected {expected}")]
    Unrecognised {
        /// The formats that would have been read.
        expected: String,
        /// What the input looks like.
        found: String,
    },
    /// A known format, broken.
    #[error("{format}, {position}: found {found}; expected {expected}")]
    Malformed {
        /// The format that the input is in, or claims to be in.
        format: &'static str,
        /// Where.
        position: Position,
        /// What is there.
        found: String,
        /// What should be there.
        expected: String,
    },
    /// Known and perhaps valid, but not read by this program.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// The format, version or feature.
        what: String,
        /// Why not, and what to do instead.
        why: String,
    },
    /// Readable, but with nothing in it to count.
    #[error("no samples: {why}")]
    NoSamples {
        /// What is there instead.
        why: String,
    },
    /// Larger than the limits allow, packed or not.
    #[error("too large: {what}, limit {limit}")]
    TooLarge {
        /// What grew too large.
        what: String,
        /// The limit with its unit.
        limit: String,
    },
    /// The input could not be read at all.
    #[error("cannot read")]
    Io(#[source] std::io::Error),
}

impl ImportError {
    /// A [`ImportError::Malformed`].
    pub fn malformed(
        format: &'static str,
        position: Position,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        ImportError::Malformed { format, position, found: found.into(), expected: expected.into() }
    }

    /// What serde_json says about a document of this format, with its line and column.
    pub fn json(format: &'static str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        let expected = match error.classify() {
            serde_json::error::Category::Eof => "the rest of the document (the file is truncated)",
            serde_json::error::Category::Data => "a value of the format's kind",
            _ => "valid JSON",
        };
        let position = Position::LineColumn(error.line() as u64, error.column() as u64);
        ImportError::malformed(format, position, excerpt(message.as_bytes()), expected)
    }
}

// Errors of the layers below a reader (unpacking, limits) travel through `io::Error`.
impl From<std::io::Error> for ImportError {
    fn from(error: std::io::Error) -> Self {
        match error.downcast::<ImportError>() {
            Ok(inner) => inner,
            Err(error) => ImportError::Io(error),
        }
    }
}

impl From<ImportError> for std::io::Error {
    fn from(error: ImportError) -> Self {
        std::io::Error::other(error)
    }
}

/// A quotation of hostile input for a message: at most 60 characters, control characters escaped.
pub fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]);
    let mut quoted: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().count() > 60 || bytes.len() > 400 {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_pass_through_io_unchanged() {
        let inner = ImportError::malformed("gzip", Position::Byte(7), "x", "y");
        let back = ImportError::from(std::io::Error::from(inner));
        assert_eq!(back.to_string(), "gzip, byte 7: found x; expected y");
    }

    #[test]
    fn quotations_are_short_and_harmless() {
        let quoted = excerpt(&[b"\x1b[31m".as_slice(), &[b'a'; 1000]].concat());
        assert!(quoted.starts_with("\\u{1b}[31m"));
        assert!(quoted.chars().count() < 80);
    }
}
