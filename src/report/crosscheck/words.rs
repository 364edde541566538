//! The sentences and figures that every form of the report has in common.

use crate::crosscheck::budget::BudgetState;
use crate::crosscheck::reference::Basis;
use crate::crosscheck::report::{Reading, Report, Row, Sampler};
use crate::crosscheck::verdict::Verdict;
use crate::report::style::{safe, short};
use crate::stats::Estimate;
use crate::unit::Nanos;

/// The answer in one or two sentences.
pub(super) fn headline(report: &Report) -> String {
    let operation = safe(&report.operation);
    let takes = match report.time_ns {
        Some(time) => format!("{operation} takes {} of CPU time.", Nanos(time.point)),
        None => format!("How long {operation} takes is not known."),
    };
    let summary = &report.summary;
    if report.rows.iter().all(|row| row.count == Some(0.0) && row.reference.basis != Basis::Causal) {
        return format!("{takes} It calls no primitive, so there is nothing to hold a profile against.");
    }
    let made_of = summary.main_share.map(|share| {
        let many = summary.main_primitives;
        let noun = if many == 1 { "primitive" } else { "primitives" };
        // Costs standing alone may add up to more than the operation.
        let part = if share > 1.0 { "All".to_owned() } else { percent(share, 0) };
        format!(" {part} of it is {} {noun}", number_word(many))
    });
    let unmatched = report.warnings.iter().filter(|warning| warning.code == "nothing-matched").count();
    let says = match (summary.misleading.as_slice(), report.samplers.len(), summary.sound.len()) {
        (_, 0, _) => None,
        ([], 1, _) if unmatched == 1 => {
            Some("the profile holds no sample in any of its primitives, so it is not judged".to_owned())
        }
        ([], 1, 1) => Some("the profile agrees".to_owned()),
        ([], 2, 2) => Some("both profiles agree".to_owned()),
        ([], all, sound) if all == sound => Some(format!("all {} profiles agree", number_word(all))),
        ([], _, _) => Some("no profile is shown to mislead, and not every row is settled".to_owned()),
        (names, _, _) => {
            let verb = if names.len() == 1 { "says" } else { "say" };
            Some(format!("{} {verb} otherwise", listed(names)))
        }
    };
    match (made_of, says) {
        (Some(made_of), Some(says)) => format!("{takes}{made_of}; {says}."),
        (Some(only), None) => format!("{takes}{only}."),
        (None, Some(says)) => format!("{takes} {}.", capitalised(&says)),
        (None, None) => takes,
    }
}

/// What the reference rests on, and where it is missing.
pub(super) fn reference_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(gap) = report.summary.largest_causal_gap
        && report
            .rows
            .iter()
            .all(|row| row.reference.basis == Basis::Causal || row.dose.is_none() || row.replay.is_none())
    {
        notes.push(format!("reference: dose and replay agree within {} on every row", points(gap)));
    }
    for row in &report.rows {
        let reference = &row.reference;
        match (reference.basis, &reference.reason) {
            (Basis::None, Some(reason)) if !row.minor => {
                notes.push(format!("reference: none for {}: {reason}", safe(&row.primitive)));
            }
            (Basis::Dose | Basis::Replay | Basis::Trace, Some(reason)) if !row.minor => {
                notes.push(format!("reference: {}: {reason}", safe(&row.primitive)));
            }
            _ => {}
        }
    }
    let dose_alone = report
        .rows
        .iter()
        .filter(|row| row.reference.basis == Basis::Dose && row.reference.reason.is_none() && !row.minor);
    let dose_alone: Vec<String> = dose_alone.map(|row| safe(&row.primitive)).collect();
    if !dose_alone.is_empty() {
        notes.push(format!(
            "reference: dose alone for {}; a replay would show whether the operation's own calls cost what repeated ones do",
            dose_alone.join(", ")
        ));
    }
    if let Some(note) = traced_too_large(report) {
        notes.push(note);
    }
    if report.summary.model_only > 0 {
        let rows = report.summary.model_only;
        let (noun, verb) = if rows == 1 { ("row", "rests") } else { ("rows", "rest") };
        notes.push(format!(
            "reference: {rows} {noun} {verb} on op count × unit cost alone, which is weaker; a dose or a replay would \
             settle what the cost in place is"
        ));
    }
    notes
}

