//! `primitives representations`: a field in several representations, products against times.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use super::{Outcome, progress};
use crate::harness::interleave::Plan;
use crate::operation::field25519::representations;
use crate::record::published;
use crate::report::columns::Form;
use crate::report::representations::{Wasm, text};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Thread CPU time for each representation, in seconds
    #[arg(long, default_value_t = 6.0, value_parser = super::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Times in wasm to show beside: a JSON object of nanoseconds by row, as scripts/representations/node.mjs prints
    #[arg(long, value_name = "FILE")]
    wasm: Option<PathBuf>,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let wasm = args.wasm.as_ref().map(read).transpose()?;
    let plan = Plan { seed: args.seed, budget: Duration::from_secs_f64(args.budget), ..Plan::default() };
    let bar = progress::bar("representations");
    let all = representations::all(&plan, &mut |done| bar.set(done));
    bar.finish();
    let form = if args.markdown { Form::Markdown } else { Form::Plain };
    write!(std::io::stdout().lock(), "{}", text(&all?, wasm.as_ref(), &published::all()?, form))?;
    Ok(Outcome::Fine)
}

fn read(path: &PathBuf) -> anyhow::Result<Wasm> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&bytes)
        .with_context(|| format!("{}: expected an object of nanoseconds by row name", path.display()))
}
