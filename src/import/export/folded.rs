//! Writes folded stacks: equal stacks added up, one weight, characters that mean something escaped.

use std::borrow::Cow;
use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::{Losses, ThreadRoots, weighed};
use crate::profile::{FrameKind, Profile, StackId, ThreadId};

/// Stands for the stack of samples that have none.
const NO_STACK: &str = "[no stack]";

pub(super) fn write(profile: &Profile, weight: usize, threads: ThreadRoots, losses: &mut Losses) -> Vec<u8> {
    type Key = (Option<ThreadId>, Option<StackId>);
    let mut sums: Vec<(Key, f64)> = Vec::new();
    let mut index: FxHashMap<Key, usize> = FxHashMap::default();
    let mut without = 0;
    let mut threaded = 0;
    for sample in weighed(profile, weight) {
        without += usize::from(sample.stack.is_none());
        threaded += usize::from(sample.thread.is_some());
        let thread = sample.thread.filter(|_| threads == ThreadRoots::Prefix);
        let at = *index.entry((thread, sample.stack)).or_insert_with(|| {
            sums.push(((thread, sample.stack), 0.0));
            sums.len() - 1
        });
        sums[at].1 += sample.weights[weight];
    }
    let names: Vec<Cow<'_, str>> = profile.frames.iter().map(|frame| escape(&frame.function)).collect();
    let changed = names.iter().filter(|name| matches!(name, Cow::Owned(_))).count();
    let mut text = String::new();
    let mut line = String::new();
    for ((thread, stack), value) in sums {
        line.clear();
        if let Some(thread) = thread {
            line.push_str(&escape(&profile.threads[thread.0 as usize]));
            line.push(';');
        }
        match stack {
            Some(stack) => {
                for frame in profile.root_to_leaf(stack) {
                    line.push_str(&names[frame.0 as usize]);
                    line.push(';');
                }
                line.pop();
            }
            None => line.push_str(NO_STACK),
        }
        guard_ends(&mut line);
        let _ = writeln!(text, "{line} {value}");
    }
    losses.other_weights(profile);
    losses.add("unit", "the unit of the weight", usize::from(profile.weight_types[weight].unit != "unstated"));
    losses.modules(profile);
    losses.add(
        "places",
        "frames lose their file or line",
        profile.frames.iter().filter(|frame| frame.line.or(frame.file.as_ref().map(|_| 0)).is_some()).count(),
    );
    losses.addresses(profile);
    losses.kinds(profile, |kind| kind == FrameKind::Plain);
    losses.times(profile);
    losses.add(
        "threads",
        "samples lose their thread (--threads keeps it as root)",
        if threads == ThreadRoots::Merge { threaded } else { 0 },
    );
    losses.add("no-stack", "samples without a stack are written as [no stack]", without);
    losses.add("names-escaped", "names hold `;` or a line break, written %3B, %0A, %0D", changed);
    text.into_bytes()
}

/// `;` separates frames and a line break separates stacks. Escapes stay apart from names that look like one.
fn escape(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Owned("[no name]".into());
    }
    let looks_escaped = ["%3B", "%0A", "%0D", "%25", "%20", "%23"].iter().any(|code| name.contains(code));
    if !looks_escaped && !name.contains([';', '\n', '\r']) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.replace('%', "%25").replace(';', "%3B").replace('\n', "%0A").replace('\r', "%0D"))
}

/// A line must not look like a comment, nor its last frame like a second number.
fn guard_ends(line: &mut String) {
    if line.starts_with('#') {
        line.replace_range(..1, "%23");
    }
    let last = line.rfind([' ', '\t']);
    if let Some(blank) = last
        && (line[blank + 1..].is_empty() || line[blank + 1..].parse::<f64>().is_ok())
    {
        line.replace_range(blank..blank + 1, "%20");
    }
}
