//! Two records compared: paired by process, corrected for the number of rows, guarded by an A/A row.
//!
//! A change is claimed only where the adjusted p-value is below 0.05 and the interval of the ratio clears
//! the margin. Everything else is "unresolved", with the smallest change that could have been seen: a
//! comparison never says "same".

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Environment, Record, Row, Variant};
use crate::stats::paired::{self, Comparison};
use crate::stats::{Estimate, median};
use crate::unit::Share;

/// Name of the row that every run measures and that is the same code in every build of this crate. Where
/// it differs between two records, the machine changed and not the program.
pub const AA_ROW: &str = "aa";

/// The quantile of a process's timing samples that stands for the process. The lower quartile is the
/// undisturbed cost: neighbours on the machine add time and never take it away.
pub const QUANTILE: f64 = 0.25;

/// What a comparison demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Changes within this share either way are not claimed.
    pub margin: Share,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin: Share(0.005) }
    }
}

/// A comparison of two records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The margin, as a share.
    pub margin: f64,
    /// What differs between the two environments: a reason to doubt every figure below.
    pub environment: Vec<Difference>,
    /// Rows present on both sides.
    pub rows: Vec<RowComparison>,
    /// Rows of the old record only.
    pub only_old: Vec<String>,
    /// Rows of the new record only.
    pub only_new: Vec<String>,
    /// New over old, geometric mean over the rows on both sides, with its interval over processes.
    pub geometric_mean: Option<Estimate>,
    /// What the A/A row says.
    pub guard: Guard,
}

/// A fact of the environment that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which fact.
    pub what: String,
    /// Its value in the old record.
    pub old: String,
    /// Its value in the new record.
    pub new: String,
}

/// What the A/A row says about the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", content = "row", rename_all = "snake_case")]
pub enum Guard {
    /// One of the records has no A/A row.
    Absent,
    /// The row shows no change.
    Quiet(RowComparison),
    /// The row shows a change although its code is the same: all verdicts are withdrawn.
    Fired(RowComparison),
}

/// One row compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowComparison {
    /// The row's name.
    pub name: String,
    /// Its variant.
    pub variant: Variant,
    /// Median over the old processes, nanoseconds an iteration.
    pub old_ns: Option<f64>,
    /// Median over the new processes, nanoseconds an iteration.
    pub new_ns: Option<f64>,
    /// Pairs of processes.
    pub pairs: usize,
    /// New over old, with its interval.
    pub ratio: Option<Estimate>,
    /// p-value of the sign-flip test.
    pub p: Option<f64>,
    /// The same adjusted for the number of rows (Holm).
    pub adjusted_p: Option<f64>,
    /// Smallest relative change found in 80 % of comparisons like this.
    pub smallest_visible: Option<f64>,
    /// What may be claimed.
    pub verdict: Verdict,
    /// Why the new side has no figure where the old one has: the workload failed.
    pub failed: Option<String>,
}

/// What may be claimed of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The new figure is lower.
    Faster,
    /// The new figure is higher.
    Slower,
    /// The data do not decide.
    Unresolved,
    /// A change was seen, but the A/A row changed too.
    Withdrawn,
    /// One side has no figure, or fewer than 6 pairs of processes.
    NotComparable,
}

impl Verdict {
    /// The verdict in a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unresolved => "unresolved",
            Self::Withdrawn => "withdrawn",
            Self::NotComparable => "not comparable",
        }
    }
}

impl Report {
    /// The rows whose claimed slow-down exceeds a share, for a failing exit status. The interval's lower
    /// end decides, so that noise alone does not fail a build.
    pub fn slower_by_more_than(&self, share: Share) -> Vec<&RowComparison> {
        let exceeds = |row: &&RowComparison| {
            row.verdict == Verdict::Slower && row.ratio.and_then(|r| r.low).is_some_and(|low| low > 1.0 + share.0)
        };
        self.rows.iter().filter(exceeds).collect()
    }

    /// The rows that were measured in the old record and failed in the new one.
    pub fn failed(&self) -> impl Iterator<Item = (&RowComparison, &str)> {
        self.rows.iter().filter_map(|row| Some((row, row.failed.as_deref()?)))
    }
}

