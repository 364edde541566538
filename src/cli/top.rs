//! `primitives top`: self and total of the functions, modules or lines of any profile.

use std::io::Write;
use std::path::PathBuf;

use super::Outcome;
use super::input::{read_profile, weight_named};
use crate::profile::GroupBy;
use crate::report::top;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The profile, of any format; - reads standard input
    profile: PathBuf,
    /// What to put together
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// The weight to use, by name; without it the file's default
    #[arg(long, value_name = "NAME")]
    weight: Option<String>,
    /// Rows to print; without it 30, or in JSON all
    #[arg(short = 'n', long)]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Read as this format, whatever the content looks like
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum By {
    Function,
    Module,
    Line,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let profile = read_profile(&args.profile, args.from.as_deref())?;
    let weight = weight_named(&profile, args.weight.as_deref())?;
    let group = match args.by {
        By::Function => GroupBy::Function,
        By::Module => GroupBy::Module,
        By::Line => GroupBy::Line,
    };
    let limit = args.limit.unwrap_or(if args.json { usize::MAX } else { 30 });
    let view = top::View { profile: &profile, weight, group, limit };
    let text = if args.json { top::json(&view) } else { top::text(&view) };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Outcome::Fine)
}
