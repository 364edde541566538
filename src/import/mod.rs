//! Readers and writers of other tools' files. Content decides what a file is, never its name.
//!
//! An [`Input`] unpacks and decodes; [`profile`] reads sampled profiles. Nothing here opens a file: pass
//! any reader. Units and stack order are normalised here and nowhere else.

pub mod counts;
pub mod error;
pub mod export;
pub mod input;
pub mod profile;
pub mod result;

pub use error::{ImportError, Position};
pub use input::{Input, Limits, Lines};

/// Whether a reader takes an input for its own, judged by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detection {
    /// Certainly not.
    No,
    /// It could be, if nobody is sure.
    NotSure,
    /// It is, though it may be broken.
    Yes,
}
