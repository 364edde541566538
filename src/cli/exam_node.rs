//! `primitives exam --runtime node`: V8's own sampler on workloads of known shares.

use std::io::Write;
use std::path::Path;

use super::Outcome;
use super::output::write_file;
use crate::report::columns::Form;
use crate::report::node_exam as report;
use crate::runner::node_exam;

/// How long each case runs, in milliseconds.
const MILLIS: u32 = 2000;

/// Runs the cases and prints them; as JSON into a file where one is named.
pub(super) fn run(json: Option<&Path>) -> anyhow::Result<Outcome> {
    let exam = node_exam::run(MILLIS)?;
    if let Some(path) = json {
        let mut text = serde_json::to_vec_pretty(&exam)?;
        text.push(b'\n');
        write_file(path, &text)?;
    }
    write!(std::io::stdout(), "{}", report::text(&exam, Form::Plain))?;
    Ok(Outcome::Fine)
}