/// Compares `new` with `old`.
pub fn compare(old: &Record, new: &Record, settings: Settings) -> Report {
    let margin = settings.margin.0.max(0.0).ln_1p();
    let find = |record: &'_ Record, row: &Row| {
        record.rows.iter().find(|other| other.name == row.name && other.variant == row.variant).cloned()
    };
    let label = |row: &Row| match row.variant {
        Variant::Throughput => row.name.clone(),
        variant => format!("{} ({})", row.name, variant.word()),
    };
    let mut rows = Vec::new();
    let mut logs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut guard = Guard::Absent;
    for old_row in &old.rows {
        let Some(new_row) = find(new, old_row) else { continue };
        if old_row.processes.is_empty() && new_row.processes.is_empty() {
            // Measured on neither side, as a primitive too short to be timed cold.
            continue;
        }
        let pairs = pairs(old_row, &new_row);
        let comparison = paired::compare(&pairs.iter().map(|(_, old, new)| (*old, *new)).collect::<Vec<_>>());
        let row = described(old_row, &new_row, comparison, margin);
        if old_row.name == AA_ROW {
            guard = match verdict(&row, row.p, margin) {
                Verdict::Faster | Verdict::Slower => Guard::Fired(row),
                Verdict::NotComparable => Guard::Absent,
                _ => Guard::Quiet(row),
            };
            continue;
        }
        for (process, old_ns, new_ns) in pairs {
            logs.entry(process).or_default().push((new_ns / old_ns).ln());
        }
        rows.push(row);
    }
    let tested: Vec<usize> = (0..rows.len()).filter(|i| rows[*i].p.is_some()).collect();
    let adjusted = paired::holm(&tested.iter().filter_map(|i| rows[*i].p).collect::<Vec<_>>());
    for (index, p) in tested.into_iter().zip(adjusted) {
        rows[index].adjusted_p = Some(p);
        let claimed = verdict(&rows[index], Some(p), margin);
        let withdrawn = matches!(guard, Guard::Fired(_)) && matches!(claimed, Verdict::Faster | Verdict::Slower);
        rows[index].verdict = if withdrawn { Verdict::Withdrawn } else { claimed };
    }
    let missing = |from: &Record, to: &Record| {
        from.rows.iter().filter(|row| row.name != AA_ROW && find(to, row).is_none()).map(label).collect()
    };
    Report {
        margin: settings.margin.0,
        environment: differences(&old.environment, &new.environment),
        geometric_mean: geometric_mean(&logs),
        only_old: missing(old, new),
        only_new: missing(new, old),
        rows,
        guard,
    }
}

impl Variant {
    /// The variant in a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Chained => "chained",
            Self::Cold => "cold",
        }
    }
}

/// The figures of processes of the same number.
fn pairs(old: &Row, new: &Row) -> Vec<(u32, f64, f64)> {
    old.processes
        .iter()
        .filter_map(|a| {
            let b = new.processes.iter().find(|b| b.process == a.process)?;
            Some((a.process, a.quantile_ns(QUANTILE)?, b.quantile_ns(QUANTILE)?))
        })
        .collect()
}

fn described(old: &Row, new: &Row, comparison: Option<Comparison>, margin: f64) -> RowComparison {
    let figure = |row: &Row| median(&row.processes.iter().filter_map(|m| m.quantile_ns(QUANTILE)).collect::<Vec<_>>());
    RowComparison {
        name: old.name.clone(),
        variant: old.variant,
        old_ns: figure(old),
        new_ns: figure(new),
        pairs: comparison.map_or(0, |c| c.pairs),
        ratio: comparison.map(|c| c.ratio),
        p: comparison.filter(|c| c.ratio.low.is_some()).map(|c| c.p),
        adjusted_p: None,
        smallest_visible: comparison.and_then(|c| c.smallest_visible(margin)),
        verdict: Verdict::NotComparable,
        // A short primitive may be too short to be timed cold in one record and not in the other.
        failed: new.error.clone().filter(|_| old.error.is_none() && old.variant == Variant::Throughput),
    }
}

fn verdict(row: &RowComparison, p: Option<f64>, margin: f64) -> Verdict {
    let Some((p, low, high)) = p.zip(row.ratio).and_then(|(p, r)| Some((p, r.low?.ln(), r.high?.ln()))) else {
        return Verdict::NotComparable;
    };
    match p < 0.05 {
        true if low > margin => Verdict::Slower,
        true if high < -margin => Verdict::Faster,
        _ => Verdict::Unresolved,
    }
}

/// The mean over rows in each process, then over processes: rows of one process are not independent.
fn geometric_mean(logs: &BTreeMap<u32, Vec<f64>>) -> Option<Estimate> {
    let most = logs.values().map(Vec::len).max()?;
    // Processes that lack rows would mix a change of rows into the mean.
    let means: Vec<f64> = logs
        .values()
        .filter(|rows| rows.len() == most)
        .map(|rows| rows.iter().sum::<f64>() / rows.len() as f64)
        .collect();
    let point = (means.iter().sum::<f64>() / means.len() as f64).exp();
    Some(match paired::sign_flip_interval(&means) {
        Some((low, high)) => Estimate::with_interval(point, low.exp(), high.exp()),
        None => Estimate::point(point),
    })
}

