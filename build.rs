//! Hands the build's own facts to the record (optimisation level, compiler, flags and commit), and the browser page's
//! files to a release build of the command line.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
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
    if env::var_os("CARGO_FEATURE_CLI").is_some() {
        embed_page();
    }
}

/// Writes the list that `serve` includes: name and content of each file of the page, its WebAssembly modules too where
/// they are built. Of a development build it is empty: that serves the folder, and must not be built anew for each of
/// the page's changes.
fn embed_page() {
    let mut list = String::from("&[");
    if env::var("PROFILE").as_deref() == Ok("release") {
        let page = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("www");
        println!("cargo::rerun-if-changed=www");
        for file in files(&page) {
            let name = file.strip_prefix(&page).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            let _ = writeln!(list, "({name:?}, include_bytes!({:?})),", file.to_string_lossy());
        }
    }
    list.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    if let Err(error) = std::fs::write(out.join("page.rs"), list) {
        println!("cargo::error=writing the list of the page's files: {error}");
    }
}

/// Every file below a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    found.sort();
    found.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
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
