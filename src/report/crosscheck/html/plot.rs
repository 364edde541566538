//! The plot: every estimate of every share, with its interval, on one axis. Positions are percentages, so
//! that it is as wide as the screen and its text is as large as any.

use std::fmt::Write;

use super::super::words;
use super::{class, esc};
use crate::crosscheck::reference::Basis;
use crate::crosscheck::report::{Report, Row};
use crate::crosscheck::verdict::Verdict;
use crate::stats::Estimate;

/// A figure with one group of lines a primitive.
pub(super) fn plot(report: &Report) -> String {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| !row.minor).chain([&report.rest]).collect();
    let scale = Scale::of(&rows);
    let rests_on = if rows.iter().any(|row| row.reference.basis == Basis::Model && row.count != Some(0.0)) {
        "the best estimate without a sampler, for some rows op count × unit cost only"
    } else {
        "what changing the amount of work did to the clock"
    };
    let mut out = format!(
        "<p class=\"note\">The band is the reference: {rests_on}. A sampler that tells the truth lies on it. Whiskers \
         are 95 % intervals.</p>\n<figure class=\"plot\">\n"
    );
    legend(&mut out);
    for row in rows {
        group(&mut out, report, row, &scale);
    }
    axis(&mut out, &scale);
    out.push_str(
        "<figcaption>Estimates of each share, in percent of the operation’s time. The table below holds the same \
         figures.</figcaption>\n</figure>\n",
    );
    out
}

fn legend(out: &mut String) {
    out.push_str("<ul class=\"legend\" aria-label=\"Legend\">\n<li><span class=\"key band\"></span> reference</li>\n");
    let known = [
        ("agrees", "agrees"),
        ("over", "shows too much"),
        ("under", "shows too little"),
        ("blind", "shows nothing"),
        ("unresolved", "unresolved"),
    ];
    for (class, text) in known {
        let _ = writeln!(out, "<li><span class=\"key dot {class}\"></span> {text}</li>");
    }
    out.push_str("</ul>\n");
}

fn group(out: &mut String, report: &Report, row: &Row, scale: &Scale) {
    let name = words::row_name(row, report);
    let calls = row.count.map_or_else(String::new, |count| {
        let cost = row.unit_cost_ns.map_or_else(String::new, |cost| format!(" × {}", words::cost(Some(cost))));
        format!("<span class=\"calls\">{}{cost}</span>", esc(&words::count(Some(count))))
    });
    let _ = writeln!(
        out,
        "<div class=\"group\" role=\"group\" aria-label=\"{}\">\n<h3>{} {calls}</h3>",
        esc(&name),
        esc(&name)
    );
    let band = row.reference.share;
    for (label, estimate) in
        [("predicted", row.model), ("dose", row.dose), ("replay", row.replay), ("trace", row.trace)]
    {
        if let Some(estimate) = estimate {
            line(out, label, estimate, ("known", ""), band, scale);
        }
    }
    for (sampler, reading) in report.samplers.iter().zip(&row.readings) {
        let verdict = reading.judgement.verdict;
        let word = if verdict == Verdict::Agrees { "" } else { verdict.word() };
        line(out, &sampler.name, reading.sampled, (class(Some(verdict)), word), band, scale);
    }
    out.push_str("</div>\n");
}

fn line(
    out: &mut String,
    label: &str,
    estimate: Estimate,
    (class, word): (&str, &str),
    band: Option<Estimate>,
    scale: &Scale,
) {
    let value = format!("{:.1}", estimate.point * 100.0);
    let interval = estimate.half_width().map_or_else(String::new, |half| format!(" ±{:.1}", half * 100.0));
    let _ = write!(
        out,
        "<div class=\"line {class}\"><span class=\"label\">{}</span><svg width=\"100%\" height=\"18\" aria-hidden=\"true\" focusable=\"false\">",
        esc(label)
    );
    if let Some(band) = band {
        let (low, high) = (scale.at(band.low.unwrap_or(band.point)), scale.at(band.high.unwrap_or(band.point)));
        // A reference known to a tenth of a point must still be seen.
        let (low, width) = (low.min(high - 0.3), (high - low).max(0.3));
        let _ = write!(out, "<rect class=\"band\" x=\"{low:.2}%\" width=\"{width:.2}%\" y=\"0\" height=\"18\"/>");
    }
    if let (Some(low), Some(high)) = (estimate.low, estimate.high) {
        let (low, high) = (scale.at(low), scale.at(high));
        let _ = write!(out, "<line class=\"whisker\" x1=\"{low:.2}%\" x2=\"{high:.2}%\" y1=\"9\" y2=\"9\"/>");
    }
    let _ = writeln!(
        out,
        "<circle class=\"point\" cx=\"{:.2}%\" cy=\"9\" r=\"4.5\"/></svg><span class=\"value\">{value}<span class=\"interval\">{interval}</span></span><span class=\"word\">{word}</span></div>",
        scale.at(estimate.point)
    );
}

/// From a share to a place on the axis, in percent.
struct Scale {
    largest: f64,
    step: f64,
}

impl Scale {
    fn of(rows: &[&Row]) -> Self {
        let estimates = rows.iter().flat_map(|row| {
            let known = [row.model, row.dose, row.replay, row.trace, row.reference.share].into_iter().flatten();
            known.chain(row.readings.iter().map(|reading| reading.sampled))
        });
        let largest = estimates.map(|estimate| estimate.high.unwrap_or(estimate.point)).fold(0.05, f64::max).min(1.5);
        let step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].into_iter().find(|step| largest / step <= 6.0).unwrap_or(0.5);
        Self { largest: (largest / step).ceil() * step, step }
    }

    fn at(&self, share: f64) -> f64 {
        // A margin either side keeps a point at 0 whole.
        1.5 + 97.0 * (share / self.largest).clamp(0.0, 1.0)
    }
}

fn axis(out: &mut String, scale: &Scale) {
    out.push_str("<div class=\"line axis\" aria-hidden=\"true\"><span class=\"label\"></span><svg width=\"100%\" height=\"26\" focusable=\"false\">");
    let ticks = (scale.largest / scale.step).round() as u32;
    for tick in 0..=ticks {
        let share = f64::from(tick) * scale.step;
        let x = scale.at(share);
        let anchor = if tick == ticks {
            "end"
        } else if tick == 0 {
            "start"
        } else {
            "middle"
        };
        let _ = write!(
            out,
            "<line x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"5\"/><text x=\"{x:.2}%\" y=\"19\" text-anchor=\"{anchor}\">{:.0} %</text>",
            share * 100.0
        );
    }
    out.push_str("</svg><span class=\"value\"></span><span class=\"word\"></span></div>\n");
}
