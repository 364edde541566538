//! pprof-rs with its other unwinders. They are cargo features, one a binary, so each is a build of this
//! program that runs the exam for itself.

use std::path::Path;
use std::process::Command;

use super::board::Scoreboard;
use super::run::{Outcome, Plan};

/// A build of this program with another unwinder.
struct Variant {
    name: &'static str,
    feature: &'static str,
    flags: &'static str,
}

const VARIANTS: [Variant; 2] = [
    Variant { name: "frame-pointer", feature: "pprof-frame-pointer", flags: "-C force-frame-pointers=yes" },
    Variant { name: "framehop", feature: "pprof-framehop", flags: "" },
];

/// Builds the variants and lets each examine its pprof-rs. What cannot be built is a skipped outcome.
pub fn examine(plan: &Plan, mut progress: impl FnMut(&str, &str)) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for variant in &VARIANTS {
        progress("building", variant.name);
        match one(plan, variant) {
            Ok(board) => outcomes.extend(board.outcomes.into_iter().filter_map(|mut outcome| {
                let rest = outcome.sampler.strip_prefix("pprof").filter(|rest| !rest.contains("own address"))?;
                outcome.sampler = format!("pprof {}{}", variant.name, rest.replace('-', " "));
                Some(outcome)
            })),
            Err(why) => outcomes.push(Outcome::not_available(&format!("pprof {}", variant.name), why)),
        }
    }
    outcomes
}

fn one(plan: &Plan, variant: &Variant) -> Result<Scoreboard, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !source.join("Cargo.toml").exists() {
        return Err("the source tree that this program was built from is not here".to_owned());
    }
    let target = source.join("target").join("exam").join(variant.name);
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--no-default-features", "--features", variant.feature, "--bin", "primitives"])
        .arg("--target-dir")
        .arg(&target)
        .env("RUSTFLAGS", variant.flags)
        .current_dir(source)
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        return Err(format!(
            "cargo build failed: {}",
            said.lines().find(|line| line.starts_with("error")).unwrap_or("")
        ));
    }
    let folder = tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let board = folder.path().join("board.json");
    let run = Command::new(target.join("debug").join("primitives"))
        .args(["exam", "--samplers", "pprof,pprof-blocklist", "--no-rates", "--json"])
        .arg(&board)
        .args(["--cpu-seconds", &(plan.cpu.0 / 1e9).to_string(), "--hz", &plan.hz.to_string()])
        .output()
        .map_err(|error| format!("the variant does not start: {error}"))?;
    if !run.status.success() {
        return Err(format!("the variant ended with {}: {}", run.status, String::from_utf8_lossy(&run.stderr).trim()));
    }
    let text = std::fs::read(&board).map_err(|error| format!("the variant left no scoreboard: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("the variant's scoreboard cannot be read: {error}"))
}
