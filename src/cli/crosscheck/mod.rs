//! `primitives crosscheck`: an operation, what it is made of, and whether sampled profiles tell the truth
//! about it.
//!
//! Evidence is measured here, or read from files (`--explanation`, `--profile`); either way it is judged
//! and printed by the same path.

#[cfg(feature = "sampler")]
mod measured;
pub(super) mod stored;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::bail;
use clap::ValueEnum;

use super::Outcome;
use super::output::{expect_folder, expect_writable, write_file};
use crate::crosscheck::explanation::{Explanation, FramePattern};
use crate::crosscheck::judge::{Judged, Options, judge};
use crate::crosscheck::verdict::Verdict;
use crate::profile::Profile;
use crate::record::Environment;
use crate::report::crosscheck as report;
use crate::report::style::{Colour, Glyphs, Style};
use crate::warning::Warning;
use crate::workload::Suite;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The operation: `create_group/8`
    operation: Option<String>,
    /// Sampler to judge, several times for several; each that works here where none is named
    #[cfg(feature = "sampler")]
    #[arg(long, value_delimiter = ',')]
    sampler: Vec<crate::sampler::Sampler>,
    /// CPU time to sample with each sampler, in seconds
    #[cfg(feature = "sampler")]
    #[arg(long, default_value_t = 5.0, value_parser = super::seconds, allow_negative_numbers = true)]
    cpu_seconds: f64,
    /// Samples a second of CPU time to ask for
    #[cfg(feature = "sampler")]
    #[arg(long, default_value_t = 997, value_parser = super::hertz())]
    hz: u32,
    /// Thread CPU time for dose and replay, in seconds
    #[arg(long, default_value_t = 30.0, value_parser = super::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Judge this stored explanation (`primitives explain --json`) instead of measuring one
    #[arg(long, value_name = "FILE.json")]
    explanation: Option<PathBuf>,
    /// Judge what this counts file says of a program of one's own (docs/COUNTS.md); needs --profile
    #[arg(long, value_name = "FILE.toml", conflicts_with = "explanation", requires = "profile")]
    counts: Option<PathBuf>,
    /// Benchmark results that hold the counts file's unit costs, of any harness that is read; several times for several
    #[arg(long, value_name = "FILE", requires = "counts")]
    costs: Vec<PathBuf>,
    /// Judge this stored profile, of any format that is read, instead of sampling; several times for several
    #[arg(long, value_name = "FILE")]
    profile: Vec<PathBuf>,
    /// A sampled share may be off by this many points
    #[arg(long, default_value_t = 3.0, value_name = "POINTS", value_parser = points)]
    margin: f64,
    /// Name of the weight to judge, where a profile has several
    #[arg(long)]
    weight: Option<String>,
    /// Only stacks with a function that matches this glob belong to the operation; several times for several
    #[arg(long, value_name = "GLOB")]
    scope: Vec<String>,
    /// Seed of inputs, orders and resampling
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Exit with status 1 where a share has one of these verdicts
    #[arg(long, value_delimiter = ',', value_name = "VERDICTS")]
    fail_on: Vec<FailOn>,
    /// Print JSON (docs/schema/crosscheck.schema.json)
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
    /// Write the report as one self-contained page
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Write the explanation and the profiles that were judged into this folder, to judge them again
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Print ASCII alone
    #[arg(long)]
    ascii: bool,
    /// Print the JSON Schema of --json, and do nothing else
    #[arg(long)]
    schema: bool,
}

/// Profiles by sampler, and what to distrust about how they were taken.
type Sampled = (Vec<(String, Profile)>, Vec<Warning>);

/// What fails the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Over,
    Under,
    Blind,
    Unresolved,
}

/// What is judged, wherever it comes from.
struct Evidence {
    explanation: Explanation,
    profiles: Vec<(String, Profile)>,
    options: Options,
    /// What to distrust about how the profiles were taken.
    warnings: Vec<Warning>,
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    if args.schema {
        writeln!(std::io::stdout(), "{}", crate::crosscheck::report::SCHEMA.trim_end())?;
        return Ok(Outcome::Fine);
    }
    if let Some(path) = &args.html {
        expect_writable(path)?;
    }
    if let Some(folder) = &args.keep {
        expect_folder(folder)?;
    }
    let evidence = gather(args, suite)?;
    if let Some(folder) = &args.keep {
        stored::keep(folder, &evidence)?;
    }
    let profiles: Vec<(String, &Profile)> =
        evidence.profiles.iter().map(|(name, profile)| (name.clone(), profile)).collect();
    let mut judged = judge(&evidence.explanation, &profiles, &evidence.options)?;
    judged.report.warnings.extend(evidence.warnings.iter().cloned());
    if let Some(path) = &args.html {
        write_file(path, page(&evidence, &judged).as_bytes())?;
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &judged.report)?;
        writeln!(out)?;
    } else if args.markdown {
        write!(out, "{}", report::markdown(&judged.report))?;
    } else {
        write!(out, "{}", report::text(&judged.report, &style(args)))?;
        if let Some(path) = &args.html {
            writeln!(out, "Report with the flamegraph: {}", path.display())?;
        }
    }
    Ok(outcome(args, &judged))
}

