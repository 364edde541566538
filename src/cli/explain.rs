//! `primitives explain`: an operation by its primitives, held against the clock.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use super::{Outcome, progress, select};
use crate::harness::explain::{Settings, explain};
use crate::harness::interleave::Plan;
use crate::operation::explain_below_boundaries;
use crate::record::store;
use crate::report::explanation::{Small, text, to_json};
use crate::workload::Suite;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Operations: `create_group/8`, or `create_group` for every listed N
    #[arg(required = true)]
    operations: Vec<String>,
    /// Thread CPU time for the rounds of each operation, in seconds
    #[arg(long, default_value_t = 30.0, value_parser = super::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Seed of inputs and orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Put primitives that cost less than 1 % of the operation into one line
    #[arg(long)]
    fold: bool,
    /// Take unit costs from this record instead of measuring them
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    let operations = select::operations(suite, &args.operations)?;
    let costs = args.costs.as_deref().map(store::read).transpose()?;
    let settings = Settings {
        seed: args.seed,
        budget: Duration::from_secs_f64(args.budget),
        costs,
        names: super::names_of_code(),
        ..Settings::default()
    };
    let plan = Plan { seed: args.seed, budget: settings.budget, ..Plan::default() };
    let small = if args.fold { Small::Folded } else { Small::Listed };
    let mut out = std::io::stdout().lock();
    let mut all = Vec::new();
    for operation in &operations {
        let bar = progress::bar(&operation.name);
        let below = explain_below_boundaries(&operation.name, &plan, &mut |done| bar.set(done));
        let levels = below.unwrap_or_else(|| {
            explain(suite, operation, &settings, &mut |done| bar.set(done)).map(|explanation| vec![explanation])
        });
        bar.finish();
        let levels = match levels {
            Ok(levels) => levels.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        for explained in levels {
            if !args.json {
                match &explained {
                    Ok(explanation) => write!(out, "{}", text(explanation, small))?,
                    Err(error) => writeln!(out, "{error}")?,
                }
            }
            all.push(explained);
        }
    }
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&to_json(&all))?)?;
    }
    Ok(super::failed_rows(&all))
}
