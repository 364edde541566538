//! Draws profiles as interactive SVG flamegraphs, with inferno.
//!
//! Symbol names are hostile. inferno escapes markup but writes control characters, which no XML file may
//! hold, splits names at `;` and reads a number at their end as a second weight; names are made safe first.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::style::steers;
use crate::profile::{Frame, FrameKind, Profile, StackId};

/// Longer names are cut in images, with the number of characters left out.
const LONGEST_NAME: usize = 400;

/// What stands around the frames.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The heading.
    pub title: String,
    /// A line below the heading.
    pub subtitle: Option<String>,
}

/// Why nothing was drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlamegraphError {
    /// No stack has a positive weight.
    #[error("there is nothing to draw: no stack in the profile has a positive weight")]
    Empty,
    /// The two profiles of a differential count different things.
    #[error("the profiles cannot be compared: one counts {before}, the other {after}")]
    Units {
        /// Unit of the first.
        before: String,
        /// Unit of the second.
        after: String,
    },
    /// inferno refused.
    #[error("the flamegraph cannot be drawn: {0}")]
    Inferno(String),
}

/// The flamegraph of one weight of a profile.
pub fn svg(profile: &Profile, weight: usize, labels: &Labels) -> Result<String, FlamegraphError> {
    let stacks = folded(profile, weight, 1.0);
    let lines: Vec<String> =
        stacks.iter().filter(|(_, value)| *value > 0).map(|(stack, value)| format!("{stack} {value}")).collect();
    draw(&lines, &unit(profile, weight), labels, Colour::Change)
}

/// The differential of two profiles, drawn as the second one: red where its share of the whole is larger
/// than in the first, blue where it is smaller. Shares are compared, so the totals need not be equal.
pub fn differential(
    before: (&Profile, usize),
    after: (&Profile, usize),
    labels: &Labels,
) -> Result<String, FlamegraphError> {
    let (unit_before, unit_after) = (unit(before.0, before.1), unit(after.0, after.1));
    if unit_before != unit_after {
        return Err(FlamegraphError::Units { before: unit_before, after: unit_after });
    }
    let (total_before, total_after) = (before.0.total(before.1), after.0.total(after.1));
    if total_before <= 0.0 || total_after <= 0.0 {
        return Err(FlamegraphError::Empty);
    }
    let mut rows: FxHashMap<String, (u64, u64)> = FxHashMap::default();
    for (stack, value) in folded(before.0, before.1, total_after / total_before) {
        rows.entry(stack).or_default().0 += value;
    }
    for (stack, value) in folded(after.0, after.1, 1.0) {
        rows.entry(stack).or_default().1 += value;
    }
    let mut lines: Vec<String> =
        rows.iter().map(|(stack, (before, after))| format!("{stack} {before} {after}")).collect();
    lines.sort_unstable();
    draw(&lines, &unit_after, labels, Colour::Change)
}

/// The differential of what a profile shows and what it should: widths are the corrected shares, red is what
/// the sampler shows too much of, blue what it shows too little of. Takes a profile of
/// [`corrected`](crate::crosscheck::flame::corrected) shares.
pub fn honest(profile: &Profile, labels: &Labels) -> Result<String, FlamegraphError> {
    // inferno draws whole numbers.
    const WHOLE: f64 = 10_000.0;
    let mut rows: FxHashMap<String, (u64, u64)> = FxHashMap::default();
    for (stack, value) in folded(profile, 0, WHOLE) {
        rows.entry(stack).or_default().0 += value;
    }
    for (stack, value) in folded(profile, 1, WHOLE) {
        rows.entry(stack).or_default().1 += value;
    }
    let drawn = rows.iter().filter(|(_, (sampled, corrected))| sampled + corrected > 0);
    let mut lines: Vec<String> =
        drawn.map(|(stack, (sampled, corrected))| format!("{stack} {sampled} {corrected}")).collect();
    lines.sort_unstable();
    draw(&lines, "of 10,000", labels, Colour::Error)
}

/// What the colour of a differential shows.
#[derive(Clone, Copy, PartialEq)]
enum Colour {
    /// Second less first.
    Change,
    /// First less second.
    Error,
}

fn draw(lines: &[String], unit: &str, labels: &Labels, colour: Colour) -> Result<String, FlamegraphError> {
    if lines.is_empty() {
        return Err(FlamegraphError::Empty);
    }
    let mut options = inferno::flamegraph::Options::default();
    options.title = safe_text(&labels.title);
    options.subtitle = labels.subtitle.as_deref().map(safe_text);
    options.count_name = safe_text(unit);
    options.colors = inferno::flamegraph::Palette::Multi(inferno::flamegraph::color::MultiPalette::Rust);
    options.negate_differentials = colour == Colour::Error;
    // Equal profiles give equal files.
    options.deterministic = true;
    let mut image = Vec::new();
    inferno::flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut image)
        .map_err(|error| FlamegraphError::Inferno(error.to_string()))?;
    String::from_utf8(image).map_err(|error| FlamegraphError::Inferno(error.to_string()))
}

fn unit(profile: &Profile, weight: usize) -> String {
    match profile.weight_types.get(weight) {
        Some(kind) if kind.unit == "count" => kind.name.clone(),
        Some(kind) => kind.unit.clone(),
        None => "samples".to_owned(),
    }
}

