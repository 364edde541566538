//! `primitives falsify --runtime jvm`: the published story measured on this machine's JVM.

use std::io::Write;

use super::Outcome;
use crate::report::columns::Form;
use crate::report::story as report;
use crate::runner::jvm::Jvm;
use crate::runner::story::{self, Settings};

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// The runtime whose profiler is put to the test: this program, or the JVM
    #[arg(long, value_parser = ["native", "jvm"], default_value = "native")]
    pub(super) runtime: String,
    /// Fresh JVMs for each variant's doses; 6 are the fewest for an interval
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// One JVM for each variant's doses, and half the time under each recording
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
    /// Only this form of the product
    #[arg(long, value_parser = ["straight", "loop"])]
    product: Option<String>,
    /// Only configurations of the JVM whose label contains this
    #[arg(long, value_name = "TEXT")]
    configuration: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(super) json: bool,
    /// Print Markdown
    #[arg(long)]
    pub(super) markdown: bool,
}

/// Measures and prints. `Refuted` where the recordings agree with the doses: then the story is not reproduced here.
pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    debug_assert_eq!(args.runtime, "jvm");
    let usual = Settings {
        product: args.product.clone(),
        configuration: args.configuration.clone(),
        rounds: args.rounds,
        ..Settings::default()
    };
    let settings = match args.quick {
        true => Settings { rounds: 1, dose_ms: usual.dose_ms / 2, profile_ms: usual.profile_ms / 2, ..usual },
        false => usual,
    };
    let jvm = Jvm::find()?;
    let bar = super::progress::spinner();
    let mut done = 0;
    let measured = story::measure(&jvm, &settings, &mut |what, steps| {
        done += 1;
        bar.set_message(format!("{done} of {steps}: {what}"));
    });
    bar.finish_and_clear();
    let story = measured?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&story)?)?;
    } else if args.markdown {
        writeln!(out, "# The published story on the JVM\n")?;
        writeln!(out, "Made by `primitives falsify --runtime jvm --markdown`.\n")?;
        write!(out, "{}", report::text(&story, Form::Markdown))?;
    } else {
        write!(out, "{}", report::text(&story, Form::Plain))?;
    }
    Ok(if story.misled(report::MARGIN).is_empty() { Outcome::Refuted } else { Outcome::Fine })
}
