//! Hands the build's own facts to the record: optimisation level, compiler, flags and commit.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    set("COUNTERCHECK_OPT_LEVEL", &env::var("OPT_LEVEL").unwrap_or_default());
    set("COUNTERCHECK_FLAGS", &env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " "));
    set("COUNTERCHECK_COMPILER", &output(&env::var("RUSTC").unwrap_or_default(), &["--version"]).unwrap_or_default());
    if let Some(commit) = commit() {
        set("COUNTERCHECK_COMMIT", &commit);
    }
}

/// The commit of a release build, marked where files differ from it. A development build is of no
/// commit, and need not be repeated after each.
fn commit() -> Option<String> {
    if env::var("PROFILE").as_deref() != Ok("release") || !Path::new(".git").exists() {
        return None;
    }
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rerun-if-changed={}", output("git", &["rev-parse", "--git-path", "HEAD"])?);
    output("git", &["describe", "--always", "--dirty", "--abbrev=12"])
}

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env={name}={value}");
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
