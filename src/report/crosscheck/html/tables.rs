//! The tables: shares in figures, and the samplers.

use std::fmt::Write;

use super::super::words;
use super::{class, esc};
use crate::crosscheck::budget::BudgetState;
use crate::crosscheck::report::Report;
use crate::crosscheck::verdict::Verdict;

/// Every estimate of every share.
pub(super) fn shares(report: &Report) -> String {
    let mut out = open("Shares of the operation’s time by method; sampled shares with 95 % intervals and verdicts");
    out.push_str("<thead>\n<tr>");
    for head in ["primitive", "count", "cost", "predicted", "dose", "replay", "reference"] {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    for sampler in &report.samplers {
        let _ = write!(out, "<th scope=\"col\" class=\"first\">{}</th>", esc(&sampler.name));
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    for row in report.rows.iter().chain([&report.rest]) {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", esc(&words::row_name(row, report)));
        let figures = [
            words::count(row.count),
            words::cost(row.unit_cost_ns),
            words::share(row.model),
            words::share(row.dose),
            words::share(row.replay),
            words::share(row.reference.share),
        ];
        for figure in figures {
            let _ = write!(out, "<td>{}</td>", esc(&figure));
        }
        for reading in &row.readings {
            let verdict = reading.judgement.verdict;
            let word = if verdict == Verdict::Agrees { "" } else { verdict.word() };
            let _ = write!(
                out,
                "<td class=\"first {}\">{}<span class=\"word\"> {word}</span></td>",
                class(Some(verdict)),
                esc(&words::sampled(reading))
            );
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

/// How each sampler did as a whole.
pub(super) fn samplers(report: &Report) -> String {
    let mut out = open("Sample budgets and scores");
    out.push_str("<thead>\n<tr><th scope=\"col\">figure</th>");
    for sampler in &report.samplers {
        let _ = write!(out, "<th scope=\"col\">{}</th>", esc(&sampler.name));
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    let mut row = |name: &str, value: &dyn Fn(usize) -> (String, &'static str)| {
        let _ = write!(out, "<tr><th scope=\"row\">{name}</th>");
        for index in 0..report.samplers.len() {
            let (text, class) = value(index);
            let _ = write!(out, "<td class=\"{class}\">{}</td>", esc(&text));
        }
        out.push_str("</tr>\n");
    };
    let of = |index: usize| &report.samplers[index];
    let dash = |value: Option<String>| (value.unwrap_or_else(|| "—".to_owned()), "");
    let hertz = |hz: Option<f64>| dash(hz.map(|hz| format!("{hz:.0} a second")));
    row("samples", &|index| (words::samples(of(index)), ""));
    row("asked for", &|index| hertz(of(index).budget.requested_hz));
    row("delivered", &|index| hertz(of(index).budget.delivered_hz));
    row("sample budget", &|index| {
        let wrong = matches!(of(index).budget.state, BudgetState::Low | BudgetState::High);
        (words::budget(of(index)), if wrong { "over" } else { "" })
    });
    row("overhead", &|index| dash(of(index).facts.get("overhead").cloned()));
    row("coverage", &|index| (words::percent(of(index).scores.coverage, 1), ""));
    row("largest error", &|index| {
        let scores = &of(index).scores;
        let on = scores.largest_error_row.as_deref().unwrap_or_default();
        dash(scores.largest_error.map(|error| format!("{} ({on})", words::points(error))))
    });
    row("mean absolute error", &|index| dash(of(index).scores.mean_absolute_error.map(words::points)));
    row("rank agreement (τ)", &|index| dash(of(index).scores.rank_agreement.map(|tau| format!("{tau:.2}"))));
    row("weight judged", &|index| (of(index).weight.clone(), ""));
    row("taken by", &|index| (of(index).producer.clone().unwrap_or_else(|| of(index).format.clone()), ""));
    out.push_str("</tbody>\n</table></div>\n");
    out
}

/// A table in a frame of its own that scrolls, by keyboard too.
pub(super) fn open(caption: &str) -> String {
    let caption = esc(caption);
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\"><table>\n<caption>{caption}</caption>\n"
    )
}
