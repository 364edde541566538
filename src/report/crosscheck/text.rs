//! The terminal's form: the answer, the table, what to distrust and what to do.

use super::words;
use crate::crosscheck::budget::BudgetState;
use crate::crosscheck::diagnose::{Certainty, Diagnosis};
use crate::crosscheck::report::{Report, Row};
use crate::crosscheck::verdict::Verdict;
use crate::report::style::{Align, Cell, Style, Tone, grid, safe, short};

/// The report as text in this style.
pub fn text(report: &Report, style: &Style) -> String {
    let mut out = format!("{}\n\n", style.wrapped(&style.glyphs(&words::headline(report)), ""));
    out.push_str(&tables(report, style));
    out.push('\n');
    for line in findings(report) {
        let prefix = "  ";
        let wrapped = style.wrapped(&style.glyphs(&line.text), &prefix.repeat(line.depth + 1));
        let indented = format!("{}{wrapped}", prefix.repeat(line.depth));
        out.push_str(&style.toned(line.tone, &indented));
        out.push('\n');
    }
    out
}

/// How much of the table fits.
#[derive(Clone, Copy, PartialEq)]
enum Columns {
    /// Every estimate.
    All,
    /// The reference alone beside the samplers.
    Reference,
}

/// One table where it fits; else the reference alone, and then a table a sampler.
fn tables(report: &Report, style: &Style) -> String {
    let all: Vec<usize> = (0..report.samplers.len()).collect();
    let fits = |width: usize| style.width.is_none_or(|room| width <= room);
    for columns in [Columns::All, Columns::Reference] {
        let (table, width) = table(report, style, &all, columns);
        if fits(width) {
            return table;
        }
    }
    let single = |sampler: &usize| table(report, style, &[*sampler], Columns::Reference).0;
    all.iter().map(single).collect::<Vec<_>>().join("\n")
}

fn table(report: &Report, style: &Style, samplers: &[usize], columns: Columns) -> (String, usize) {
    let mut aligns = vec![Align::Left];
    let mut header = vec!["primitive"];
    match columns {
        Columns::All => {
            aligns.extend([Align::Right; 5]);
            header.extend(["count", "cost", "predicted", "dose", "replay"]);
        }
        Columns::Reference => {
            aligns.push(Align::Right);
            header.push("reference");
        }
    }
    let traced = columns == Columns::All && report.rows.iter().any(|row| row.trace.is_some());
    if traced {
        aligns.push(Align::Right);
        header.push("trace");
    }
    let left = aligns.len();
    let cell = |text: &str| Cell::new(style.glyphs(text));
    let mut rows = vec![header.iter().map(|text| cell(text).tone(Tone::Bold)).collect::<Vec<_>>()];
    if !samplers.is_empty() {
        aligns.push(Align::Rule);
        rows[0].push(cell("│").tone(Tone::Dim));
    }
    for sampler in samplers {
        aligns.extend([Align::Right, Align::Left]);
        rows[0].extend([cell(&safe(&report.samplers[*sampler].name)).tone(Tone::Bold), Cell::default()]);
    }
    let shown: Vec<&Row> = report.rows.iter().filter(|row| !row.minor).chain([&report.rest]).collect();
    for row in shown {
        let name = words::row_name(row, report);
        let mut cells = vec![cell(&name)];
        let is_rest = std::ptr::eq(row, &report.rest);
        match columns {
            Columns::All if is_rest => {
                cells.extend([Cell::default(), Cell::default(), Cell::default()]);
                cells.extend([cell(&words::share(row.reference.share)), Cell::default()]);
            }
            Columns::All => cells.extend(
                [
                    words::count(row.count),
                    words::cost(row.unit_cost_ns),
                    words::share(row.model),
                    words::share(row.dose),
                    words::share(row.replay),
                ]
                .map(|text| cell(&text)),
            ),
            Columns::Reference => cells.push(cell(&words::share(row.reference.share))),
        }
        if traced {
            cells.push(cell(&row.trace.map_or_else(String::new, |trace| words::share(Some(trace)))));
        }
        rows.push(with_readings(cells, row, samplers, &cell));
    }
    let minor = report.rows.iter().filter(|row| row.minor).count();
    if minor > 0 {
        let limit = words::percent(report.method.margin / 3.0, 0);
        rows.push(vec![cell(&format!("and {minor} below {limit}")).tone(Tone::Dim)]);
    }
    if !samplers.is_empty() {
        rows.push(footer(report, samplers, left, "sample budget", &cell, &|sampler| {
            let budget = &report.samplers[sampler].budget;
            let tone =
                if matches!(budget.state, BudgetState::Low | BudgetState::High) { Tone::Bad } else { Tone::Plain };
            (words::budget(&report.samplers[sampler]), tone)
        }));
        rows.push(footer(report, samplers, left, "largest error", &cell, &|sampler| {
            let error = report.samplers[sampler].scores.largest_error;
            (error.map_or_else(|| "—".to_owned(), words::points), Tone::Plain)
        }));
    }
    grid(style, &aligns, &rows)
}

