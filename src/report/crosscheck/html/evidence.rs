//! Findings with their evidence, the method, and the environment.

use std::fmt::Write;

use super::super::words;
use super::{esc, tables};
use crate::crosscheck::diagnose::Certainty;
use crate::crosscheck::report::Report;

/// Diagnoses, open rows, the reference, and every warning.
pub(super) fn findings(report: &Report) -> String {
    let mut out = String::from("<ul class=\"findings\">\n");
    let mut any = false;
    for (index, sampler) in report.samplers.iter().enumerate() {
        for diagnosis in &sampler.diagnoses {
            any = true;
            let certainty = if diagnosis.certainty == Certainty::Shown { "shown" } else { "it fits" };
            let _ = write!(
                out,
                "<li class=\"finding\"><p class=\"what\"><span class=\"who\">{}</span> <code>{}</code> <span class=\"certainty\">{certainty}</span></p>\n<p>{}.</p>\n",
                esc(&sampler.name),
                diagnosis.mechanism.code(),
                esc(&sentence(&diagnosis.message))
            );
            list(&mut out, &diagnosis.evidence);
            let _ = writeln!(out, "<p class=\"remedy\">{}.</p></li>", esc(&sentence(&diagnosis.remedy)));
        }
        for open in words::open_rows(report, index) {
            any = true;
            let name = esc(&sampler.name);
            // It begins with a primitive's name, which keeps its letters.
            let _ = writeln!(
                out,
                "<li class=\"finding\"><p class=\"what\"><span class=\"who\">{name}</span> <code>unresolved</code></p>\n<p>{}.</p></li>",
                esc(open.trim_end_matches('.'))
            );
        }
    }
    for warning in &report.warnings {
        any = true;
        let _ = writeln!(
            out,
            "<li class=\"finding\"><p class=\"what\"><code>{}</code></p>\n<p>{}.</p>\n<p class=\"remedy\">{}.</p></li>",
            esc(&warning.code),
            esc(&sentence(&warning.message)),
            esc(&sentence(&warning.remedy))
        );
    }
    out.push_str("</ul>\n");
    if !any {
        out = "<p>Nothing.</p>\n".to_owned();
    }
    for note in words::reference_notes(report) {
        let _ = writeln!(out, "<p class=\"note\">{}.</p>", esc(&sentence(&note)));
    }
    out
}

/// How verdicts are reached, and what the attribution left open.
pub(super) fn method(report: &Report) -> String {
    let method = &report.method;
    let mut out = format!(
        "<p>Each primitive’s share is estimated by op count × unit cost (<em>predicted</em>), by repeating it and \
         taking the slope (<em>dose</em>) and by returning recorded outputs instead of computing (<em>replay</em>). \
         Dose and replay are causal; where they agree, within {} or their intervals, they are the reference. A stack \
         sample belongs to the outermost primitive on its stack.</p>\n\
         <p>A share <em>agrees</em> when the {} interval of its difference from the reference lies within {}. It is \
         <em>over</em>, <em>under</em> or <em>blind</em> when the difference is larger than that and excludes zero at \
         a level at which one sound profile in {:.0} is accused of anything. What lies between is \
         <em>unresolved</em>. Intervals of sampled shares allow for samples that depend on each other.</p>\n",
        words::points(method.agreement),
        words::percent(method.confidence, 0),
        words::points(method.margin),
        1.0 / method.false_accusations
    );
    for sampler in &report.samplers {
        if sampler.unmatched.is_empty() && sampler.ambiguous.is_empty() {
            continue;
        }
        let name = esc(&sampler.name);
        let _ = writeln!(out, "<details><summary>Frames that {name} shows outside every primitive</summary>");
        out.push_str(&tables::open(&format!(
            "{}: heaviest leaf frames outside every primitive, and ambiguous ones",
            sampler.name
        )));
        out.push_str("<thead><tr><th scope=\"col\">function</th><th scope=\"col\">share</th><th scope=\"col\">claimed by</th></tr></thead>\n<tbody>\n");
        for frame in sampler.ambiguous.iter().take(12).chain(&sampler.unmatched) {
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>",
                esc(&crate::report::style::short(&frame.function)),
                words::percent(frame.share, 1),
                esc(&frame.claimed_by.join(", "))
            );
        }
        out.push_str("</tbody>\n</table></div></details>\n");
    }
    out
}

/// The machine, and the facts of each profile.
pub(super) fn environment(report: &Report) -> String {
    let mut out = String::new();
    match &report.environment {
        None => out.push_str("<p>The machine on which the explanation was measured is not recorded.</p>\n"),
        Some(machine) => {
            let known = [
                ("platform", Some(machine.platform.clone())),
                ("CPU", machine.cpu_model.clone()),
                ("cores", machine.cores.map(|cores| cores.to_string())),
                ("kernel", machine.kernel.clone()),
                ("kernel tick", machine.tick_hz.map(|hz| format!("{hz} Hz"))),
                ("governor", machine.governor.clone()),
                ("turbo", machine.turbo.map(|on| if on { "on" } else { "off" }.to_owned())),
                ("hypervisor", machine.hypervisor.clone()),
                ("load", machine.load.map(|load| format!("{load:.2}"))),
                ("steal", machine.steal.map(|steal| words::percent(steal, 1))),
                ("compiler", machine.compiler.clone()),
                ("optimisation", Some(machine.optimisation.clone())),
                ("flags", machine.flags.clone()),
            ];
            facts(&mut out, known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        }
    }
    for sampler in &report.samplers {
        if !sampler.facts.is_empty() || !sampler.notes.is_empty() {
            let _ = writeln!(out, "<details><summary>Facts of the profile {}</summary>", esc(&sampler.name));
            facts(&mut out, sampler.facts.iter().map(|(name, value)| (name.clone(), value.clone())));
            let notes: Vec<String> = sampler
                .notes
                .iter()
                .map(|note| format!("{} ({})", note.message, words::thousands(note.count)))
                .collect();
            list(&mut out, &notes);
            out.push_str("</details>\n");
        }
    }
    out
}

fn facts(out: &mut String, facts: impl Iterator<Item = (String, String)>) {
    out.push_str("<dl>\n");
    for (name, value) in facts {
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", esc(&name), esc(&value));
    }
    out.push_str("</dl>\n");
}

fn list(out: &mut String, items: &[String]) {
    if items.is_empty() {
        return;
    }
    out.push_str("<ul class=\"evidence\">\n");
    for item in items {
        let _ = writeln!(out, "<li>{}</li>", esc(item));
    }
    out.push_str("</ul>\n");
}

/// Capital first letter, no full stop at the end.
fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    // A command or a name keeps its letters.
    let word = text.split(' ').next().unwrap_or_default();
    if word.starts_with('-') || word.contains(|c: char| "_/:.".contains(c) || c.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
