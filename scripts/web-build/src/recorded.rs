//! The figures of the stored records, in the small form that the page shows beside its own.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use countercheck::record::compare::AA_ROW;
use countercheck::record::{Variant, store};
use serde_json::{Value, json};

/// The runtimes that a page cannot run itself.
const RUNTIMES: [&str; 2] = ["native", "jvm"];

/// Writes the newest figure of each workload and runtime in `records` to `out`; an empty list where
/// there are no records.
pub fn write(records: &Path, out: &Path) -> anyhow::Result<()> {
    let mut newest: BTreeMap<(String, String), (u64, Value)> = BTreeMap::new();
    let files = if records.is_dir() { records.read_dir()?.collect::<Result<Vec<_>, _>>()? } else { Vec::new() };
    for path in files.into_iter().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"))
    {
        let record = store::read(&path)?;
        for row in record.summaries() {
            let Some(p50) = row.p50_ns else { continue };
            if row.name == AA_ROW || row.variant != Variant::Throughput || !RUNTIMES.contains(&row.runtime.as_str()) {
                continue;
            }
            let figure = json!({
                "name": row.name,
                "kind": row.kind,
                "runtime": row.runtime,
                "implementation": row.implementation,
                "iterations": 1,
                "n": row.processes,
                "p50": p50,
                "p90": row.p90_ns,
                "p99": row.p99_ns,
                "machine": record.environment.cpu_model,
            });
            // Of several implementations in one record the first: the platform's own comes before the project's.
            let at = (row.name, row.runtime);
            if newest.get(&at).is_none_or(|(started, _)| *started < record.started_at) {
                newest.insert(at, (record.started_at, figure));
            }
        }
    }
    let figures: Vec<Value> = newest.into_values().map(|(_, figure)| figure).collect();
    let folder = out.parent().context("the file lies in a folder")?;
    std::fs::create_dir_all(folder)?;
    let text = serde_json::to_string(&figures)?;
    if std::fs::read_to_string(out).ok().as_ref() != Some(&text) {
        std::fs::write(out, text).with_context(|| format!("writing {}", out.display()))?;
    }
    println!("{}: {} figures", out.display(), figures.len());
    Ok(())
}