fn with_readings(mut cells: Vec<Cell>, row: &Row, samplers: &[usize], cell: &dyn Fn(&str) -> Cell) -> Vec<Cell> {
    if !samplers.is_empty() {
        cells.push(cell("│").tone(Tone::Dim));
    }
    for sampler in samplers {
        let reading = &row.readings[*sampler];
        let verdict = reading.judgement.verdict;
        let tone = tone(verdict);
        cells.push(cell(&words::sampled(reading)).tone(tone));
        cells.push(cell(words::mark(verdict)).tone(tone));
    }
    cells
}

fn footer(
    _report: &Report,
    samplers: &[usize],
    left: usize,
    name: &str,
    cell: &dyn Fn(&str) -> Cell,
    value: &dyn Fn(usize) -> (String, Tone),
) -> Vec<Cell> {
    let mut cells = vec![Cell::default(); left];
    cells[0] = cell(name).tone(Tone::Dim);
    cells.push(cell("│").tone(Tone::Dim));
    for sampler in samplers {
        let (text, tone) = value(*sampler);
        // Figure and word stand in their own columns, as above.
        let (figure, word) = text.split_once(' ').unwrap_or((&text, ""));
        cells.push(cell(figure).tone(tone));
        cells.push(cell(word).tone(tone));
    }
    cells
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Agrees => Tone::Good,
        Verdict::Over | Verdict::Under | Verdict::Blind => Tone::Bad,
        Verdict::Unresolved => Tone::Open,
        Verdict::NoReference => Tone::Dim,
    }
}

struct Line {
    text: String,
    depth: usize,
    tone: Tone,
}

impl Line {
    fn new(depth: usize, text: impl Into<String>) -> Self {
        Self { text: text.into(), depth, tone: Tone::Plain }
    }
}

/// What to distrust and what to do: per sampler, then the reference, then warnings.
fn findings(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    for (index, sampler) in report.samplers.iter().enumerate() {
        let name = safe(&sampler.name);
        for diagnosis in &sampler.diagnoses {
            lines.extend(diagnosed(&name, diagnosis));
        }
        lines.extend(words::open_rows(report, index).into_iter().map(|open| Line::new(0, format!("{name}: {open}"))));
        for frame in sampler.ambiguous.iter().take(3) {
            let claimed = frame.claimed_by.iter().map(|name| safe(name)).collect::<Vec<_>>().join(" and ");
            let (function, share) = (short(&frame.function), words::percent(frame.share, 1));
            lines.push(Line::new(
                0,
                format!("{name}: {function} ({share}) is claimed by {claimed} → say which functions are whose: Boundary::frames, or exact patterns in a counts file"),
            ));
        }
    }
    lines.extend(words::reference_notes(report).into_iter().map(|note| Line::new(0, note)));
    for warning in &report.warnings {
        lines.push(Line::new(0, format!("{}: {}", safe(&warning.code), warning.message)));
        lines.push(Line::new(1, format!("→ {}", warning.remedy)));
    }
    lines
}

fn diagnosed(sampler: &str, diagnosis: &Diagnosis) -> Vec<Line> {
    let fits = if diagnosis.certainty == Certainty::Fits { "it fits that " } else { "" };
    let mut lines =
        vec![Line::new(0, format!("{sampler}: {fits}{} [{}]", diagnosis.message, diagnosis.mechanism.code()))];
    for evidence in diagnosis.evidence.iter().take(6) {
        lines.push(Line { text: safe(evidence), depth: 1, tone: Tone::Dim });
    }
    lines.push(Line::new(1, format!("→ {}", diagnosis.remedy)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::judge::{Options, judge};
    use crate::crosscheck::testing::{explanation, folded};
    use crate::report::style::Glyphs;

    fn report() -> Report {
        let known = explanation(&[("x25519_dh", 0.35), ("sign\u{1b}[31m", 0.20), ("tiny", 0.001)]);
        let right = folded("main;x25519_dh 3500\nmain;sign\u{1b}[31m 2000\nmain 4500\n");
        let wrong = folded("main;x25519_dh 5500\nmain 4500\n");
        judge(&known, &[("own".into(), &right), ("pprof".into(), &wrong)], &Options::default()).unwrap().report
    }

    #[test]
    fn the_answer_comes_first_then_the_table_then_what_to_do() {
        let text = text(&report(), &Style::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "op/1 takes 1.00 ms of CPU time. 55 % of it is two primitives; pprof says otherwise.");
        assert!(lines[2].starts_with("primitive") && lines[2].contains("│"), "{text}");
        let row = lines.iter().find(|line| line.starts_with("x25519_dh")).unwrap();
        assert!(row.contains("35.0 ±1.3") && row.contains("55.0 ±1.4  over"), "{text}");
        assert!(lines.iter().any(|line| line.contains("0.0") && line.ends_with("blind")), "{text}");
        assert!(text.contains("and 1 below 1 %"), "{text}");
        assert!(text.contains("→ "), "{text}");
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert!(!text(&report(), &Style::PLAIN).contains('\u{1b}'));
    }

    #[test]
    fn ascii_and_narrow_terminals_are_served() {
        let narrow = text(&report(), &Style { width: Some(60), glyphs: Glyphs::Ascii, ..Style::PLAIN });
        assert!(narrow.is_ascii());
        assert!(narrow.lines().all(|line| line.len() <= 60), "{narrow}");
    }
}
