//! The Markdown form, for issues and pull requests.

use std::fmt::Write;

use super::words;
use crate::crosscheck::report::Report;
use crate::report::style::safe;

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = format!("{}\n\n", escaped(&words::headline(report)));
    let names: Vec<String> = report.samplers.iter().map(|sampler| escaped(&sampler.name)).collect();
    let mut header = vec!["primitive", "count", "cost", "predicted", "dose", "replay", "reference"];
    header.extend(names.iter().map(String::as_str));
    line(&mut out, &header);
    let rule: Vec<&str> = (0..header.len()).map(|column| if column == 0 { "---" } else { "---:" }).collect();
    line(&mut out, &rule);
    for row in report.rows.iter().filter(|row| !row.minor).chain([&report.rest]) {
        let mut cells = vec![
            escaped(&words::row_name(row, report)),
            words::count(row.count),
            words::cost(row.unit_cost_ns),
            words::share(row.model),
            words::share(row.dose),
            words::share(row.replay),
            words::share(row.reference.share),
        ];
        for reading in &row.readings {
            let mark = words::mark(reading.judgement.verdict);
            let mark = if mark.is_empty() { String::new() } else { format!(" **{mark}**") };
            cells.push(format!("{}{mark}", words::sampled(reading)));
        }
        line(&mut out, &cells.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let mut budget: Vec<String> = vec!["sample budget".to_owned()];
    budget.resize(7, String::new());
    budget.extend(report.samplers.iter().map(words::budget));
    line(&mut out, &budget.iter().map(String::as_str).collect::<Vec<_>>());
    out.push('\n');
    for (index, sampler) in report.samplers.iter().enumerate() {
        let name = escaped(&sampler.name);
        for diagnosis in &sampler.diagnoses {
            let (message, remedy) = (escaped(&diagnosis.message), escaped(&diagnosis.remedy));
            let _ = writeln!(out, "- **{name}**: {message} (`{}`). → {remedy}", diagnosis.mechanism.code());
            for evidence in &diagnosis.evidence {
                let _ = writeln!(out, "  - {}", escaped(evidence));
            }
        }
        for open in words::open_rows(report, index) {
            let _ = writeln!(out, "- **{name}**: {}", escaped(&open));
        }
    }
    for note in words::reference_notes(report) {
        let _ = writeln!(out, "- {}", escaped(&note));
    }
    for warning in &report.warnings {
        let (message, remedy) = (escaped(&warning.message), escaped(&warning.remedy));
        let _ = writeln!(out, "- {}: {message}. → {remedy}", escaped(&warning.code));
    }
    out
}

fn line(out: &mut String, cells: &[&str]) {
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

/// Text that Markdown and the HTML in it take as text.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in safe(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::judge::{Options, judge};
    use crate::crosscheck::testing::{explanation, folded};

    #[test]
    fn hostile_names_stay_in_their_cell() {
        let name = "a|<img src=x onerror=alert(1)>`\n| b";
        let known = explanation(&[(name, 0.5)]);
        let profile = folded("main;a 5000\nmain 5000\n");
        let text = markdown(&judge(&known, &[("s|".into(), &profile)], &Options::default()).unwrap().report);
        assert!(!text.contains("<img"));
        let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(table.len() == 5 && table.iter().all(|line| bars(line) == bars(table[0])), "{text}");
    }
}
