//! `primitives exam`: the samplers and the verdicts on work whose shares are known.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::Outcome;
use super::output::{expect_writable, write_file};
use crate::exam::{self, Plan, Scoreboard, case};
use crate::report;
use crate::sampler::Sampler;
use crate::unit::Nanos;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Examine this runtime's own sampler instead of the native ones
    #[cfg(feature = "crypto")]
    #[arg(long, value_parser = ["node"])]
    runtime: Option<String>,
    /// Only cases whose name contains this
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Only these samplers, comma separated
    #[arg(long, value_delimiter = ',')]
    samplers: Vec<Sampler>,
    /// CPU time of each run, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = super::seconds, allow_negative_numbers = true)]
    cpu_seconds: f64,
    /// Samples a second to ask for
    #[arg(long, default_value_t = 997, value_parser = super::hertz())]
    hz: u32,
    /// Do not measure delivered rates and overhead
    #[arg(long)]
    no_rates: bool,
    /// Examine pprof-rs's other unwinders as well; each is a build of this program, which takes minutes
    #[arg(long)]
    variants: bool,
    /// Examine callgrind as well, where valgrind is installed
    #[arg(long)]
    callgrind: bool,
    /// Run one case without a sampler: what runs under callgrind
    #[arg(long, hide = true, value_name = "CASE")]
    only_run: Option<String>,
    /// How often, with --only-run
    #[arg(long, hide = true, default_value_t = 20)]
    iterations: u64,
    /// Print a scoreboard that --json wrote, and run nothing
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["certify", "variants", "callgrind"])]
    from: Option<PathBuf>,
    /// Write the scoreboard as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print Markdown: the whole scoreboard, or the samplers and the verdicts in a few figures
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "whole")]
    markdown: Option<Markdown>,
    /// Write the scoreboard as one self-contained page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Repeat, and keep every run: takes up where an earlier call stopped. Exit status 1 where a control was
    /// accused, or fewer than 95 % of the lies were named
    #[arg(long)]
    certify: bool,
    /// How often, with --certify
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..), requires = "certify")]
    runs: u64,
    /// Where the runs are kept, with --certify
    #[arg(long, value_name = "FILE", default_value = "profiles/exam/certify.jsonl", requires = "certify")]
    store: PathBuf,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Markdown {
    Whole,
    Summary,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    for path in [&args.json, &args.html].into_iter().flatten() {
        expect_writable(path)?;
    }
    #[cfg(feature = "crypto")]
    if args.runtime.is_some() {
        return super::exam_node::run(args.json.as_deref());
    }
    if let Some(name) = &args.only_run {
        let cases = case::all();
        let case = cases.iter().find(|case| case.name == name).with_context(|| format!("there is no case {name:?}"))?;
        exam::callgrind::run_only(case, args.iterations).map_err(anyhow::Error::msg)?;
        return Ok(Outcome::Fine);
    }
    if let Some(path) = &args.from {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let board: Scoreboard = serde_json::from_slice(&text)
            .with_context(|| format!("{}: expected a scoreboard that `exam --json` wrote", path.display()))?;
        return print(args, &board);
    }
    let plan = plan(args)?;
    let (mut outcomes, rates) = if args.certify { certify(&plan, args)? } else { exam::examine(&plan, progress) };
    if args.callgrind {
        outcomes.extend(exam::callgrind::examine(&plan, progress));
    }
    if args.variants {
        outcomes.extend(exam::variants::examine(&plan, progress));
    }
    print(args, &Scoreboard::new(outcomes, rates))
}

fn print(args: &Args, board: &Scoreboard) -> anyhow::Result<Outcome> {
    if let Some(path) = &args.json {
        let mut text = serde_json::to_vec_pretty(board)?;
        text.push(b'\n');
        write_file(path, &text)?;
    }
    if let Some(path) = &args.html {
        write_file(path, report::exam::html(board).as_bytes())?;
    }
    let text = match args.markdown {
        None => report::exam::text(board),
        Some(Markdown::Whole) => report::exam::markdown(board),
        Some(Markdown::Summary) => report::exam::summary(board),
    };
    write!(std::io::stdout(), "{text}")?;
    Ok(if args.certify && !board.verdicts.hold() { Outcome::Refuted } else { Outcome::Fine })
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let mut cases = case::all();
    if let Some(text) = &args.case {
        cases.retain(|case| case.name.contains(text.as_str()));
        if cases.is_empty() {
            let names: Vec<_> = case::all().iter().map(|case| case.name).collect();
            bail!("no case is named like {text:?}; there are {}", names.join(", "));
        }
    }
    let samplers = if args.samplers.is_empty() { Sampler::ALL.to_vec() } else { args.samplers.clone() };
    let rates = if args.no_rates { Vec::new() } else { vec![99, 997, 4000] };
    Ok(Plan { cases, samplers, cpu: Nanos(args.cpu_seconds * 1e9), hz: args.hz, rates, environment: None })
}

fn progress(case: &str, sampler: &str) {
    use std::io::IsTerminal;
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{case}: {sampler}");
        std::io::stderr().flush().ok();
    }
}

/// One line of the store.
#[derive(serde::Serialize, serde::Deserialize)]
struct Kept {
    run: u64,
    outcomes: Vec<exam::Outcome>,
}

fn certify(plan: &Plan, args: &Args) -> anyhow::Result<(Vec<exam::Outcome>, Vec<exam::run::Rate>)> {
    let kept = read_store(&args.store)?;
    let mut outcomes: Vec<_> = kept.iter().flat_map(|kept| kept.outcomes.clone()).collect();
    let first = kept.iter().map(|kept| kept.run + 1).max().unwrap_or(0);
    if let Some(folder) = args.store.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let runs_only = Plan { rates: Vec::new(), ..plan.clone() };
    for run in first..args.runs {
        let kept = Kept { run, outcomes: exam::examine(&runs_only, progress).0 };
        append(&args.store, &kept)?;
        outcomes.extend(kept.outcomes);
    }
    let rates_only = Plan { cases: Vec::new(), ..plan.clone() };
    Ok((outcomes, exam::examine(&rates_only, progress).1))
}

fn append(store: &Path, kept: &Kept) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(kept)?;
    line.push(b'\n');
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(store)?;
        file.write_all(&line)?;
        file.sync_all()
    };
    write().with_context(|| format!("cannot add to {}", store.display()))
}

/// The runs kept so far. A last line without its end was cut off when a run was killed, and is taken off
/// the file, so that the next run is not appended to it.
fn read_store(store: &Path) -> anyhow::Result<Vec<Kept>> {
    let mut kept = Vec::new();
    let file = match OpenOptions::new().read(true).write(true).open(store) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(kept),
        Err(error) => return Err(error).with_context(|| format!("cannot open {}", store.display())),
    };
    let mut reader = BufReader::new(&file);
    let (mut line, mut number, mut whole) = (String::new(), 0, 0);
    while reader.read_line(&mut line).with_context(|| format!("cannot read {}", store.display()))? > 0 {
        number += 1;
        if !line.ends_with('\n') {
            file.set_len(whole).with_context(|| format!("cannot mend {}", store.display()))?;
            break;
        }
        let parsed = serde_json::from_str(&line)
            .with_context(|| format!("{}, line {number}: expected a run of the exam", store.display()))?;
        kept.push(parsed);
        whole += line.len() as u64;
        line.clear();
    }
    Ok(kept)
}
