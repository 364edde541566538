//! `primitives convert`: any profile into folded stacks, pprof, OpenTelemetry, speedscope or Firefox, with what is lost said.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::Outcome;
use super::input::{read_profile, weight_named};
use super::output::write_file;
use crate::import::export::{ExportOptions, Target, ThreadRoots, write};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The profile, of any format; - reads standard input
    input: PathBuf,
    /// The file to write; without it, or with -, standard output
    output: Option<PathBuf>,
    /// The same, as the other subcommands name it
    #[arg(short = 'o', long = "output", value_name = "FILE", conflicts_with = "output")]
    named_output: Option<PathBuf>,
    /// folded, pprof, otlp, speedscope or firefox-processed; without it, what the output's name says
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Read as this format, whatever the content looks like
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// The weight to write, by name, for formats that hold one
    #[arg(long, value_name = "NAME")]
    weight: Option<String>,
    /// Begin folded stacks with the thread
    #[arg(long)]
    threads: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let output = args.output.as_deref().or(args.named_output.as_deref()).filter(|path| *path != Path::new("-"));
    let target = target(args.to.as_deref(), output)?;
    let profile = read_profile(&args.input, args.from.as_deref())?;
    let weight = weight_named(&profile, args.weight.as_deref())?;
    let threads = if args.threads { ThreadRoots::Prefix } else { ThreadRoots::Merge };
    let written = write(&profile, target, &ExportOptions { weight: Some(weight), threads });
    match output {
        Some(path) => write_file(path, &written.bytes)?,
        None => std::io::stdout().lock().write_all(&written.bytes)?,
    }
    let mut err = std::io::stderr().lock();
    for note in &profile.notes {
        writeln!(err, "note: {} ({})", note.message, note.count)?;
    }
    for loss in &written.losses {
        writeln!(err, "lost: {} ({})", loss.message, loss.count)?;
    }
    Ok(Outcome::Fine)
}

fn target(name: Option<&str>, output: Option<&Path>) -> anyhow::Result<Target> {
    let known: Vec<_> = Target::ALL.iter().map(|target| target.name()).collect();
    if let Some(name) = name {
        return match Target::named(name) {
            Some(target) => Ok(target),
            None => bail!("cannot write the format {name:?}; known are {}", known.join(", ")),
        };
    }
    let from_name =
        output.and_then(|path| path.file_name()).and_then(|name| name.to_str()).and_then(Target::of_file_name);
    match from_name {
        Some(target) => Ok(target),
        None => bail!("which format? Name one with --to: {}", known.join(", ")),
    }
}
