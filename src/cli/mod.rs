//! The command line. `main` is a short match; each subcommand parses, reads, runs, prints.

mod count;
mod explain;
#[cfg(feature = "sampler")]
mod flamegraph;
mod list;
#[cfg(feature = "sampler")]
mod output;
mod progress;
mod select;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workload::{Suite, WorkloadError};

#[derive(Parser)]
#[command(name = "primitives", version, about)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Count how often operations call their primitives
    Count(count::Args),
    /// Explain operations by their primitives: count, cost, dose and replay
    Explain(explain::Args),
    /// Sample an operation and draw where its time goes
    #[cfg(feature = "sampler")]
    Flamegraph(flamegraph::Args),
    /// List the primitives and operations
    List(list::Args),
    /// Serve the browser page on this machine
    Serve(serve::Args),
}

/// What a subcommand concluded; becomes the exit status.
pub(crate) enum Outcome {
    /// 0: fine.
    Fine,
    /// 1: a check that was asked for said no.
    Refuted,
}

/// Parses the process's arguments, runs the subcommand on `suite` and returns its exit status:
/// 0 fine, 1 a check said no, 2 the call or its input was wrong.
pub fn main(suite: &Suite) -> ExitCode {
    let args = Args::parse();
    let outcome = match args.command {
        Command::Count(args) => count::run(&args, suite),
        Command::Explain(args) => explain::run(&args, suite),
        #[cfg(feature = "sampler")]
        Command::Flamegraph(args) => flamegraph::run(&args, suite),
        Command::List(args) => list::run(&args, suite),
        Command::Serve(args) => serve::run(&args),
    };
    match outcome {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Refuted) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether all rows are there: a row that failed is printed and fails the call.
fn failed_rows<T>(rows: &[Result<T, WorkloadError>]) -> Outcome {
    if rows.iter().all(Result::is_ok) { Outcome::Fine } else { Outcome::Refuted }
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("expected a number of seconds above 0, at most 86400".to_owned()),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}
