//! The command line. `main` is a short match; each subcommand parses, reads, runs, prints.

mod compare;
mod convert;
mod count;
mod counts;
mod crosscheck;
mod doctor;
#[cfg(feature = "sampler")]
mod exam;
#[cfg(all(feature = "sampler", feature = "crypto"))]
mod exam_node;
mod explain;
#[cfg(all(feature = "sampler", feature = "crypto"))]
mod falsify;
#[cfg(all(feature = "sampler", feature = "crypto"))]
mod falsify_jvm;
#[cfg(feature = "sampler")]
mod flamegraph;
mod history;
mod input;
mod list;
mod output;
mod progress;
mod records;
#[cfg(feature = "crypto")]
mod representations;
mod results;
mod rows;
#[cfg(feature = "crypto")]
mod runtimes;
mod scaling;
mod select;
mod selfcheck;
mod serve;
mod shell;
mod terminal;
mod time;
mod top;
mod whatif;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::harness::fresh;
use crate::workload::{Suite, WorkloadError};

#[derive(Parser)]
#[command(name = "primitives", version, about, args_conflicts_with_subcommands = true)]
struct Call {
    #[command(subcommand)]
    command: Option<Command>,
    /// Without a subcommand: `time`
    #[command(flatten)]
    time: time::Args,
}

#[derive(Subcommand)]
enum Command {
    /// Count how often operations call their primitives
    Count(count::Args),
    /// Write a counts file to start from, or check one
    Counts(counts::Args),
    /// Hold sampled profiles of an operation against op counts, costs, dose and replay
    Crosscheck(crosscheck::Args),
    /// Explain operations by their primitives: count, cost, dose and replay
    Explain(explain::Args),
    /// Tell how an operation grows with N, in time and allocation
    Scaling(scaling::Args),
    /// Measure what primitives and operations cost (the default)
    Time(time::Args),
    /// Compare two records or saved baselines
    Compare(compare::Args),
    /// Certify this machine: false alarms, detected slow-downs, leaks
    Selfcheck(selfcheck::Args),
    /// Look at what makes figures noisy on this machine
    Doctor(doctor::Args),
    /// Examine the samplers, and the verdicts on them, on work whose shares are known
    #[cfg(feature = "sampler")]
    Exam(exam::Args),
    /// Run the primitives on the JVM, in Node and in a browser, beside native
    #[cfg(feature = "crypto")]
    Runtimes(runtimes::Args),
    /// Write a profile in another format
    Convert(convert::Args),
    /// Swap the function that a profile blames for its rewrite, and see what is saved
    #[cfg(all(feature = "sampler", feature = "crypto"))]
    Falsify(falsify::Args),
    /// Sample an operation and draw where its time goes
    #[cfg(feature = "sampler")]
    Flamegraph(flamegraph::Args),
    /// Follow a row through the records of a folder
    History(history::Args),
    /// Measure a field in several representations: products against times
    #[cfg(feature = "crypto")]
    Representations(representations::Args),
    /// List the primitives and operations
    List(list::Args),
    /// Predict what an operation would take with another primitive, and measure it where one is registered
    Whatif(whatif::Args),
    /// List, show, pool and thin out records
    Records(records::Args),
    /// Serve the browser page on this machine
    Serve(serve::Args),
    /// Print shell completions
    Completions(shell::CompletionsArgs),
    /// Print the man page, or write one a subcommand
    Man(shell::ManArgs),
    /// Print the heaviest functions of a profile of any format
    Top(top::Args),
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
///
/// A bench target of one's own needs no more than this, with `harness = false` in its manifest:
///
/// ```no_run
/// use countercheck::workload::Digest;
/// use countercheck::{Suite, Workload};
///
/// #[global_allocator]
/// static ALLOCATOR: countercheck::harness::alloc::Counting = countercheck::harness::alloc::Counting;
///
/// fn main() -> std::process::ExitCode {
///     let sum = Workload::primitive(
///         "sum/1000",
///         |seed| (0..64).map(|i| vec![seed + i; 1000]).collect(),
///         |numbers: &Vec<u64>| numbers.iter().sum::<u64>(),
///         |numbers, sum| match *sum == numbers[0] * 1000 {
///             true => Ok(Digest::of(&sum.to_le_bytes())),
///             false => Err(format!("{sum} is not the sum")),
///         },
///     );
///     countercheck::cli::main(&Suite::new().with(sum))
/// }
/// ```
pub fn main(suite: &Suite) -> ExitCode {
    main_with(suite, std::env::args_os())
}

/// The same with the arguments given; the first is the program's name.
///
/// ```
/// use countercheck::workload::Digest;
/// use countercheck::{Suite, Workload, cli};
///
/// let double = Workload::primitive(
///     "double",
///     |seed| (0..64).map(|i| seed + i).collect(),
///     |input: &u64| input * 2,
///     |input, output| if *output == input * 2 { Ok(Digest::default()) } else { Err("not doubled".into()) },
/// );
/// let suite = Suite::new().with(double);
/// let list = cli::main_with(&suite, ["mine", "list"].map(Into::into));
/// assert_eq!(format!("{list:?}"), format!("{:?}", std::process::ExitCode::SUCCESS));
/// let unknown = cli::main_with(&suite, ["mine", "list", "--only", "duoble"].map(Into::into));
/// assert_eq!(format!("{unknown:?}"), format!("{:?}", std::process::ExitCode::from(2)));
/// ```
pub fn main_with(suite: &Suite, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    // `cargo bench` adds a flag of its own.
    let arguments: Vec<OsString> = arguments.into_iter().filter(|argument| argument != "--bench").collect();
    if arguments.get(1).is_some_and(|first| first == fresh::SUBCOMMAND) {
        return exit(fresh::serve(suite).map(|()| Outcome::Fine).map_err(Into::into));
    }
    let call = Call::parse_from(arguments);
    if let Some(name) = suite.repeated_name() {
        return exit(Err(anyhow::anyhow!("two workloads are called {name:?}; a record tells rows apart by name")));
    }
    exit(match call.command {
        None => time::run(&call.time, suite),
        Some(Command::Time(args)) => time::run(&args, suite),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Selfcheck(args)) => selfcheck::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Count(args)) => count::run(&args, suite),
        Some(Command::Counts(args)) => counts::run(&args),
        #[cfg(feature = "crypto")]
        Some(Command::Runtimes(args)) => runtimes::run(&args, suite),
        #[cfg(all(feature = "sampler", feature = "crypto"))]
        Some(Command::Falsify(args)) => falsify::run(&args, suite),
        Some(Command::Explain(args)) => explain::run(&args, suite),
        Some(Command::Scaling(args)) => scaling::run(&args, suite),
        Some(Command::Whatif(args)) => whatif::run(&args, suite),
        Some(Command::Crosscheck(args)) => crosscheck::run(&args, suite),
        #[cfg(feature = "sampler")]
        Some(Command::Exam(args)) => exam::run(&args),
        #[cfg(feature = "sampler")]
        Some(Command::Flamegraph(args)) => flamegraph::run(&args, suite),
        Some(Command::History(args)) => history::run(&args),
        #[cfg(feature = "crypto")]
        Some(Command::Representations(args)) => representations::run(&args),
        Some(Command::List(args)) => list::run(&args, suite),
        Some(Command::Records(args)) => records::run(&args),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Completions(args)) => shell::completions(&args),
        Some(Command::Man(args)) => shell::man(&args),
        Some(Command::Convert(args)) => convert::run(&args),
        Some(Command::Top(args)) => top::run(&args),
    })
}

