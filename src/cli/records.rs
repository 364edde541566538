//! `primitives records`: what a folder of records holds; pool, show, export and thin them out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, bail};

use super::rows::{self, Layout};
use super::{Outcome, terminal};
use crate::record::{Record, history, store};

/// Where records are kept unless said otherwise.
pub(super) const FOLDER: &str = "profiles/records";

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the records of a folder, oldest first
    List {
        #[arg(default_value = FOLDER)]
        folder: PathBuf,
    },
    /// Print a record as `time` prints a run
    Show { file: PathBuf },
    /// Pool records of one machine and build into one: equal rows add up their processes
    Merge {
        /// Where the pooled record goes
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
        #[arg(required = true, num_args = 2..)]
        files: Vec<PathBuf>,
    },
    /// Write records and cross-checks (`crosscheck --json`) as tables for a database: docs/howto/records-in-sql.md
    Export {
        #[arg(default_value = FOLDER)]
        folder: PathBuf,
        /// Where measurements.parquet and verdicts.parquet go
        #[arg(long, value_name = "FOLDER")]
        parquet: PathBuf,
    },
    /// Remove all but the newest records of each machine
    Prune {
        #[arg(default_value = FOLDER)]
        folder: PathBuf,
        /// How many to keep of each machine
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        keep: u32,
        /// Remove them; without this they are only named
        #[arg(long)]
        yes: bool,
    },
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.action {
        Action::List { folder } => list(folder)?,
        Action::Show { file } => terminal::print(&rows::render(&store::read(file)?, Layout::Measured)?)?,
        Action::Merge { output, files } => merge(output, files)?,
        Action::Export { folder, parquet } => export(folder, parquet)?,
        Action::Prune { folder, keep, yes } => {
            prune(folder, *keep as usize, if *yes { Doing::It } else { Doing::Naming })?
        }
    }
    Ok(Outcome::Fine)
}

/// Every record in a folder and its subfolders, oldest first, with its path. A file that is no record is an error:
/// nothing is passed over in silence.
pub(super) fn read_folder(folder: &Path) -> anyhow::Result<Vec<(String, Record)>> {
    let read = |path: PathBuf| Ok((path.display().to_string(), store::read(&path)?));
    let mut records = json_files(folder)?.into_iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    records.sort_by(|(a_path, a), (b_path, b)| (a.started_at, a_path).cmp(&(b.started_at, b_path)));
    Ok(records)
}

/// Every JSON file in a folder and its subfolders; at least one.
fn json_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let entries = std::fs::read_dir(&next).with_context(|| format!("folder {}", next.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
    }
    if paths.is_empty() {
        bail!("no records (*.json) in {}; `primitives time --record FILE` makes one", folder.display());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(not(feature = "parquet"))]
fn export(_folder: &Path, _to: &Path) -> anyhow::Result<()> {
    bail!("this program was built without Parquet; build it with --features parquet")
}

#[cfg(feature = "parquet")]
fn export(folder: &Path, to: &Path) -> anyhow::Result<()> {
    use crate::crosscheck::report::Report;
    use crate::report::{parquet, table};

    let (mut records, mut reports) = (Vec::new(), Vec::new());
    for path in json_files(folder)? {
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).with_context(|| name.clone())?;
        // Only a cross-check has samplers; whatever else there is must be a record.
        let is_report = serde_json::from_slice::<serde_json::Value>(&bytes)
            .is_ok_and(|document| document.get("samplers").is_some() && document.get("operation").is_some());
        if is_report {
            reports.push((name.clone(), serde_json::from_slice::<Report>(&bytes).with_context(|| name)?));
        } else {
            records.push((name, store::parse(&path, &bytes)?));
        }
    }
    std::fs::create_dir_all(to).with_context(|| format!("folder {}", to.display()))?;
    for table in [table::measurements(&records), table::verdicts(&reports)] {
        let path = to.join(table.name).with_extension("parquet");
        super::output::write_file(&path, &parquet::write(&table)?)?;
        terminal::print(&format!("{}: {} rows\n", path.display(), table.rows.len()))?;
    }
    Ok(())
}

/// The UTC day and time of a record, to the minute.
pub(super) fn day(seconds: u64) -> String {
    // Past the year 9999 the formatter refuses; such a record is damaged, not a reason to panic.
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(253_402_300_799));
    humantime::format_rfc3339_seconds(time)
        .to_string()
        .chars()
        .take(16)
        .map(|c| if c == 'T' { ' ' } else { c })
        .collect()
}

fn list(folder: &Path) -> anyhow::Result<()> {
    let rows = read_folder(folder)?
        .iter()
        .map(|(path, record)| {
            let processes = record.rows.iter().map(|row| row.processes.len()).max().unwrap_or(0);
            let commit = record.tool.commit.as_deref().unwrap_or("—").chars().take(12).collect();
            vec![
                path.clone(),
                day(record.started_at),
                commit,
                record.rows.len().to_string(),
                processes.to_string(),
                history::machine(record),
            ]
        })
        .collect::<Vec<_>>();
    terminal::print(&terminal::table(&["record", "date", "commit", "rows", "processes", "machine"], &rows))
}

fn merge(output: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let read = |path: &PathBuf| Ok((path.display().to_string(), store::read(path)?));
    let records = files.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let merged = history::merge(&records)?;
    store::write(output, &merged)?;
    terminal::print(&format!("{} records pooled in {}\n", records.len(), output.display()))
}

enum Doing {
    It,
    Naming,
}

fn prune(folder: &Path, keep: usize, doing: Doing) -> anyhow::Result<()> {
    let mut machines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, record) in read_folder(folder)? {
        machines.entry(history::machine(&record)).or_default().push(path);
    }
    let old: Vec<String> =
        machines.into_values().flat_map(|paths| paths[..paths.len().saturating_sub(keep)].to_vec()).collect();
    for path in &old {
        if matches!(doing, Doing::It) {
            std::fs::remove_file(path).with_context(|| path.clone())?;
        }
        terminal::print(&format!("{}\n", terminal::plain(path)))?;
    }
    terminal::print(&match doing {
        Doing::It => format!("{} removed\n", old.len()),
        Doing::Naming => format!("{} would be removed; --yes removes them\n", old.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_utc_and_never_panic() {
        assert_eq!(day(0), "1970-01-01 00:00");
        assert_eq!(day(1_700_000_000), "2023-11-14 22:13");
        assert_eq!(day(u64::MAX), "9999-12-31 23:59");
    }
}
