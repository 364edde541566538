//! From an explanation and profiles to a report: attribution, budget, reference, verdict, diagnosis.

use super::attribute::Attribution;
use super::budget::budget;
use super::diagnose::{Case, diagnose};
use super::explanation::{Explained, Explanation, FramePattern};
use super::pattern::PatternError;
use super::reference::{self, Basis, Shares};
use super::report::{Method, Reading, Report, Row, SCHEMA_VERSION, Sampler, Scores, Summary};
use super::scores::scores;
use super::share::{self, Sampled};
use super::verdict::{self, FALSE_ACCUSATIONS, Judgement, Strictness, Verdict};
use crate::profile::{Profile, bare, facts};
use crate::record::{Environment, Tool};
use crate::stats::Estimate;
use crate::warning::Warning;

/// How to judge.
#[derive(Clone, Debug)]
pub struct Options {
    /// A sampled share may be off by this much.
    pub margin: f64,
    /// Dose and replay that differ by less are taken to agree.
    pub agreement: f64,
    /// Frames of the operation: only stacks with one of them count. Empty: all stacks.
    pub scope: Vec<FramePattern>,
    /// Name of the weight to judge; `None` for the profile's default.
    pub weight: Option<String>,
    /// Seed of the resampling.
    pub seed: u64,
    /// The machine, where known; its tick rate explains tick-bound samplers.
    pub environment: Option<Environment>,
}

impl Default for Options {
    fn default() -> Self {
        Self { margin: 0.03, agreement: 0.01, scope: Vec::new(), weight: None, seed: 1, environment: None }
    }
}

/// A profile that cannot be judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JudgeError {
    /// A frame pattern is unusable.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Nothing was sampled.
    #[error("{sampler}: the profile has no samples; run for longer, and check that the program used CPU time")]
    Empty {
        /// The profile's name.
        sampler: String,
    },
    /// No stack holds a frame of the operation.
    #[error("{sampler}: no stack contains a frame of the operation; the scope patterns match none of {frames} frames")]
    NothingInScope {
        /// The profile's name.
        sampler: String,
        /// Frames in the profile.
        frames: usize,
    },
    /// A difference of two profiles.
    #[error("{sampler}: sample {sample} has the weight {weight}; expected a profile, not a difference of two")]
    Negative {
        /// The profile's name.
        sampler: String,
        /// Index of the sample, from 0.
        sample: usize,
        /// Its weight.
        weight: f64,
    },
    /// The weight is not of time.
    #[error("{sampler}: the weight {found:?} counts {unit}, and shares of time need samples, time or cycles")]
    NotTime {
        /// The profile's name.
        sampler: String,
        /// The weight's name.
        found: String,
        /// Its unit.
        unit: String,
    },
    /// There is no such weight.
    #[error("{sampler}: no weight {asked:?}; the profile has {present}")]
    NoWeight {
        /// The profile's name.
        sampler: String,
        /// The weight asked for.
        asked: String,
        /// The weights that there are.
        present: String,
    },
}

/// Everything that was found about one profile, beside its part of the report: flamegraphs and
/// differentials are drawn from it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The report.
    pub report: Report,
    /// The attribution of each profile, in the order given. Parts are in the explanation's order.
    pub attributions: Vec<Attribution>,
}

