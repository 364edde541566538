//! Diagnosis: which known mechanism fits what is wrong with a profile, on what evidence, and what to do.
//!
//! Each mechanism is one function from a `Case` to a [`Diagnosis`] or nothing. Errors of shares are
//! only explained where a verdict says that there are any; what shows in the profile by itself (lost
//! samples, truncated stacks) is said in any case.

mod inlining;
mod runtime;
mod timer;
mod unwinding;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::attribute::{Attribution, Owner, ratio};
use super::budget::Budget;
use super::explanation::Explanation;
use super::report::{Reading, Row};
use super::verdict::Verdict;
use crate::profile::{Frame, FrameId, FrameKind, Profile, StackId};

/// A way in which samplers mislead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// The rate asked for is above the kernel tick that drives the timer.
    RateAboveTick,
    /// A blocklist drops samples by library path.
    Blocklist,
    /// Samples are missing for another reason: masked signals, a lock, a full buffer.
    SamplesLost,
    /// One timer for the process charges threads unequally.
    ThreadBias,
    /// Samples fall in step with a periodic load.
    Lockstep,
    /// Primitives inlined into one function are merged under one chain, or lost in their caller.
    InlinedMerged,
    /// WebAssembly or JIT inlining: the caller takes all.
    JitInlining,
    /// The walk starts at the return address, so that leaves are charged to their callers.
    LeafChargedToCaller,
    /// A tail call took the caller off the stack.
    TailCall,
    /// Chains of callers that break before the root.
    BrokenStacks,
    /// Stacks cut at a depth limit.
    Truncated,
    /// The sampler's own unwinder shows as leaf.
    UnwinderLeaf,
    /// The JVM resolves samples at safepoints or at sparse debug information.
    Safepoint,
    /// The weight counts instructions or events, not time.
    NotTime,
    /// Time off the CPU, which this sampler cannot see.
    OffCpu,
    /// Functions without names.
    NoSymbols,
    /// The frame patterns miss a function that looks like the primitive.
    PatternMissed,
    /// None of the known mechanisms.
    Unknown,
}

impl Mechanism {
    /// Every mechanism, for documentation.
    pub const ALL: [Self; 18] = [
        Self::RateAboveTick,
        Self::Blocklist,
        Self::SamplesLost,
        Self::ThreadBias,
        Self::Lockstep,
        Self::InlinedMerged,
        Self::JitInlining,
        Self::LeafChargedToCaller,
        Self::TailCall,
        Self::BrokenStacks,
        Self::Truncated,
        Self::UnwinderLeaf,
        Self::Safepoint,
        Self::NotTime,
        Self::OffCpu,
        Self::NoSymbols,
        Self::PatternMissed,
        Self::Unknown,
    ];

    /// Its code, as in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::RateAboveTick => "rate-above-tick",
            Self::Blocklist => "blocklist",
            Self::SamplesLost => "samples-lost",
            Self::ThreadBias => "thread-bias",
            Self::Lockstep => "lockstep",
            Self::InlinedMerged => "inlined-merged",
            Self::JitInlining => "jit-inlining",
            Self::LeafChargedToCaller => "leaf-charged-to-caller",
            Self::TailCall => "tail-call",
            Self::BrokenStacks => "broken-stacks",
            Self::Truncated => "truncated",
            Self::UnwinderLeaf => "unwinder-leaf",
            Self::Safepoint => "safepoint",
            Self::NotTime => "not-time",
            Self::OffCpu => "off-cpu",
            Self::NoSymbols => "no-symbols",
            Self::PatternMissed => "pattern-missed",
            Self::Unknown => "unknown",
        }
    }
}

/// How sure a diagnosis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The profile or its provenance shows it.
    Shown,
    /// It fits the errors; others may too.
    Fits,
}

/// One mechanism found in one profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// How sure it is.
    pub certainty: Certainty,
    /// What happens, in one sentence.
    pub message: String,
    /// What it rests on, one observation each.
    pub evidence: Vec<String>,
    /// What to do.
    pub remedy: String,
    /// The primitives concerned; empty where it is the profile as a whole.
    pub primitives: Vec<String>,
}

/// Everything that a diagnosis may rest on.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub explanation: &'a Explanation,
    pub profile: &'a Profile,
    pub attribution: &'a Attribution,
    pub budget: &'a Budget,
    /// In the explanation's order, so that the index is the part's.
    pub rows: &'a [Row],
    pub rest: &'a Row,
    pub sampler: usize,
    pub tick_hz: Option<f64>,
    pub margin: f64,
}

/// The diagnoses of a profile, the surest first.
pub(super) fn diagnose(case: &Case) -> Vec<Diagnosis> {
    const MECHANISMS: [fn(&Case) -> Option<Diagnosis>; 17] = [
        timer::rate_above_tick,
        timer::blocklist,
        timer::samples_lost,
        unwinding::truncated,
        unwinding::unwinder_leaf,
        runtime::no_symbols,
        runtime::not_time,
        inlining::jit_inlining,
        runtime::safepoint,
        unwinding::leaf_charged_to_caller,
        inlining::inlined_merged,
        unwinding::tail_call,
        unwinding::broken_stacks,
        timer::lockstep,
        timer::thread_bias,
        runtime::off_cpu,
        runtime::pattern_missed,
    ];
    let mut found: Vec<Diagnosis> = MECHANISMS.iter().filter_map(|mechanism| mechanism(case)).collect();
    found.sort_by_key(|diagnosis| diagnosis.certainty);
    let explains = |diagnosis: &Diagnosis| !matches!(diagnosis.mechanism, Mechanism::OffCpu | Mechanism::RateAboveTick);
    if case.accused().next().is_some() && !found.iter().any(explains) {
        found.push(unknown(case));
    }
    found
}

