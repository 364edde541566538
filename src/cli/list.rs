//! `primitives list`: what there is to run.

use anyhow::bail;

use super::{Outcome, select, terminal};
use crate::workload::{Kind, Suite};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Only rows whose name contains this, or matches it as a glob; may be repeated
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
    /// Family, kind and implementation beside the name
    #[arg(long, short)]
    long: bool,
}

pub(super) fn run(args: &Args, suite: &Suite) -> anyhow::Result<Outcome> {
    if suite.workloads.is_empty() {
        bail!("the suite is empty: give it a workload, with Suite::with");
    }
    let chosen = select::select(suite, &args.only)?;
    let text = if args.long {
        let row = |w: &crate::Workload| {
            let kind = if w.kind == Kind::Primitive { "primitive" } else { "operation" };
            vec![w.name.clone(), kind.to_owned(), w.family.clone(), w.implementation.clone()]
        };
        terminal::table(&["name", "kind", "family", "implementation"], &chosen.iter().map(row).collect::<Vec<_>>())
    } else {
        chosen.iter().map(|workload| format!("{}\n", terminal::plain(&workload.name))).collect()
    };
    terminal::print(&text)?;
    Ok(Outcome::Fine)
}
