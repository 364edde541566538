//! Mechanisms of inlining: several primitives in one physical function, and compilers at run time.

use super::{Case, Certainty, Diagnosis, Mechanism, names, shown};
use crate::crosscheck::attribute::Owner;
use crate::crosscheck::report::{Reading, Row};
use crate::profile::{FrameKind, facts};

/// Primitives inlined into one function: all its samples under one of them, or all with the caller.
pub(super) fn inlined_merged(case: &Case) -> Option<Diagnosis> {
    let (short, long) = (case.short(), case.long());
    if short.is_empty() || long.is_empty() || !balanced(case) || !short.iter().any(|short| may_be_inlined(case, short))
    {
        return None;
    }
    let nothing = short.iter().any(|(_, _, reading)| reading.sampled.point < case.margin / 3.0);
    let chain = case.fact(facts::INLINE_FRAMES);
    let shown_by_chain = long.iter().any(|(row, _)| one_chain(case, &row.primitive));
    let into_caller = long.iter().all(|(row, _)| row.primitive == case.rest.primitive);
    // A primitive that took in another shows as inlined itself, where the profile tells inlined frames.
    let tells_inlined = case.profile.frames.iter().any(|frame| frame.kind == FrameKind::Inlined);
    if tells_inlined && !shown_by_chain && !into_caller {
        return None;
    }
    // What the caller has too much of has another cause, which is seen.
    let walk_ends_early = super::unwinding::truncated(case).or_else(|| super::unwinding::broken_stacks(case));
    let mistimed = super::timer::unblocking(case).or_else(|| super::timer::waiting(case));
    if into_caller && (walk_ends_early.is_some() || mistimed.is_some()) {
        return None;
    }
    let certainty = match chain {
        Some("per-sample") => return None,
        Some("per-function" | "none") => Certainty::Shown,
        _ if case.made_by(&["pprof-rs"]) && nothing => Certainty::Shown,
        _ if shown_by_chain => Certainty::Shown,
        // Where samples are missing, shares are off for that reason alone.
        _ if nothing && super::timer::missing(case).is_none() => Certainty::Fits,
        _ => return None,
    };
    let mut evidence: Vec<String> = short.iter().map(|(_, row, reading)| shown(row, reading)).collect();
    evidence.extend(long.iter().map(|(row, reading)| shown(row, reading)));
    evidence.push("what is missing in one is what another has too much".into());
    evidence.extend(chain.map(|chain| format!("inlined frames are resolved: {chain}")));
    evidence.extend(
        shown_by_chain.then(|| "every sample of the physical function shows the same inlined frame".to_owned()),
    );
    let message = if into_caller {
        "primitives are inlined into their caller, which the profile shows instead of them"
    } else {
        "primitives are inlined into one function, and all its samples are shown under one of them"
    };
    Some(Diagnosis {
        mechanism: Mechanism::InlinedMerged,
        certainty,
        message: message.into(),
        evidence,
        remedy: "keep the primitives out of line (#[inline(never)]), or resolve each sample's own address with its \
                 inline chain (--sampler own; perf with dwarf and inlined frames)"
            .into(),
        primitives: names(short.iter().map(|(_, row, _)| *row).chain(long.iter().map(|(row, _)| *row))),
    })
}

/// Whether a primitive shows as an inlined frame or hardly at all. One that shows as a function of its own
/// was not inlined away.
fn may_be_inlined(case: &Case, (part, _, reading): &(usize, &Row, &Reading)) -> bool {
    reading.sampled.point < case.margin / 3.0 || inlined_weight(case, *part) > 0.1 * reading.sampled.point
}

/// Whether what is missing is what is too much: the samples are there, under another name.
fn balanced(case: &Case) -> bool {
    let sum = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>().abs();
    let difference = |reading: &Reading| reading.judgement.difference.map_or(0.0, |d| d.point);
    let missing = sum(&mut case.short().iter().map(|(_, _, reading)| difference(reading)));
    let surplus = sum(&mut case.long().iter().map(|(_, reading)| difference(reading)));
    (missing - surplus).abs() <= (0.3 * missing.max(surplus)).max(2.0 * case.margin)
}

/// Whether this primitive shows as an inlined frame throughout.
fn one_chain(case: &Case, primitive: &str) -> bool {
    let Some(part) = case.rows.iter().position(|row| row.primitive == primitive) else { return false };
    let owned = case.attribution.parts[part].weight / case.attribution.total;
    owned > case.margin && inlined_weight(case, part) > 0.95 * owned
}

/// Share of the weight on stacks whose outermost frame of this primitive is inlined.
pub(super) fn inlined_weight(case: &Case, part: usize) -> f64 {
    case.weight_where(|stack| {
        case.attribution.owners[stack.0 as usize] == Owner::Primitive(part)
            && case.primitive_frame(stack, part).is_some_and(|(frame, _)| frame.kind == FrameKind::Inlined)
    })
}

/// A JavaScript or WebAssembly engine inlined the primitive into its caller.
pub(super) fn jit_inlining(case: &Case) -> Option<Diagnosis> {
    let wasm = case.profile.frames.iter().any(|frame| {
        frame.function.starts_with("wasm-")
            || frame.function == "js-to-wasm"
            || frame.module.as_deref().is_some_and(|module| module.contains("wasm"))
            || frame.file.as_deref().is_some_and(|file| file.starts_with("wasm://"))
    });
    let engine = case.made_by(&["cpuprofile", "v8", "node", "chrome", "gecko", "firefox", "spidermonkey"]);
    let lost: Vec<_> =
        case.short().into_iter().filter(|(_, _, reading)| reading.sampled.point < case.margin / 3.0).collect();
    if !(wasm || engine) || lost.is_empty() || case.long().is_empty() || !balanced(case) {
        return None;
    }
    let mut evidence =
        vec![if wasm { "the profile has WebAssembly frames" } else { "taken by a JavaScript engine" }.into()];
    evidence.extend(lost.iter().map(|(_, row, reading)| shown(row, reading)));
    evidence.extend(case.long().iter().map(|(row, reading)| shown(row, reading)));
    Some(Diagnosis {
        mechanism: Mechanism::JitInlining,
        certainty: Certainty::Shown,
        message: "the compiler inlined the primitive, and the engine's profiler keeps no inlined frames: the caller \
                  takes its time"
            .into(),
        evidence,
        remedy: "build without inlining it (#[inline(never)], wasm-opt without -O3's inlining) while profiling, or \
                 call it through an export"
            .into(),
        primitives: names(lost.iter().map(|(_, row, _)| *row)),
    })
}