/// Which rows the clock's own readings make look large in the trace. Below a point, and within a quarter, nobody is
/// misled.
fn traced_too_large(report: &Report) -> Option<String> {
    let excess = |row: &&Row| {
        let (Some(trace), Some(share)) = (row.trace, row.reference.share) else { return false };
        trace.point - share.point > 0.01 && trace.point > 1.25 * share.point
    };
    let names: Vec<String> =
        report.rows.iter().filter(|row| !row.minor).filter(excess).map(|row| row_name(row, report)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "trace: too large for {}, by the clock's readings around each call; it is shown to be compared with, not to be believed",
            names.join(", ")
        )
    })
}

/// A sampler's rows that are not settled, with what would settle them; rows of one reason together.
pub(super) fn open_rows(report: &Report, sampler: usize) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for row in report.rows.iter().chain([&report.rest]).filter(|row| !row.minor) {
        let Some(reading) = row.readings.get(sampler) else { continue };
        if reading.judgement.verdict != Verdict::Unresolved {
            continue;
        }
        let reason = reading.judgement.reason.as_deref().unwrap_or("too wide to say");
        let name = row_name(row, report);
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => by_reason.push((reason, vec![name])),
        }
    }
    let line = |(reason, names): (&str, Vec<String>)| {
        let verb = if names.len() == 1 { "is" } else { "are" };
        format!("{} {verb} unresolved: {reason}", listed(&names))
    };
    by_reason.into_iter().map(line).collect()
}

/// `0.25 low`.
pub(super) fn budget(sampler: &Sampler) -> String {
    let ratio = sampler.budget.ratio.map(|ratio| format!("{ratio:.2}"));
    match (sampler.budget.state, ratio) {
        (BudgetState::Low, Some(ratio)) => format!("{ratio} low"),
        (BudgetState::High, Some(ratio)) => format!("{ratio} high"),
        (_, Some(ratio)) => ratio,
        (_, None) => "not known".to_owned(),
    }
}

/// `2,250 in 9.00 s`.
pub(super) fn samples(sampler: &Sampler) -> String {
    let count = sampler.budget.delivered.map_or("—".to_owned(), |delivered| thousands(delivered.round() as u64));
    match sampler.budget.time_ns {
        Some(ns) => format!("{count} in {}", Nanos(ns as f64)),
        None => count,
    }
}

/// `38.2 ±2.9`.
pub(super) fn sampled(reading: &Reading) -> String {
    let point = format!("{:.1}", reading.sampled.point * 100.0);
    match reading.sampled.half_width() {
        Some(half) => format!("{point} ±{:.1}", half * 100.0),
        None => point,
    }
}

/// The word beside a share; nothing where it agrees.
pub(super) fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "",
        Verdict::Unresolved => "?",
        Verdict::NoReference => "—",
        other => other.word(),
    }
}

pub(super) fn row_name(row: &Row, report: &Report) -> String {
    if std::ptr::eq(row, &report.rest) { "rest (behind no boundary)".to_owned() } else { short(&row.primitive) }
}

pub(super) fn share(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| "—".to_owned(), |estimate| percent(estimate.point, 1))
}

pub(super) fn percent(share: f64, digits: usize) -> String {
    if share.is_finite() { format!("{:.digits$} %", share * 100.0) } else { "—".to_owned() }
}

pub(super) fn points(share: f64) -> String {
    format!("{:.1} points", share.abs() * 100.0)
}

pub(super) fn count(calls: Option<f64>) -> String {
    match calls {
        None => String::new(),
        Some(calls) if calls.fract() == 0.0 => format!("{calls:.0}"),
        Some(calls) => format!("{calls:.2}"),
    }
}

pub(super) fn cost(cost: Option<Estimate>) -> String {
    cost.map_or_else(|| "—".to_owned(), |cost| Nanos(cost.point).to_string())
}

/// Digits in groups of three.
pub(super) fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| safe(name)).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn number_word(number: usize) -> String {
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    WORDS.get(number).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_easily() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!((count(Some(8.0)), count(Some(2.5)), count(None)), ("8".into(), "2.50".into(), String::new()));
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(number_word(40), "40");
    }
}
