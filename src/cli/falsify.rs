//! `primitives falsify`: take the function that a sampler blames, swap in its rewrite, and hold what the
//! profile promised against what op counts said and what was saved.

use std::io::Write;
use std::time::Duration;

use anyhow::bail;

use super::{Outcome, falsify_jvm};
use crate::crosscheck::attribute::Attribution;
use crate::crosscheck::explanation::{Explained, FramePattern};
use crate::crosscheck::falsify::{Falsified, Known, falsify};
use crate::crosscheck::share;
use crate::harness::falsify::{Measured, measure};
use crate::report::columns::{Form, table};
use crate::sampler::{self, Request, Sampler};
use crate::stats::Estimate;
use crate::unit::{Nanos, Share};
use crate::workload::{Rewrite, Suite};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Rewrites to put to the test, by name; all of the suite where none is named
    rewrites: Vec<String>,
    /// Sampler that blames
    #[arg(long, default_value_t = Sampler::Pprof)]
    sampler: Sampler,
    /// CPU time to sample, in seconds
    #[arg(long, default_value_t = 5.0, value_parser = super::seconds, allow_negative_numbers = true)]
    cpu_seconds: f64,
    /// CPU time to measure the saving, in seconds
    #[arg(long, default_value_t = 10.0, value_parser = super::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Seed of inputs and orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    other: falsify_jvm::Args,
}

#[derive(serde::Serialize)]
struct Row {
    rewrite: String,
    operation: String,
    sampler: String,
    sampled: Estimate,
    calls: f64,
    measured: Measured,
    numbers: Falsified,
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    if args.other.runtime == "jvm" {
        return falsify_jvm::run(&args.other);
    }
    let chosen: Vec<&Rewrite> = suite
        .rewrites
        .iter()
        .filter(|rewrite| args.rewrites.is_empty() || args.rewrites.contains(&rewrite.name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = suite.rewrites.iter().map(|rewrite| rewrite.name.as_str()).collect();
        bail!("no such rewrite; the suite has {}", names.join(", "));
    }
    let rows = chosen.into_iter().map(|rewrite| row(args, suite, rewrite)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut out = std::io::stdout().lock();
    if args.other.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(Outcome::Fine);
    }
    let form = if args.other.markdown { Form::Markdown } else { Form::Plain };
    let headers = [
        "rewrite",
        "operation",
        "time",
        "sampled",
        "profile promises",
        "with the rewrite's cost",
        "op counts say",
        "saved",
    ];
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    write!(out, "{}", table(form, &headers, &cells, 2))?;
    Ok(Outcome::Fine)
}

fn row(args: &Args, suite: &Suite, rewrite: &Rewrite) -> anyhow::Result<Row> {
    let Some(workload) = suite.resolve(&rewrite.operation) else {
        bail!("{}: the suite has no operation {}", rewrite.name, rewrite.operation);
    };
    let request = Request::new(args.sampler, Nanos(args.cpu_seconds * 1e9));
    let profile = sampler::record(&workload, args.seed, &request)?.profile;
    let blamed = Explained { frames: vec![FramePattern::Glob(rewrite.blamed.clone())], ..Explained::default() };
    let attribution = Attribution::new(&profile, profile.default_weight, &[blamed], &[])?;
    let sampled = share::shares(&profile, &attribution, args.seed)[0].estimate();
    let measured = measure(suite, rewrite, args.seed, Duration::from_secs_f64(args.budget))?;
    let numbers = falsify(&Known {
        sampled,
        calls: rewrite.calls,
        operation_ns: measured.before_ns,
        blamed_ns: measured.blamed_ns,
        rewrite_ns: measured.rewrite_ns,
        difference_ns: measured.difference_ns,
        saved_ns: measured.saved_ns,
    });
    Ok(Row {
        rewrite: rewrite.name.clone(),
        operation: rewrite.operation.clone(),
        sampler: args.sampler.to_string(),
        sampled,
        calls: rewrite.calls,
        measured,
        numbers,
    })
}

fn cells(row: &Row) -> Vec<String> {
    let time = |estimate: Estimate| {
        let half = estimate.half_width().map_or_else(String::new, |half| format!(" ±{}", Nanos(half)));
        format!("{}{half}", Nanos(estimate.point))
    };
    let half = row.sampled.half_width().map_or_else(String::new, |half| format!(" ±{:.1}", half * 100.0));
    vec![
        row.rewrite.clone(),
        row.operation.clone(),
        time(row.measured.before_ns),
        format!("{}{half} ({})", Share(row.sampled.point), row.sampler),
        time(row.numbers.promised_ns),
        time(row.numbers.profile_ns),
        time(row.numbers.counts_ns),
        time(row.numbers.saved_ns),
    ]
}
