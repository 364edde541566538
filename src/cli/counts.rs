//! `primitives counts`: a counts file to start from, or a check of one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::input::read_profile;
use super::{Outcome, results, terminal};
use crate::import::counts::{self, Case};
use crate::report::explanation::{self, Small};

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").args(["template", "check"]).required(true))]
pub(super) struct Args {
    /// Write a commented counts file from this profile's heaviest frames
    #[arg(long, value_name = "PROFILE")]
    template: Option<PathBuf>,
    /// Read this counts file and print what it says, with what to distrust
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Benchmark results that hold its unit costs
    #[arg(long, value_name = "RESULTS", requires = "check")]
    costs: Vec<PathBuf>,
    /// Print JSON
    #[arg(long, requires = "check")]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = std::io::stdout().lock();
    if let Some(path) = &args.template {
        write!(out, "{}", counts::template(&read_profile(path, None)?))?;
    }
    if let Some(path) = &args.check {
        let cases = load(path, &args.costs)?;
        let explanations: Vec<_> = cases.iter().map(|case| &case.explanation).collect();
        if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&explanations)?)?;
        } else {
            let texts: Vec<String> = explanations.iter().map(|one| explanation::text(one, Small::Listed)).collect();
            terminal::print(&texts.join("\n"))?;
        }
    }
    Ok(Outcome::Fine)
}

/// Reads a counts file with the results that hold its unit costs.
pub(super) fn load(path: &Path, costs: &[PathBuf]) -> anyhow::Result<Vec<Case>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let costs = costs.iter().map(|path| results::load(path)).collect::<anyhow::Result<Vec<_>>>()?;
    counts::read(&text).and_then(|file| counts::cases(&file, &costs)).with_context(|| path.display().to_string())
}
