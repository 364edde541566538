//! rebar's measurement CSV: one row a benchmark and engine, durations with their units behind them.

use super::units::{self, Base};
use super::{Metric, Results};
use crate::import::error::excerpt;
use crate::import::{ImportError, Position};

pub(super) fn detect(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("name,model,rebar_version,engine,"))
}

/// Reads the table. A row with `err` is a failure, never a figure.
pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut results = Results { harness: "rebar".into(), ..Results::default() };
    let mut lines = text.lines().enumerate();
    let header = lines.next().map(|(_, line)| fields(line)).unwrap_or_default();
    let column = |name: &str| {
        let missing =
            || ImportError::malformed("rebar", Position::Line(1), header.join(","), format!("a column `{name}`"));
        header.iter().position(|field| field == name).ok_or_else(missing)
    };
    let (name, engine, err) = (column("name")?, column("engine")?, column("err")?);
    let statistics = ["median", "mad", "mean", "stddev", "min", "max"].map(|name| Ok((name, column(name)?)));
    let statistics = statistics.into_iter().collect::<Result<Vec<_>, ImportError>>()?;
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let row = fields(line);
        let wrong = |found: &str, expected: &str| {
            ImportError::malformed("rebar", Position::Line(index as u64 + 1), excerpt(found.as_bytes()), expected)
        };
        if row.len() != header.len() {
            return Err(wrong(line, &format!("{} fields", header.len())));
        }
        let benchmark = results.entry(&format!("{} ({})", row[name], row[engine]));
        if !row[err].is_empty() {
            benchmark.failure = Some(row[err].clone());
            continue;
        }
        let mut time = Metric::new("time", Base::Nanoseconds, "duration");
        for (statistic, at) in &statistics {
            let value = units::duration(&row[*at]).ok_or_else(|| wrong(&row[*at], "a duration such as 1.5us"))?;
            time.state(statistic, value);
        }
        benchmark.metrics = vec![time];
    }
    Ok(results)
}

/// The fields of a CSV line, quotes taken off (RFC 4180, without line breaks inside fields).
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = characters.next() {
        let last = fields.last_mut().expect("there is at least one field");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                last.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => last.push(other),
        }
    }
    fields
}
