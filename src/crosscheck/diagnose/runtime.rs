//! Mechanisms of the runtime and of the recording: safepoints, events that are not time, waiting,
//! missing names.

use super::{Case, Certainty, Diagnosis, Mechanism, names, shown};
use crate::profile::{Frame, SampleClock, facts};

/// The JVM's recorder, which resolves samples where debug information exists: at safepoint polls, unless
/// told otherwise.
pub(super) fn safepoint(case: &Case) -> Option<Diagnosis> {
    let recorder = case.made_by(&["jfr", "jdk", "honest-profiler", "visualvm", "hprof"])
        || case.profile.provenance.events.keys().any(|event| event.starts_with("jdk."));
    let flag = case.fact(facts::DEBUG_NON_SAFEPOINTS);
    if !recorder || flag == Some("true") || case.accused().next().is_none() {
        return None;
    }
    let mut evidence: Vec<String> = case.accused().map(|(row, reading)| shown(row, reading)).collect();
    evidence.push(match flag {
        Some(flag) => format!("DebugNonSafepoints is {flag}"),
        None => "the recording does not say that DebugNonSafepoints is on".into(),
    });
    Some(Diagnosis {
        mechanism: Mechanism::Safepoint,
        certainty: if flag.is_some() { Certainty::Shown } else { Certainty::Fits },
        message: "the JVM charges samples to the nearest point with debug information, which for inlined code is a \
                  safepoint poll"
            .into(),
        evidence,
        remedy: "record with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints".into(),
        primitives: names(case.accused().map(|(row, _)| row)),
    })
}

/// The weight counts instructions, cache misses or the like.
pub(super) fn not_time(case: &Case) -> Option<Diagnosis> {
    let weight = &case.profile.weight_types[case.attribution.weight];
    let text = format!("{} {}", weight.name, weight.unit).to_lowercase();
    let event = ["instruction", "ir", "faults", "misses", "branches"].iter().find(|event| {
        text.split(|c: char| !c.is_alphanumeric()).any(|word| word == **event || word.strip_suffix('s') == Some(event))
    });
    if event.is_none() && case.profile.provenance.clock != SampleClock::Event && !case.made_by(&["callgrind"]) {
        return None;
    }
    let accused: Vec<_> = case.accused().collect();
    if accused.is_empty() {
        return None;
    }
    let mut evidence = vec![format!("the weight is {} ({})", weight.name, weight.unit)];
    evidence.extend(accused.iter().map(|(row, reading)| shown(row, reading)));
    Some(Diagnosis {
        mechanism: Mechanism::NotTime,
        certainty: Certainty::Shown,
        message: "the profile counts events, and code differs in how much time an event takes; kernel time may be \
                  missing altogether"
            .into(),
        evidence,
        remedy: "sample CPU time (--sampler own, perf record -e cpu-clock) where the question is time".into(),
        primitives: names(accused.iter().map(|(row, _)| *row)),
    })
}

/// Time that a sampler of CPU time cannot see.
pub(super) fn off_cpu(case: &Case) -> Option<Diagnosis> {
    let (off, wall) = (case.budget.off_cpu_ns? as f64, case.profile.provenance.duration_ns? as f64);
    if off < 0.1 * wall || case.profile.provenance.clock == SampleClock::Wall {
        return None;
    }
    Some(Diagnosis {
        mechanism: Mechanism::OffCpu,
        certainty: Certainty::Shown,
        message: format!(
            "{:.0} % of the wall time was spent off the CPU (waiting, or other programs had it): no CPU sampler sees it",
            100.0 * off / wall
        ),
        evidence: vec![format!("wall {:.2} s, CPU {:.2} s", wall / 1e9, (wall - off) / 1e9)],
        remedy: "where the operation itself waits, sample wall time; shares here are of CPU time".into(),
        primitives: Vec::new(),
    })
}

/// Leaves without a name.
pub(super) fn no_symbols(case: &Case) -> Option<Diagnosis> {
    let nameless = case.weight_where(|stack| {
        case.attribution.owners[stack.0 as usize] == crate::crosscheck::attribute::Owner::Rest
            && case.frames(stack).next().is_some_and(is_nameless)
    });
    if nameless < case.margin.max(0.1) {
        return None;
    }
    Some(Diagnosis {
        mechanism: Mechanism::NoSymbols,
        certainty: Certainty::Shown,
        message: "functions without names hold time that cannot be attributed".into(),
        evidence: vec![format!("{:.1} % of the weight has a nameless leaf", nameless * 100.0)],
        remedy: "build with symbols (debug = \"line-tables-only\", strip = false); for JIT code write a perf map"
            .into(),
        primitives: names(case.short().iter().map(|(_, row, _)| *row)),
    })
}

fn is_nameless(frame: &Frame) -> bool {
    let name = frame.function.as_str();
    let address =
        name.strip_prefix("0x").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_hexdigit()));
    name.is_empty() || address || matches!(name, "[unknown]" | "unknown" | "??")
}

/// Whether the primitive's name is one of the identifiers in the function's.
fn names_it(function: &str, primitive: &str) -> bool {
    function.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word.eq_ignore_ascii_case(primitive))
}

/// A function that no pattern matches and whose name contains the primitive's.
pub(super) fn pattern_missed(case: &Case) -> Option<Diagnosis> {
    let mut evidence = Vec::new();
    let mut concerned = Vec::new();
    for (_, row, reading) in case.short() {
        let Some(deficit) = reading.judgement.difference.map(|difference| -difference.point) else { continue };
        let alike = case.attribution.unmatched.iter().find(|frame| {
            frame.claimed_by.is_empty() && frame.share > deficit / 2.0 && names_it(&frame.function, &row.primitive)
        });
        if let Some(frame) = alike {
            evidence.push(format!("{} holds {:.1} % and no pattern matches it", frame.function, frame.share * 100.0));
            concerned.push(row);
        }
    }
    (!concerned.is_empty()).then(|| Diagnosis {
        mechanism: Mechanism::PatternMissed,
        certainty: Certainty::Fits,
        message: "a function that looks like the primitive is not among its frames".into(),
        evidence,
        remedy: "add it to the primitive's frame patterns, and judge again".into(),
        primitives: names(concerned),
    })
}
