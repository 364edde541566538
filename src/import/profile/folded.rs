//! Folded stacks: `root;child;leaf 12`, one stack a line.
//!
//! The format carries no unit, no time and no escape: `;` always separates frames, so a frame such as
//! `[u8; 4]` comes apart. Two numbers at the end of every line are a differential file, before and after.

use super::{Format, Options};
use crate::import::Detection;
use crate::import::error::{ImportError, Position, excerpt};
use crate::import::input::Input;
use crate::profile::{Builder, Frame, FrameId, FrameKind, Profile, SampleClock, StackId, StackSample, WeightType};

const NAME: &str = "folded";

/// From this total on, whole numbers are taken for an amount (a time, bytes, events), not for samples: a
/// sampler would have to run for hours. An interval that counts nanoseconds as samples has no width.
const TOO_MANY_SAMPLES: u64 = 10_000_000;

/// The same where every stack weighs this much: no stack was seen just a few times, which some always are.
const TOO_MANY_EACH: (u64, u64) = (1_000_000, 1_000);

/// How many lines of the head decide what the columns are.
const LOOKED_AT: usize = 500;

pub(super) const FORMAT: Format = Format { name: NAME, description: "folded stacks", detect, read };

#[derive(Clone, Copy, PartialEq)]
enum Line<'a> {
    Blank,
    Comment(&'a [u8]),
    Stack { frames: &'a [u8], number: Number },
    Bad,
}

#[derive(Clone, Copy, PartialEq)]
enum Number {
    Whole(u64),
    Other(f64),
}

impl Number {
    fn value(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Other(other) => other,
        }
    }
}

fn parse(line: &[u8]) -> Line<'_> {
    let line = line.trim_ascii_end();
    if line.is_empty() {
        return Line::Blank;
    }
    // `# key: value` is a comment; `#private;f 3` is a stack whose root is a JavaScript private method.
    if line[0] == b'#' && !line.get(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return Line::Comment(line[1..].trim_ascii());
    }
    let Some((frames, number)) = split_number(line) else { return Line::Bad };
    if frames.is_empty() { Line::Bad } else { Line::Stack { frames, number } }
}

/// The text before the last blank, and the number after it.
fn split_number(line: &[u8]) -> Option<(&[u8], Number)> {
    let blank = memchr::memrchr2(b' ', b'\t', line)?;
    let number = parse_number(&line[blank + 1..])?;
    Some((line[..blank].trim_ascii_end(), number))
}

fn parse_number(text: &[u8]) -> Option<Number> {
    if text.len() <= 19 && !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
        return Some(Number::Whole(text.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'))));
    }
    // Only digits, sign, point and exponent: neither `inf` nor `nan` is a count.
    let allowed = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
    if !text.first().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+')) || !text.iter().all(allowed) {
        return None;
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_finite().then_some(Number::Other(value))
}

fn head_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    // The last line may be cut by the end of the head: it decides only when it is alone.
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    whole.split(|byte| *byte == b'\n').take(LOOKED_AT)
}

fn detect(head: &[u8]) -> Detection {
    // A truncated JSON document may end in a blank and a number.
    if super::json::looks_like(head) || head.iter().take(4096).any(|byte| *byte == 0) {
        return Detection::No;
    }
    // Its lines of costs end in numbers too.
    if super::is_callgrind(head) {
        return Detection::No;
    }
    let (mut good, mut joined, mut bad) = (0, 0, 0);
    for line in head_lines(head) {
        match parse(line) {
            Line::Stack { frames, .. } => {
                good += 1;
                joined += usize::from(frames.contains(&b';'));
            }
            Line::Bad => bad += 1,
            Line::Blank | Line::Comment(_) => {}
        }
    }
    match () {
        // One line longer than the whole head: only the separator speaks for it.
        _ if good == 0 && !head.contains(&b'\n') && head.contains(&b';') => Detection::NotSure,
        _ if joined > 0 && good > bad => Detection::Yes,
        _ if good > bad => Detection::NotSure,
        _ => Detection::No,
    }
}

