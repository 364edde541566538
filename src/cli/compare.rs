//! `primitives compare`: holds a new record against an old one.

use std::path::Path;

use anyhow::{bail, ensure};

use super::terminal::{self, Tone, toned};
use super::time::BaselineFolder;
use super::{Outcome, results};
use crate::import::result::OWN;
use crate::import::result::compare::{self as foreign, DifferentHarness};
use crate::record::compare::{self, Guard, Report, RowComparison, Settings, Verdict};
use crate::record::{Record, Variant, store};
use crate::report;
use crate::stats::Estimate;
use crate::unit::{Nanos, Share, three_digits};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The old record: a file, or the name of a saved baseline. Or another harness's results: a file, or criterion's folder
    old: String,
    /// The new record, or results of the same harness
    new: String,
    #[command(flatten)]
    folder: BaselineFolder,
    /// Changes within this many percent are not claimed
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5, allow_negative_numbers = true)]
    margin: f64,
    /// Exit with status 1 where a row is surely slower by more than this, or failed in the new record only
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    fail_on: Option<f64>,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print a Markdown table
    #[arg(long)]
    markdown: bool,
}

/// How a comparison is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Table,
    Json,
    Markdown,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    for (name, percent) in [("--margin", Some(args.margin)), ("--fail-on", args.fail_on)] {
        let valid = percent.is_none_or(|percent| percent.is_finite() && percent >= 0.0);
        ensure!(valid, "{name}: found {}, expected percent from 0", percent.unwrap_or_default());
    }
    let form = match (args.json, args.markdown) {
        (true, _) => Form::Json,
        (_, true) => Form::Markdown,
        _ => Form::Table,
    };
    let margin = Share(args.margin / 100.0);
    let sides = (results::foreign(&args.old)?, results::foreign(&args.new)?);
    if let (Some(old), Some(new)) = sides {
        let compared = foreign::compare(&old, &new, margin)?;
        terminal::print(&match form {
            Form::Json => format!("{}\n", serde_json::to_string_pretty(&compared)?),
            Form::Markdown => report::results::text(&compared, margin, report::columns::Form::Markdown),
            Form::Table => report::results::text(&compared, margin, report::columns::Form::Plain),
        })?;
        let worse = |percent: f64| !compared.worse_by_more_than(Share(percent / 100.0)).is_empty();
        return Ok(if args.fail_on.is_some_and(worse) { Outcome::Refuted } else { Outcome::Fine });
    }
    // One is a record of ours, if it is anything.
    if let Some(old) = sides.0 {
        load(&args.new, &args.folder)?;
        bail!(DifferentHarness { old: old.harness, new: OWN.to_owned() });
    }
    if let Some(new) = sides.1 {
        load(&args.old, &args.folder)?;
        bail!(DifferentHarness { old: OWN.to_owned(), new: new.harness });
    }
    let (old, new) = (load(&args.old, &args.folder)?, load(&args.new, &args.folder)?);
    let compared = compare::compare(&old, &new, Settings { margin: Share(args.margin / 100.0) });
    ensure!(
        !compared.rows.is_empty(),
        "neither {} nor {} has a measured row: there is nothing to compare",
        args.old,
        args.new
    );
    print(&compared, form)?;
    // A row that no longer runs did not get faster.
    let worse = |percent: f64| {
        !compared.slower_by_more_than(Share(percent / 100.0)).is_empty() || compared.failed().next().is_some()
    };
    Ok(if args.fail_on.is_some_and(worse) { Outcome::Refuted } else { Outcome::Fine })
}

/// A record from a file, or else a baseline of this name.
pub(super) fn load(name: &str, folder: &BaselineFolder) -> anyhow::Result<Record> {
    let is_path = Path::new(name).exists() || name.contains(['/', '\\']) || name.ends_with(".json");
    Ok(if is_path { store::read(Path::new(name))? } else { folder.open().load(name)? })
}

/// Compares with the default margin and prints.
pub(super) fn report(old: &Record, new: &Record, form: Form) -> anyhow::Result<()> {
    print(&compare::compare(old, new, Settings::default()), form)
}

fn print(report: &Report, form: Form) -> anyhow::Result<()> {
    terminal::print(&match form {
        Form::Json => format!("{}\n", serde_json::to_string_pretty(report)?),
        Form::Markdown => markdown(report),
        Form::Table => table(report),
    })
}

const HEADERS: [&str; 8] = ["row", "old", "new", "change", "95 %", "p (Holm)", "could see", "verdict"];

