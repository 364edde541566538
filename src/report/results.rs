//! Prints a comparison of two harnesses' results.

use super::columns::{Form, table};
use super::style::plain;
use crate::import::result::compare::{Change, Comparison, Verdict};
use crate::stats::Estimate;
use crate::unit::Share;

/// The comparison as text or Markdown.
pub fn text(comparison: &Comparison, margin: Share, form: Form) -> String {
    let mut out = String::new();
    for (key, old, new) in &comparison.context {
        out.push_str(&format!("{} differs: {} and {}\n", plain(key), plain(old), plain(new)));
    }
    let rows: Vec<_> = comparison.changes.iter().map(|change| row(change, margin)).collect();
    out.push_str(&table(form, &["benchmark", "metric", "old", "new", "change", "p (Holm)", "verdict"], &rows, 2));
    for (names, side) in [(&comparison.only_old, "old"), (&comparison.only_new, "new")] {
        if !names.is_empty() {
            let names: Vec<_> = names.iter().map(|name| plain(name)).collect();
            out.push_str(&format!("only in the {side} results: {}\n", names.join(", ")));
        }
    }
    if let Some(ratio) = comparison.time_ratio {
        out.push_str(&format!("geometric mean of the times: {}\n", percent(ratio)));
    }
    for (notes, side) in [(&comparison.old_notes, "old"), (&comparison.new_notes, "new")] {
        for note in notes {
            out.push_str(&format!("note, {side} results: {} ({})\n", plain(&note.message), note.count));
        }
    }
    out
}

fn percent(ratio: f64) -> String {
    format!("{:+.2} %", (ratio - 1.0) * 100.0)
}

fn row(change: &Change, margin: Share) -> Vec<String> {
    let figure = |side: Option<(Estimate, usize)>| match side {
        Some((estimate, n)) => format!("{} (n={n})", change.base.show(estimate.point)),
        None => "—".to_owned(),
    };
    let ratio = change.ratio.map_or("—".to_owned(), |ratio| match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{} [{}, {}]", percent(ratio.point), percent(low), percent(high)),
        _ => percent(ratio.point),
    });
    let p = match (change.p, change.adjusted_p) {
        (Some(p), Some(adjusted)) => format!("{p:.3} ({adjusted:.3})"),
        (Some(p), None) => format!("{p:.3}"),
        _ => "—".to_owned(),
    };
    let verdict = match &change.verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "worse".to_owned(),
        Verdict::Changed => "changed".to_owned(),
        Verdict::Equal => "equal".to_owned(),
        Verdict::Unresolved => match change.smallest_visible(margin) {
            Some(visible) => format!("unresolved: less than {visible} would not show"),
            None => "unresolved".to_owned(),
        },
        Verdict::TooFew(why) => format!("too few: {why}"),
        Verdict::Refused(why) => format!("refused: {why}"),
    };
    vec![change.benchmark.clone(), change.metric.clone(), figure(change.old), figure(change.new), ratio, p, verdict]
}