/// Whether every stack of the head ends in two numbers.
fn is_differential(head: &[u8]) -> bool {
    let mut stacks = 0;
    for line in head_lines(head) {
        if let Line::Stack { frames, .. } = parse(line) {
            match split_number(frames) {
                Some((rest, _)) if !rest.is_empty() => stacks += 1,
                _ => return false,
            }
        }
    }
    stacks > 0
}

fn read(input: Input<'_>, options: &Options) -> Result<Profile, ImportError> {
    let differential = is_differential(input.head());
    let whole = !differential
        && head_lines(input.head()).all(|line| match parse(line) {
            Line::Stack { number, .. } => matches!(number, Number::Whole(_)),
            _ => true,
        });
    let weight = |name: &str| WeightType { name: name.into(), unit: if whole { "count" } else { "unstated" }.into() };
    let mut builder = Builder::new(match differential {
        true => vec![weight("before"), weight("after")],
        false if whole => vec![weight("samples")],
        false => vec![weight("weight")],
    });
    builder.keep_at_most(options.keep_samples);
    builder.provenance().format = NAME.into();
    if differential {
        builder.default_weight(1);
        let message = "every line ends in two numbers: read as a differential file with the weights before and after";
        builder.note("differential", message, 1);
    }
    let mut previous = Previous::default();
    let (mut good, mut bad, mut fractions) = (0u64, 0u64, 0u64);
    let mut first_bad: Option<(u64, String)> = None;
    let (mut counted, mut smallest) = (0u64, u64::MAX);
    let mut lines = input.lines();
    while let Some(line) = lines.next_line()? {
        let line = match parse(line) {
            Line::Blank => continue,
            Line::Comment(text) => {
                comment(&mut builder, text);
                continue;
            }
            Line::Stack { frames, number } if differential => {
                split_number(frames).map(|(frames, before)| (frames, Some(before), number)).ok_or(line)
            }
            Line::Stack { frames, number } => Ok((frames, None, number)),
            Line::Bad => Err(line),
        };
        let (frames, before, number) = match line {
            Ok(stack) => stack,
            Err(line) => {
                bad += 1;
                let text = excerpt(line);
                first_bad.get_or_insert_with(|| (lines.number(), text));
                continue;
            }
        };
        good += 1;
        let count = match number {
            Number::Whole(count) if whole && !differential => Some(count),
            _ => None,
        };
        if let Some(count @ 1..) = count {
            counted = counted.saturating_add(count);
            smallest = smallest.min(count);
        }
        fractions += u64::from(whole && matches!(number, Number::Other(_)));
        let stack = previous.next(&mut builder, frames);
        let weights = before.map(Number::value).into_iter().chain([number.value()]).collect();
        builder.sample(StackSample { stack, thread: None, time_ns: None, count, weights });
    }
    if let Some((line, found)) = first_bad {
        if bad > good {
            let expected = "frames separated by `;`, a blank and a number";
            return Err(ImportError::malformed(NAME, Position::Line(line), format!("\"{found}\""), expected));
        }
        let message =
            format!("lines without a stack and a number were left out; the first is line {line}: \"{found}\"");
        builder.note("lines-ignored", message, bad);
    }
    if good == 0 {
        return Err(ImportError::NoSamples { why: format!("{} lines, none of them a stack", lines.number()) });
    }
    if fractions > 0 {
        builder.note("not-whole", "counts that are not whole numbers are kept as weights only", fractions);
    }
    let (of_all, of_each) = TOO_MANY_EACH;
    if counted >= TOO_MANY_SAMPLES || (counted >= of_all && smallest >= of_each) {
        let message = "numbers too large to be sample counts are taken for a weight without a unit";
        builder.note("unit-unstated", message, good);
        let mut profile = builder.finish();
        profile.weight_types = vec![WeightType { name: "weight".into(), unit: "unstated".into() }];
        profile.samples.iter_mut().for_each(|sample| sample.count = None);
        return Ok(profile);
    }
    if whole {
        let message =
            "folded stacks carry no unit: the numbers are taken for sample counts, and may be periods or times";
        builder.note("unit-unstated", message, good);
    }
    Ok(builder.finish())
}

