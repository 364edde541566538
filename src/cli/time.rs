//! `primitives time`: measures rows in fresh processes and prints what they cost. The default.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;

use super::output::expect_writable;
use super::rows::{self, Layout};
use super::{Outcome, compare, progress, select, terminal};
use crate::harness::fresh::Launcher;
use crate::harness::run::AllocationPass;
use crate::harness::session::{self, Band, Plan, Progress};
use crate::record::compare::AA_ROW;
use crate::record::store::{self, Baselines};
use crate::record::summary::FlatRow;
use crate::record::{Record, Variant};
use crate::workload::{Suite, Workload};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Only rows whose name contains this, or matches it as a glob; may be repeated
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
    /// Print one JSON array instead of the table
    #[arg(long)]
    json: bool,
    /// Write every timing sample and the environment to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Save the record as a baseline of this name
    #[arg(long, value_name = "NAME")]
    save: Option<String>,
    /// Compare the run with this baseline or record
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    #[command(flatten)]
    folder: BaselineFolder,
    /// One process, throughput only: a look, without intervals
    #[arg(long)]
    quick: bool,
    /// Fresh processes [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    processes: Option<u32>,
    /// Wall time for the whole run [default: by the number of rows, at most 105]
    #[arg(long, value_name = "SECONDS", value_parser = super::seconds, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Seed of inputs and orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Count allocations (the default)
    #[arg(long, overrides_with = "no_alloc")]
    alloc: bool,
    /// Do not count allocations
    #[arg(long)]
    no_alloc: bool,
    /// Measure primitives at throughput only, not chained and cold as well
    #[arg(long)]
    no_band: bool,
    /// Print others' published figures beside the measured rows
    #[arg(long)]
    published: bool,
}

#[derive(clap::Args)]
pub(super) struct BaselineFolder {
    /// Where baselines are kept
    #[arg(long, value_name = "FOLDER", default_value = "target/countercheck/baselines")]
    baselines: PathBuf,
}

impl BaselineFolder {
    pub(super) fn open(&self) -> Baselines {
        Baselines::in_folder(&self.baselines)
    }
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    let workloads = select::select(suite, &args.only)?;
    ensure!(!workloads.is_empty(), "this program registers no workload");
    // Found out before minutes of measuring rather than after.
    let baseline = args.baseline.as_ref().map(|name| compare::load(name, &args.folder)).transpose()?;
    let plan = plan(args, &workloads)?;
    if let Some(path) = &args.record {
        expect_writable(path)?;
    }
    let record = measure(&plan)?;
    if let Some(path) = &args.record {
        store::write(path, &record)?;
    }
    if let Some(name) = &args.save {
        let path = args.folder.open().save(name, &record)?;
        eprintln!("saved as {}", path.display());
    }
    if args.json {
        let flat: Vec<FlatRow> =
            record.summaries().iter().filter(|row| row.name != AA_ROW).map(|row| row.flat()).collect();
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&flat)?))?;
    } else {
        let layout = if args.published { Layout::WithPublished } else { Layout::Measured };
        terminal::print(&rows::render(&record, layout)?)?;
    }
    match baseline {
        Some(old) if !args.json => {
            terminal::print("\n")?;
            compare::report(&old, &record, compare::Form::Table)?;
        }
        _ => (),
    }
    // A form that a short primitive does not have, such as cold, is no failure of the row.
    let failed = record.rows.iter().any(|row| row.variant == Variant::Throughput && row.error.is_some());
    Ok(if failed { Outcome::Refuted } else { Outcome::Fine })
}

fn plan(args: &Args, workloads: &[Workload]) -> anyhow::Result<Plan> {
    let band = if args.no_band || args.quick { Band::Skip } else { Band::Measure };
    let rows: Vec<(Workload, Variant)> = workloads
        .iter()
        .flat_map(|workload| session::variants(workload, band).into_iter().map(|v| (workload.clone(), v)))
        .collect();
    let (each, most) = if args.quick { (0.2, 15.0) } else { (4.0, 105.0) };
    let seconds = args.budget.unwrap_or((each * rows.len() as f64).min(most));
    Ok(Plan {
        rows,
        processes: args.processes.unwrap_or(if args.quick { 1 } else { session::PROCESSES }),
        budget: Duration::try_from_secs_f64(seconds)?,
        seed: args.seed,
        allocation: if args.no_alloc { AllocationPass::Skip } else { AllocationPass::Run },
        launcher: Launcher::this_program()?,
    })
}

/// Runs the plan with a progress bar. The rows of the first process are shown as they come.
fn measure(plan: &Plan) -> anyhow::Result<Record> {
    let bar = progress::counted(plan.rows.len() as u64 * u64::from(plan.processes));
    let first_rows = std::io::stderr().is_terminal() && plan.processes > 1;
    let record = session::run(plan, &mut |progress: &Progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(format!("process {} of {}", progress.process + 1, plan.processes));
        if first_rows && progress.process == 0 && progress.row.name != AA_ROW {
            bar.println(rows::first_look(progress.row));
        }
    })?;
    bar.finish_and_clear();
    Ok(record)
}
