//! Prints the heaviest functions of a profile, as a table or as JSON, with the unit beside every number.

use std::fmt::Write;

use serde_json::json;

use super::columns::{Form, aligned};
use super::style::{safe, short};
use crate::profile::{GroupBy, Profile, SampleClock, Top, TopRow};
use crate::unit::{Bytes, Nanos, Share};

/// What to print.
pub struct View<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// The weight that shares are of.
    pub weight: usize,
    /// What frames are put together by.
    pub group: GroupBy,
    /// The most rows to print.
    pub limit: usize,
}

/// A weight with its unit, in the unit's own notation.
pub fn amount(value: f64, unit: &str) -> String {
    match unit {
        "nanoseconds" => Nanos(value).to_string(),
        "bytes" => Bytes(value).to_string(),
        "count" | "unstated" => whole(value),
        other => format!("{} {}", whole(value), short(other)),
    }
}

fn whole(value: f64) -> String {
    // Beyond the whole numbers that a float holds exactly, its digits would mean nothing.
    if value.abs() >= 9.007e15 {
        format!("{value:.3e}")
    } else if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}

/// A table, with the totals and what to distrust above it.
pub fn text(view: &View<'_>) -> String {
    let View { profile, weight, group, limit } = view;
    let weight_type = &profile.weight_types[*weight];
    let unit = weight_type.unit.as_str();
    let top = profile.top(*weight, *group);
    let mut out = String::new();
    let _ = writeln!(out, "{}", headline(profile, *weight, &top));
    if top.denominator == 0.0 {
        let _ = writeln!(out, "No samples: {} is zero in the whole profile.", safe(&weight_type.name));
    }
    for other in others(profile, *weight) {
        let _ = writeln!(out, "{other}");
    }
    for note in &profile.notes {
        let _ = writeln!(out, "note: {} ({})", safe(&note.message), note.count);
    }
    for doubt in profile.doubts(*weight) {
        out += &super::warning(&doubt);
    }
    if top.rows.is_empty() {
        return out;
    }
    let what = match group {
        GroupBy::Function => "function",
        GroupBy::Module => "module",
        GroupBy::Line => "line",
    };
    // Where the weight is the number of samples, it is said once.
    let counted = |samples: Option<f64>, weight: f64| samples == Some(weight);
    let is_count = top
        .rows
        .iter()
        .all(|row| counted(row.self_samples, row.self_weight) && counted(row.total_samples, row.total_weight));
    let count = |count: Option<f64>| count.map_or("—".to_owned(), whole);
    let cells = |row: &TopRow| {
        let mut cells = vec![
            Share(row.self_share).to_string(),
            amount(row.self_weight, unit),
            Share(row.total_share).to_string(),
            amount(row.total_weight, unit),
        ];
        if !is_count {
            cells.extend([count(row.self_samples), count(row.total_samples)]);
        }
        cells.push(short(&row.name));
        cells
    };
    let rows: Vec<Vec<String>> = top.rows.iter().take(*limit).map(cells).collect();
    let samples: &[&str] = if is_count { &[] } else { &["self n", "total n"] };
    let headers = [&["self", "", "total", ""], samples, &[what]].concat();
    let _ = write!(out, "\n{}", aligned(Form::Plain, &headers, &rows, |column| column + 1 == headers.len()));
    if top.without_stack != 0.0 {
        let _ = writeln!(
            out,
            "{} ({}) is in samples without a stack",
            Share(top.without_stack / top.denominator),
            amount(top.without_stack, unit)
        );
    }
    if top.rows.len() > *limit {
        let _ = writeln!(out, "… {} more; --limit shows them", top.rows.len() - limit);
    }
    out
}

fn headline(profile: &Profile, weight: usize, top: &Top) -> String {
    let weight_type = &profile.weight_types[weight];
    let samples = top.samples.map_or("an unknown number of samples".to_owned(), |samples| format!("{samples} samples"));
    let mut line = format!("{}: {samples}", profile.provenance.format);
    if weight_type.unit != "count" || top.samples != Some(top.total as u64) {
        let _ = write!(line, ", {} {}", safe(&weight_type.name), amount(top.total, &weight_type.unit));
    }
    if top.total != top.denominator {
        let _ = write!(
            line,
            " net, {} as the sum of absolute values, which shares are of",
            amount(top.denominator, &weight_type.unit)
        );
    }
    if let Some(duration) = profile.provenance.duration_ns {
        let _ = write!(line, ", recorded in {}", Nanos(duration as f64));
    }
    if let Some(hz) = profile.provenance.requested_hz {
        let _ = write!(line, ", {} samples a second asked for", whole(hz.round()));
    }
    line.push_str(match profile.provenance.clock {
        SampleClock::Unknown => "",
        SampleClock::Cpu => ", CPU time",
        SampleClock::Wall => ", wall time",
        SampleClock::Allocation => ", allocation",
        SampleClock::Event => ", events",
    });
    let _ = write!(line, ". Shares are of {} ({}).", safe(&weight_type.name), safe(&weight_type.unit));
    line
}