/// The facts that make two runs two machines or two builds.
fn differences(old: &Environment, new: &Environment) -> Vec<Difference> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
    let facts = |e: &Environment| {
        [
            ("platform", e.platform.clone()),
            ("CPU", text(&e.cpu_model)),
            ("cores", text(&e.cores.map(|cores| cores.to_string()))),
            ("kernel", text(&e.kernel)),
            ("hypervisor", text(&e.hypervisor)),
            ("governor", text(&e.governor)),
            ("turbo", text(&e.turbo.map(|on| if on { "on" } else { "off" }.to_owned()))),
            ("compiler", text(&e.compiler)),
            ("optimisation", e.optimisation.clone()),
            ("flags", text(&e.flags)),
        ]
    };
    let differing = facts(old).into_iter().zip(facts(new)).filter(|((_, a), (_, b))| a != b);
    differing.map(|((what, old), (_, new))| Difference { what: what.to_owned(), old, new }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, row, sample};
    use super::*;
    use crate::stats::resample::normal;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// A row of ten processes with 0.5 % of noise between them.
    fn noisy(random: &mut ChaCha8Rng, name: &str, ns: f64) -> Row {
        let samples: Vec<_> = (0..10)
            .map(|_| {
                let level = ns * (1.0 + 0.005 * normal(random));
                (0..20).map(|i| sample(1, (level * (1.0 + 0.0001 * f64::from(i))) as u64)).collect()
            })
            .collect();
        row(name, &samples)
    }

    fn records(seed: u64, changes: &[(&str, f64)], aa: f64) -> (Record, Record) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut of = |factor: &dyn Fn(f64) -> f64| {
            let mut rows: Vec<Row> =
                changes.iter().map(|(name, change)| noisy(&mut random, name, 1e6 * factor(*change))).collect();
            rows.push(noisy(&mut random, AA_ROW, 1e5 * factor(aa)));
            record(rows)
        };
        (of(&|_| 1.0), of(&|change| change))
    }

    #[test]
    fn a_change_is_claimed_and_no_change_is_not() {
        let (old, new) = records(1, &[("same", 1.0), ("slower", 1.03), ("faster", 0.97)], 1.0);
        let report = compare(&old, &new, Settings::default());
        let verdicts: Vec<_> = report.rows.iter().map(|row| row.verdict).collect();
        assert_eq!(verdicts, [Verdict::Unresolved, Verdict::Slower, Verdict::Faster]);
        assert!(matches!(report.guard, Guard::Quiet(_)));
        assert!(report.rows[0].smallest_visible.unwrap() < 0.02);
        assert_eq!(report.slower_by_more_than(Share(0.0)).len(), 1);
        assert_eq!(report.slower_by_more_than(Share(0.05)).len(), 0);
        assert!(report.geometric_mean.unwrap().half_width().unwrap() < 0.01);
    }

    #[test]
    fn verdicts_are_withdrawn_when_the_machine_changed() {
        let (old, new) = records(2, &[("slower", 1.03)], 1.03);
        let report = compare(&old, &new, Settings::default());
        assert_eq!(report.rows[0].verdict, Verdict::Withdrawn);
        assert!(matches!(report.guard, Guard::Fired(_)));
        assert!(report.slower_by_more_than(Share(0.0)).is_empty());
    }

    #[test]
    fn many_rows_without_a_change_raise_no_alarm() {
        let names: Vec<String> = (0..20).map(|i| format!("row {i}")).collect();
        let rows: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
        let alarmed = (0..100)
            .filter(|seed| {
                let (old, new) = records(100 + seed, &rows, 1.0);
                compare(&old, &new, Settings::default()).rows.iter().any(|row| row.verdict != Verdict::Unresolved)
            })
            .count();
        assert!(alarmed <= 5, "{alarmed} of 100");
    }

    #[test]
    fn missing_rows_and_figures_are_named() {
        let (mut old, mut new) = records(3, &[("both", 1.0), ("old", 1.0), ("empty", 1.0)], 1.0);
        new.rows.retain(|row| row.name != "old");
        old.rows.retain(|row| row.name != AA_ROW);
        new.rows.iter_mut().find(|row| row.name == "empty").unwrap().processes.clear();
        let report = compare(&old, &new, Settings::default());
        assert_eq!(report.only_old, ["old"]);
        assert_eq!(report.only_new, Vec::<String>::new());
        assert_eq!(report.rows[1].verdict, Verdict::NotComparable);
        assert_eq!(report.failed().count(), 0);
        new.rows.iter_mut().find(|row| row.name == "empty").unwrap().error = Some("panicked: half way".to_owned());
        let report = compare(&old, &new, Settings::default());
        let failed: Vec<_> = report.failed().map(|(row, error)| (row.name.as_str(), error)).collect();
        assert_eq!(failed, [("empty", "panicked: half way")]);
        assert_eq!((report.rows[1].new_ns, report.rows[1].ratio), (None, None));
        assert_eq!(report.guard, Guard::Absent);
    }

    #[test]
    fn other_machines_and_toolchains_are_named_first() {
        let (old, mut new) = records(4, &[("x", 1.0)], 1.0);
        new.environment.cpu_model = Some("another".to_owned());
        new.environment.compiler = Some("rustc 2".to_owned());
        let what: Vec<_> = compare(&old, &new, Settings::default()).environment.into_iter().map(|d| d.what).collect();
        assert_eq!(what, ["CPU", "compiler"]);
    }
}
