//! `primitives scaling`: how an operation grows with N, in words.

use std::time::Duration;

use anyhow::bail;

use super::{Outcome, progress, terminal};
use crate::harness::fresh::Launcher;
use crate::harness::run::AllocationPass;
use crate::harness::session::{self, Plan};
use crate::nearest;
use crate::record::Variant;
use crate::record::growth::growth;
use crate::report::growth::{json, text};
use crate::workload::{Family, Suite, Workload};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Families: `create_group`, `msm_g1`, `schnorr/batch_verify`
    #[arg(required = true, value_name = "OPERATION")]
    families: Vec<String>,
    /// Sizes to measure; at least three to name a law
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32,64")]
    sizes: Vec<u64>,
    /// Fresh processes; 6 or more give intervals
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    processes: u32,
    /// Wall time for each family, in seconds
    #[arg(long, default_value_t = 60.0, value_parser = super::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Seed of inputs and orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    let mut rows = Vec::new();
    for family in &args.families {
        rows.extend(members(suite, family, &args.sizes)?);
    }
    let plan = Plan {
        rows: rows.into_iter().map(|row| (row, Variant::Throughput)).collect(),
        processes: args.processes,
        budget: Duration::try_from_secs_f64(args.budget * args.families.len() as f64)?,
        seed: args.seed,
        allocation: AllocationPass::Run,
        launcher: Launcher::this_program()?,
    };
    let bar = progress::counted(plan.rows.len() as u64 * u64::from(plan.processes));
    let record = session::run(&plan, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.row.name.clone());
    })?;
    bar.finish_and_clear();
    let families = growth(&record);
    if args.json {
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&json(&families))?))?;
    } else {
        terminal::print(&text(&families))?;
    }
    let failed = families.iter().any(|family| !family.errors.is_empty());
    Ok(if failed { Outcome::Refuted } else { Outcome::Fine })
}

/// The members of a family at these sizes.
fn members(suite: &Suite, family: &str, sizes: &[u64]) -> anyhow::Result<Vec<Workload>> {
    // `msm_g1` for `groth16/msm_g1`, unless a family is called so itself.
    let short = |one: &&Family| one.name.rsplit_once('/').is_some_and(|(_, last)| last == family);
    let found = suite.families.iter().find(|one| one.name == family);
    match found.or_else(|| suite.families.iter().find(short)) {
        Some(family) => {
            if let Some(refusal) = sizes.iter().find_map(|size| family.refuses(*size)) {
                bail!(refusal);
            }
            Ok(sizes.iter().map(|size| family.member(*size)).collect())
        }
        None => {
            let names = suite.families.iter().map(|one| one.name.as_str());
            let known = format!(
                "there are {}",
                suite.families.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
            );
            let known =
                if suite.families.is_empty() { "the suite has none: see Suite::with_family".to_owned() } else { known };
            bail!("{family:?} is no family; {}", nearest::phrase(family, names, &known))
        }
    }
}
