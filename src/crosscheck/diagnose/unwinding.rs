//! Mechanisms of stack walking: lost leaves, lost callers, cut and broken stacks, and the unwinder seen
//! in its own profile.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Certainty, Diagnosis, Mechanism, names, shown};
use crate::crosscheck::attribute::{Owner, ratio};
use crate::crosscheck::report::{Reading, Row};
use crate::profile::{Frame, FrameKind, StackId, bare, facts};

/// Parts of names of the functions that samplers run in the sampled thread.
const UNWINDERS: [&str; 11] = [
    "_Unwind_",
    "backtrace::backtrace::",
    "backtrace::trace",
    "pprof::backtrace",
    "pprof::profiler",
    "perf_signal_handler",
    "framehop::",
    "dl_iterate_phdr",
    "__restore_rt",
    "unw_step",
    "AsyncGetCallTrace",
];

/// A frame-pointer walk that begins at the return address: each leaf is charged to its caller.
pub(super) fn leaf_charged_to_caller(case: &Case) -> Option<Diagnosis> {
    let short = case.short();
    if short.is_empty() || case.long().is_empty() {
        return None;
    }
    // A primitive that is seen, if only as a caller, was not inlined away: its leaves are what is missing.
    let leafless = short.iter().all(|(part, _, _)| {
        ratio(case.attribution.parts[*part].leaf_weight, case.attribution.total) < case.margin / 3.0
    });
    let said = case.fact(facts::WALK_START) == Some("return-address");
    let frame_pointers = case.fact(facts::UNWINDER).is_some_and(|unwinder| unwinder.contains("frame-pointer"));
    let known_walker = frame_pointers && case.made_by(&["pprof-rs"]) && case.fact(facts::WALK_START).is_none();
    if !leafless || !(said || known_walker) {
        return None;
    }
    let mut evidence: Vec<String> = short.iter().map(|(_, row, reading)| shown(row, reading)).collect();
    evidence.extend(case.long().iter().map(|(row, reading)| shown(row, reading)));
    evidence.push("none of these primitives is the leaf of any stack to speak of".into());
    evidence.push("stacks are walked by frame pointers from the return address".into());
    Some(Diagnosis {
        mechanism: Mechanism::LeafChargedToCaller,
        certainty: Certainty::Shown,
        message: "the stack walk starts at the return address, so a leaf function's time is shown as its caller's"
            .into(),
        evidence,
        remedy: "unwind from the interrupted instruction: --sampler own or perf, or pprof-rs without `frame-pointer`"
            .into(),
        primitives: names(short.iter().map(|(_, row, _)| *row)),
    })
}

/// A primitive that is only ever called inside another shows without it.
pub(super) fn tail_call(case: &Case) -> Option<Diagnosis> {
    let mut evidence = Vec::new();
    let mut concerned = Vec::new();
    for (_, caller, reading) in case.short() {
        for (callee, explained) in case.rows.iter().zip(&case.explanation.primitives) {
            let calls = explained.nested.iter().any(|(parent, calls)| *parent == caller.primitive && *calls > 0.0);
            let seen_alone = case.reading(callee);
            let surplus = seen_alone.judgement.difference.map_or(0.0, |difference| difference.point);
            if calls && surplus > case.margin {
                evidence.push(shown(caller, reading));
                evidence.push(format!(
                    "{} is called inside {}, yet holds {:.1} % without it on the stack",
                    callee.primitive,
                    caller.primitive,
                    seen_alone.sampled.point * 100.0
                ));
                concerned.extend([caller, callee]);
            }
        }
    }
    let certainty = if concerned.is_empty() {
        // Without known nesting: a caller that is on some stacks and too seldom, while the rest is over.
        let rest_over = case.long().iter().any(|(row, _)| row.primitive == case.rest.primitive);
        let seen = case.short().into_iter().filter(|(_, _, reading)| reading.sampled.point > case.margin / 3.0);
        let beside = |(part, row, reading)| Some((row, reading, missing_beside(case, part, row, reading)?));
        let partly: Vec<_> = seen.filter_map(beside).collect();
        if !rest_over || partly.is_empty() {
            return None;
        }
        for (row, reading, (function, share)) in partly {
            evidence.push(shown(row, reading));
            evidence.push(format!("{:.1} % is in {function}, which is called from the same place", share * 100.0));
            concerned.push(row);
        }
        Certainty::Fits
    } else {
        Certainty::Shown
    };
    Some(Diagnosis {
        mechanism: Mechanism::TailCall,
        certainty,
        message: "the caller is not on the stack while its callee runs: a call in last position became a jump, or the \
                  sample fell before the frame was set up"
            .into(),
        evidence,
        remedy: "keep the call out of last position (use its result), or judge caller and callee as one".into(),
        primitives: names(concerned),
    })
}

