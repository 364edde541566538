//! Evidence from files: an explanation as JSON, and profiles of any format that is read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::Evidence;
use crate::cli::input::read_profile;
use crate::cli::output::write_file;
use crate::crosscheck::explanation::Explanation;
use crate::import::counts::Case;
use crate::import::profile::NOT_UNWOUND;
use crate::profile::Profile;

/// The explanation in a file: one alone, or the operation's among those that `explain --json` prints.
pub(in crate::cli) fn explanation(path: &Path, operation: Option<&str>) -> anyhow::Result<Explanation> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let value: Value = serde_json::from_str(&text).with_context(|| format!("{shown} is not JSON"))?;
    let list = match value.get("explanations") {
        Some(list) => list.clone(),
        None => Value::Array(vec![value]),
    };
    let all: Vec<Explanation> =
        serde_json::from_value(list).with_context(|| format!("{shown} holds no explanation"))?;
    let names: Vec<String> = all.iter().map(|one| one.operation.clone()).collect();
    let mut wanted: Vec<Explanation> =
        all.into_iter().filter(|one| operation.is_none_or(|name| one.operation == name)).collect();
    match (wanted.len(), operation) {
        (1, _) => Ok(wanted.remove(0)),
        (0, _) => bail!("{shown} explains {}, not {}", names.join(", "), operation.unwrap_or("anything")),
        _ => bail!("{shown} explains {}; name one of them", names.join(", ")),
    }
}

/// The operation of a counts file, with unit costs from these results.
pub(super) fn counted(path: &Path, costs: &[PathBuf], operation: Option<&str>) -> anyhow::Result<Case> {
    let cases = super::super::counts::load(path, costs)?;
    let names: Vec<String> = cases.iter().map(|case| case.explanation.operation.clone()).collect();
    let wanted = |case: &Case| operation.is_none_or(|name| case.explanation.operation == name);
    let mut wanted: Vec<Case> = cases.into_iter().filter(wanted).collect();
    match (wanted.len(), operation) {
        (1, _) => Ok(wanted.remove(0)),
        (0, _) => bail!("{} counts {}, not {}", path.display(), names.join(", "), operation.unwrap_or("anything")),
        _ => bail!("{} counts {}; name one of them", path.display(), names.join(", ")),
    }
}

/// The profiles in these files, each under its file's name.
pub(super) fn profiles(paths: &[PathBuf]) -> anyhow::Result<Vec<(String, Profile)>> {
    paths.iter().map(|path| Ok((name(path), profile(path)?))).collect()
}

pub(in crate::cli) fn name(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().trim_end_matches(".profile").to_owned()
}

pub(in crate::cli) fn profile(path: &Path) -> anyhow::Result<Profile> {
    if path.to_string_lossy().ends_with(".profile.json") {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
        return serde_json::from_reader(std::io::BufReader::new(file))
            .with_context(|| format!("{shown} is not a profile that `crosscheck --keep` wrote"));
    }
    let profile = read_profile(path, None)?;
    ensure!(
        !profile.notes.iter().any(|note| note.code == NOT_UNWOUND),
        "{shown}: found copies of stacks, recorded with --call-graph dwarf, which are not unwound here; expected a profile \
         with callers: bring the text of `perf script -i {shown}`",
        shown = path.display()
    );
    Ok(profile)
}

/// Writes what was judged, for [`explanation`] and [`profiles`] to read again.
pub(super) fn keep(folder: &Path, evidence: &Evidence) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let explanation = serde_json::to_vec_pretty(&evidence.explanation)?;
    write_file(&folder.join("explanation.json"), &explanation)?;
    for (name, profile) in &evidence.profiles {
        let file = format!("{}.profile.json", name.replace(['/', '\\'], "-"));
        write_file(&folder.join(file), &serde_json::to_vec(profile)?)?;
    }
    Ok(())
}