fn others(profile: &Profile, weight: usize) -> Vec<String> {
    let other = |index: usize| {
        let weight_type = &profile.weight_types[index];
        let samples = profile.samples_of(index).map_or(String::new(), |samples| format!(" in {samples} samples"));
        let total = amount(profile.total(index), &weight_type.unit);
        format!(
            "also: {} ({}) {total}{samples}; --weight {}",
            safe(&weight_type.name),
            safe(&weight_type.unit),
            safe(&weight_type.name)
        )
    };
    (0..profile.weight_types.len()).filter(|index| *index != weight).map(other).collect()
}

/// The same as one JSON object, every row in it that `limit` allows.
pub fn json(view: &View<'_>) -> String {
    let View { profile, weight, group, limit } = view;
    let mut top = profile.top(*weight, *group);
    top.rows.truncate(*limit);
    let weights: Vec<_> = profile
        .weight_types
        .iter()
        .enumerate()
        .map(|(index, weight)| {
            json!({
                "name": weight.name, "unit": weight.unit, "total": profile.total(index),
                "samples": profile.samples_of(index),
            })
        })
        .collect();
    let document = json!({
        "provenance": profile.provenance,
        "weights": weights,
        "weight": profile.weight_types[*weight],
        "by": group,
        "total": top.total,
        "denominator": top.denominator,
        "samples": top.samples,
        "without_stack": top.without_stack,
        "rows": top.rows,
        "notes": profile.notes,
        "warnings": profile.doubts(*weight),
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Builder, Frame, StackSample, WeightType};

    #[test]
    fn a_weight_that_is_the_number_of_samples_is_said_once() {
        let mut builder = Builder::new(vec![
            WeightType { name: "samples".to_owned(), unit: "count".to_owned() },
            WeightType { name: "cpu".to_owned(), unit: "nanoseconds".to_owned() },
        ]);
        let frame = builder.frame(Frame { function: "carry".to_owned(), ..Frame::default() });
        let stack = builder.stack_of([frame]);
        for _ in 0..3 {
            builder.sample(StackSample { stack, thread: None, time_ns: None, count: None, weights: vec![1.0, 2e6] });
        }
        builder.sample(StackSample { stack: None, thread: None, time_ns: None, count: None, weights: vec![1.0, 2e6] });
        let profile = builder.finish();
        let of = |weight| text(&View { profile: &profile, weight, group: GroupBy::Function, limit: 30 });
        let row = |text: &str| text.lines().find(|line| line.ends_with("carry")).map(str::to_owned);
        let cells = |text: &str| row(text).unwrap().split("  ").filter(|cell| !cell.trim().is_empty()).count();
        assert_eq!((cells(&of(0)), cells(&of(1))), (5, 7), "{}{}", of(0), of(1));
        assert!(row(&of(0)).unwrap().len() < 40, "{}", of(0));
        assert!(of(0).ends_with("25.0 % (1) is in samples without a stack\n"), "{}", of(0));
    }

    #[test]
    fn hostile_names_and_units_are_escaped_and_cut() {
        let hostile = "\u{1b}[31m\u{202e}".to_owned();
        let mut builder = Builder::new(vec![WeightType { name: hostile.clone(), unit: hostile.clone() }]);
        let frames = [hostile, "A".repeat(20_000)];
        let frames = frames.map(|function| builder.frame(Frame { function, ..Frame::default() }));
        let stack = builder.stack_of(frames);
        builder.sample(StackSample { stack, thread: None, time_ns: None, count: None, weights: vec![1e300] });
        let profile = builder.finish();
        let text = text(&View { profile: &profile, weight: 0, group: GroupBy::Function, limit: 30 });
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && text.contains("\\u{1b}[31m\\u{202e}"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < 300), "{text}");
    }
}
