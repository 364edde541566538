//! `primitives selfcheck`: this machine's certificate.

use std::path::PathBuf;
use std::time::Duration;

use super::terminal::{self, Tone, toned};
use super::{Outcome, progress};
use crate::harness::fresh::Launcher;
use crate::harness::selfcheck::{self, Certificate, Check, Finding};
use crate::record::store;
use crate::unit::Nanos;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Comparisons of code with itself; a quarter as many for each injected slow-down
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(20..=10_000))]
    comparisons: u32,
    /// Wall time of one row in one process
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    slice: u64,
    /// Seed of the orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the certificate to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let check = Check {
        comparisons: args.comparisons,
        slice: Duration::from_millis(args.slice),
        seed: args.seed,
        launcher: Launcher::this_program()?,
    };
    let bar = progress::counted(0);
    let certificate = selfcheck::check(&check, &mut |round, rounds| {
        bar.set_length(u64::from(rounds));
        bar.set_position(u64::from(round));
        bar.set_message("pairs of runs");
    })?;
    bar.finish_and_clear();
    if let Some(path) = &args.record {
        store::write_json(path, &certificate)?;
    }
    terminal::print(&if args.json {
        format!("{}\n", serde_json::to_string_pretty(&certificate)?)
    } else {
        text(&certificate)
    })?;
    Ok(if certificate.findings().contains(&Finding::Fails) { Outcome::Refuted } else { Outcome::Fine })
}

fn text(certificate: &Certificate) -> String {
    let verdict = |finding: Finding| match finding {
        Finding::Holds => toned(Tone::Good, "holds"),
        Finding::Fails => toned(Tone::Bad, "FAILS"),
        Finding::Open => toned(Tone::Bad, "too wide to say; give more --comparisons"),
    };
    let [alarms, set_up, empty_body] = certificate.findings();
    let of = |count: u32, all: u32| format!("{count} of {all} ({:.1} %)", 100.0 * f64::from(count) / f64::from(all));
    let (slice, empty_window) = (Nanos(certificate.slice_ns as f64), Nanos(certificate.empty_window_ns as f64));
    let leak = certificate
        .set_up_leak
        .and_then(|ratio| ratio.low.zip(ratio.high))
        .map_or("not known".to_owned(), |(low, high)| {
            format!("{:+.2} % to {:+.2} %", (low - 1.0) * 100.0, (high - 1.0) * 100.0)
        });
    let empty = certificate.empty_body_ns.map_or("not known".to_owned(), |ns| Nanos(ns).to_string());
    let mut text = format!(
        "{}  {} processes a side, {slice} a row and process\n\n\
         false alarms, p < 0.05       {}, nominal 5 %: {}\n\
         false alarms, claimed        {}, margin {:.1} %\n",
        toned(Tone::Bold, "Certificate of this machine."),
        certificate.processes,
        of(certificate.significant, certificate.comparisons),
        verdict(alarms),
        of(certificate.claimed, certificate.comparisons),
        certificate.margin * 100.0,
    );
    for power in &certificate.power {
        text.push_str(&format!(
            "injected slow-down of {} %    found in {}, measured as {:.2} %\n",
            power.injected_percent,
            of(power.found, power.comparisons),
            power.measured_percent
        ));
    }
    text.push_str(&format!(
        "expensive input              moves the figure by {leak}: {}\n\
         empty body                   {empty}, an empty window reads {empty_window}: {}\n",
        verdict(set_up),
        verdict(empty_body),
    ));
    text
}