/// Judges profiles, each with the name it has in the report, against an explanation.
pub fn judge(
    explanation: &Explanation,
    profiles: &[(String, &Profile)],
    options: &Options,
) -> Result<Judged, JudgeError> {
    let all: Vec<Shares> = explanation
        .primitives
        .iter()
        .map(|primitive| reference::shares(explanation, primitive, options.agreement))
        .collect();
    let leftover = leftover(&all);
    let mut rows: Vec<Row> =
        explanation.primitives.iter().zip(all).map(|(primitive, shares)| row(primitive, shares)).collect();
    let mut rest = row(&Explained { primitive: "rest".into(), ..Explained::default() }, leftover);
    rest.count = None;
    let attributions: Vec<Attribution> = profiles
        .iter()
        .map(|(name, profile)| attribute(explanation, name, profile, options))
        .collect::<Result<_, JudgeError>>()?;
    let seen: Vec<bool> =
        (0..rows.len()).map(|part| attributions.iter().any(|attribution| attribution.claims(part))).collect();
    let mut samplers = Vec::new();
    for (index, ((name, profile), attribution)) in profiles.iter().zip(&attributions).enumerate() {
        read(explanation, profile, (attribution, &seen), options, (&mut rows, &mut rest));
        hold_the_rest(&rows, &mut rest);
        let withheld = nothing_matched(attribution) && !is_of(profile, explanation, options);
        if withheld {
            withhold(&explanation.operation, &mut rows, &mut rest);
        }
        let budget = budget(profile, delivered(profile, attribution));
        let case = Case {
            explanation,
            profile,
            attribution,
            budget: &budget,
            rows: &rows,
            rest: &rest,
            sampler: index,
            tick_hz: options.environment.as_ref().and_then(|environment| environment.tick_hz).map(f64::from),
            margin: options.margin,
        };
        let diagnoses = diagnose(&case);
        let weight_type = &profile.weight_types[attribution.weight];
        samplers.push(Sampler {
            name: name.clone(),
            format: profile.provenance.format.clone(),
            producer: profile.provenance.producer.clone(),
            weight: format!("{} ({})", weight_type.name, weight_type.unit),
            scores: if withheld { Scores::default() } else { scores(&rows, &rest, index, attribution.coverage()) },
            diagnoses,
            ambiguous: attribution.ambiguous.clone(),
            unmatched: attribution.unmatched.clone(),
            outside: super::attribute::ratio(attribution.outside, attribution.total + attribution.outside),
            notes: profile.notes.clone(),
            facts: profile.provenance.facts.clone(),
            budget,
        });
    }
    finish(&mut rows, &mut rest, options.margin);
    let summary = summary(&rows, &rest, &samplers);
    let report = Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: "countercheck".into(), version: env!("CARGO_PKG_VERSION").into(), commit: None },
        operation: explanation.operation.clone(),
        time_ns: explanation.time_ns,
        method: Method {
            margin: options.margin,
            agreement: options.agreement,
            confidence: 0.95,
            false_accusations: FALSE_ACCUSATIONS,
            seed: options.seed,
        },
        summary,
        rows,
        rest,
        samplers,
        environment: options.environment.clone(),
        warnings: warnings(explanation, profiles, &attributions),
    };
    Ok(Judged { report, attributions })
}

/// Divides a profile's weight of time among the primitives; an error where there is none.
fn attribute(
    explanation: &Explanation,
    sampler: &str,
    profile: &Profile,
    options: &Options,
) -> Result<Attribution, JudgeError> {
    let weight = time_weight(sampler, profile, options.weight.as_deref())?;
    let attribution = Attribution::new(profile, weight, &explanation.primitives, &options.scope)?;
    let sampler = sampler.to_owned();
    match attribution {
        Attribution { total, .. } if total > 0.0 => Ok(attribution),
        Attribution { outside, .. } if outside > 0.0 => {
            Err(JudgeError::NothingInScope { sampler, frames: profile.frames.len() })
        }
        _ => Err(JudgeError::Empty { sampler }),
    }
}

/// The weight of time to judge, checked.
fn time_weight(sampler: &str, profile: &Profile, asked: Option<&str>) -> Result<usize, JudgeError> {
    let sampler = sampler.to_owned();
    let types = &profile.weight_types;
    let weight = match asked {
        None => profile.default_weight,
        Some(asked) => types.iter().position(|weight| weight.name == asked).ok_or_else(|| JudgeError::NoWeight {
            sampler: sampler.clone(),
            asked: asked.to_owned(),
            present: types.iter().map(|weight| weight.name.as_str()).collect::<Vec<_>>().join(", "),
        })?,
    };
    let Some(found) = types.get(weight) else { return Err(JudgeError::Empty { sampler }) };
    if found.unit == "bytes" || profile.provenance.clock == crate::profile::SampleClock::Allocation {
        return Err(JudgeError::NotTime { sampler, found: found.name.clone(), unit: found.unit.clone() });
    }
    for (sample, value) in profile.samples.iter().enumerate() {
        let weight = value.weights.get(weight).copied().unwrap_or(0.0);
        if weight < 0.0 || !weight.is_finite() {
            return Err(JudgeError::Negative { sampler, sample, weight });
        }
    }
    if profile.samples.is_empty() {
        return Err(JudgeError::Empty { sampler });
    }
    Ok(weight)
}

