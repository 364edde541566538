//! `primitives runtimes`: the same primitives on the JVM, in Node and in a browser, beside native.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::Outcome;
use crate::primitive::shared;
use crate::record::store;
use crate::report::columns::Form;
use crate::report::runtimes as report;
use crate::runner::rounds::{Fields, Rounds, Runtimes};
use crate::runner::table::side_by_side;
use crate::runner::{Plan, native};
use crate::workload::Suite;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Only rows with this in their name (several allowed)
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Runtimes beside native
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values = ["jvm", "node", "browser"], value_parser = ["jvm", "node", "browser"])]
    on: Vec<String>,
    /// Rounds; 6 are the fewest for an interval
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// One round, and half the time for each row
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
    /// Time for each row in each round, after its warm-up
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 200)]
    millis: u64,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Leave the pure-Java field variants out
    #[arg(long)]
    no_fields: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown tables
    #[arg(long)]
    markdown: bool,
    /// Write every timing sample to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print the native lines of the protocol for these rows instead (what this program starts itself with)
    #[arg(long, hide = true, value_name = "ORDER_SEED")]
    as_native: Option<u64>,
    #[arg(long, hide = true, value_name = "ROW")]
    row: Vec<String>,
}

/// Of a row with sizes, this one: the three differ by what the size says.
const SIZE: u64 = 1024;

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    let row = Duration::from_millis(if args.quick { args.millis / 2 } else { args.millis });
    if let Some(order_seed) = args.as_native {
        let plan = Plan { names: args.row.clone(), seed: args.seed, row };
        native::emit(suite, &plan, order_seed, &mut std::io::stdout().lock())?;
        return Ok(Outcome::Fine);
    }
    let names = names(args, suite)?;
    let plan = Plan { names, seed: args.seed, row };
    let rounds = Rounds {
        plan: plan.clone(),
        rounds: if args.quick { 1 } else { args.rounds },
        fields: if args.no_fields { Fields::None } else { Fields::All },
        order_seed: u64::from(std::process::id()),
    };
    let native_arguments = |order_seed: u64| {
        let mut arguments: Vec<String> = vec!["runtimes".into(), "--as-native".into(), order_seed.to_string()];
        arguments.extend(["--seed".into(), plan.seed.to_string(), "--millis".into(), row.as_millis().to_string()]);
        arguments.extend(plan.names.iter().flat_map(|name| ["--row".to_owned(), name.clone()]));
        arguments
    };
    let mut runtimes = Runtimes::find(&args.on);
    let bar = super::progress::spinner();
    let record = runtimes.run(&rounds, &native_arguments, &mut |round, what| {
        bar.set_message(format!("round {} of {}: {what}", round + 1, rounds.rounds));
    });
    bar.finish_and_clear();
    let record = record.context("the native side")?;
    let table = side_by_side(&record, &runtimes.missing);
    if let Some(path) = &args.record {
        store::write(path, &record)?;
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&table)?)?;
    } else {
        let form = if args.markdown { Form::Markdown } else { Form::Plain };
        write!(out, "{}", report::text(&table, form))?;
    }
    Ok(Outcome::Fine)
}

fn names(args: &Args, suite: &Suite) -> anyhow::Result<Vec<String>> {
    let shared = suite.workloads.iter().filter(|workload| shared::arguments(&workload.name).is_some());
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|only| name.contains(only.as_str()));
    let usual = |size: Option<u64>| !args.only.is_empty() || size.is_none_or(|size| size == SIZE);
    let names: Vec<String> =
        shared.filter(|w| wanted(&w.name) && usual(w.parameter)).map(|workload| workload.name.clone()).collect();
    if names.is_empty() {
        bail!(
            "no row that other runtimes share has {} in its name; `primitives list` lists the rows",
            args.only.join(" or ")
        );
    }
    ensure!(args.millis >= 10, "--millis: found {}, expected 10 or more", args.millis);
    Ok(names)
}
