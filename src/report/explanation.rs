//! An explanation for the terminal and as JSON.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::style::plain;
use super::with_interval;
use crate::crosscheck::explanation::{Explained, Explanation};
use crate::stats::Estimate;
use crate::unit::{Nanos, Share, three_digits};
use crate::workload::WorkloadError;

/// What happens to primitives that cost less than 1 % of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Small {
    /// A row each.
    Listed,
    /// One row for all of them.
    Folded,
}

/// Below this part of the operation a primitive is small.
const SMALL: f64 = 0.01;

/// The answer in a sentence, the table, and what to distrust.
pub fn text(explanation: &Explanation, small: Small) -> String {
    let mut text = format!("{}\n\n", sentence(explanation));
    let is_small = |one: &&Explained| small == Small::Folded && part(explanation, one.predicted_ns) < SMALL;
    let (few, shown): (Vec<_>, Vec<_>) = explanation.primitives.iter().partition(is_small);
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["primitive", "count", "cost", "band", "predicted", "", "dose", "ratio", "replay", "ratio"]);
    for one in shown {
        table.add_row(row(explanation, one));
    }
    if !few.is_empty() {
        table.add_row(folded(explanation, &few));
    }
    let mut all = vec!["all at once".to_owned(), String::new(), String::new(), String::new()];
    all.extend(amount(explanation, explanation.predicted_ns()));
    all.extend(against(explanation.dose_all_ns, explanation.predicted_ns()));
    all.extend(against(explanation.replay_all_ns, explanation.predicted_ns()));
    table.add_row(all);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text += &format!("{}\n\n", table.trim_fmt());
    for line in nested(explanation) {
        text += &format!("{line}\n");
    }
    for warning in &explanation.warnings {
        text += &super::warning(warning);
    }
    text
}

fn sentence(explanation: &Explanation) -> String {
    let operation = plain(&explanation.operation);
    let Some(time) = explanation.time_ns else { return format!("{operation}: not timed") };
    let called = explanation.primitives.iter().filter(|one| one.predicted_ns.is_some()).count();
    let explain = if called == 1 { "primitive explains" } else { "primitives explain" };
    let gate = if explanation.causal_valid { "" } else { " Dose and replay are no reference here: see causal-gate." };
    match (explanation.explained(), explanation.residual_ns()) {
        (Some(explained), Some(residual)) => format!(
            "{} takes {} of CPU time. {called} {explain} {} of it; {} is behind no boundary.{gate}",
            operation,
            with_interval(time),
            Share(explained),
            Nanos(residual)
        ),
        _ => format!(
            "{} takes {} of CPU time. None of its primitives has a unit cost.{gate}",
            operation,
            with_interval(time)
        ),
    }
}

fn row(explanation: &Explanation, one: &Explained) -> Vec<String> {
    let band = one.cost_band_ns.map_or_else(String::new, |(low, high)| format!("{}–{}", Nanos(low), Nanos(high)));
    let cost = one.unit_cost_ns.map_or_else(|| "—".to_owned(), |cost| Nanos(cost.point).to_string());
    let mut row = vec![plain(&one.primitive), count(one.count), cost, band];
    row.extend(amount(explanation, one.predicted_ns));
    row.extend(against(one.dose_ns, one.predicted_ns));
    row.extend(against(one.replay_ns, one.predicted_ns));
    row
}

fn folded(explanation: &Explanation, few: &[&Explained]) -> Vec<String> {
    let sum = |of: fn(&Explained) -> Option<Estimate>| {
        let parts: Vec<f64> = few.iter().filter_map(|one| of(one)).map(|part| part.point).collect();
        (!parts.is_empty()).then(|| Estimate::point(parts.iter().sum()))
    };
    let predicted = sum(|one| one.predicted_ns);
    let calls = few.iter().map(|one| one.count).sum();
    let mut row = vec![format!("{} others", few.len()), count(calls), String::new(), String::new()];
    row.extend(amount(explanation, predicted));
    row.extend(against(sum(|one| one.dose_ns), predicted));
    row.extend(against(sum(|one| one.replay_ns), predicted));
    row
}

