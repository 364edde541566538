//! Compares two sets of results of one harness, metric by metric, without claiming more than they hold.

use serde::{Deserialize, Serialize};

use super::units::{Base, Direction};
use super::{Exactness, Metric, Results};
use crate::profile::Note;
use crate::stats::{self, Estimate, paired, rank_sum};
use crate::unit::Share;

/// Why two sets of results cannot be compared at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the old results are {old}'s and the new ones {new}'s: expected two of one harness")]
pub struct DifferentHarness {
    /// Harness of the old results.
    pub old: String,
    /// Harness of the new results.
    pub new: String,
}

/// Two sets of results held against each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The harness of both.
    pub harness: String,
    /// One row a metric of each benchmark on both sides.
    pub changes: Vec<Change>,
    /// Benchmarks only the old results have.
    pub only_old: Vec<String>,
    /// Benchmarks only the new results have.
    pub only_new: Vec<String>,
    /// Geometric mean of new over old over the main time of all benchmarks on both sides.
    pub time_ratio: Option<f64>,
    /// Facts of the context that differ: name, old, new.
    pub context: Vec<(String, String, String)>,
    /// What was left out of the old results, or looks wrong in them.
    #[serde(default)]
    pub old_notes: Vec<Note>,
    /// The same of the new results.
    #[serde(default)]
    pub new_notes: Vec<Note>,
}

/// One metric of one benchmark on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The benchmark.
    pub benchmark: String,
    /// The metric.
    pub metric: String,
    /// The dimension of both sides.
    pub base: Base,
    /// The old figure and the number of independent values behind it.
    pub old: Option<(Estimate, usize)>,
    /// The new figure and the number of independent values behind it.
    pub new: Option<(Estimate, usize)>,
    /// New over old, with the interval of the rank-sum test.
    pub ratio: Option<Estimate>,
    /// The test's two-sided p-value.
    pub p: Option<f64>,
    /// The same after Holm's correction over all rows tested.
    pub adjusted_p: Option<f64>,
    /// What can be said.
    pub verdict: Verdict,
}

/// What a comparison of one metric concludes. It never says "same".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Changed by more than the margin, in a unit that does not say which way is better.
    Changed,
    /// Exact values that are equal.
    Equal,
    /// The data do not settle it.
    Unresolved,
    /// Too few values for any difference to be claimed: what is missing.
    TooFew(String),
    /// Not comparable, and why.
    Refused(String),
}

/// Compares `new` with `old`. A change is claimed only where Holm's adjusted p is below 0.05 and the
/// ratio's interval lies beyond the margin.
///
/// # Errors
/// Where the two come from different harnesses.
pub fn compare(old: &Results, new: &Results, margin: Share) -> Result<Comparison, DifferentHarness> {
    if old.harness != new.harness {
        return Err(DifferentHarness { old: old.harness.clone(), new: new.harness.clone() });
    }
    let mut changes = Vec::new();
    for before in &old.benchmarks {
        let Some(after) = new.find(&before.name) else { continue };
        for metric in &before.metrics {
            match after.metrics.iter().find(|other| other.name == metric.name) {
                Some(other) => changes.push(change(&before.name, metric, other)),
                None if metric.base == Base::Nanoseconds => {
                    changes.push(refused(&before.name, metric, "the new results lack it"))
                }
                None => {}
            }
        }
    }
    settle(&mut changes, margin);
    let missing = |from: &Results, other: &Results| {
        let names = from.benchmarks.iter().filter(|benchmark| other.find(&benchmark.name).is_none());
        names.map(|benchmark| benchmark.name.clone()).collect()
    };
    let context = old.context.iter().filter_map(|(key, value)| {
        let other = new.context.get(key)?;
        (other != value).then(|| (key.clone(), value.clone(), other.clone()))
    });
    Ok(Comparison {
        harness: old.harness.clone(),
        time_ratio: geometric_mean(&changes),
        changes,
        only_old: missing(old, new),
        only_new: missing(new, old),
        context: context.collect(),
        old_notes: old.notes.clone(),
        new_notes: new.notes.clone(),
    })
}

fn refused(benchmark: &str, metric: &Metric, why: &str) -> Change {
    Change {
        benchmark: benchmark.to_owned(),
        metric: metric.name.clone(),
        base: metric.base.clone(),
        old: figure(metric),
        new: None,
        ratio: None,
        p: None,
        adjusted_p: None,
        verdict: Verdict::Refused(why.to_owned()),
    }
}

fn figure(metric: &Metric) -> Option<(Estimate, usize)> {
    Some((metric.estimate()?, metric.independent().len()))
}