/// A function that is called by a function that calls the primitive, and that holds what the primitive lacks: its name
/// and its part of the weight.
fn missing_beside<'a>(case: &Case<'a>, part: usize, row: &Row, reading: &Reading) -> Option<(&'a str, f64)> {
    let lacks = row.reference.share.map_or(0.0, |share| share.point) - reading.sampled.point;
    // Inlined, it cannot have jumped anywhere.
    if super::inlining::inlined_weight(case, part) > 0.1 * reading.sampled.point {
        return None;
    }
    let stacks = case.profile.samples.iter().filter_map(|sample| sample.stack);
    let callers: BTreeSet<&str> = stacks.filter_map(|stack| case.primitive_frame(stack, part)?.1).map(bare).collect();
    let mut beside: BTreeMap<&str, f64> = BTreeMap::new();
    for sample in &case.profile.samples {
        let Some(stack) = sample.stack.filter(|stack| case.attribution.owners[stack.0 as usize] == Owner::Rest) else {
            continue;
        };
        let weight = sample.weights.get(case.attribution.weight).copied().unwrap_or(0.0);
        let physical: Vec<&Frame> = case.frames(stack).filter(|frame| frame.kind != FrameKind::Inlined).collect();
        let callee = physical.windows(2).rev().find(|pair| callers.contains(bare(&pair[1].function)));
        if let Some([callee, _]) = callee {
            *beside.entry(bare(&callee.function)).or_default() += weight;
        }
    }
    let (function, most) = beside.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = ratio(most, case.attribution.total);
    (share > lacks / 2.0).then_some((function, share))
}

/// Stacks that end before the root that the others share.
pub(super) fn broken_stacks(case: &Case) -> Option<Diagnosis> {
    if case.accused().next().is_none() || truncated(case).is_some() {
        return None;
    }
    let root = common_root(case)?;
    let elsewhere = case.weight_anywhere(|stack| root_of(case, stack) != root);
    // The sampler may know the frame that all stacks must reach.
    let noted =
        case.profile.notes.iter().filter(|note| note.code == "outside-marker").map(|note| note.count as f64).sum();
    let noted = ratio(noted, case.profile.samples.len() as f64);
    let several_threads = case.profile.threads.len() > 1;
    if elsewhere.max(noted) < case.margin || several_threads {
        return None;
    }
    let mut evidence = Vec::new();
    if elsewhere >= case.margin {
        evidence.push(format!("{:.1} % of the weight is on stacks that do not reach {root}", elsewhere * 100.0));
    }
    if noted >= case.margin {
        evidence.push(format!("{:.1} % of the samples do not reach the function that ran it all", noted * 100.0));
    }
    evidence.extend(case.fact(facts::UNWINDER).map(|unwinder| format!("unwinder: {unwinder}")));
    Some(Diagnosis {
        mechanism: Mechanism::BrokenStacks,
        certainty: Certainty::Shown,
        message:
            "the chain of callers breaks on the way: code without frame pointers or unwind information lies between"
                .into(),
        evidence,
        remedy: "unwind with DWARF (--sampler own, perf --call-graph dwarf), or build everything with frame pointers"
            .into(),
        primitives: names(case.short().iter().map(|(_, row, _)| *row)),
    })
}

fn root_of<'a>(case: &Case<'a>, stack: StackId) -> &'a str {
    case.frames(stack).last().map_or("", |frame| frame.function.as_str())
}