/// Samples of the whole profile, which is what the sampler was asked for.
fn delivered(profile: &Profile, attribution: &Attribution) -> Option<f64> {
    let counts: Option<u64> = profile.samples.iter().map(|sample| sample.count).sum();
    counts.map(|count| count as f64).or_else(|| {
        let in_scope = share::sample_count(profile, attribution)?;
        Some(in_scope * (attribution.total + attribution.outside) / attribution.total)
    })
}

fn row(primitive: &Explained, shares: Shares) -> Row {
    Row {
        primitive: primitive.primitive.clone(),
        count: Some(primitive.count),
        nested: primitive.nested.clone(),
        unit_cost_ns: primitive.unit_cost_ns,
        model: shares.model,
        dose: shares.dose,
        replay: shares.replay,
        trace: shares.trace,
        reference: shares.reference,
        readings: Vec::new(),
        minor: false,
    }
}

fn leftover(primitives: &[Shares]) -> Shares {
    Shares { model: None, dose: None, replay: None, trace: None, reference: reference::rest(primitives) }
}

/// Adds one profile's readings to the rows.
fn read(
    explanation: &Explanation,
    profile: &Profile,
    (attribution, seen): (&Attribution, &[bool]),
    options: &Options,
    (rows, rest): (&mut [Row], &mut Row),
) {
    let samples = share::sample_count(profile, attribution);
    let sampled = share::shares(profile, attribution, options.seed);
    let strictness = Strictness { margin: options.margin, rows: sampled.len() };
    let corrected = corrected(rows, &sampled);
    let last = rows.len();
    for (part, row) in rows.iter_mut().chain([rest]).enumerate() {
        let mut judgement = verdict::judge(&sampled[part], samples, &row.reference, strictness);
        if part < last
            && let Some(reason) = unfit(&explanation.primitives[part], attribution, part, options.margin)
                .or_else(|| (!seen[part]).then(|| missed(&explanation.primitives[part], profile)).flatten())
        {
            judgement = Judgement {
                verdict: Verdict::Unresolved,
                difference: judgement.difference,
                further_samples: None,
                reason: Some(reason),
            };
        }
        row.readings.push(Reading {
            sampled: sampled[part].estimate(),
            effective_samples: sampled[part].effective,
            leaf_only: super::attribute::ratio(attribution.parts[part].leaf_weight, attribution.total),
            corrected: corrected[part],
            judgement,
        });
    }
}

/// What the primitives leave is a residual: every small systematic error of the reference is in it. It is
/// accused only beside a primitive that is.
fn hold_the_rest(rows: &[Row], rest: &mut Row) {
    let accused = |row: &Row| row.readings.last().is_some_and(|reading| reading.judgement.verdict.accuses());
    if !accused(rest) || rows.iter().any(accused) {
        return;
    }
    if let Some(reading) = rest.readings.last_mut() {
        reading.judgement.verdict = Verdict::Unresolved;
        reading.judgement.reason = Some("it is a residual, and no primitive is shown to be off by itself".to_owned());
    }
}

/// Whether no sample is in any primitive. The rest is the last part.
fn nothing_matched(attribution: &Attribution) -> bool {
    let primitives = attribution.parts.split_last().map_or(&[][..], |(_, primitives)| primitives);
    !primitives.is_empty() && primitives.iter().all(|part| part.weight + part.ambiguous_weight == 0.0)
}

/// Whether a profile is known to be of this operation, by its frames or by what took it. An empty profile of
/// the operation and a full one of another program look the same otherwise.
fn is_of(profile: &Profile, explanation: &Explanation, options: &Options) -> bool {
    !options.scope.is_empty() || profile.provenance.facts.get(facts::OPERATION) == Some(&explanation.operation)
}