/// The line before and its stacks: folded files are mostly sorted, so that a line repeats the beginning of the last.
#[derive(Default)]
struct Previous {
    line: Vec<u8>,
    /// Of each frame its end in the line, and the stack that ends with it.
    stacks: Vec<(usize, StackId)>,
}

impl Previous {
    /// The stack of a line's frames.
    fn next(&mut self, builder: &mut Builder, frames: &[u8]) -> Option<StackId> {
        let common = common_prefix(&self.line, frames);
        // A frame is shared where both lines have it to its end.
        let ends = |end: usize, line: &[u8]| line.get(end).is_none_or(|byte| *byte == b';');
        let shared = |end: usize| end <= common && ends(end, frames) && ends(end, &self.line);
        let kept = self.stacks.iter().take_while(|(end, _)| shared(*end)).count();
        self.stacks.truncate(kept);
        let (start, mut stack) = match self.stacks.last() {
            Some((end, stack)) => (end + 1, Some(*stack)),
            None => (0, None),
        };
        if let Some(rest) = frames.get(start..) {
            let mut from = start;
            for end in memchr::memchr_iter(b';', rest).map(|at| start + at).chain([frames.len()]) {
                let id = frame(builder, &frames[from..end]);
                let deeper = builder.stack(stack, id);
                self.stacks.push((end, deeper));
                stack = Some(deeper);
                from = end + 1;
            }
        }
        self.line.clear();
        self.line.extend_from_slice(frames);
        stack
    }
}

/// How many bytes two lines have in common at their beginning.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

fn frame(builder: &mut Builder, name: &[u8]) -> FrameId {
    builder.cached_frame(name, |name| {
        let kind = match name {
            _ if name.ends_with(b"_[k]") => FrameKind::Kernel,
            _ if name.ends_with(b"_[i]") => FrameKind::Inlined,
            _ if name.ends_with(b"_[0]") => FrameKind::Interpreted,
            _ => FrameKind::Plain,
        };
        Frame { function: String::from_utf8_lossy(name).into_owned(), kind, ..Frame::default() }
    })
}

