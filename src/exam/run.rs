//! Samples each case with each sampler and judges the profiles as the cross-check would.

use serde::{Deserialize, Serialize};

use super::case::{Case, Expectation};
use super::work::Known;
use crate::crosscheck::diagnose::Mechanism;
use crate::crosscheck::explanation::{Explained, Explanation, FramePattern};
use crate::crosscheck::judge::{self, judge};
use crate::profile::{Frame, Profile};
use crate::record::Environment;
use crate::sampler::{self, Overhead, Recording, Request, Sampler};
use crate::stats::Estimate;
use crate::unit::Nanos;

/// What is examined, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which cases.
    pub cases: Vec<Case>,
    /// Which samplers.
    pub samplers: Vec<Sampler>,
    /// CPU time of each run.
    pub cpu: Nanos,
    /// Samples a second to ask for.
    pub hz: u32,
    /// Rates at which the control is run for the delivered rates and the overhead; may be empty.
    pub rates: Vec<u32>,
    /// The machine, where known.
    pub environment: Option<Environment>,
}

/// One sampler on one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The case.
    pub case: String,
    /// The sampler; pprof-rs's samples by their own addresses are `pprof by own address`.
    pub sampler: String,
    /// True and sampled share of each part.
    pub parts: Vec<Reading>,
    /// The largest |sampled − true| over the parts.
    pub largest_error: Option<f64>,
    /// Three standard errors of the worst part's share, from the number of samples alone.
    pub noise: Option<f64>,
    /// Samples in the profile.
    pub delivered: Option<u64>,
    /// What was known before: `sound`, `misleads`, `invisible`.
    pub expected: String,
    /// Whether a verdict said that the sampler misleads.
    pub accused: bool,
    /// The mechanisms named, the surest first.
    pub named: Vec<Mechanism>,
    /// Whether one of the mechanisms at work was named; `None` where there was nothing to name.
    pub rightly_named: Option<bool>,
    /// Why there are no figures, where there are none.
    pub skipped: Option<String>,
}

/// True and sampled share of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The part.
    pub part: String,
    /// Its share by the thread CPU clock in the same run.
    pub truth: f64,
    /// Its share in the profile.
    pub sampled: f64,
    /// The verdict on it.
    pub verdict: String,
}

/// What a sampler delivers at a rate, and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The sampler.
    pub sampler: String,
    /// Samples a second asked for.
    pub asked_hz: u32,
    /// Samples a second of CPU time delivered.
    pub delivered_hz: Option<f64>,
    /// How much longer the work takes: 0.02 is 2 %.
    pub overhead: Option<Estimate>,
    /// Why there are no figures, where there are none.
    pub skipped: Option<String>,
}

/// What is known of a case from the run itself.
pub(super) struct Truth {
    /// Share of each part.
    pub(super) shares: Vec<f64>,
    /// CPU time of one iteration.
    pub(super) iteration_ns: f64,
}

/// Errors of this size are a lie that must be found.
pub const LIE: f64 = 0.10;
/// A profile of fewer samples is too small to be judged.
const FEWEST: u64 = 200;
/// A host on which work gets less than this part of a CPU is too noisy for some cases.
const QUIET: f64 = 0.9;

/// Runs the plan; `progress` is told each case and sampler before it runs.
pub fn examine(plan: &Plan, mut progress: impl FnMut(&str, &str)) -> (Vec<Outcome>, Vec<Rate>) {
    let mut outcomes = Vec::new();
    for case in &plan.cases {
        for sampler in &plan.samplers {
            progress(case.name, sampler.name());
            outcomes.extend(one(plan, case, *sampler));
        }
    }
    let mut rates = Vec::new();
    for sampler in &plan.samplers {
        for hz in &plan.rates {
            progress(&format!("{hz} samples a second"), sampler.name());
            rates.push(rate(plan, *sampler, *hz));
        }
    }
    (outcomes, rates)
}

