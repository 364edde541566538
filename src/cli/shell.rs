//! `primitives completions` and `primitives man`: both from the argument parser, so that they cannot drift.

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use super::{Call, Outcome, terminal};

#[derive(clap::Args)]
pub(super) struct CompletionsArgs {
    /// The shell to complete for
    shell: clap_complete::Shell,
}

#[derive(clap::Args)]
pub(super) struct ManArgs {
    /// Folder for one page a subcommand; without it the main page is printed
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Call::command(), "primitives", &mut script);
    terminal::print(&String::from_utf8(script)?)?;
    Ok(Outcome::Fine)
}

pub(super) fn man(args: &ManArgs) -> anyhow::Result<Outcome> {
    match &args.output {
        Some(folder) => {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
            clap_mangen::generate_to(Call::command(), folder).with_context(|| folder.display().to_string())?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Call::command()).render(&mut page)?;
            terminal::print(&String::from_utf8(page)?)?;
        }
    }
    Ok(Outcome::Fine)
}