fn exit(outcome: anyhow::Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Refuted) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // It may quote a file, and a file may hold what steers a terminal.
            let message: Vec<String> = said(&error).lines().map(terminal::plain).collect();
            eprintln!("error: {}", message.join("\n"));
            ExitCode::from(2)
        }
    }
}

/// The error and its causes, but for a cause that the error before it quotes.
fn said(error: &anyhow::Error) -> String {
    let full = |io: &&std::io::Error| io.kind() == std::io::ErrorKind::StorageFull;
    let mut message = match error.downcast_ref::<std::io::Error>().filter(full) {
        // Files are named where they are written; what has no name is the standard output.
        Some(io) if error.chain().len() == 1 => format!("cannot write to the standard output: {io}"),
        _ => error.to_string(),
    };
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.ends_with(&cause) {
            message += &format!(": {cause}");
        }
    }
    message
}

/// Whether all rows are there: a row that failed is printed and fails the call.
fn failed_rows<T>(rows: &[Result<T, WorkloadError>]) -> Outcome {
    if rows.iter().all(Result::is_ok) { Outcome::Fine } else { Outcome::Refuted }
}

/// What names the code of this process, where samplers run.
fn names_of_code() -> Option<crate::harness::explain::Names> {
    #[cfg(all(feature = "sampler", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return Some(crate::sampler::names_of_code);
    #[cfg(not(all(feature = "sampler", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    None
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("expected a number of seconds above 0 and at most 86400".to_owned()),
    }
}

/// A rate that a sampler can be asked for; above, the timer's handler would leave the program no time.
#[cfg(feature = "sampler")]
fn hertz() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=20_000)
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}