fn one(plan: &Plan, case: &Case, sampler: Sampler) -> Vec<Outcome> {
    let expectation = case.expectation(sampler);
    let skipped = |why: String| vec![Outcome::skipped(case, sampler.name(), &expectation, why)];
    if case.needs_quiet {
        let received = cpu_received();
        if received < QUIET {
            return skipped(format!(
                "the host is too noisy: work received {:.0} % of a CPU, {:.0} % are needed",
                received * 100.0,
                QUIET * 100.0
            ));
        }
    }
    let record = |cpu: Nanos| {
        let mut known = Known::new(case.body);
        let request = Request { sampler, hz: plan.hz, cpu, overhead: Overhead::Skip };
        sampler::record_fixture(case.name, &mut known, &request).map(|recording| (known, recording))
    };
    // A sampler that drops most of its samples gets a longer run, once.
    let longer = |samples: u64| Nanos(plan.cpu.0 * (1.2 * FEWEST as f64 / samples.max(1) as f64).min(4.0));
    let recorded = record(plan.cpu).and_then(|first| match delivered(&first.1.profile) {
        samples if samples < FEWEST => record(longer(samples)),
        _ => Ok(first),
    });
    let (known, recording) = match recorded {
        Ok(recorded) => recorded,
        Err(error) => return skipped(error.to_string()),
    };
    let truth: Vec<f64> = (0..case.parts.len()).map(|part| known.truth.share(part)).collect();
    let truth = Truth { shares: truth, iteration_ns: recording.cpu_ns as f64 / recording.iterations.max(1) as f64 };
    let mut outcomes = vec![score(plan, case, sampler.name(), &expectation, &truth, &recording.profile)];
    if let Some(own) = &recording.by_own_address {
        let expectation = match &expectation {
            Expectation::Misleads(mechanisms) if mechanisms.contains(&Mechanism::InlinedMerged) => Expectation::Sound,
            other => other.clone(),
        };
        outcomes.push(score(plan, case, "pprof by own address", &expectation, &truth, own));
    }
    outcomes
}

pub(super) fn score(
    plan: &Plan,
    case: &Case,
    sampler: &str,
    expectation: &Expectation,
    truth: &Truth,
    profile: &Profile,
) -> Outcome {
    let (iteration_ns, truth) = (truth.iteration_ns, truth.shares.as_slice());
    let sampled: Vec<f64> = case.parts.iter().map(|part| share(profile, part.function)).collect();
    let mut outcome = Outcome::skipped(case, sampler, expectation, String::new());
    outcome.skipped = None;
    outcome.delivered = Some(delivered(profile));
    let errors = truth.iter().zip(&sampled).map(|(truth, sampled)| ((sampled - truth).abs(), *truth));
    if let Some((error, truth)) = errors.max_by(|a, b| a.0.total_cmp(&b.0)) {
        outcome.largest_error = Some(error);
        let samples = outcome.delivered.filter(|samples| *samples > 0);
        outcome.noise = samples.map(|samples| 3.0 * (truth * (1.0 - truth).max(0.0) / samples as f64).sqrt());
    }
    let options = judge::Options { environment: plan.environment.clone(), ..judge::Options::default() };
    let explanation = explanation(case, truth, iteration_ns);
    let verdicts: Vec<String> = match judge(&explanation, &[(sampler.to_owned(), profile)], &options) {
        Ok(judged) => {
            outcome.named = judged.report.samplers[0].diagnoses.iter().map(|diagnosis| diagnosis.mechanism).collect();
            let verdict = |name: &str| {
                let row = judged.report.rows.iter().find(|row| row.primitive == name);
                row.and_then(|row| row.readings.first()).map(|reading| reading.judgement.verdict)
            };
            let verdicts: Vec<_> = case.parts.iter().map(|part| verdict(part.name)).collect();
            outcome.accused = verdicts.iter().flatten().any(|verdict| verdict.accuses());
            verdicts.iter().map(|verdict| verdict.map_or("none", |verdict| verdict.word()).to_owned()).collect()
        }
        Err(error) => vec![error.to_string(); case.parts.len()],
    };
    if let Expectation::Misleads(mechanisms) = expectation
        && outcome.lies()
    {
        outcome.rightly_named =
            Some(outcome.accused && outcome.named.iter().any(|mechanism| mechanisms.contains(mechanism)));
    }
    outcome.parts = case
        .parts
        .iter()
        .zip(truth)
        .zip(sampled)
        .zip(verdicts)
        .map(|(((part, truth), sampled), verdict)| Reading {
            part: part.name.to_owned(),
            truth: *truth,
            sampled,
            verdict,
        })
        .collect();
    outcome
}

impl Outcome {
    /// Whether its largest error is ten points or more, and more than chance makes of so few samples.
    pub fn lies(&self) -> bool {
        self.largest_error.is_some_and(|error| error >= LIE && self.noise.is_none_or(|noise| error > noise))
    }

