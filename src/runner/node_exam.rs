//! V8's own sampler examined: workloads of known shares under `node --cpu-prof`, as JavaScript and as wasm,
//! with callees that stay functions and with callees inlined.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{RunnerError, node};
use crate::import::profile;
use crate::profile::Profile;

const SCRIPT: &str = include_str!("../../scripts/js/exam.mjs");
const WASM_SOURCE: &str = include_str!("../../scripts/js/exam.rs");

const TARGET: &str = "wasm32-unknown-unknown";

/// A case: a label, the script's argument, flags of Node, and how the wasm is compiled.
struct Setup {
    name: &'static str,
    argument: &'static str,
    flags: &'static [&'static str],
    rustc: Option<&'static [&'static str]>,
    callees: Callees,
}

/// What became of the callees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Callees {
    /// They stayed functions: a sampler can tell them apart.
    Separate,
    /// They were inlined: the machine code is their caller's.
    Inlined,
}

const SETUPS: [Setup; 4] = [
    Setup {
        name: "js, not inlined",
        argument: "js",
        flags: &["--no-turbo-inlining"],
        rustc: None,
        callees: Callees::Separate,
    },
    Setup { name: "js, inlined by TurboFan", argument: "js", flags: &[], rustc: None, callees: Callees::Inlined },
    Setup {
        name: "wasm, not inlined",
        argument: "wasm",
        flags: &[],
        rustc: Some(&["--cfg", "separate"]),
        callees: Callees::Separate,
    },
    Setup {
        name: "wasm, inlined when compiled",
        argument: "wasm",
        flags: &[],
        rustc: Some(&[]),
        callees: Callees::Inlined,
    },
];

/// What one case showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// The case.
    pub name: String,
    /// What became of the callees.
    pub callees: Callees,
    /// The functions, each with its true share of `mixed` and the sampled one.
    pub functions: Vec<(String, f64, f64)>,
    /// Share that stayed on the caller.
    pub caller: f64,
    /// Samples within `mixed`.
    pub samples: u64,
    /// Samples within `mixed` over its CPU time ÷ interval.
    pub delivered: f64,
}

/// Why a case did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The case.
    pub name: String,
    /// Why, and what to install.
    pub why: String,
}

/// All cases, and those that could not run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeExam {
    /// Node's version.
    pub node: String,
    /// The cases that ran.
    pub cases: Vec<Case>,
    /// The others.
    pub skipped: Vec<Skipped>,
}

#[derive(Deserialize)]
struct Printed {
    light_ns: f64,
    heavy_ns: f64,
    cpu_ns: f64,
}

/// The sampling interval asked for, in microseconds.
const INTERVAL_US: u32 = 1000;

/// Runs every case for this long.
///
/// # Errors
/// Where there is no Node, or a case's process fails. A case that cannot be compiled is skipped.
pub fn run(millis: u32) -> Result<NodeExam, RunnerError> {
    let (program, version) = node::program()?;
    let folder =
        tempfile::tempdir().map_err(|source| RunnerError::Io { what: "a folder for the exam".into(), source })?;
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text)
            .map_err(|source| RunnerError::Io { what: format!("writing {name}"), source })
    };
    write("exam.mjs", SCRIPT)?;
    write("exam.rs", WASM_SOURCE)?;
    let mut exam = NodeExam { node: version, cases: Vec::new(), skipped: Vec::new() };
    for setup in &SETUPS {
        let mut arguments = vec![setup.argument.to_owned(), millis.to_string()];
        if let Some(flags) = setup.rustc {
            match compile(folder.path(), flags) {
                Ok(file) => arguments.push(file),
                Err(why) => {
                    exam.skipped.push(Skipped { name: setup.name.to_owned(), why });
                    continue;
                }
            }
        }
        exam.cases.push(case(setup, &program, folder.path(), &arguments)?);
    }
    Ok(exam)
}

fn compile(folder: &Path, flags: &[&str]) -> Result<String, String> {
    let file = folder.join("exam.wasm");
    let output = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "--target", TARGET])
        .args(["-C", "opt-level=3", "-C", "panic=abort", "--cap-lints", "allow"])
        .args(["--check-cfg", "cfg(separate)"])
        .args(flags)
        .arg("-o")
        .args([file.as_os_str(), folder.join("exam.rs").as_os_str()])
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(file.to_string_lossy().into_owned()),
        Ok(_) => Err(format!("rustc cannot compile for {TARGET}: rustup target add {TARGET}")),
        Err(error) => Err(format!("rustc does not start ({error}): install Rust")),
    }
}

fn case(setup: &Setup, program: &Path, folder: &Path, arguments: &[String]) -> Result<Case, RunnerError> {
    let failed = |message: String| RunnerError::Failed { what: format!("node, {}", setup.name), message };
    let profiles = folder.join("profiles");
    let _ = fs::remove_dir_all(&profiles);
    let output = Command::new(program)
        .args(setup.flags)
        .args(["--cpu-prof", "--cpu-prof-interval", &INTERVAL_US.to_string()])
        .arg(format!("--cpu-prof-dir={}", profiles.display()))
        .arg(folder.join("exam.mjs"))
        .args(arguments)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("no message").to_owned()));
    }
    let printed: Printed = serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    let mut files = fs::read_dir(&profiles).map_err(|error| failed(error.to_string()))?.flatten();
    let file = files.next().ok_or_else(|| failed("it wrote no profile".into()))?.path();
    let opened = File::open(&file).map_err(|error| failed(error.to_string()))?;
    let read = profile::read(opened, &profile::Options::default()).map_err(|error| failed(error.to_string()))?;
    Ok(judge(setup, &printed, &read))
}

/// Self shares of the callees among the samples within `mixed`, by number of samples.
fn judge(setup: &Setup, printed: &Printed, profile: &Profile) -> Case {
    let truth = [printed.light_ns, 3.0 * printed.heavy_ns].map(|ns| ns / (printed.light_ns + 3.0 * printed.heavy_ns));
    let mut counts = [0u64; 3];
    for sample in &profile.samples {
        let Some(stack) = sample.stack else { continue };
        let names: Vec<&str> = profile.leaf_to_root(stack).map(|id| profile.frame(id).function.as_str()).collect();
        if !names.contains(&"mixed") {
            continue;
        }
        let at = match names.first() {
            Some(&"light") => 0,
            Some(&"heavy") => 1,
            _ => 2,
        };
        counts[at] += sample.count.unwrap_or(1);
    }
    let all = counts.iter().sum::<u64>();
    let share = |count: u64| count as f64 / all.max(1) as f64;
    Case {
        name: setup.name.to_owned(),
        callees: setup.callees,
        functions: ["light", "heavy"]
            .iter()
            .enumerate()
            .map(|(i, name)| ((*name).to_owned(), truth[i], share(counts[i])))
            .collect(),
        caller: share(counts[2]),
        samples: all,
        delivered: all as f64 / (printed.cpu_ns / 1e3 / f64::from(INTERVAL_US)).max(1.0),
    }
}

impl Case {
    /// The largest error of a function's share.
    pub fn largest_error(&self) -> f64 {
        self.functions.iter().map(|(_, truth, sampled)| (sampled - truth).abs()).fold(0.0, f64::max)
    }

    /// Whether every callee that has a true share reads as good as nothing.
    pub fn is_blind(&self) -> bool {
        self.samples > 0 && self.functions.iter().all(|(_, truth, sampled)| *sampled < truth / 10.0)
    }
}
