//! Records and cross-checks as flat tables, for a database: every column named, typed and documented here.

use serde::Serialize;

use crate::crosscheck::report::{Report, Row as Share};
use crate::record::{Allocation, Environment, Record, Tool};
use crate::stats::Estimate;

/// What a column holds. Every column may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// A whole number of 64 bits.
    Whole,
    /// A number of 64 bits with a point.
    Number,
    /// Microseconds since 1970-01-01 UTC.
    Time,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Of a [`Kind::Text`] column.
    Text(String),
    /// Of a [`Kind::Whole`] or [`Kind::Time`] column.
    Whole(i64),
    /// Of a [`Kind::Number`] column.
    Number(f64),
    /// Not measured, or not known.
    Null,
}

/// A table: its file's name, its columns with their kinds, and its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the table, and of its file without the extension.
    pub name: &'static str,
    /// Name and kind of each column.
    pub columns: &'static [(&'static str, Kind)],
    /// One cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// One row for each process of each row of a record; a row that failed has one, with `error` and without figures. Times
/// are of one iteration, in nanoseconds of thread CPU time.
pub const MEASUREMENTS: &[(&str, Kind)] = &[
    ("record", Kind::Text),
    ("started_at", Kind::Time),
    ("tool_version", Kind::Text),
    ("commit", Kind::Text),
    ("platform", Kind::Text),
    ("cpu_model", Kind::Text),
    ("kernel", Kind::Text),
    ("compiler", Kind::Text),
    ("cores", Kind::Whole),
    ("hypervisor", Kind::Text),
    ("optimisation", Kind::Text),
    ("name", Kind::Text),
    ("family", Kind::Text),
    ("kind", Kind::Text),
    ("parameter", Kind::Whole),
    ("variant", Kind::Text),
    ("runtime", Kind::Text),
    ("implementation", Kind::Text),
    ("process", Kind::Whole),
    ("position", Kind::Whole),
    ("timing_samples", Kind::Whole),
    ("iterations", Kind::Whole),
    ("p50_ns", Kind::Number),
    ("mean_ns", Kind::Number),
    ("bytes_per_op", Kind::Number),
    ("allocations_per_op", Kind::Number),
    ("error", Kind::Text),
];

/// One row for each primitive and sampler of a cross-check, the rest of the operation (`rest`) included; without a sampler, one
/// row for each primitive. Shares are of the operation's time, 0 to 1.
pub const VERDICTS: &[(&str, Kind)] = &[
    ("report", Kind::Text),
    ("tool_version", Kind::Text),
    ("commit", Kind::Text),
    ("platform", Kind::Text),
    ("cpu_model", Kind::Text),
    ("kernel", Kind::Text),
    ("compiler", Kind::Text),
    ("operation", Kind::Text),
    ("time_ns", Kind::Number),
    ("explained", Kind::Number),
    ("primitive", Kind::Text),
    ("op_count", Kind::Number),
    ("unit_cost_ns", Kind::Number),
    ("model_share", Kind::Number),
    ("dose_share", Kind::Number),
    ("replay_share", Kind::Number),
    ("basis", Kind::Text),
    ("reference_share", Kind::Number),
    ("reference_low", Kind::Number),
    ("reference_high", Kind::Number),
    ("sampler", Kind::Text),
    ("budget", Kind::Number),
    ("sampled_share", Kind::Number),
    ("sampled_low", Kind::Number),
    ("sampled_high", Kind::Number),
    ("verdict", Kind::Text),
];

