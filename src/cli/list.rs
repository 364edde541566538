//! `primitives list`: what there is to run.

use std::io::Write;

use super::Outcome;
use crate::workload::Suite;

#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    let mut out = std::io::stdout().lock();
    for workload in &suite.workloads {
        writeln!(out, "{}", workload.name)?;
    }
    Ok(Outcome::Fine)
}
