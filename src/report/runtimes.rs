//! Prints runtimes side by side.

use super::columns::{Form, table};
use crate::runner::table::{Cell, SideBySide};
use crate::stats::Estimate;
use crate::unit::{Bytes, Nanos, counted, three_digits};

/// One row a workload and runtime, native first, then what did not run.
pub fn text(side_by_side: &SideBySide, form: Form) -> String {
    let runtimes = side_by_side.runtimes();
    let mut names: Vec<&str> = Vec::new();
    for cell in &side_by_side.cells {
        if !names.contains(&cell.name.as_str()) {
            names.push(&cell.name);
        }
    }
    let mut rows = Vec::new();
    for name in names {
        for runtime in &runtimes {
            let cells = side_by_side.cells.iter().filter(|cell| cell.name == name && cell.runtime == *runtime);
            rows.extend(cells.map(row));
        }
    }
    let headers = ["primitive", "runtime", "implementation", "p50", "p90", "p99", "× native", "B/op"];
    let mut out = table(form, &headers, &rows, 3);
    if !side_by_side.missing.is_empty() {
        let missing: Vec<_> =
            side_by_side.missing.iter().map(|m| vec![m.runtime.clone(), m.what.clone(), m.install.clone()]).collect();
        out.push('\n');
        out.push_str(&table(form, &["not run", "because", "remedy"], &missing, 3));
    }
    out.push_str(&format!(
        "\n{}, each runtime in a fresh process a round. Native and JVM: thread CPU time; Node: CPU time of the process; \
         browser: wall time.\n× native: lower quartiles paired by round{}. Outputs of every row equal the native ones on the same inputs.\n\
         p90 and p99 are of executions timed one by one; short ones are timed in batches and have none.\n",
        counted(side_by_side.rounds, "round", "rounds"),
        if side_by_side.rounds < 6 { "; six rounds give an interval" } else { ", with the 95 % interval of the sign-flip test" }
    ));
    out
}

fn row(cell: &Cell) -> Vec<String> {
    let time = |estimate: Option<Estimate>| estimate.map_or("—".to_owned(), |e| Nanos(e.point).to_string());
    let mut row = vec![cell.name.clone(), cell.runtime.clone(), cell.implementation.clone()];
    if let Some(error) = &cell.error {
        row.extend([error.clone(), String::new(), String::new(), String::new(), String::new()]);
        return row;
    }
    let ratio = match (cell.ratio, cell.runtime.as_str()) {
        (_, "native") => "1".to_owned(),
        (Some(Estimate { point, low: Some(low), high: Some(high) }), _) => {
            format!("{} [{}, {}]", three_digits(point), three_digits(low), three_digits(high))
        }
        (Some(ratio), _) => three_digits(ratio.point),
        (None, _) => "—".to_owned(),
    };
    let bytes = cell.bytes_per_op.map_or("—".to_owned(), |bytes| Bytes(bytes).to_string());
    row.extend([time(cell.p50_ns), time(cell.p90_ns), time(cell.p99_ns), ratio, bytes]);
    row
}
