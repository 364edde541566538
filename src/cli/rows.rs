//! The table of measured rows, with what to distrust below it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::terminal::{self, Tone, toned};
use crate::record::compare::AA_ROW;
use crate::record::published;
use crate::record::summary::Summary;
use crate::record::{Record, Row, Variant};
use crate::stats::Estimate;
use crate::unit::{Bytes, Nanos, counted, three_digits};

/// What stands in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Measured,
    WithPublished,
}

/// The whole output for a record: what was done, the table, and what to distrust.
pub(super) fn render(record: &Record, layout: Layout) -> anyhow::Result<String> {
    let summaries: Vec<Summary> = record.summaries().into_iter().filter(|row| row.name != AA_ROW).collect();
    let mut text = headline(record, &summaries);
    text.push('\n');
    text.push_str(&table(&summaries, layout)?);
    text.push_str(&distrust(record, &summaries));
    Ok(text)
}

/// One row after its first process, for somebody who waits.
pub(super) fn first_look(row: &Row) -> String {
    let figure = row.processes.first().and_then(|m| m.median_ns());
    let text = match (&row.error, figure) {
        (Some(error), _) => error.clone(),
        (None, Some(ns)) => Nanos(ns).to_string(),
        (None, None) => "—".to_owned(),
    };
    let variant = if row.variant == Variant::Throughput { String::new() } else { format!(" ({})", row.variant.word()) };
    terminal::plain(&format!("{}{variant}: {text} so far", row.name))
}

fn headline(record: &Record, rows: &[Summary]) -> String {
    let measured = rows.iter().filter(|row| row.variant == Variant::Throughput).count();
    let processes = rows.iter().map(|row| row.processes).max().unwrap_or(0);
    let widths: Vec<f64> = rows.iter().filter_map(|row| relative_half_width(row.p50_ns?)).collect();
    let known = match crate::stats::median(&widths) {
        Some(half) => format!("half of them known to ±{} % or better", three_digits(half * 100.0)),
        None => "no intervals: they need 6 processes".to_owned(),
    };
    let environment = &record.environment;
    let cpu = environment.cpu_model.as_deref().unwrap_or(&environment.platform);
    let line = format!(
        "{}, {}, {known}.",
        counted(measured, "row", "rows"),
        counted(processes, "fresh process", "fresh processes")
    );
    format!(
        "{}\nThread CPU time per iteration, median over processes of each one's median, 95 % interval. {}\n",
        toned(Tone::Bold, &line),
        toned(Tone::Dim, &terminal::plain(&format!("{cpu}, {}.", environment.optimisation)))
    )
}

fn table(rows: &[Summary], layout: Layout) -> anyhow::Result<String> {
    let banded: BTreeMap<(&str, Variant), &Summary> =
        rows.iter().map(|row| ((row.name.as_str(), row.variant), row)).collect();
    let has_band = rows.iter().any(|row| row.variant != Variant::Throughput);
    let has_allocation = rows.iter().any(|row| row.bytes_per_op.is_some());
    let mut headers = vec!["name", "p50", "95 %", "p90", "p99", "mean"];
    if has_band {
        headers.extend(["chained", "cold"]);
    }
    if has_allocation {
        headers.extend(["B/op", "allocs"]);
    }
    headers.push("distrust");
    let width = headers.len();
    let published = match layout {
        Layout::WithPublished => published::all()?,
        Layout::Measured => Vec::new(),
    };
    let shared = shared_codes(rows);
    let mut lines = Vec::new();
    for row in rows.iter().filter(|row| row.variant == Variant::Throughput) {
        let mut line = vec![row.name.clone()];
        line.extend([time(row.p50_ns), interval(row.p50_ns), time(row.p90_ns), time(row.p99_ns), time(row.mean_ns)]);
        if has_band {
            let of = |variant| banded.get(&(row.name.as_str(), variant)).and_then(|row| row.p50_ns);
            line.extend([time(of(Variant::Chained)), time(of(Variant::Cold))]);
        }
        if has_allocation {
            line.push(row.bytes_per_op.map_or("—".to_owned(), |bytes| Bytes(bytes).to_string()));
            line.push(row.allocations_per_op.map_or("—".to_owned(), three_digits_or_whole));
        }
        line.push(match &row.error {
            Some(error) => format!("failed: {error}"),
            None => codes(row).filter(|code| !shared.contains(code)).collect::<Vec<_>>().join(" "),
        });
        lines.push(line);
        for figure in published::times_of(&published, &row.name) {
            let mut line = vec![format!("  other machine: {}", figure.label()), figure.time().to_string()];
            line.resize(width, String::new());
            lines.push(line);
        }
        for (label, factor) in published::factors_of(&published, &row.name) {
            let mut line = vec![format!("  other machine: {label}"), format!("{} ×", three_digits(factor))];
            line.resize(width, String::new());
            lines.push(line);
        }
    }
    Ok(terminal::table(&headers, &lines))
}

fn codes(row: &Summary) -> impl Iterator<Item = &str> {
    row.distrust.iter().map(|warning| warning.code.as_str())
}

/// Codes that every row has: said once below the table instead of on each line.
fn shared_codes(rows: &[Summary]) -> Vec<&str> {
    let rows: Vec<&Summary> = rows.iter().filter(|r| r.variant == Variant::Throughput && r.error.is_none()).collect();
    match rows.split_first() {
        Some((first, others)) if !others.is_empty() => {
            codes(first).filter(|code| others.iter().all(|row| codes(row).any(|other| other == *code))).collect()
        }
        _ => Vec::new(),
    }
}

fn three_digits_or_whole(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) }
}

fn time(estimate: Option<Estimate>) -> String {
    estimate.map_or("—".to_owned(), |estimate| Nanos(estimate.point).to_string())
}

fn interval(estimate: Option<Estimate>) -> String {
    let half = estimate.and_then(relative_half_width);
    half.map_or("—".to_owned(), |half| format!("±{} %", three_digits(half * 100.0)))
}

/// The further end of the interval from the point, as a share of it.
fn relative_half_width(estimate: Estimate) -> Option<f64> {
    let half = (estimate.high? - estimate.point).max(estimate.point - estimate.low?);
    (estimate.point > 0.0).then(|| half / estimate.point)
}

/// Each code that occurs, with what it means, where it occurs and what to do.
fn distrust(record: &Record, rows: &[Summary]) -> String {
    let mut by_code: BTreeMap<&str, Vec<(&str, &crate::warning::Warning)>> = BTreeMap::new();
    for row in rows {
        for warning in &row.distrust {
            by_code.entry(&warning.code).or_default().push((&row.name, warning));
        }
    }
    let shared = shared_codes(rows);
    let mut text = String::new();
    for (code, found) in by_code {
        let (name, warning) = found[0];
        let place = match found.len() - 1 {
            _ if shared.contains(&code) => format!("every row; {}", terminal::plain(name)),
            0 => terminal::plain(name),
            others => format!("{} and {others} more", terminal::plain(name)),
        };
        let line = format!("{place}: {}.", terminal::plain(&warning.message));
        let _ = write!(text, "\n{}  {line}\n    → {}", toned(Tone::Bold, code), warning.remedy);
    }
    for warning in &record.warnings {
        let code = toned(Tone::Bold, &warning.code);
        let _ = write!(text, "\n{code}  {}.\n    → {}", terminal::plain(&warning.message), warning.remedy);
    }
    if text.is_empty() { text } else { format!("{text}\n") }
}