    pub(super) fn skipped(case: &Case, sampler: &str, expectation: &Expectation, why: String) -> Self {
        let expected = match expectation {
            Expectation::Sound => "sound",
            Expectation::Misleads(_) => "misleads",
            Expectation::Invisible(_) => "invisible",
        };
        Self {
            case: case.name.to_owned(),
            sampler: sampler.to_owned(),
            parts: Vec::new(),
            largest_error: None,
            noise: None,
            delivered: None,
            expected: expected.to_owned(),
            accused: false,
            named: Vec::new(),
            rightly_named: None,
            skipped: Some(why),
        }
    }
}

impl Outcome {
    /// A sampler that cannot be examined at all.
    pub(super) fn not_available(sampler: &str, why: String) -> Self {
        Self {
            case: "all".to_owned(),
            sampler: sampler.to_owned(),
            parts: Vec::new(),
            largest_error: None,
            noise: None,
            delivered: None,
            expected: "sound".to_owned(),
            accused: false,
            named: Vec::new(),
            rightly_named: None,
            skipped: Some(why),
        }
    }
}

/// Total share of the samples with the function on their stack.
fn share(profile: &Profile, function: &str) -> f64 {
    let by = profile.by(profile.default_weight, |frame: &Frame| is_function(&frame.function, function));
    by.get(&true).map_or(0.0, |sums| sums.total_weight) / profile.total(profile.default_weight)
}

/// Whether a full or bare name is that of a function given without its path.
pub(super) fn is_function(name: &str, function: &str) -> bool {
    name == function || name.strip_suffix(function).is_some_and(|path| path.ends_with("::"))
}

/// What a cross-check would know about the case: its truth, as dose and replay would measure it.
fn explanation(case: &Case, truth: &[f64], iteration_ns: f64) -> Explanation {
    let part = |share: f64| {
        Some(Estimate::with_interval(share, share - 0.004, share + 0.004)).map(|part| part.scaled(iteration_ns))
    };
    let primitives = case.parts.iter().zip(truth).map(|(part_of, share)| Explained {
        primitive: part_of.name.to_owned(),
        count: 1.0,
        unit_cost_ns: part(*share),
        predicted_ns: part(*share),
        dose_ns: part(*share),
        replay_ns: part(*share),
        frames: vec![
            FramePattern::Exact(part_of.function.to_owned()),
            FramePattern::Glob(format!("*::{}", part_of.function)),
        ],
        ..Explained::default()
    });
    Explanation {
        operation: case.name.to_owned(),
        time_ns: part(1.0),
        primitives: primitives.collect(),
        dose_all_ns: None,
        replay_all_ns: None,
        causal_valid: true,
        warnings: Vec::new(),
    }
}

fn rate(plan: &Plan, sampler: Sampler, hz: u32) -> Rate {
    let mut known = Known::new(super::work::plain);
    let request = Request { sampler, hz, cpu: plan.cpu, overhead: Overhead::Measure };
    let mut rate =
        Rate { sampler: sampler.name().to_owned(), asked_hz: hz, delivered_hz: None, overhead: None, skipped: None };
    match sampler::record_fixture("control", &mut known, &request) {
        Ok(recording) => {
            rate.delivered_hz = Some(delivered_hz(&recording));
            rate.overhead = recording.overhead;
        }
        Err(error) => rate.skipped = Some(error.to_string()),
    }
    rate
}

fn delivered(profile: &Profile) -> u64 {
    profile.samples.iter().filter_map(|sample| sample.count).sum()
}

fn delivered_hz(recording: &Recording) -> f64 {
    delivered(&recording.profile) as f64 / (recording.cpu_ns as f64 / 1e9)
}

/// The part of a CPU that a computing thread gets, over a tenth of a second.
fn cpu_received() -> f64 {
    use crate::harness::clock::{thread_cpu_ns, wall_ns};
    let (cpu, wall) = (thread_cpu_ns(), wall_ns());
    while wall_ns() - wall < 100_000_000 {
        std::hint::black_box(0);
    }
    (thread_cpu_ns() - cpu) as f64 / (wall_ns() - wall) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_and_bare_names_are_the_function_and_others_are_not() {
        assert!(is_function("inlined_thirty", "inlined_thirty"));
        assert!(is_function("countercheck::exam::work::plain_thirty", "plain_thirty"));
        assert!(!is_function("not_plain_thirty", "plain_thirty"));
        assert!(is_function("countercheck::primitive::x25519::dh", "x25519::dh"));
    }
}