fn change(benchmark: &str, old: &Metric, new: &Metric) -> Change {
    let mut change = refused(benchmark, old, "");
    if old.base != new.base {
        change.verdict = Verdict::Refused(format!("the unit changed from {} to {}", old.unit, new.unit));
        return change;
    }
    change.new = figure(new);
    let (Some((before, _)), Some((after, _))) = (change.old, change.new) else {
        change.verdict = Verdict::Refused("a side has no figure".into());
        return change;
    };
    let (a, b) = (old.independent(), new.independent());
    let positive = a.iter().chain(&b).all(|value| *value > 0.0);
    if before.point <= 0.0 || !positive {
        let same = before.point == after.point && a.iter().chain(&b).all(|value| *value == before.point);
        change.verdict =
            if same { Verdict::Equal } else { Verdict::Refused("a value is zero or less: there is no ratio".into()) };
        return change;
    }
    change.ratio = Some(Estimate::point(after.point / before.point));
    if old.exactness == Exactness::Exact && new.exactness == Exactness::Exact && constant(&a) && constant(&b) {
        change.verdict = if before.point == after.point { Verdict::Equal } else { Verdict::Changed };
        return change;
    }
    let Some(test) = rank_sum::rank_sum(&a, &b) else {
        change.verdict = Verdict::TooFew("the files hold no raw values, only figures made from them".into());
        return change;
    };
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    if let Some(shift) = rank_sum::shift(&logs(&a), &logs(&b)) {
        // The ratio of the medians stands with the interval of the shift; where they disagree the shift's own point does.
        let (low, high) = (shift.low.map(f64::exp), shift.high.map(f64::exp));
        let point = after.point / before.point;
        let inside = low.is_none_or(|low| low <= point) && high.is_none_or(|high| point <= high);
        change.ratio = Some(Estimate { point: if inside { point } else { shift.point.exp() }, low, high });
    }
    change.p = Some(test.p);
    change.verdict =
        if test.smallest_p >= 0.05 && !(constant(&a) && constant(&b) && a[0] == b[0] && a.len() + b.len() > 6) {
            // Four and four can tell, unless equal values leave few ways to rank them.
            let remedy = match a.len().min(b.len()) {
                0..4 => "4 and 4 are the fewest that can tell",
                _ => "too many of them are equal",
            };
            let (old, new) = (a.len(), b.len());
            Verdict::TooFew(format!("with {old} and {new} values p cannot fall below {:.2}; {remedy}", test.smallest_p))
        } else {
            Verdict::Unresolved
        };
    change
}

fn constant(values: &[f64]) -> bool {
    values.iter().all(|value| *value == values[0])
}

/// Turns tests into claims: Holm over all rows that could claim something.
fn settle(changes: &mut [Change], margin: Share) {
    let tested: Vec<usize> = (0..changes.len()).filter(|at| changes[*at].verdict == Verdict::Unresolved).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|at| changes[*at].p).collect();
    for (at, adjusted) in tested.into_iter().zip(paired::holm(&p_values)) {
        changes[at].adjusted_p = Some(adjusted);
        let Some(Estimate { low: Some(low), high: Some(high), .. }) = changes[at].ratio else { continue };
        if adjusted < 0.05 && (low > 1.0 + margin.0 || high < 1.0 - margin.0) {
            changes[at].verdict = claimed(&changes[at].base, low > 1.0);
        }
    }
    for change in changes.iter_mut().filter(|change| change.verdict == Verdict::Changed) {
        change.verdict = claimed(&change.base, change.ratio.is_some_and(|ratio| ratio.point > 1.0));
    }
}

fn claimed(base: &Base, grew: bool) -> Verdict {
    match (base.direction(), grew) {
        (Direction::Unknown, _) => Verdict::Changed,
        (Direction::Lower, false) | (Direction::Higher, true) => Verdict::Better,
        (Direction::Lower, true) | (Direction::Higher, false) => Verdict::Worse,
    }
}

fn geometric_mean(changes: &[Change]) -> Option<f64> {
    let mut logs: Vec<f64> = Vec::new();
    let mut last = "";
    for change in changes.iter().filter(|change| change.base == Base::Nanoseconds) {
        if let Some(ratio) = change.ratio.filter(|_| change.benchmark != last) {
            last = &change.benchmark;
            logs.push(ratio.point.ln());
        }
    }
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

impl Comparison {
    /// The changes for the worse whose ratio lies beyond this share.
    pub fn worse_by_more_than(&self, share: Share) -> Vec<&Change> {
        let beyond = |change: &&Change| {
            let worse = change.ratio.is_some_and(|ratio| match change.base.direction() {
                Direction::Higher => ratio.point < 1.0 / (1.0 + share.0),
                _ => ratio.point > 1.0 + share.0,
            });
            change.verdict == Verdict::Worse && worse
        };
        self.changes.iter().filter(beyond).collect()
    }
}

impl Change {
    /// The smallest change of the ratio that these data could have shown, as a share; `None` without an interval.
    pub fn smallest_visible(&self, margin: Share) -> Option<Share> {
        let ratio = self.ratio?;
        Some(Share(stats::Estimate::half_width(ratio)? + margin.0))
    }
}