/// Predicted time and its part of the operation.
fn amount(explanation: &Explanation, predicted: Option<Estimate>) -> [String; 2] {
    let time = predicted.map_or_else(|| "—".to_owned(), |predicted| Nanos(predicted.point).to_string());
    let part = if predicted.is_some() { Share(part(explanation, predicted)).to_string() } else { String::new() };
    [time, part]
}

/// A measured time with its interval, and its ratio to the prediction.
fn against(measured: Option<Estimate>, predicted: Option<Estimate>) -> [String; 2] {
    let Some(measured) = measured else { return ["—".to_owned(), String::new()] };
    let ratio = predicted.map_or_else(String::new, |predicted| three_digits(measured.point / predicted.point));
    [with_interval(measured), ratio]
}

fn part(explanation: &Explanation, time: Option<Estimate>) -> f64 {
    time.zip(explanation.time_ns).map_or(0.0, |(part, whole)| part.point / whole.point)
}

fn count(calls: f64) -> String {
    if calls.fract() == 0.0 { format!("{calls:.0}") } else { format!("{calls:.2}") }
}

fn nested(explanation: &Explanation) -> Vec<String> {
    let line = |one: &Explained, parent: &str, calls: f64| {
        format!("{} more calls of {} happen within {parent} and are part of its cost", count(calls), one.primitive)
    };
    let primitives = explanation.primitives.iter();
    primitives.flat_map(|one| one.nested.iter().map(move |(parent, calls)| line(one, parent, *calls))).collect()
}

/// `{"explanations": […], "errors": […]}`.
pub fn to_json(all: &[Result<Explanation, WorkloadError>]) -> serde_json::Value {
    let explanations: Vec<_> = all.iter().flatten().collect();
    let errors: Vec<_> = all.iter().filter_map(|one| one.as_ref().err()).collect();
    serde_json::json!({
        "explanations": explanations,
        "errors": errors.iter().map(|e| serde_json::json!({"operation": e.workload, "error": e.message})).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation() -> Explanation {
        let one = |primitive: &str, count: f64, cost: f64| Explained {
            primitive: primitive.to_owned(),
            count,
            unit_cost_ns: Some(Estimate::point(cost)),
            predicted_ns: Some(Estimate::with_interval(count * cost, count * cost - 3.0, count * cost + 4.0)),
            dose_ns: Some(Estimate::point(count * cost * 1.02)),
            ..Explained::default()
        };
        Explanation {
            operation: "op/1".to_owned(),
            time_ns: Some(Estimate::with_interval(1000.0, 990.0, 1010.0)),
            primitives: vec![one("large", 8.0, 100.0), one("tiny", 3.0, 1.0), one("tinier", 1.0, 2.0)],
            dose_all_ns: None,
            replay_all_ns: None,
            causal_valid: true,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn the_sum_is_told_first_and_small_ones_fold() {
        let listed = text(&explanation(), Small::Listed);
        assert!(listed.starts_with(
            "op/1 takes 1.00 µs ±10.0 ns of CPU time. 3 primitives explain 80.5 % of it; 195 ns is behind no boundary.\n"
        ));
        assert!(listed.contains("tinier"));
        let folded = text(&explanation(), Small::Folded);
        assert!(!folded.contains("tinier") && folded.contains("2 others"), "{folded}");
    }

    #[test]
    fn independent_errors_add_as_squares() {
        let predicted = explanation().predicted_ns().unwrap();
        assert_eq!(predicted.point, 805.0);
        assert!((predicted.low.unwrap() - (805.0 - 27f64.sqrt())).abs() < 1e-9);
        assert!((predicted.high.unwrap() - (805.0 + 48f64.sqrt())).abs() < 1e-9);
    }
}