/// Facts in comments, as austin and others write them: `# mode: wall`.
fn comment(builder: &mut Builder, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let Some((key, value)) = text.split_once(':') else { return };
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() || key.len() > 40 || value.len() > 400 {
        return;
    }
    let provenance = builder.provenance();
    match (key, value) {
        ("mode", "wall") => provenance.clock = SampleClock::Wall,
        ("mode", "cpu") => provenance.clock = SampleClock::Cpu,
        ("mode", "memory") => provenance.clock = SampleClock::Allocation,
        ("austin", version) => provenance.producer = Some(format!("austin {version}")),
        _ => {}
    }
    if provenance.facts.len() < 100 {
        provenance.facts.insert(key.to_owned(), value.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read_text, self_total};
    use super::*;

    #[test]
    fn two_columns_are_a_differential() {
        let profile = read_text("a;b 31 56\na;c 6 2\n\na 1 0\n").unwrap();
        assert_eq!(
            profile.weight_types.iter().map(|weight| weight.name.as_str()).collect::<Vec<_>>(),
            ["before", "after"]
        );
        assert_eq!((profile.total(0), profile.total(1)), (38.0, 58.0));
        assert_eq!(profile.notes[0].code, "differential");
    }

    #[test]
    fn a_frame_that_ends_in_a_number_is_no_column_when_others_do_not() {
        let profile = read_text("main;worker 1 5\nmain;x 7\n").unwrap();
        assert_eq!(self_total(&profile, 0, "worker 1"), (5.0, 5.0));
    }

    // firefox-devtools/profiler PR#5359: fractions cut off, counts looped over.
    #[test]
    fn large_and_fractional_counts_are_values() {
        let profile = read_text("a;b 4000000000\na;c 12.7\n").unwrap();
        assert_eq!(profile.total(0), 4_000_000_012.7);
        assert_eq!(profile.weight_types[0].unit, "unstated");
        let many = "a;b 1000000000\n".repeat(1000);
        assert_eq!(read_text(&many).unwrap().total(0), 1e12);
    }

    #[test]
    fn times_are_not_taken_for_samples() {
        let samples = |text: &str| read_text(text).unwrap().samples_of(0);
        assert_eq!(samples("a;b 900000\na;c 2\n"), Some(900_002));
        assert_eq!(samples("a;b 600000\na;c 500000\n"), None, "microseconds");
        assert_eq!(samples("a;b 921181338\na;c 7\n"), None, "nanoseconds");
        let profile = read_text("a;b 921181338\na;c 7\n").unwrap();
        assert_eq!((profile.total(0), profile.weight_types[0].unit.as_str()), (921_181_345.0, "unstated"));
    }

    #[test]
    fn comments_are_facts_not_stacks() {
        let profile = read_text("# mode: wall\n# duration: 23873\na;b 3\n#private;c 2\n").unwrap();
        assert_eq!(profile.total(0), 5.0);
        assert_eq!(profile.provenance.facts["duration"], "23873");
        assert_eq!(profile.provenance.clock, SampleClock::Wall);
    }

    #[test]
    fn lines_left_out_are_counted_and_too_many_refused() {
        let profile = read_text("a;b 3\nnonsense\na;c 4\na;d inf\na;e 2\n").unwrap();
        assert_eq!(profile.total(0), 9.0);
        let note = profile.notes.iter().find(|note| note.code == "lines-ignored").unwrap();
        assert_eq!(note.count, 2);
        assert!(note.message.contains("line 2: \"nonsense\""));
        let options = Options { format: Some("folded".into()), ..Options::default() };
        let error = super::super::read("a 1\nx\ny\n".as_bytes(), &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "folded, line 2: found \"x\"; expected frames separated by `;`, a blank and a number"
        );
    }

    #[test]
    fn windows_files_read_the_same() {
        let text = "a;b 3\r\na;c 4\r\n";
        let utf16: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let options = Options::default();
        let plain = super::super::read("a;b 3\na;c 4".as_bytes(), &options).unwrap();
        assert_eq!(super::super::read(text.as_bytes(), &options).unwrap(), plain);
        assert_eq!(super::super::read(utf16.as_slice(), &options).unwrap(), plain);
    }

    #[test]
    fn nothing_in_it_is_said() {
        assert!(matches!(read_text(""), Err(ImportError::NoSamples { .. })));
        let options = Options { format: Some("folded".into()), ..Options::default() };
        let error = super::super::read("# only a comment\n\n".as_bytes(), &options).unwrap_err();
        assert!(matches!(error, ImportError::NoSamples { .. }));
    }

    #[test]
    fn deep_stacks_and_long_names_cost_no_stack() {
        let deep = vec!["f"; 100_000].join(";");
        let long = "g".repeat(1 << 20);
        let profile = read_text(&format!("{deep} 2\n{long};h 3\n")).unwrap();
        assert_eq!(self_total(&profile, 0, "f"), (2.0, 2.0));
        assert_eq!(self_total(&profile, 0, &long), (0.0, 3.0));
    }

    #[test]
    fn many_samples_are_merged_without_changing_a_sum() {
        let text: String = (0..1000).map(|at| format!("a;f{} {}\n", at % 7, at + 1)).collect();
        let whole = read_text(&text).unwrap();
        let options = Options { keep_samples: 50, ..Options::default() };
        let merged = super::super::read(text.as_bytes(), &options).unwrap();
        assert_eq!(merged.samples.len(), 7);
        assert_eq!(merged.total(0), whole.total(0));
        assert_eq!(self_total(&merged, 0, "f3"), self_total(&whole, 0, "f3"));
        let counts = |profile: &Profile| profile.samples.iter().map(|sample| sample.count.unwrap()).sum::<u64>();
        assert_eq!(counts(&merged), counts(&whole));
    }
}