/// Takes the last profile's verdicts back.
fn withhold(operation: &str, rows: &mut [Row], rest: &mut Row) {
    let reason = format!("no sample is in any primitive of {operation}, so it may be a profile of something else");
    for row in rows.iter_mut().chain([rest]) {
        let Some(reading) = row.readings.last_mut() else { continue };
        reading.judgement.verdict = Verdict::Unresolved;
        reading.judgement.further_samples = None;
        reading.judgement.reason = Some(reason.clone());
    }
}

/// Why the attribution of this primitive cannot be held against the sampler.
fn unfit(primitive: &Explained, attribution: &Attribution, part: usize, margin: f64) -> Option<String> {
    if primitive.frames.is_empty() {
        return Some("no frame pattern says which frames are its".to_owned());
    }
    let ambiguous = super::attribute::ratio(attribution.parts[part].ambiguous_weight, attribution.total);
    (ambiguous > margin)
        .then(|| format!("{:.1} % of the weight is in frames that another primitive claims too", ambiguous * 100.0))
}

/// Why a primitive that no profile shows may be missed by its patterns, and not by the samplers.
fn missed(primitive: &Explained, profile: &Profile) -> Option<String> {
    let named = |pattern: &FramePattern| match pattern {
        FramePattern::Exact(text) | FramePattern::Glob(text) => Some(bare(text).trim_matches('*').to_owned()),
        _ => None,
    };
    let names: Vec<String> = primitive.frames.iter().filter_map(named).filter(|name| !name.is_empty()).collect();
    let alike = profile.frames.iter().find(|frame| names.iter().any(|name| name == bare(&frame.function)));
    let guessed = primitive.frames.first() == Some(&FramePattern::Exact(primitive.primitive.clone()))
        && primitive.frames.iter().any(|pattern| matches!(pattern, FramePattern::Regex(_)));
    match alike {
        Some(frame) => Some(format!(
            "no frame matches its patterns, and {} looks like it: name it too, with Boundary::frames or in the counts file",
            frame.function
        )),
        None if guessed => Some(format!(
            "no frame of any profile bears the name {} or that of its closure: say which functions are its with \
             Boundary::frames",
            primitive.primitive
        )),
        None => None,
    }
}

/// The shares that the profile would show were it right: references, and where a row has none, its
/// sampled share of what they leave.
fn corrected(rows: &[Row], sampled: &[Sampled]) -> Vec<f64> {
    let known = |part: usize| rows.get(part).and_then(|row| row.reference.share).map(|share| share.point);
    let taken: f64 = (0..sampled.len()).filter_map(known).sum();
    let open: f64 = (0..sampled.len()).filter(|part| known(*part).is_none()).map(|part| sampled[part].share).sum();
    // Primitives that claim more than the whole are scaled back, so that shares add up to one.
    let left = (1.0 - taken).max(0.0);
    let scale = if taken > 1.0 { 1.0 / taken } else { 1.0 };
    (0..sampled.len())
        .map(|part| match known(part) {
            Some(share) => share * scale,
            None if open > 0.0 => sampled[part].share / open * left,
            // Nothing was sampled of what has no reference: the rest, which is last, takes what is left.
            None if part + 1 == sampled.len() => left,
            None => 0.0,
        })
        .collect()
}

fn finish(rows: &mut [Row], rest: &mut Row, margin: f64) {
    for row in rows.iter_mut().chain([rest]) {
        let estimates = [row.model, row.dose, row.replay, row.reference.share].into_iter().flatten();
        let sampled = row.readings.iter().map(|reading| reading.sampled);
        row.minor = estimates.chain(sampled).all(|estimate| estimate.point.abs() < margin / 3.0);
    }
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
}

/// The best known size of a row, to sort by.
fn size(row: &Row) -> f64 {
    let best = row.reference.share.or(row.model).or(row.dose).or(row.replay);
    best.or(row.readings.first().map(|reading| reading.sampled)).map_or(0.0, |estimate| estimate.point)
}

