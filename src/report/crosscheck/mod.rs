//! A cross-check for people: on the terminal, as Markdown and as one HTML page. Every form is made from
//! the same [`Report`](crate::crosscheck::report::Report) and says the same.

mod html;
mod markdown;
mod text;
mod words;

pub use html::html;
pub use markdown::markdown;
pub use text::text;