/// The table `measurements` of records, each with where it came from.
pub fn measurements(records: &[(String, Record)]) -> Table {
    let mut rows = Vec::new();
    for (source, record) in records {
        let micros = i64::try_from(record.started_at).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        let mut head = vec![text(source), Cell::Whole(micros)];
        head.extend(build(&record.tool, Some(&record.environment)));
        let environment = &record.environment;
        head.extend([
            environment.cores.map_or(Cell::Null, |cores| Cell::Whole(cores.into())),
            optional(&environment.hypervisor),
            text(&environment.optimisation),
        ]);
        for row in &record.rows {
            let mut head = head.clone();
            head.extend([
                text(&row.name),
                text(&row.family),
                word(&row.kind),
                row.parameter.map_or(Cell::Null, whole),
                word(&row.variant),
                text(&row.runtime),
                text(&row.implementation),
            ]);
            let error = optional(&row.error);
            for process in &row.processes {
                let mut cells = head.clone();
                cells.extend([
                    Cell::Whole(process.process.into()),
                    Cell::Whole(process.position.into()),
                    whole(process.samples.len() as u64),
                    whole(process.samples.iter().map(|sample| sample.iterations).sum()),
                    number(process.median_ns()),
                    number(process.mean_ns()),
                    number(process.allocation.bytes_per_operation()),
                    number(Allocation::per_operation(process.allocation).map(|(_, calls)| calls)),
                    error.clone(),
                ]);
                rows.push(cells);
            }
            if row.processes.is_empty() {
                let mut cells = head;
                cells.resize(MEASUREMENTS.len() - 1, Cell::Null);
                cells.push(error);
                rows.push(cells);
            }
        }
    }
    Table { name: "measurements", columns: MEASUREMENTS, rows }
}

/// The table `verdicts` of cross-checks, each with where it came from.
pub fn verdicts(reports: &[(String, Report)]) -> Table {
    let mut rows = Vec::new();
    for (source, report) in reports {
        let mut head = vec![text(source)];
        head.extend(build(&report.tool, report.environment.as_ref()));
        head.extend([text(&report.operation), point(report.time_ns), point(report.summary.explained)]);
        for share in report.rows.iter().chain([&report.rest]) {
            let mut head = head.clone();
            head.extend(of_share(share));
            for (at, reading) in share.readings.iter().enumerate() {
                let mut cells = head.clone();
                let sampler = report.samplers.get(at);
                cells.extend([
                    sampler.map_or(Cell::Null, |sampler| text(&sampler.name)),
                    number(sampler.and_then(|sampler| sampler.budget.ratio)),
                    number(Some(reading.sampled.point)),
                    number(reading.sampled.low),
                    number(reading.sampled.high),
                    word(&reading.judgement.verdict),
                ]);
                rows.push(cells);
            }
            if share.readings.is_empty() {
                let mut cells = head;
                cells.resize(VERDICTS.len(), Cell::Null);
                rows.push(cells);
            }
        }
    }
    Table { name: "verdicts", columns: VERDICTS, rows }
}

/// `tool_version` to `compiler`.
fn build(tool: &Tool, environment: Option<&Environment>) -> [Cell; 6] {
    let of = |get: fn(&Environment) -> &Option<String>| environment.map_or(Cell::Null, |known| optional(get(known)));
    [
        text(&tool.version),
        optional(&tool.commit),
        environment.map_or(Cell::Null, |known| text(&known.platform)),
        of(|known| &known.cpu_model),
        of(|known| &known.kernel),
        of(|known| &known.compiler),
    ]
}

/// `primitive` to `reference_high`.
fn of_share(share: &Share) -> [Cell; 10] {
    let reference = share.reference.share;
    [
        text(&share.primitive),
        number(share.count),
        point(share.unit_cost_ns),
        point(share.model),
        point(share.dose),
        point(share.replay),
        word(&share.reference.basis),
        point(reference),
        number(reference.and_then(|share| share.low)),
        number(reference.and_then(|share| share.high)),
    ]
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn optional(text: &Option<String>) -> Cell {
    text.clone().map_or(Cell::Null, Cell::Text)
}

fn number(value: Option<f64>) -> Cell {
    value.filter(|value| value.is_finite()).map_or(Cell::Null, Cell::Number)
}

fn point(estimate: Option<Estimate>) -> Cell {
    number(estimate.map(|estimate| estimate.point))
}

fn whole(value: u64) -> Cell {
    Cell::Whole(i64::try_from(value).unwrap_or(i64::MAX))
}

/// An enumeration's word, as JSON has it.
fn word(value: &impl Serialize) -> Cell {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Cell::Text(word),
        _ => Cell::Null,
    }
}
