//! Prints the scoreboard of the exam: in the terminal and as one self-contained HTML page.

use std::fmt::Write as _;

use super::style::markup;
use crate::exam::Scoreboard;
use crate::exam::run::{LIE, Outcome, Rate};

/// The scoreboard for a terminal.
pub fn text(board: &Scoreboard) -> String {
    let mut out = String::new();
    let names = samplers(board);
    let cases = cases(board);
    let first = cases.iter().map(|case| case.chars().count()).max().unwrap_or(0);
    let width = |name: &str| name.chars().count().max(7);
    let mut line = format!("{:first$}", "points of error");
    for name in &names {
        write!(line, "  {name:>width$}", width = width(name)).expect("writing to a String does not fail");
    }
    out.push_str(&line);
    out.push('\n');
    for case in &cases {
        let mut line = format!("{case:first$}");
        for name in &names {
            let cell = cell(board, case, name).text;
            write!(line, "  {cell:>width$}", width = width(name)).expect("writing to a String does not fail");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str("* a lie of ten points or more that was accused and its mechanism named; ! one that was not; ? a false accusation; (n) cannot be seen from inside the process\n");
    if !board.rates.is_empty() {
        out.push('\n');
    }
    for rate in &board.rates {
        out.push_str(&rate_line(rate));
        out.push('\n');
    }
    out.push('\n');
    for standing in &board.samplers {
        writeln!(out, "{}: {}.", standing.sampler, standing.sentence).expect("writing to a String does not fail");
    }
    out.push('\n');
    out.push_str(&verdict_lines(board));
    for (what, runs) in skipped(board) {
        writeln!(out, "skipped: {what}{}", times(runs)).expect("writing to a String does not fail");
    }
    out
}

/// The scoreboard for a document.
pub fn markdown(board: &Scoreboard) -> String {
    let names = samplers(board);
    let escaped = |text: &str| text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*");
    let mut out = format!(
        "| points of error | {} |\n|---|{}\n",
        names.iter().map(|name| escaped(name)).collect::<Vec<_>>().join(" | "),
        "---:|".repeat(names.len())
    );
    for case in cases(board) {
        let cells: Vec<String> = names.iter().map(|name| escaped(&cell(board, case, name).text)).collect();
        out.push_str(&format!("| {} | {} |\n", escaped(case), cells.join(" | ")));
    }
    out.push_str(
        "\nThe worst run of each. \\* a lie that was accused and its mechanism named in every run; ! one that was \
         not, in one run at least; ? a false accusation, in one run at least; in brackets what cannot be seen from \
         inside the process; — not run.\n\n",
    );
    for standing in &board.samplers {
        out.push_str(&format!("- **{}**: {}.\n", escaped(&standing.sampler), escaped(&standing.sentence)));
    }
    out.push_str(&format!("\n{}", rates(board)));
    out.push_str(&format!("\n{}\n", sentence(board)));
    let skipped = skipped(board);
    if !skipped.is_empty() {
        out.push_str("\nSkipped:\n\n");
        for (what, runs) in skipped {
            out.push_str(&format!("- {}{}\n", escaped(&what), times(runs)));
        }
    }
    out
}

/// The samplers in a few figures, and how far the verdicts can be trusted.
pub fn summary(board: &Scoreboard) -> String {
    format!("{}\n{}\n", rates(board), sentence(board))
}

/// A row a sampler: largest error, and delivered ÷ requested and overhead at each rate.
fn rates(board: &Scoreboard) -> String {
    let mut asked: Vec<u32> = board.rates.iter().map(|rate| rate.asked_hz).collect();
    asked.sort_unstable();
    asked.dedup();
    let head: String = asked.iter().map(|hz| format!(" {hz} Hz: delivered ÷ asked | overhead |")).collect();
    let mut out = format!("| sampler | largest error |{head}\n|---|---:|{}\n", "---:|---:|".repeat(asked.len()));
    for standing in &board.samplers {
        let error = standing.largest_error.map_or_else(|| "—".to_owned(), |error| format!("{:.1}", error * 100.0));
        let mut line = format!("| {} | {error} |", standing.sampler.replace('|', "\\|").replace('<', "&lt;"));
        for hz in &asked {
            let rate = board.rates.iter().find(|rate| rate.asked_hz == *hz && rate.sampler == standing.sampler);
            let ratio = rate.and_then(|rate| rate.delivered_hz).map(|delivered| delivered / f64::from(*hz));
            let overhead = rate.and_then(|rate| rate.overhead).map(|overhead| {
                let half = overhead.half_width().map_or(String::new(), |half| format!(" ± {:.1}", half * 100.0));
                format!("{:.1}{half} %", overhead.point * 100.0)
            });
            line.push_str(&format!(
                " {} | {} |",
                ratio.map_or_else(|| "—".to_owned(), |ratio| format!("{ratio:.2}")),
                overhead.unwrap_or_else(|| "—".to_owned())
            ));
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// How far the verdicts can be trusted, in one paragraph.
pub fn sentence(board: &Scoreboard) -> String {
    let verdicts = &board.verdicts;
    let sound = verdicts.sound_runs - verdicts.control_runs;
    let others = verdicts.falsely_accused - verdicts.controls_accused;
    format!(
        "In {} runs of the exam, {} of {} profiles of the controls and {others} of {sound} other profiles of sound \
         samplers were accused; of {} planted lies of ten points or more, {} ({:.1} %) were accused with the \
         mechanism at work named.",
        verdicts.exam_runs,
        verdicts.controls_accused,
        verdicts.control_runs,
        verdicts.lies,
        verdicts.lies_named,
        100.0 * verdicts.lies_named as f64 / verdicts.lies.max(1) as f64,
    )
}

/// The scoreboard as a page that opens without a network.
pub fn html(board: &Scoreboard) -> String {
    let names = samplers(board);
    let mut rows = String::new();
    for case in cases(board) {
        write!(rows, "<tr><th scope=\"row\">{}</th>", markup(case)).expect("writing to a String does not fail");
        for name in &names {
            let cell = cell(board, case, name);
            write!(rows, "<td class=\"{}\" title=\"{}\">{}</td>", cell.class, markup(&cell.title), markup(&cell.text))
                .expect("writing to a String does not fail");
        }
        rows.push_str("</tr>\n");
    }
    let head: String = names.iter().map(|name| format!("<th scope=\"col\">{}</th>", markup(name))).collect();
    let list = |items: &mut dyn Iterator<Item = String>| -> String {
        items.map(|item| format!("<li>{}</li>\n", markup(&item))).collect()
    };
    let sentences = list(&mut board.samplers.iter().map(|one| format!("{}: {}.", one.sampler, one.sentence)));
    let rates = list(&mut board.rates.iter().map(rate_line));
    let verdicts = list(&mut verdict_lines(board).lines().map(str::to_owned));
    let skipped = list(&mut skipped(board).into_iter().map(|(what, runs)| format!("{what}{}", times(runs))));
    format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Exam of samplers</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 1rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .3rem .7rem; text-align: right; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }}
th[scope=row] {{ text-align: left; }}
.good {{ background: color-mix(in srgb, #2a9d4a 22%, transparent); }}
.lie {{ background: color-mix(in srgb, #d33 30%, transparent); font-weight: 600; }}
.unnamed, .false {{ background: color-mix(in srgb, #c80 40%, transparent); font-weight: 600; }}
.none {{ opacity: .6; }}
</style></head><body>
<h1>Exam of samplers</h1>
<p>Largest error of a sampled share, in points, on work whose shares are known from the thread CPU clock of the same run.
A star marks an error of ten points or more that the verdict accused and whose mechanism it named, an exclamation mark one that it did not, a question mark a false accusation; brackets what cannot be seen from inside the process.</p>
<ul>
{sentences}</ul>
<div class="wide" tabindex="0" role="region" aria-label="Scoreboard"><table><thead><tr><th scope="col">case</th>{head}</tr></thead><tbody>
{rows}</tbody></table></div>
<h2>Rates and overhead</h2>
<ul>
{rates}</ul>
<h2>The verdicts' own exam</h2>
<ul>
{verdicts}</ul>
<h2>Skipped</h2>
<ul>
{skipped}</ul>
</body></html>
"#
    )
}

struct Cell {
    text: String,
    class: &'static str,
    title: String,
}

/// The worst run of a sampler on a case.
fn cell(board: &Scoreboard, case: &str, sampler: &str) -> Cell {
    let runs = board.outcomes.iter().filter(|outcome| outcome.case == case && outcome.sampler == sampler);
    let worst = runs.max_by(|a, b| a.largest_error.unwrap_or(-1.0).total_cmp(&b.largest_error.unwrap_or(-1.0)));
    let Some(outcome) = worst else { return Cell { text: String::new(), class: "none", title: String::new() } };
    let Some(error) = outcome.largest_error else {
        return Cell { text: "—".to_owned(), class: "none", title: outcome.skipped.clone().unwrap_or_default() };
    };
    let points = format!("{:.1}", error * 100.0);
    let mut runs = board.outcomes.iter().filter(|outcome| outcome.case == case && outcome.sampler == sampler);
    let unnamed = runs.clone().any(|run| run.rightly_named == Some(false));
    let named = if unnamed { Some(false) } else { outcome.rightly_named };
    let (text, class) = match (outcome.expected.as_str(), named) {
        ("invisible", _) => (format!("({points})"), "none"),
        ("sound", _) if runs.any(|run| run.accused) => (format!("{points} ?"), "false"),
        (_, Some(true)) => (format!("{points} *"), "lie"),
        (_, Some(false)) => (format!("{points} !"), "unnamed"),
        _ if !outcome.lies() => (points, "good"),
        _ => (points, "lie"),
    };
    Cell { text, class, title: title(outcome) }
}

fn title(outcome: &Outcome) -> String {
    let parts: Vec<String> = outcome
        .parts
        .iter()
        .map(|part| {
            format!("{}: {:.1} % reads {:.1} %, {}", part.part, part.truth * 100.0, part.sampled * 100.0, part.verdict)
        })
        .collect();
    let named: Vec<&str> = outcome.named.iter().map(|mechanism| mechanism.code()).collect();
    if named.is_empty() { parts.join("; ") } else { format!("{}. Named: {}", parts.join("; "), named.join(", ")) }
}

fn rate_line(rate: &Rate) -> String {
    let asked = rate.asked_hz;
    match (rate.delivered_hz, &rate.skipped) {
        (Some(delivered), _) => {
            let overhead = rate.overhead.map_or_else(String::new, |overhead| {
                let half = overhead.half_width().map_or(String::new(), |half| format!(" ± {:.1}", half * 100.0));
                format!(", overhead {:.1}{half} %", overhead.point * 100.0)
            });
            let ratio = delivered / f64::from(asked);
            format!(
                "{} at {asked} a second: {delivered:.0} delivered, {ratio:.2} of what was asked for{overhead}",
                rate.sampler
            )
        }
        (None, why) => format!("{} at {asked} a second: {}", rate.sampler, why.as_deref().unwrap_or("not run")),
    }
}

fn verdict_lines(board: &Scoreboard) -> String {
    let verdicts = &board.verdicts;
    format!(
        "false accusations: {} in {} runs of sound samplers, {} in {} runs of the controls\n\
         lies of {:.0} points or more: {} of {} accused and their mechanism named\n",
        verdicts.falsely_accused,
        verdicts.sound_runs,
        verdicts.controls_accused,
        verdicts.control_runs,
        LIE * 100.0,
        verdicts.lies_named,
        verdicts.lies,
    )
}

/// What was skipped and why, and in how many runs. The part of a CPU that was received differs from run to
/// run; the first is shown.
fn skipped(board: &Scoreboard) -> Vec<(String, usize)> {
    let mut skipped: Vec<(&str, &str, &str, usize)> = Vec::new();
    for outcome in &board.outcomes {
        let Some(why) = outcome.skipped.as_deref() else { continue };
        match skipped.iter_mut().find(|one| one.0 == outcome.case && one.1 == outcome.sampler) {
            Some(known) => known.3 += 1,
            None => skipped.push((&outcome.case, &outcome.sampler, why, 1)),
        }
    }
    skipped.into_iter().map(|(case, sampler, why, runs)| (format!("{case}, {sampler}: {why}"), runs)).collect()
}

fn times(runs: usize) -> String {
    if runs == 1 { String::new() } else { format!(" ({runs} runs)") }
}

fn samplers(board: &Scoreboard) -> Vec<&str> {
    board.samplers.iter().map(|standing| standing.sampler.as_str()).collect()
}

fn cases(board: &Scoreboard) -> Vec<&str> {
    let mut cases: Vec<&str> = Vec::new();
    for outcome in &board.outcomes {
        if !cases.contains(&outcome.case.as_str()) {
            cases.push(&outcome.case);
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_escapes() {
        let outcome = |case: &str, error: f64, accused, named: Option<_>| Outcome {
            case: case.into(),
            sampler: "s<b>".into(),
            parts: Vec::new(),
            largest_error: Some(error),
            noise: Some(0.03),
            delivered: Some(1),
            expected: if named.is_none() { "sound" } else { "misleads" }.into(),
            accused,
            named: Vec::new(),
            rightly_named: named,
            skipped: None,
        };
        let board = Scoreboard::new(
            vec![
                outcome("a", 0.012, false, None),
                outcome("b", 0.5, true, Some(true)),
                outcome("c", 0.5, true, Some(false)),
                outcome("d", 0.02, true, None),
            ],
            Vec::new(),
        );
        let text = text(&board);
        for expected in ["1.2", "50.0 *", "50.0 !", "2.0 ?", "1 of 2 accused"] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        let table = markdown(&board);
        assert!(table.contains("| b | 50.0 \\* |") && table.contains("1 (50.0 %) were accused"), "{table}");
        assert!(!table.contains("s<b>"));
        let page = html(&board);
        assert!(page.contains("s&lt;b&gt;") && !page.contains("s<b>"));
    }
}
