//! `primitives history`: one row's figure through the records of a folder, with its shifts marked.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};

use super::records::{self, day};
use super::terminal::{self, Tone, toned};
use super::{Outcome, select};
use crate::record::history::{self, Series};
use crate::stats::changepoint::Settings;
use crate::unit::{Nanos, counted, three_digits};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The row's name, as `time` prints it
    row: String,
    /// Where the records are: a folder, searched with its subfolders
    #[arg(long, value_name = "FOLDER", default_value = records::FOLDER)]
    records: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Plot with ASCII characters only
    #[arg(long)]
    ascii: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let records = records::read_folder(&args.records)
        .context("expected a folder of records that `time --record` wrote; --records names one")?;
    let series = history::of(&records, &args.row, &Settings::default());
    if series.is_empty() {
        let mut names: Vec<&str> = records.iter().flat_map(|(_, r)| &r.rows).map(|row| row.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let nearest = select::nearest(&args.row, names);
        bail!("no record in {} has the row {:?}; {nearest}", args.records.display(), args.row);
    }
    if args.json {
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&series)?))?;
        return Ok(Outcome::Fine);
    }
    let steps = if args.ascii { ASCII } else { BLOCKS };
    let mut text = String::new();
    for one in &series {
        text.push_str(&headline(&args.row, one));
        writeln!(text, "{}\n", plot(one, steps))?;
        text.push_str(&table(one));
        text.push('\n');
    }
    text.push_str("A change is a shift of level: Pettitt's statistic, p by permutation, 0.01 or less.\n");
    terminal::print(&text)?;
    Ok(Outcome::Fine)
}

const BLOCKS: &[char] = &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: &[char] = &['_', '.', '-', '=', '+', '*', '#', '@'];

fn headline(row: &str, series: &Series) -> String {
    let changes = series.points.iter().filter(|point| point.change.is_some()).count();
    let told = match changes {
        0 => "no change of level".to_owned(),
        some => counted(some, "change of level", "changes of level"),
    };
    let first = format!("{row}: {}, {told}.", counted(series.points.len(), "record", "records"));
    let parts = [series.runtime.as_str(), &series.implementation, series.variant.word(), &series.machine];
    let second = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    format!("{}\n{}\n", toned(Tone::Bold, &terminal::plain(&first)), terminal::plain(&second))
}

/// One character a record, from the least to the largest figure, oldest first.
fn plot(series: &Series, steps: &[char]) -> String {
    let values: Vec<f64> = series.points.iter().map(|point| point.p50_ns.point).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let step = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        steps[((share * (steps.len() - 1) as f64).round() as usize).min(steps.len() - 1)]
    };
    let line: String = values.into_iter().map(step).collect();
    format!("{line}  {} to {}", Nanos(low), Nanos(high))
}

fn table(series: &Series) -> String {
    let rows = series
        .points
        .iter()
        .map(|point| {
            let interval = match point.p50_ns.low.zip(point.p50_ns.high) {
                Some((low, high)) => format!("{} to {}", Nanos(low), Nanos(high)),
                None => "—".to_owned(),
            };
            let change = point.change.map_or_else(String::new, |change| {
                let percent = (change.ratio - 1.0) * 100.0;
                let sign = if percent > 0.0 { "+" } else { "" };
                format!("level {sign}{} %, p {:.4}", three_digits(percent), change.p)
            });
            let commit = point.commit.as_deref().unwrap_or("—").chars().take(12).collect();
            vec![day(point.started_at), commit, Nanos(point.p50_ns.point).to_string(), interval, change]
        })
        .collect::<Vec<_>>();
    terminal::table(&["date", "commit", "p50", "95 % interval", "change"], &rows)
}
