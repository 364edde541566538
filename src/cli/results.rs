//! Opens other harnesses' results: a file, standard input, or a folder of criterion's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::import::result::criterion::{self, Folder};
use crate::import::result::{self, OWN, Results};
use crate::import::{ImportError, Input, Limits};

/// The baseline that criterion writes last.
const BASELINE: &str = "new";

/// Reads results from a path; `-` is standard input.
pub(super) fn load(path: &Path) -> anyhow::Result<Results> {
    let said = || path.display().to_string();
    if path.is_dir() {
        return folder(path).with_context(said);
    }
    let limits = Limits::default();
    let input = if path == Path::new("-") {
        Input::open(std::io::stdin(), limits)
    } else {
        Input::open(File::open(path).with_context(said)?, limits)
    };
    input.and_then(result::read).with_context(said)
}

/// Results of another harness; `None` for a baseline's name and for a record of ours, also a broken one, so that
/// reading it as a record says what is wrong.
pub(super) fn foreign(name: &str) -> anyhow::Result<Option<Results>> {
    let path = Path::new(name);
    if !path.exists() {
        return Ok(None);
    }
    match load(path) {
        Ok(results) if results.harness == OWN => Ok(None),
        Ok(results) => Ok(Some(results)),
        Err(error) => match error.downcast_ref::<ImportError>() {
            Some(ImportError::Io(_)) | None => Err(error),
            Some(_) if claims_to_be_a_record(path)? => Ok(None),
            Some(_) => Err(error),
        },
    }
}

/// Whether a file begins as a record does: its first member is the version of its schema.
fn claims_to_be_a_record(path: &Path) -> anyhow::Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    File::open(path)?.take(512).read_to_end(&mut head).with_context(|| path.display().to_string())?;
    let inside = head.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    Ok(inside.is_some_and(|inside| inside.starts_with(b"\"schema_version\"")))
}

/// Every `new` folder of criterion's below `root`, or `root` itself where it is one.
fn folder(root: &Path) -> anyhow::Result<Results> {
    let mut texts: BTreeMap<String, [Option<String>; 3]> = BTreeMap::new();
    let mut waiting = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        ensure!(depth < 12, "{}: folders nest deeper than criterion's do", folder.display());
        let named = folder.file_name().is_some_and(|name| name == BASELINE);
        if named || depth == 0 {
            let files = ["benchmark.json", "sample.json", "estimates.json"].map(|name| folder.join(name));
            if files[1].is_file() || files[2].is_file() {
                let below = folder.strip_prefix(root).ok().and_then(Path::parent).unwrap_or(&folder);
                let name = if depth == 0 { folder.display().to_string() } else { below.display().to_string() };
                texts.insert(name, [read(&files[0])?, read(&files[1])?, read(&files[2])?]);
                continue;
            }
        }
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            // Links are left alone: a loop of them would never end.
            if entry.file_type()?.is_dir() {
                waiting.push((entry.path(), depth + 1));
            }
        }
    }
    let folders: Vec<Folder<'_>> = texts
        .iter()
        .map(|(path, [benchmark, sample, estimates])| Folder {
            path,
            benchmark: benchmark.as_deref(),
            sample: sample.as_deref(),
            estimates: estimates.as_deref(),
        })
        .collect();
    Ok(criterion::read_folders(&folders)?)
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    if path.is_file() {
        Ok(Some(fs::read_to_string(path).with_context(|| path.display().to_string())?))
    } else {
        Ok(None)
    }
}
