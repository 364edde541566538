//! Op counts as a table: primitives down, operations across.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::harness::count::{OpCounts, PrimitiveCount};
use crate::workload::WorkloadError;

/// Counts beside each other; an operation that failed has its error below.
pub fn table(counted: &[Result<OpCounts, WorkloadError>]) -> String {
    let counts: Vec<&OpCounts> = counted.iter().flatten().collect();
    let mut text = String::new();
    if !counts.is_empty() {
        text = grid(&counts);
    }
    for counts in &counts {
        for (name, calls) in &counts.elsewhere {
            text += &format!("{}: {calls} calls of {name} on threads that were not counted\n", counts.operation);
        }
    }
    for error in counted.iter().filter_map(|one| one.as_ref().err()) {
        text += &format!("{error}\n");
    }
    text
}

fn grid(counts: &[&OpCounts]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let mut header = vec!["primitive".to_owned()];
    header.extend(counts.iter().map(|counts| counts.operation.clone()));
    table.set_header(header);
    let mut names: Vec<&str> = Vec::new();
    for one in counts.iter().flat_map(|counts| &counts.primitives) {
        if !names.contains(&one.primitive.as_str()) {
            names.push(&one.primitive);
        }
    }
    let row = |label: String, cell: &dyn Fn(&PrimitiveCount) -> String, name: &str| {
        let cells = counts.iter().map(|counts| counts.of(name).map_or_else(|| "0".to_owned(), cell));
        std::iter::once(label).chain(cells).collect::<Vec<_>>()
    };
    for name in &names {
        table.add_row(row((*name).to_owned(), &calls, name));
        for child in &names {
            let within = |one: &PrimitiveCount| {
                one.nested.iter().find(|(parent, _)| parent == name).map_or(0.0, |(_, calls)| *calls)
            };
            if counts.iter().filter_map(|counts| counts.of(child)).any(|one| within(one) > 0.0) {
                table.add_row(row(format!("  within it: {child}"), &|one| mean(within(one)), child));
            }
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

fn calls(one: &PrimitiveCount) -> String {
    if one.is_exact() {
        one.calls.0.to_string()
    } else {
        format!("{} ({}–{})", mean(one.mean), one.calls.0, one.calls.1)
    }
}

fn mean(calls: f64) -> String {
    if calls.fract() == 0.0 { format!("{calls:.0}") } else { format!("{calls:.2}") }
}

/// `{"counts": […], "errors": […]}`.
pub fn to_json(counted: &[Result<OpCounts, WorkloadError>]) -> serde_json::Value {
    let counts: Vec<_> = counted.iter().flatten().collect();
    let errors: Vec<_> = counted.iter().filter_map(|one| one.as_ref().err()).collect();
    serde_json::json!({
        "counts": counts,
        "errors": errors.iter().map(|e| serde_json::json!({"operation": e.workload, "error": e.message})).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_stand_beside_each_other_and_nested_calls_under_their_parent() {
        let one = |name: &str, calls, nested: Vec<(String, f64)>| PrimitiveCount {
            primitive: name.to_owned(),
            calls: (calls, calls),
            mean: calls as f64,
            nested,
        };
        let counts = |operation: &str, primitives| {
            Ok(OpCounts { operation: operation.to_owned(), iterations: 1, primitives, elsewhere: Vec::new() })
        };
        let error = WorkloadError { workload: "c/1".to_owned(), message: "went wrong".to_owned() };
        let text = table(&[
            counts("a/1", vec![one("sign", 2, vec![]), one("hash", 1, vec![("sign".to_owned(), 4.0)])]),
            counts("b/1", vec![one("hash", 7, vec![])]),
            Err(error),
        ]);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["primitive", "a/1", "b/1"]);
        assert_eq!(rows[1], ["sign", "2", "0"]);
        assert_eq!(rows[2], ["within", "it:", "hash", "4", "0"]);
        assert_eq!(rows[3], ["hash", "1", "7"]);
        assert_eq!(text.lines().last(), Some("c/1: went wrong"));
    }
}
