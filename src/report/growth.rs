//! Growth over N: the answer in words, and the figures it is read from.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::record::growth::{Growth, Point};
use crate::stats::scaling::Scaling;
use crate::unit::{Bytes, Nanos, three_digits};

/// One paragraph and one table a family.
pub fn text(families: &[Growth]) -> String {
    families.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(growth: &Growth) -> String {
    let mut text = format!("{}\n", growth.family);
    let time = |ns: f64| Nanos(ns).to_string();
    let bytes = |bytes: f64| Bytes(bytes).to_string();
    text += &line("time", growth.time.as_ref(), &time);
    text += &line("bytes", growth.bytes.as_ref(), &bytes);
    text += &line("allocations", growth.allocations.as_ref(), &three_digits);
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["N", "time", "95 %", "bytes", "allocations"]);
    for point in &growth.points {
        table.add_row(row(point));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text += &format!("\n{}\n", table.trim_fmt());
    for (name, error) in &growth.errors {
        text += &format!("{name}: {error}\n");
    }
    text
}

fn line(what: &str, scaling: Option<&Scaling>, unit: &dyn Fn(f64) -> String) -> String {
    let Some(scaling) = scaling else { return format!("  {what}: not measured at two sizes or more\n") };
    let sentence = scaling.sentence(unit);
    let exponent = match scaling.exponent.and_then(|exponent| Some((exponent.point, exponent.low?, exponent.high?))) {
        // A flat law's sentence does not name its exponent.
        Some((point, low, high)) if !sentence.contains("exponent") => {
            format!(", log-log exponent {point:.2} [{low:.2}, {high:.2}]")
        }
        Some((_, low, high)) => format!(" [{low:.2}, {high:.2}]"),
        None => String::new(),
    };
    let misfit = match scaling.lack_of_fit_p {
        // Counts do not spread at all: what rounds to nothing is not worth a word.
        Some(p) if p < 0.01 && scaling.misfit >= 0.005 => {
            format!("; the law misses the figures by {:.0} %, more than they spread", scaling.misfit * 100.0)
        }
        _ => String::new(),
    };
    format!("  {what}: {sentence}{exponent}{misfit}\n")
}

fn row(point: &Point) -> [String; 5] {
    let interval = match (point.time_ns.low, point.time_ns.high) {
        (Some(low), Some(high)) => format!("{}–{}", Nanos(low), Nanos(high)),
        _ => "—".to_owned(),
    };
    let amount = |value: Option<f64>, unit: &dyn Fn(f64) -> String| value.map_or_else(|| "—".to_owned(), unit);
    [
        point.size.to_string(),
        Nanos(point.time_ns.point).to_string(),
        interval,
        amount(point.bytes, &|bytes| Bytes(bytes).to_string()),
        amount(point.allocations, &three_digits),
    ]
}

/// `{"families": […]}`.
pub fn json(families: &[Growth]) -> serde_json::Value {
    serde_json::json!({ "families": families })
}
