//! `primitives doctor`: what about this machine helps or hinders measuring.

use super::Outcome;
use super::terminal::{self, Tone, toned};
use crate::harness::doctor::{self, State};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let findings = doctor::examine();
    if args.json {
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&findings)?))?;
        return Ok(Outcome::Fine);
    }
    let poor = findings.iter().filter(|finding| finding.state == State::Poor).count();
    let line = format!("{} of {} things make figures here noisier or harder to compare.", poor, findings.len());
    let mut text = format!("{}\n\n", toned(Tone::Bold, &line));
    for finding in &findings {
        let mark = match finding.state {
            State::Good => toned(Tone::Good, "good   "),
            State::Poor => toned(Tone::Bad, "poor   "),
            State::Unknown => toned(Tone::Dim, "unknown"),
        };
        text.push_str(&format!("{mark}  {:<22}  {}\n", finding.what, terminal::plain(&finding.found)));
        if !finding.remedy.is_empty() {
            text.push_str(&format!("{:9}{:24}→ {}\n", "", "", finding.remedy));
        }
    }
    terminal::print(&text)?;
    Ok(Outcome::Fine)
}