fn unknown(case: &Case) -> Diagnosis {
    let heaviest = case.attribution.unmatched.iter().take(3);
    Diagnosis {
        mechanism: Mechanism::Unknown,
        certainty: Certainty::Fits,
        message: "the shares are off, and no known mechanism fits".into(),
        evidence: heaviest
            .map(|frame| format!("{} holds {:.1} % outside every primitive", frame.function, frame.share * 100.0))
            .collect(),
        remedy: "compare with a second sampler, and check that the frame patterns name every copy of the primitive"
            .into(),
        primitives: case.accused().map(|(row, _)| row.primitive.clone()).collect(),
    }
}

impl<'a> Case<'a> {
    /// A fact of the producer.
    fn fact(&self, key: &str) -> Option<&'a str> {
        self.profile.provenance.facts.get(key).map(String::as_str)
    }

    /// The kernel tick rate, from the profile or the machine.
    fn tick(&self) -> Option<f64> {
        self.fact(crate::profile::facts::TICK_HZ).and_then(|text| text.parse().ok()).or(self.tick_hz)
    }

    /// Whether format or producer name one of these, in lower case.
    fn made_by(&self, names: &[&str]) -> bool {
        let provenance = &self.profile.provenance;
        let text = format!("{} {}", provenance.format, provenance.producer.as_deref().unwrap_or("")).to_lowercase();
        names.iter().any(|name| text.contains(name))
    }

    fn reading(&self, row: &'a Row) -> &'a Reading {
        &row.readings[self.sampler]
    }

    /// Rows with an accusing verdict, the rest included.
    fn accused(&self) -> impl Iterator<Item = (&'a Row, &'a Reading)> + use<'a> {
        let case = *self;
        case.rows
            .iter()
            .chain([case.rest])
            .map(move |row| (row, case.reading(row)))
            .filter(|(_, reading)| reading.judgement.verdict.accuses())
    }

    /// Primitives of which the sampler shows too little, with their part index.
    fn short(&self) -> Vec<(usize, &'a Row, &'a Reading)> {
        let case = *self;
        case.rows
            .iter()
            .enumerate()
            .map(|(part, row)| (part, row, case.reading(row)))
            .filter(|(_, _, reading)| matches!(reading.judgement.verdict, Verdict::Under | Verdict::Blind))
            .collect()
    }

    /// Rows of which the sampler shows too much, the rest included.
    fn long(&self) -> Vec<(&'a Row, &'a Reading)> {
        self.accused().filter(|(_, reading)| reading.judgement.verdict == Verdict::Over).collect()
    }

    /// Share of the weight in scope whose stack fulfils the condition.
    fn weight_where(&self, mut test: impl FnMut(StackId) -> bool) -> f64 {
        self.weigh(|stack, owner| owner != Owner::Outside && test(stack))
    }

    /// Share of the whole weight, what is outside the scope included: a broken stack may have lost the
    /// operation's frame.
    fn weight_anywhere(&self, mut test: impl FnMut(StackId) -> bool) -> f64 {
        let whole = self.attribution.total + self.attribution.outside;
        self.weigh(|stack, _| test(stack)) * self.attribution.total / whole
    }

    fn weigh(&self, mut test: impl FnMut(StackId, Owner) -> bool) -> f64 {
        let mut known: Vec<Option<bool>> = vec![None; self.profile.stacks.len()];
        let mut sum = 0.0;
        for sample in &self.profile.samples {
            let Some(stack) = sample.stack else { continue };
            let index = stack.0 as usize;
            let passes = *known[index].get_or_insert_with(|| test(stack, self.attribution.owners[index]));
            if passes {
                sum += sample.weights.get(self.attribution.weight).copied().unwrap_or(0.0);
            }
        }
        ratio(sum, self.attribution.total)
    }

    /// The outermost frame of a primitive on a stack, and the function that called it, inlined ones left out.
    fn primitive_frame(&self, stack: StackId, part: usize) -> Option<(&'a Frame, Option<&'a str>)> {
        let frames: Vec<FrameId> = self.profile.leaf_to_root(stack).collect();
        let at = frames.iter().rposition(|frame| self.attribution.claimed[frame.0 as usize].contains(&part))?;
        let callers = frames[at + 1..].iter().map(|id| self.profile.frame(*id));
        let caller =
            callers.filter(|frame| frame.kind != FrameKind::Inlined).map(|frame| frame.function.as_str()).next();
        Some((self.profile.frame(frames[at]), caller))
    }

    /// The frames of a stack, leaf first.
    fn frames(&self, stack: StackId) -> impl Iterator<Item = &'a Frame> + use<'a> {
        let profile = self.profile;
        profile.leaf_to_root(stack).map(|id| profile.frame(id))
    }
}

/// `x25519_base reads 0.0 %, reference 21.0 %`.
fn shown(row: &Row, reading: &Reading) -> String {
    let reference = row.reference.share.map_or(f64::NAN, |share| share.point);
    format!("{} reads {:.1} %, reference {:.1} %", row.primitive, reading.sampled.point * 100.0, reference * 100.0)
}

fn names<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<String> {
    rows.into_iter().map(|row| row.primitive.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests;
