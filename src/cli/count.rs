//! `primitives count`: exact op counts of operations.

use std::io::Write;

use super::{Outcome, select};
use crate::harness::count::count;
use crate::report::counts;
use crate::workload::Suite;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Operations: `create_group/8`, or `create_group` for every listed N
    #[arg(required = true)]
    operations: Vec<String>,
    /// Iterations to count, each on its own input
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    iterations: u64,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    let operations = select::operations(suite, &args.operations)?;
    let counted: Vec<_> = operations.iter().map(|operation| count(operation, args.seed, args.iterations)).collect();
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&counts::to_json(&counted))?)?;
    } else {
        write!(out, "{}", counts::table(&counted))?;
    }
    Ok(super::failed_rows(&counted))
}
