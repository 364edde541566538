//! The console blocks of README and docs are what the program prints.
//!
//! A block fenced as `console` starts with `$ primitives …`; the lines below are its output. This test runs each command
//! again. A block fenced as `console exact` must be the same to the letter; in the others figures vary from run to run
//! and from machine to machine, so the columns and the names of the rows must be the same. A line `…` stands for lines
//! left out, and a block fenced as `console long` is only parsed: its command takes longer than a test may.
//!
//! `COUNTERCHECK_BLESS=1 cargo test --test documents` writes the outputs anew.
#![cfg(feature = "cli")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Block {
    /// Line of the fence, 1-based.
    line: usize,
    kind: String,
    command: String,
    output: String,
}

#[test]
fn console_blocks_are_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bless = std::env::var_os("COUNTERCHECK_BLESS").is_some();
    let mut faults = Vec::new();
    let mut checked = 0;
    for path in documents(root) {
        let text = std::fs::read_to_string(&path).expect("a document is UTF-8");
        let mut blessed = text.clone();
        for block in blocks(&text) {
            checked += 1;
            let place = format!("{}:{}", path.display(), block.line);
            match check(root, &block, bless) {
                Ok(Some(fresh)) => {
                    let old = format!("$ {}\n{}", block.command, block.output);
                    blessed = blessed.replacen(&old, &format!("$ {}\n{fresh}", block.command), 1);
                }
                Ok(None) => {}
                Err(fault) => faults.push(format!("{place}: {fault}")),
            }
        }
        if bless && blessed != text {
            std::fs::write(&path, blessed).expect("the document is writable");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 0, "no console block was found");
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let mut paths = vec![root.join("README.md")];
    let folders = [root.join("docs"), root.join("docs/howto")];
    let docs = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("docs/ is part of the repository"));
    paths.extend(
        docs.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|e| e == "md")),
    );
    paths.sort();
    paths
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```console") else { continue };
        let body: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let Some(command) = body.first().and_then(|first| first.strip_prefix("$ ")) else { continue };
        if !command.starts_with("primitives") {
            continue;
        }
        let output = body[1..].iter().map(|line| format!("{line}\n")).collect();
        found.push(Block { line: number + 1, kind: kind.trim().to_owned(), command: command.to_owned(), output });
    }
    found
}

/// Checks a block; in bless mode returns its fresh output instead.
fn check(root: &Path, block: &Block, bless: bool) -> Result<Option<String>, String> {
    let words: Vec<&str> = block.command.split_whitespace().skip(1).collect();
    if block.kind == "long" && !bless {
        return is_parsed(root, &words).map(|()| None);
    }
    let output = run(root, &words)?;
    if bless {
        return Ok(Some(output));
    }
    if block.kind == "exact" {
        return if output == block.output { Ok(None) } else { Err(format!("prints now:\n{output}")) };
    }
    let (documented, fresh) = (names(&block.output), names(&output));
    let missing: Vec<_> = documented.difference(&fresh).cloned().collect();
    if missing.is_empty() {
        Ok(None)
    } else {
        Err(format!("`{}` prints no longer: {missing:?}\n{output}", block.command))
    }
}

fn run(root: &Path, words: &[&str]) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_primitives"))
        .args(words)
        .current_dir(root)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "110")
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.code() == Some(2) {
        return Err(format!("refused: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    Ok(text.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

/// Whether the command line is one that the program takes, without running it.
fn is_parsed(root: &Path, words: &[&str]) -> Result<(), String> {
    let subcommand: Vec<&str> = words.iter().copied().take(1).chain(["--help"]).collect();
    let help = run(root, &subcommand)?;
    for flag in words.iter().filter(|word| word.starts_with("--")) {
        let name = flag.split('=').next().unwrap_or(flag);
        if !help.contains(name) {
            return Err(format!("`{}` has no option {name}", words.join(" ")));
        }
    }
    Ok(())
}

/// Names that lead a line: rows of a table.
fn names(output: &str) -> BTreeSet<String> {
    output
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.contains('_') || word.contains('/'))
        .filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || "_/-.".contains(c)))
        .map(str::to_owned)
        .collect()
}
