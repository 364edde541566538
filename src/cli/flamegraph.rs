//! `primitives flamegraph`: sample an operation and draw where its time goes, or draw the difference
//! between two profiles.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::crosscheck::{self, stored};
use super::input::{read_profile, weight_named};
use super::output::{expect_writable, write_file};
use super::{Outcome, select};
use crate::crosscheck::explanation::Explanation;
use crate::crosscheck::flame;
use crate::crosscheck::judge::{Options, judge};
use crate::import::export::{self, ExportOptions, Target};
use crate::profile::Profile;
use crate::report;
use crate::report::flamegraph::{self, Labels};
use crate::report::top::amount;
use crate::sampler::{self, Overhead, Recording, Request, Sampler};
use crate::unit::{Nanos, Share};
use crate::workload::Suite;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The primitive or operation to sample
    #[arg(required_unless_present_any = ["diff", "profile"], conflicts_with_all = ["diff", "profile"])]
    workload: Option<String>,
    /// Draw this profile, of any format, instead of sampling; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "diff")]
    profile: Option<PathBuf>,
    /// The weight of a profile to draw, by name; without it the file's default
    #[arg(long, value_name = "NAME")]
    weight: Option<String>,
    /// The SVG file to write; folded stacks and a pprof .pb.gz are written beside it
    #[arg(short, long, value_name = "FILE.svg")]
    output: Option<PathBuf>,
    /// CPU time to sample, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = super::seconds, allow_negative_numbers = true)]
    cpu_seconds: f64,
    /// own, pprof, pprof-blocklist, perf (which is perf-fp) or perf-dwarf; by default the first that runs here
    #[arg(long)]
    sampler: Option<Sampler>,
    /// Samples a second of CPU time to ask for
    #[arg(long, default_value_t = 997, value_parser = super::hertz())]
    hz: u32,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw pprof-rs's own report, in which all samples of a function stand under the first one's inline chain
    #[arg(long)]
    as_reported: bool,
    /// Draw the difference in shares between two profiles instead: red is more in the second
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    diff: Option<Vec<PathBuf>>,
    /// Draw what the profile should have shown, coloured by the sampler's error: red is too much, blue too little
    #[arg(long, conflicts_with = "diff")]
    honest: bool,
    /// With --honest: take what the operation is made of from here (`primitives explain --json`) instead of measuring it
    #[arg(long, value_name = "FILE.json", requires = "honest")]
    explanation: Option<PathBuf>,
    /// With --honest: thread CPU time for dose and replay, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = super::seconds, requires = "honest")]
    budget: f64,
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    if let Some([before, after]) = args.diff.as_deref() {
        return differential(args, before, after);
    }
    if let Some(path) = &args.profile {
        return if args.honest { honest_of_profile(args, path) } else { of_profile(args, path) };
    }
    let name = args.workload.as_deref().unwrap_or_default();
    let workload = select::one(suite, name)?;
    let sampler = args.sampler.unwrap_or_else(Sampler::preferred);
    let request = Request { sampler, hz: args.hz, cpu: Nanos(args.cpu_seconds * 1e9), overhead: Overhead::Measure };
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.svg", name.replace('/', "-"))));
    expect_writable(&path)?;
    let explanation = args.honest.then(|| explanation(args, suite, name)).transpose()?;
    let recording = sampler::record(&workload, args.seed, &request)?;
    let own = if args.as_reported { None } else { recording.by_own_address.as_ref() };
    let profile = own.unwrap_or(&recording.profile);
    let image = match &explanation {
        Some(explanation) => honest(explanation, profile, profile.default_weight, &sampler.to_string())?,
        None => {
            let title = format!("{name}, sampled by {sampler}");
            let labels = Labels { title, subtitle: Some(summary(&recording, &request)) };
            flamegraph::svg(profile, profile.default_weight, &labels)?
        }
    };
    write_file(&path, image.as_bytes())?;
    let (folded, pprof) = (path.with_extension("folded"), path.with_extension("pb.gz"));
    for (path, target) in [(&folded, Target::Folded), (&pprof, Target::Pprof)] {
        write_file(path, &export::write(profile, target, &ExportOptions::default()).bytes)?;
    }
    print(&[&path, &folded, &pprof], &recording, &request)?;
    explanation.iter().try_for_each(print_warnings)?;
    Ok(Outcome::Fine)
}