fn summary(rows: &[Row], rest: &Row, samplers: &[Sampler]) -> Summary {
    let explained = rest.reference.share.map(|rest| Estimate {
        point: 1.0 - rest.point,
        low: rest.high.map(|high| 1.0 - high),
        high: rest.low.map(|low| 1.0 - low),
    });
    let mut main_share = 0.0;
    let enough = explained.map_or(f64::INFINITY, |explained| explained.point * 0.9);
    let mut main_primitives = 0;
    for row in rows {
        if main_share >= enough {
            break;
        }
        main_share += size(row);
        main_primitives += 1;
    }
    let verdicts = |index: usize| rows.iter().chain([rest]).map(move |row| row.readings[index].judgement.verdict);
    let named = |keep: &dyn Fn(usize) -> bool| {
        samplers.iter().enumerate().filter(|(index, _)| keep(*index)).map(|(_, sampler)| sampler.name.clone()).collect()
    };
    Summary {
        explained,
        main_primitives,
        main_share: explained.map(|_| main_share),
        misleading: named(&|index| verdicts(index).any(Verdict::accuses)),
        sound: named(&|index| verdicts(index).all(|verdict| verdict == Verdict::Agrees)),
        largest_causal_gap: rows
            .iter()
            .filter_map(|row| Some((row.dose?.point - row.replay?.point).abs()))
            .max_by(f64::total_cmp),
        without_reference: rows.iter().filter(|row| row.reference.basis == Basis::None).count(),
        model_only: rows
            .iter()
            .filter(|row| row.reference.basis == Basis::Model && row.count.is_some_and(|count| count > 0.0))
            .count(),
    }
}

fn warnings(explanation: &Explanation, profiles: &[(String, &Profile)], attributions: &[Attribution]) -> Vec<Warning> {
    let mut warnings = explanation.warnings.clone();
    if !explanation.causal_valid {
        warnings.push(Warning {
            code: "causal-invalid".into(),
            message: "off, dose 0 and replay of nothing did not cost the same, so dose and replay were not used".into(),
            remedy: "repeat on a quieter machine; if it stays, the boundary itself changes the operation".into(),
        });
    }
    for ((name, profile), attribution) in profiles.iter().zip(attributions) {
        if nothing_matched(attribution) {
            warnings.push(Warning {
                code: "nothing-matched".into(),
                message: format!("{name} holds no sample in any primitive of {}", explanation.operation),
                remedy: "make sure that it is a profile of this operation, that it has symbols (`primitives top FILE` \
                         shows its functions), and that the frame patterns fit its names; where it is, name a \
                         function of the operation with --scope, and it is judged"
                    .into(),
            });
        }
        warnings.extend(slower_while_sampled(explanation, name, profile));
        if profile.provenance.clock == crate::profile::SampleClock::Wall {
            warnings.push(Warning {
                code: "wall-clock".into(),
                message: format!("{name} samples wall time, and the reference is CPU time"),
                remedy: "sample CPU time, or run the operation without waiting".into(),
            });
        }
    }
    warnings
}

/// The reference is a lower decile and a profile shows a mean. Where the two differ, shares do: what slows
/// down less than the whole reads too low.
fn slower_while_sampled(explanation: &Explanation, name: &str, profile: &Profile) -> Option<Warning> {
    const MATTERS: f64 = 1.03;
    let fact = |key: &str| profile.provenance.facts.get(key).and_then(|text| text.parse::<f64>().ok());
    let reference = explanation.time_ns.map(|time| time.point).filter(|time| *time > 0.0)?;
    let sampled = fact(facts::THREAD_CPU_NS)? / fact(facts::ITERATIONS).filter(|count| *count > 0.0)?;
    let slower = sampled / reference;
    (slower > MATTERS).then(|| Warning {
        code: "slower-while-sampled".into(),
        message: format!(
            "an execution took {} on average while {name} sampled it, and {} in the reference, which is a lower \
             decile: a primitive that did not slow down with the rest reads {:.1} % of its share too low",
            crate::unit::Nanos(sampled),
            crate::unit::Nanos(reference),
            100.0 * (1.0 - 1.0 / slower)
        ),
        remedy: "hold times against each other (share × time), or repeat on a quieter machine".into(),
    })
}