fn gather(args: &Args, suite: &Suite) -> anyhow::Result<Evidence> {
    let mut scope: Vec<FramePattern> = args.scope.iter().cloned().map(FramePattern::Glob).collect();
    let (explanation, environment) = match (&args.explanation, &args.counts) {
        (Some(path), _) => (stored::explanation(path, args.operation.as_deref())?, None),
        (None, Some(path)) => {
            let case = stored::counted(path, &args.costs, args.operation.as_deref())?;
            scope.extend(case.scope);
            (case.explanation, None)
        }
        (None, None) => {
            let Some(name) = &args.operation else {
                bail!(
                    "a profile is held against what an operation is made of: name an operation of this program \
                     (`primitives list`), a stored --explanation FILE.json, or --counts FILE.toml, which says it of a \
                     program of your own (docs/COUNTS.md)"
                );
            };
            let (explanation, environment) = explained(suite, name, args.seed, args.budget)?;
            (explanation, Some(environment))
        }
    };
    let (profiles, warnings) = if args.profile.is_empty() {
        sampled(args, suite, &explanation.operation)?
    } else {
        (stored::profiles(&args.profile)?, Vec::new())
    };
    let options = Options {
        margin: args.margin / 100.0,
        scope,
        weight: args.weight.clone(),
        seed: args.seed,
        environment,
        ..Options::default()
    };
    Ok(Evidence { explanation, profiles, options, warnings })
}

/// What an operation is made of, measured for `budget` seconds of CPU time.
pub(super) fn explained(
    suite: &Suite,
    name: &str,
    seed: u64,
    budget: f64,
) -> anyhow::Result<(Explanation, Environment)> {
    let mut operations = super::select::operations(suite, &[name.to_owned()])?;
    anyhow::ensure!(operations.len() == 1, "expected one operation; {name} names {}", operations.len());
    let operation = operations.remove(0);
    let settings = crate::harness::explain::Settings {
        seed,
        budget: std::time::Duration::from_secs_f64(budget),
        names: super::names_of_code(),
        ..crate::harness::explain::Settings::default()
    };
    let bar = super::progress::bar(&operation.name);
    let explained = crate::harness::explain::explain(suite, &operation, &settings, &mut |done| bar.set(done));
    bar.finish();
    Ok((explained?, crate::harness::environment::capture()))
}

#[cfg(feature = "sampler")]
fn sampled(args: &Args, suite: &Suite, operation: &str) -> anyhow::Result<Sampled> {
    measured::profiles(args, suite, operation)
}

#[cfg(not(feature = "sampler"))]
fn sampled(_: &Args, _: &Suite, _: &str) -> anyhow::Result<Sampled> {
    bail!("this build has no samplers (feature `sampler`); name a profile with --profile")
}

fn page(evidence: &Evidence, judged: &Judged) -> String {
    let flames: Vec<_> = evidence
        .profiles
        .iter()
        .zip(&judged.attributions)
        .enumerate()
        .map(|(sampler, ((_, profile), attribution))| {
            crate::crosscheck::flame::flame(profile, attribution, &evidence.explanation, &judged.report, sampler)
        })
        .collect();
    report::html(&judged.report, &flames)
}

fn outcome(args: &Args, judged: &Judged) -> Outcome {
    let fails = |verdict: Verdict| {
        args.fail_on.iter().any(|fail| match fail {
            FailOn::Over => verdict == Verdict::Over,
            FailOn::Under => verdict == Verdict::Under,
            FailOn::Blind => verdict == Verdict::Blind,
            FailOn::Unresolved => matches!(verdict, Verdict::Unresolved | Verdict::NoReference),
        })
    };
    let report = &judged.report;
    let mut verdicts = report.rows.iter().chain([&report.rest]).flat_map(|row| &row.readings);
    if verdicts.any(|reading| fails(reading.judgement.verdict)) { Outcome::Refuted } else { Outcome::Fine }
}

/// What standard output can show.
fn style(args: &Args) -> Style {
    let terminal = std::io::stdout().is_terminal();
    let unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let colourful = terminal && unset("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns >= 20);
    Style {
        width: columns.or_else(|| terminal.then(terminal_width).flatten()),
        colour: if colourful { Colour::Ansi } else { Colour::None },
        glyphs: if args.ascii { Glyphs::Ascii } else { Glyphs::Unicode },
    }
}

#[cfg(unix)]
fn terminal_width() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: `size` is a valid winsize for the call to write to.
    let status = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (status == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn terminal_width() -> Option<usize> {
    None
}

fn points(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(points) if points > 0.0 && points < 100.0 => Ok(points),
        _ => Err("expected a number of percentage points above 0 and below 100".to_owned()),
    }
}