/// Stacks, root first and safe for inferno, with their weight rounded to a whole number; sorted by stack.
fn folded(profile: &Profile, weight: usize, factor: f64) -> Vec<(String, u64)> {
    let mut per_stack: FxHashMap<StackId, f64> = FxHashMap::default();
    for sample in &profile.samples {
        if let (Some(stack), Some(value)) = (sample.stack, sample.weights.get(weight)) {
            *per_stack.entry(stack).or_default() += value;
        }
    }
    let names: Vec<String> = profile.frames.iter().map(safe_name).collect();
    let mut merged: FxHashMap<String, f64> = FxHashMap::default();
    for (stack, value) in per_stack {
        let path: Vec<&str> =
            profile.root_to_leaf(stack).iter().map(|frame| names[frame.0 as usize].as_str()).collect();
        *merged.entry(path.join(";")).or_default() += value * factor;
    }
    let mut rows: Vec<_> = merged.into_iter().map(|(stack, value)| (stack, value.max(0.0).round() as u64)).collect();
    rows.sort_unstable();
    rows
}

/// A frame's name as inferno can take it. Kernel frames get inferno's mark for its colour.
fn safe_name(frame: &Frame) -> String {
    let mut name = safe_text(&frame.function).replace(';', ",");
    if name.is_empty() {
        name.push_str("(no name)");
    }
    // A last word of digits would be read as a weight, and `#` at the start as a comment.
    if let Some(space) = name.rfind(' ')
        && name[space + 1..].chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        name.replace_range(space..=space, "\u{a0}");
    }
    if name.starts_with('#') {
        name.insert(0, '\u{a0}');
    }
    if frame.kind == FrameKind::Kernel {
        name.push_str("_[k]");
    }
    name
}

/// The text with control characters and what turns the direction of writing spelt out, and cut where it is
/// too long to be read.
fn safe_text(text: &str) -> String {
    // The last two are no characters in XML.
    let hidden = |c: char| steers(c) || matches!(c, '\u{fffe}' | '\u{ffff}');
    let mut safe = String::new();
    for (at, c) in text.trim().chars().enumerate() {
        if at == LONGEST_NAME {
            let left = text.trim().chars().count() - at;
            write!(safe, "… and {left} more characters").expect("writing to a String does not fail");
            break;
        }
        if hidden(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::testing::stacks;

    fn profile(samples: &[(&[&str], f64)]) -> Profile {
        stacks("samples", "count", samples)
    }

    fn labels() -> Labels {
        Labels { title: "title <b>\u{1b}[31m".into(), subtitle: None }
    }

    #[test]
    fn hostile_names_stay_text() {
        let long = "x".repeat(10_000);
        let names =
            ["<script>alert(1)</script>", "a\u{1b}[31mred\u{0}", "[u8; 4]", "\u{202e}txt", "# 7", "", "\"'&", &long];
        let image = svg(&profile(&[(&names, 3.0), (&["ends in 12 7"], 1.0)]), 0, &labels()).unwrap();
        assert!(!image.contains("<script>alert") && image.contains("&lt;script&gt;alert"));
        assert!(!image.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        assert!(image.contains("[u8, 4] (3 samples, 75.00%)"), "a name is not split at its semicolon");
        assert!(image.contains("ends in 12\u{a0}7 (1 samples, 25.00%)"), "a number at the end is part of the name");
        assert!(image.contains("and 9600 more characters") && image.len() < 60_000);
        assert!(image.contains("(no name)") && !image.contains('\u{202e}'));
    }

    #[test]
    fn nothing_to_draw_is_an_error() {
        assert_eq!(svg(&profile(&[]), 0, &labels()), Err(FlamegraphError::Empty));
        assert_eq!(svg(&profile(&[(&["a"], 0.0)]), 0, &labels()), Err(FlamegraphError::Empty));
    }

    #[test]
    fn a_differential_compares_shares() {
        let before = profile(&[(&["a"], 30.0), (&["b"], 70.0)]);
        let after = profile(&[(&["a"], 10.0), (&["b"], 10.0)]);
        let image = differential((&before, 0), (&after, 0), &labels()).unwrap();
        // 30 of 100 is 6 of 20; the whole of the second profile is 20.
        assert!(image.contains("a (10 samples, 50.00%; +20.00%)"), "{image}");
        assert!(image.contains("b (10 samples, 50.00%; -20.00%)"));
    }

    #[test]
    fn an_honest_flamegraph_is_as_wide_as_the_truth_and_coloured_by_the_error() {
        use crate::crosscheck::judge::{Options, judge};
        use crate::crosscheck::{flame, testing};
        let known = testing::explanation(&[("a", 0.5), ("b", 0.3)]);
        let profile = testing::folded("main;a;inner 6000\nmain;a 2000\nmain 2000\n");
        let judged = judge(&known, &[("s".into(), &profile)], &Options::default()).unwrap();
        let corrected = flame::corrected(&profile, &judged.attributions[0], &known, &judged.report, 0);
        let image = honest(&corrected, &labels()).unwrap();
        assert!(image.contains("a (5,000 of 10,000, 50.00%; +30.00%)"), "{image}");
        assert!(image.contains("[b: not sampled] (3,000 of 10,000, 30.00%; -30.00%)"), "{image}");
    }
}