fn differential(args: &Args, before: &Path, after: &Path) -> anyhow::Result<Outcome> {
    let (first, second) = (read_profile(before, None)?, read_profile(after, None)?);
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from("difference.svg"));
    let labels = Labels {
        title: format!("{} against {}", after.display(), before.display()),
        subtitle: Some("red: a larger share than before; blue: a smaller one".to_owned()),
    };
    let name = args.weight.as_deref();
    let weights = (weight_named(&first, name)?, weight_named(&second, name)?);
    let image = flamegraph::differential((&first, weights.0), (&second, weights.1), &labels)?;
    write_file(&path, image.as_bytes())?;
    writeln!(std::io::stdout(), "{}", path.display())?;
    Ok(Outcome::Fine)
}

/// What the operation is made of, from a file or measured.
fn explanation(args: &Args, suite: &Suite, operation: &str) -> anyhow::Result<Explanation> {
    match &args.explanation {
        Some(path) => stored::explanation(path, Some(operation)),
        None => Ok(crosscheck::explained(suite, operation, args.seed, args.budget)?.0),
    }
}

fn honest(explanation: &Explanation, profile: &Profile, weight: usize, sampler: &str) -> anyhow::Result<String> {
    let weight = profile.weight_types.get(weight).map(|weight| weight.name.clone());
    let judged = judge(explanation, &[(sampler.to_owned(), profile)], &Options { weight, ..Options::default() })?;
    let corrected = flame::corrected(profile, &judged.attributions[0], explanation, &judged.report, 0);
    let labels = Labels {
        title: format!("{} as it is, and how {sampler} shows it", explanation.operation),
        subtitle: Some("widths: corrected shares; red: the sampler shows too much, blue: too little".to_owned()),
    };
    Ok(flamegraph::honest(&corrected, &labels)?)
}

fn honest_of_profile(args: &Args, path: &Path) -> anyhow::Result<Outcome> {
    let Some(file) = &args.explanation else {
        bail!("--honest with --profile needs --explanation FILE.json: what the operation of the profile is made of");
    };
    let explanation = stored::explanation(file, None)?;
    let profile = stored::profile(path)?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from("honest.svg"));
    let weight = weight_named(&profile, args.weight.as_deref())?;
    let image = honest(&explanation, &profile, weight, &stored::name(path))?;
    write_file(&output, image.as_bytes())?;
    writeln!(std::io::stdout(), "{}", output.display())?;
    print_warnings(&explanation)?;
    Ok(Outcome::Fine)
}

fn of_profile(args: &Args, path: &Path) -> anyhow::Result<Outcome> {
    let profile = read_profile(path, None)?;
    let weight = weight_named(&profile, args.weight.as_deref())?;
    let output = args.output.clone().unwrap_or_else(|| match path.file_name() {
        Some(name) if path != Path::new("-") => PathBuf::from(format!("{}.svg", name.to_string_lossy())),
        _ => PathBuf::from("profile.svg"),
    });
    let weight_type = &profile.weight_types[weight];
    let labels = Labels {
        title: path.display().to_string(),
        subtitle: Some(format!("{}, {}", weight_type.name, amount(profile.total(weight), &weight_type.unit))),
    };
    write_file(&output, flamegraph::svg(&profile, weight, &labels)?.as_bytes())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", output.display())?;
    for doubt in profile.doubts(weight) {
        write!(out, "{}", report::warning(&doubt))?;
    }
    Ok(Outcome::Fine)
}

fn summary(recording: &Recording, request: &Request) -> String {
    let delivered: u64 = recording.profile.samples.iter().filter_map(|sample| sample.count).sum();
    let rate = delivered as f64 / (recording.cpu_ns as f64 / 1e9);
    format!(
        "{delivered} samples in {} of CPU time: {rate:.0} a second, {} asked for",
        Nanos(recording.cpu_ns as f64),
        request.hz
    )
}

fn print(written: &[&Path], recording: &Recording, request: &Request) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for path in written {
        writeln!(out, "{}", path.display())?;
    }
    writeln!(out, "{}", summary(recording, request))?;
    writeln!(out, "{} executions in {} of wall time", recording.iterations, Nanos(recording.wall_ns as f64),)?;
    if let Some(overhead) = recording.overhead {
        let width = overhead.half_width().map_or(String::new(), |half| format!(" ± {:.1}", 100.0 * half));
        writeln!(out, "overhead of the sampler: {}{width}", Share(overhead.point))?;
    }
    for warning in &recording.warnings {
        write!(out, "{}", report::warning(warning))?;
    }
    Ok(())
}

/// What to distrust in what the picture was corrected by.
fn print_warnings(explanation: &Explanation) -> anyhow::Result<()> {
    let text: String = explanation.warnings.iter().map(report::warning).collect();
    super::terminal::print(&text)
}
