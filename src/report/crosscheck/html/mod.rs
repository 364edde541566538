//! The report as one page that needs nothing else: no network, no other file.
//!
//! Everything that comes from a profile is escaped; the page's own script is named in its content
//! security policy by its hash, and nothing else may run or load.

mod evidence;
mod flames;
mod plot;
mod tables;

use std::fmt::Write;

use super::words;
use crate::crosscheck::flame::Flame;
use crate::crosscheck::report::{Report, Sampler};
use crate::crosscheck::verdict::Verdict;
use crate::report::style::{markup, safe};
use crate::unit::counted;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// SHA-256 of [`SCRIPT`], for the content security policy.
const SCRIPT_HASH: &str = "dqG1UVajOpknPhqyr8lr/b+HkiwCXO8PxL4fvXa/UWA=";

/// The page: answer, plot, table, findings, flamegraphs and their corrections, and how all of it was
/// measured.
pub fn html(report: &Report, flames: &[Flame]) -> String {
    let title = format!("{} cross-checked", report.operation);
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#shares\">Skip to the shares</a>\n",
        esc(&title)
    );
    header(&mut out, report);
    out.push_str("<main>\n");
    section(&mut out, "shares", "Shares of the operation’s time", &plot::plot(report));
    section(&mut out, "figures", "The same in figures", &tables::shares(report));
    section(&mut out, "findings", "What to distrust, and what to do", &evidence::findings(report));
    for (index, flame) in flames.iter().enumerate() {
        let heading = format!("What {} shows", flame.name);
        section(&mut out, &format!("flame-{index}"), &heading, &flames::sampled(flame, index));
        let heading = format!("What {} would have shown", flame.name);
        section(&mut out, &format!("corrected-{index}"), &heading, &flames::corrected(flame, index));
    }
    section(&mut out, "samplers", "Samplers", &tables::samplers(report));
    section(&mut out, "method", "How it was judged", &evidence::method(report));
    section(&mut out, "environment", "Environment", &evidence::environment(report));
    let tool = format!("{} {}", report.tool.name, report.tool.version);
    let _ = write!(
        out,
        "</main>\n<footer><p>Written by {}. This page loads nothing and sends nothing.</p></footer>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        esc(&tool)
    );
    out
}

fn header(out: &mut String, report: &Report) {
    let _ = write!(
        out,
        "<header>\n<p class=\"kicker\">Cross-check</p>\n<h1>{}</h1>\n<p class=\"answer\">{}</p>\n<ul class=\"chips\">\n",
        esc(&report.operation),
        esc(&words::headline(report))
    );
    for (index, sampler) in report.samplers.iter().enumerate() {
        let (class, says) = chip(report, index, sampler);
        let _ = writeln!(
            out,
            "<li class=\"chip {class}\"><strong>{}</strong> <span>{}</span></li>",
            esc(&sampler.name),
            esc(&says)
        );
    }
    out.push_str("</ul>\n</header>\n");
}

/// A sampler in a few words.
fn chip(report: &Report, index: usize, sampler: &Sampler) -> (&'static str, String) {
    let largest = sampler.scores.largest_error.map_or_else(String::new, |error| {
        let row = sampler.scores.largest_error_row.as_deref().unwrap_or("");
        format!(", off by up to {} ({row})", words::points(error))
    });
    if report.summary.misleading.contains(&sampler.name) {
        let rows = report.rows.iter().chain([&report.rest]);
        let accused = rows.filter(|row| row.readings[index].judgement.verdict.accuses()).count();
        ("over", format!("misleads on {}{largest}", counted(accused, "row", "rows")))
    } else if report.summary.sound.contains(&sampler.name) {
        ("agrees", format!("agrees{}", largest.replace("off by up to", "within")))
    } else {
        ("unresolved", format!("not all settled{largest}"))
    }
}

fn section(out: &mut String, id: &str, heading: &str, content: &str) {
    let _ = write!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{}</h2>\n{content}</section>\n",
        esc(heading)
    );
}

/// The class that colours a verdict.
fn class(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        None => "none",
        Some(Verdict::NoReference) => "no-reference",
        Some(other) => other.word(),
    }
}

/// Text as HTML takes it, in elements and in quoted attributes. What steers the direction or hides text is
/// shown as its code, and long names are cut.
fn esc(text: &str) -> String {
    markup(&safe(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::judge::{Options, judge};
    use crate::crosscheck::testing::{explanation, folded};

    const HOSTILE: &str = "</script><script>alert(1)</script>\"'&\u{1b}\u{202e}<img src=x>";

    fn page() -> String {
        let known = explanation(&[(HOSTILE, 0.3), ("b", 0.3)]);
        let profile = folded(&format!("main;{HOSTILE} 5000\nmain 5000\n"));
        let judged = judge(&known, &[(HOSTILE.into(), &profile)], &Options::default()).unwrap();
        let flame = crate::crosscheck::flame::flame(&profile, &judged.attributions[0], &known, &judged.report, 0);
        html(&judged.report, &[flame])
    }

    #[test]
    fn hostile_names_are_text() {
        let page = page();
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
        assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    }

    #[test]
    fn nothing_is_loaded_from_anywhere() {
        let page = page();
        for outside in ["http://", "https://", "src=", "@import", "url(", "<link"] {
            let found = page
                .replace("&lt;img src=x&gt;", "")
                .find(outside)
                .map(|at| page[at..].chars().take(40).collect::<String>());
            assert_eq!(found, None, "{outside}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn every_table_has_a_caption_and_ids_are_unique() {
        let page = page();
        assert!(page.contains("<table"));
        assert_eq!(page.matches("<table").count(), page.matches("<caption").count());
        let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len(), "{ids:?}");
    }

    #[cfg(feature = "crypto")]
    #[test]
    fn the_policy_names_this_script() {
        use sha2::{Digest, Sha256};
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digest = Sha256::digest(SCRIPT.as_bytes());
        let mut base64 = String::new();
        for chunk in digest.chunks(3) {
            let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
            for place in 0..4 {
                let sextet = (word >> (18 - 6 * place) & 63) as usize;
                base64.push(if place > chunk.len() { '=' } else { char::from(ALPHABET[sextet]) });
            }
        }
        assert_eq!(SCRIPT_HASH, base64);
    }
}
