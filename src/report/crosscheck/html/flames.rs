//! Flamegraphs, root at the top: as sampled, coloured by verdict; and as they would have been, coloured by
//! what was missing or too much.

use std::fmt::Write;

use super::super::words;
use super::{class, esc};
use crate::crosscheck::flame::{Flame, Node};
use crate::report::style::short;

/// Height of a row, in pixels; the style sheet has the same.
const ROW: usize = 19;
/// Frames with a smaller share are not drawn.
const SMALLEST: f64 = 0.0015;
/// Differences in share below this are not coloured.
const UNCHANGED: f64 = 0.002;

/// The flamegraph as the sampler has it.
pub(super) fn sampled(flame: &Flame, index: usize) -> String {
    let mut out = String::from(
        "<p class=\"note\">Width is the sampled share. Colour is the verdict on the primitive: green agrees, red shows \
         too much, blue too little, grey lies behind no boundary or is not judged.</p>\n",
    );
    draw(&mut out, flame, index, "sampled", &|node| Drawn {
        start: node.start,
        share: node.share,
        class: if node.primitive.is_some() { class(node.verdict) } else { "none" },
        title: title(node),
    });
    out
}

/// The flamegraph with each primitive at its reference share.
pub(super) fn corrected(flame: &Flame, index: usize) -> String {
    let mut out = String::from(
        "<p class=\"note\">Width is the corrected share: each primitive at its reference. Red was shown too wide, blue \
         too narrow or not at all; grey is unchanged.</p>\n",
    );
    draw(&mut out, flame, index, "corrected", &|node| Drawn {
        start: node.corrected_start,
        share: node.corrected,
        class: difference_class(node),
        title: title(node),
    });
    out
}

struct Drawn {
    start: f64,
    share: f64,
    class: &'static str,
    title: String,
}

fn difference_class(node: &Node) -> &'static str {
    let difference = node.share - node.corrected;
    if difference.abs() < UNCHANGED {
        "none"
    } else if difference > 0.0 {
        "over"
    } else if node.share == 0.0 {
        "blind"
    } else {
        "under"
    }
}

fn title(node: &Node) -> String {
    let of = match (&node.primitive, node.verdict) {
        (Some(primitive), Some(verdict)) if verdict.word() == "agrees" => format!(", part of {primitive}"),
        (Some(primitive), Some(verdict)) => format!(", part of {primitive} ({})", verdict.word()),
        _ => String::new(),
    };
    let (sampled, corrected) = (words::percent(node.share, 1), words::percent(node.corrected, 1));
    format!("{}: sampled {sampled}, corrected {corrected}{of}", short(&node.name))
}

fn draw(out: &mut String, flame: &Flame, index: usize, kind: &str, drawn: &dyn Fn(&Node) -> Drawn) {
    let id = format!("{kind}-{index}-graph");
    let height = (flame.depth + 1) * ROW;
    let name = esc(&flame.name);
    let _ = write!(
        out,
        "<div class=\"flame\" id=\"{id}\">\n<div class=\"tools\"><label>Search <input type=\"search\" autocomplete=\"off\" spellcheck=\"false\"></label> \
         <button type=\"button\" class=\"reset\" hidden>Whole graph</button> <output aria-live=\"polite\"></output></div>\n\
         <div class=\"graph\" role=\"group\" aria-label=\"Flamegraph of {name}, {kind}. Arrow keys move between frames, Enter widens one, Escape shows the whole.\" style=\"height:{height}px\">\n"
    );
    let mut first = true;
    for (place, node) in flame.nodes.iter().enumerate() {
        let Drawn { start, share, class, title } = drawn(node);
        // Below the frame that makes a primitive all frames are corrected alike.
        let within = |parent: usize| flame.nodes[parent].primitive.is_some();
        if share < SMALLEST || (kind == "corrected" && node.parent.is_some_and(within)) {
            continue;
        }
        let tab = if first { "0" } else { "-1" };
        first = false;
        let title = esc(&title);
        let parent = node.parent.map_or_else(String::new, |parent| format!(" data-p=\"{parent}\""));
        let _ = writeln!(
            out,
            "<button type=\"button\" class=\"{class}\" tabindex=\"{tab}\" data-i=\"{place}\"{parent} style=\"left:{:.3}%;width:{:.3}%;top:{}px\" title=\"{title}\">{}</button>",
            start * 100.0,
            share * 100.0,
            node.depth * ROW,
            esc(&short(&node.name))
        );
    }
    out.push_str("</div>\n");
    if flame.left_out > 0 {
        let _ = writeln!(
            out,
            "<p class=\"note\">{} frames below 0.1 % are left out.</p>",
            words::thousands(flame.left_out as u64)
        );
    }
    out.push_str("</div>\n");
}