/// The root function that carries most weight.
fn common_root<'a>(case: &Case<'a>) -> Option<&'a str> {
    let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
    for sample in &case.profile.samples {
        let Some(stack) = sample.stack else { continue };
        let weight = sample.weights.get(case.attribution.weight).copied().unwrap_or(0.0);
        *weights.entry(root_of(case, stack)).or_default() += weight;
    }
    weights.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(root, _)| root)
}

/// Stacks cut at a depth limit: their roots are missing, and whatever is matched near the root with them.
pub(super) fn truncated(case: &Case) -> Option<Diagnosis> {
    // pprof-rs counts its handler's frames and those without a name, and takes them off later.
    let taken_off = if case.made_by(&["pprof-rs"]) { 8 } else { 0 };
    let marked = |stack: StackId| {
        case.frames(stack).any(|frame| frame.kind == FrameKind::Synthetic && frame.function.contains("truncated"))
    };
    let depth = |stack: StackId| case.frames(stack).filter(|frame| frame.kind != FrameKind::Inlined).count();
    let deepest = case.profile.samples.iter().filter_map(|sample| Some(depth(sample.stack?))).max().unwrap_or_default();
    let limit = case.fact(facts::MAX_DEPTH).and_then(|text| text.parse::<usize>().ok());
    // Limits of samplers in use: Go 64, JFR 64, perf 127, pprof-rs 128, and room for a frame more or less.
    let looks_cut = [63, 64, 65, 126, 127, 128, 129].contains(&deepest);
    let at_limit = match limit {
        Some(limit) => case.weight_anywhere(|stack| depth(stack) + taken_off >= limit),
        None if looks_cut => case.weight_anywhere(|stack| depth(stack) == deepest),
        None => 0.0,
    };
    let marked = case.weight_anywhere(marked);
    let noted = case.profile.notes.iter().find(|note| note.code.contains("truncated"));
    let cut = at_limit.max(marked);
    if cut < case.margin {
        return None;
    }
    let mut evidence = vec![format!("{:.1} % of the weight is on cut stacks", cut * 100.0)];
    evidence.push(format!("deepest stack {deepest} frames"));
    evidence.extend(limit.map(|limit| format!("limit of the sampler {limit} frames")));
    evidence.extend(noted.map(|note| note.message.clone()));
    evidence.extend(case.short().iter().map(|(_, row, reading)| shown(row, reading)));
    Some(Diagnosis {
        mechanism: Mechanism::Truncated,
        certainty: if limit.is_some() || marked > 0.0 { Certainty::Shown } else { Certainty::Fits },
        message: "stacks are cut at a depth limit, and the frames nearest the root are lost".into(),
        evidence,
        remedy: "raise the limit (perf: kernel.perf_event_max_stack; JFR: -XX:FlightRecorderOptions=stackdepth=), or \
                 use --sampler own"
            .into(),
        primitives: names(case.short().iter().map(|(_, row, _)| *row)),
    })
}

/// The sampler sees itself.
pub(super) fn unwinder_leaf(case: &Case) -> Option<Diagnosis> {
    const NEAR_THE_LEAF: usize = 4;
    let is_unwinder = |name: &str| UNWINDERS.iter().any(|part| name.contains(part));
    let own =
        case.weight_where(|stack| case.frames(stack).take(NEAR_THE_LEAF).any(|frame| is_unwinder(&frame.function)));
    if own < case.margin {
        return None;
    }
    let example = case.profile.frames.iter().find(|frame| is_unwinder(&frame.function));
    Some(Diagnosis {
        mechanism: Mechanism::UnwinderLeaf,
        certainty: Certainty::Shown,
        message: "the sampler's own unwinder is the leaf of its stacks, so self time is its, not the program's".into(),
        evidence: vec![
            format!("{:.1} % of the weight has the unwinder at the leaf", own * 100.0),
            format!("for example {}", example.map_or("", |frame| frame.function.as_str())),
        ],
        remedy:
            "take the signal handler's frames off, or use --sampler own, which starts at the interrupted instruction"
                .into(),
        primitives: Vec::new(),
    })
}