fn table(report: &Report) -> String {
    let mut text = String::new();
    for line in environment(report) {
        text.push_str(&toned(Tone::Bad, &terminal::plain(&line)));
        text.push('\n');
    }
    text.push_str(&format!("{}\n\n", toned(Tone::Bold, &headline(report))));
    text.push_str(&terminal::table(&HEADERS, &report.rows.iter().map(cells).collect::<Vec<_>>()));
    text.push('\n');
    for line in closing(report) {
        text.push_str(&terminal::plain(&line));
        text.push('\n');
    }
    text
}

fn markdown(report: &Report) -> String {
    let escape = |text: &str| terminal::plain(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;");
    let mut text = String::new();
    for line in environment(report) {
        text.push_str(&format!("**{}**\n\n", escape(&line)));
    }
    text.push_str(&format!(
        "{}\n\n| {} |\n|---{}|\n",
        escape(&headline(report)),
        HEADERS.join(" | "),
        "|---:".repeat(6) + "|---"
    ));
    for row in &report.rows {
        let cells: Vec<String> = cells(row).iter().map(|cell| escape(cell)).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text.push('\n');
    for line in closing(report) {
        text.push_str(&format!("{}\n", escape(&line)));
    }
    text
}

/// What differs between the machines and builds: said before any figure.
fn environment(report: &Report) -> Vec<String> {
    if report.environment.is_empty() {
        return Vec::new();
    }
    let list: Vec<String> = report.environment.iter().map(|d| format!("{}: {} → {}", d.what, d.old, d.new)).collect();
    vec![format!("Not the same machine or build. {}", list.join("; "))]
}

fn headline(report: &Report) -> String {
    let count = |verdict| report.rows.iter().filter(|row| row.verdict == verdict).count();
    let (slower, faster) = (count(Verdict::Slower), count(Verdict::Faster));
    let mean = report.geometric_mean.map_or(String::new(), |ratio| {
        let compared = report.rows.iter().filter(|row| row.ratio.is_some()).count();
        format!(" Geometric mean of {compared} rows: {} ({}).", percent(ratio.point), interval(Some(ratio)))
    });
    let withdrawn = count(Verdict::Withdrawn);
    let said = match withdrawn {
        0 => format!("{slower} slower, {faster} faster, {} unresolved.", count(Verdict::Unresolved)),
        _ => format!("{withdrawn} verdicts withdrawn: the A/A row changed although its code did not."),
    };
    format!("{said}{mean}")
}

fn cells(row: &RowComparison) -> Vec<String> {
    let name = match row.variant {
        Variant::Throughput => row.name.clone(),
        variant => format!("{} ({})", row.name, variant.word()),
    };
    let time = |ns: Option<f64>| ns.map_or("—".to_owned(), |ns| Nanos(ns).to_string());
    vec![
        name,
        time(row.old_ns),
        time(row.new_ns),
        row.ratio.map_or("—".to_owned(), |ratio| percent(ratio.point)),
        interval(row.ratio),
        row.adjusted_p.map_or("—".to_owned(), |p| if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }),
        row.smallest_visible.map_or("—".to_owned(), |share| format!("{} %", three_digits(share * 100.0))),
        row.verdict.word().to_owned(),
    ]
}

fn percent(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{} %", three_digits(change.abs()))
}

fn interval(ratio: Option<Estimate>) -> String {
    match ratio.and_then(|ratio| ratio.low.zip(ratio.high)) {
        Some((low, high)) => format!("{} to {}", percent(low), percent(high)),
        None => "—".to_owned(),
    }
}

fn closing(report: &Report) -> Vec<String> {
    let mut lines = vec![match &report.guard {
        Guard::Absent => "No A/A row on both sides: nothing vouches for the machine being the same.".to_owned(),
        Guard::Quiet(row) => format!("A/A row: {}; no change is claimed for unchanged code.", interval(row.ratio)),
        Guard::Fired(row) => {
            format!("A/A row: {} for unchanged code. Measure both sides again, close together.", interval(row.ratio))
        }
    }];
    lines.extend(report.failed().map(|(row, error)| format!("Failed in the new record: {}: {error}", row.name)));
    for (rows, side) in [(&report.only_old, "old"), (&report.only_new, "new")] {
        if !rows.is_empty() {
            lines.push(format!("Only in the {side} record: {}.", rows.join(", ")));
        }
    }
    lines
}
