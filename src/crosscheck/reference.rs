//! The reference: the share of a primitive that a sampler is judged against.
//!
//! Dose and replay change the amount of work and watch the clock, so where both were measured and agree
//! they are it. Where they do not, the time in place may show which of them is off. A dose without a replay must agree
//! with the time in place, or that is the reference. Where neither was measured, the prediction from op count and unit
//! cost is a weaker reference, and its interval is the whole cost band.

use serde::{Deserialize, Serialize};

use super::explanation::{Explained, Explanation};
use super::share::Z95;
use crate::stats::Estimate;

/// Part of a prediction by which the cost in place may differ from the cost standing alone, where no
/// cost band was measured. An assumption, not a measurement.
pub const ASSUMED_BAND: f64 = 0.25;

/// A call that costs less alone may cost nothing in place, where it is inlined and overlaps with what surrounds it. In
/// nanoseconds. An assumption, used only where dose and replay could not tell.
pub const SHORT_CALL_NS: f64 = 50.0;

/// A primitive without a reference that takes more of the operation leaves the rest without one too.
const IGNORED: f64 = 0.05;

/// What a reference rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Dose and replay, which agree.
    Causal,
    /// Dose alone.
    Dose,
    /// Replay alone.
    Replay,
    /// Timed in place, between all and none of what reading the clock at each call may cost.
    Trace,
    /// Op count × unit cost: weaker, since a cost in place may differ from the cost standing alone.
    Model,
    /// Nothing that can be relied on.
    None,
}

/// The reference share of one primitive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reference {
    /// What it rests on.
    pub basis: Basis,
    /// The share; `None` where there is no reference.
    pub share: Option<Estimate>,
    /// Why there is none, or why it is not the best kind.
    pub reason: Option<String>,
}

impl Reference {
    fn none(reason: impl Into<String>) -> Self {
        Self { basis: Basis::None, share: None, reason: Some(reason.into()) }
    }

    /// Whether the interval is a range, of costs or of what the clock may cost, and not a statistical one.
    pub(super) fn is_range(&self) -> bool {
        matches!(self.basis, Basis::Model | Basis::Trace)
    }

    /// The interval at `z` standard deviations. A range stays as it is.
    pub(super) fn interval(&self, z: f64) -> Option<(f64, f64)> {
        let share = self.share?;
        let factor = if self.is_range() { 1.0 } else { z / Z95 };
        let (low, high) = (share.low.unwrap_or(share.point), share.high.unwrap_or(share.point));
        Some((share.point - (share.point - low) * factor, share.point + (high - share.point) * factor))
    }
}

/// Every estimate of a primitive's share that does not need a sampler, and the reference they make.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Op count × unit cost.
    pub model: Option<Estimate>,
    /// Slope of the dose.
    pub dose: Option<Estimate>,
    /// Saving of the replay.
    pub replay: Option<Estimate>,
    /// Timed in place.
    pub trace: Option<Estimate>,
    /// What samplers are judged against.
    pub reference: Reference,
}

/// The shares of one primitive of an operation. Dose and replay that differ by less than `agreement` (a
/// share, 0.01 for a point) are taken to agree even if their intervals are narrower than that.
pub fn shares(explanation: &Explanation, primitive: &Explained, agreement: f64) -> Shares {
    let of = |time: Option<Estimate>| Some(share(time?, explanation.time_ns?));
    let predicted = primitive.predicted_ns.or_else(|| Some(primitive.unit_cost_ns?.scaled(primitive.count)));
    let (model, dose, replay, trace) =
        (of(predicted), of(primitive.dose_ns), of(primitive.replay_ns), of(primitive.trace_ns));
    let reference = reference(explanation, primitive, [model, dose, replay, trace], agreement);
    Shares { model, dose, replay, trace, reference }
}

fn reference(
    explanation: &Explanation,
    primitive: &Explained,
    [model, dose, replay, trace]: [Option<Estimate>; 4],
    agreement: f64,
) -> Reference {
    if explanation.time_ns.is_none() {
        return Reference::none("the operation's time is not known, so shares of it are not");
    }
    if primitive.count == 0.0 && dose.is_none() && replay.is_none() {
        let zero = Estimate::with_interval(0.0, 0.0, 0.0);
        return Reference { basis: Basis::Model, share: Some(zero), reason: Some("it is never called".to_owned()) };
    }
    let causal = dose.is_some() || replay.is_some();
    if causal && !explanation.causal_valid {
        let why = "off, dose 0 and replay of nothing did not cost the same, so dose and replay are no reference";
        return match model {
            Some(model) => by_model(explanation, primitive, model, Some(why.to_owned())),
            None => Reference::none(why),
        };
    }
    match (dose, replay) {
        (Some(dose), Some(replay)) => match disagreement(dose, replay, agreement) {
            Some(reason) => settled(dose, replay, trace, agreement).unwrap_or_else(|| Reference::none(reason)),
            None => Reference { basis: Basis::Causal, share: Some(both(dose, replay)), reason: None },
        },
        (Some(dose), None) => match trace.filter(|trace| gap(*trace, dose) > agreement) {
            Some(trace) => in_place(trace, dose),
            None => Reference { basis: Basis::Dose, share: Some(clamped(dose)), reason: None },
        },
        (None, Some(replay)) => Reference { basis: Basis::Replay, share: Some(clamped(replay)), reason: None },
        (None, None) => match model {
            Some(model) => by_model(explanation, primitive, model, None),
            None => Reference::none("neither a dose, a replay nor a unit cost is known"),
        },
    }
}

/// The one of dose and replay that disagree with which the time in place agrees, where it agrees with one of them alone.
fn settled(dose: Estimate, replay: Estimate, trace: Option<Estimate>, agreement: f64) -> Option<Reference> {
    let trace = trace?;
    let [by_dose, by_replay] = [dose, replay].map(|one| gap(trace, one) <= agreement);
    let points = (dose.point - replay.point).abs() * 100.0;
    let lower = dose.point < replay.point;
    let (basis, share, reason) = match (by_dose, by_replay) {
        (true, false) => {
            let why =
                if lower { "saves more: computing it slows down what follows" } else { "saves less than it takes" };
            (
                Basis::Dose,
                dose,
                format!("dose and the time in place agree; replay is {points:.1} points off, and {why}"),
            )
        }
        (false, true) => {
            let why = if lower { "cheaper" } else { "dearer" };
            let reason = format!(
                "replay and the time in place agree; dose is {points:.1} points off: extra calls in a row are {why} than \
                 the operation's own"
            );
            (Basis::Replay, replay, reason)
        }
        _ => return None,
    };
    Some(Reference { basis, share: Some(clamped(share)), reason: Some(reason) })
}

/// The time in place, where no dose can stand against it.
fn in_place(trace: Estimate, dose: Estimate) -> Reference {
    let (low, high) = (trace.low.unwrap_or(trace.point), trace.high.unwrap_or(trace.point));
    let word = if dose.point < low { "cheaper" } else { "dearer" };
    let reason = format!(
        "timed in place; dose is {:.1} points off: extra calls in a row are {word} than the operation's own",
        gap(trace, dose) * 100.0
    );
    let share = clamped(Estimate::with_interval((low + high) / 2.0, low, high));
    Reference { basis: Basis::Trace, share: Some(share), reason: Some(reason) }
}

/// How far two intervals lie apart; 0 where they touch.
fn gap(a: Estimate, b: Estimate) -> f64 {
    let ends = |one: Estimate| (one.low.unwrap_or(one.point), one.high.unwrap_or(one.point));
    let ((a_low, a_high), (b_low, b_high)) = (ends(a), ends(b));
    (a_low - b_high).max(b_low - a_high).max(0.0)
}

/// Why dose and replay do not agree, where they do not.
fn disagreement(dose: Estimate, replay: Estimate, agreement: f64) -> Option<String> {
    let gap = dose.point - replay.point;
    let (high, low) = if gap > 0.0 { (dose, replay) } else { (replay, dose) };
    let apart = high.low.unwrap_or(high.point) > low.high.unwrap_or(low.point);
    (apart && gap.abs() > agreement).then(|| {
        let points = gap.abs() * 100.0;
        if gap > 0.0 {
            format!(
                "dose exceeds replay by {points:.1} points: extra calls cost more than the operation's own (caches, \
                 predictors or allocation), or something computed by it is shared"
            )
        } else {
            format!(
                "replay exceeds dose by {points:.1} points: computing it slows what follows it down (cold caches), or \
                 extra calls in a row are cheaper than the operation's own"
            )
        }
    })
}

/// The mean weighted by the inverse variances. How far the two methods lie apart is part of what is not
/// known, so their spread adds to the interval in quadrature.
fn both(a: Estimate, b: Estimate) -> Estimate {
    let (Some(half_a), Some(half_b)) = (a.half_width(), b.half_width()) else {
        // One without an interval says nothing of its error: the other's interval holds both points.
        let known = if a.half_width().is_some() { a } else { b };
        let middle = (a.point + b.point) / 2.0;
        let half = known.half_width().unwrap_or(0.0).hypot((a.point - b.point) / 2.0);
        return clamped(Estimate::with_interval(middle, middle - half, middle + half));
    };
    let weight = |half: f64| half.max(1e-9).powi(-2);
    let (weight_a, weight_b) = (weight(half_a), weight(half_b));
    let sum = weight_a + weight_b;
    let point = (weight_a * a.point + weight_b * b.point) / sum;
    let spread = (weight_a * (a.point - point).powi(2) + weight_b * (b.point - point).powi(2)) / sum;
    let half = (1.0 / sum + spread).sqrt();
    clamped(Estimate::with_interval(point, point - half, point + half))
}

/// A share is not negative, whatever the noise of a difference says.
fn clamped(estimate: Estimate) -> Estimate {
    Estimate {
        point: estimate.point.max(0.0),
        low: estimate.low.map(|low| low.max(0.0)),
        high: estimate.high.map(|high| high.max(0.0)),
    }
}

fn by_model(explanation: &Explanation, primitive: &Explained, model: Estimate, reason: Option<String>) -> Reference {
    let time = explanation.time_ns.unwrap_or(Estimate::point(f64::NAN));
    let (mut low, mut high) = (model.low.unwrap_or(model.point), model.high.unwrap_or(model.point));
    // A cost standing alone that dose and replay could not be held against may be off in either direction.
    let is_short = primitive.unit_cost_ns.is_some_and(|cost| cost.point < SHORT_CALL_NS);
    if reason.is_some() {
        low = if is_short { 0.0 } else { low.min(model.point * (1.0 - ASSUMED_BAND)) };
        high = high.max(model.point * (1.0 + ASSUMED_BAND));
    }
    let mut reason = reason;
    match primitive.cost_band_ns {
        Some((cheap, dear)) => {
            low = low.min(primitive.count * cheap / time.high.unwrap_or(time.point));
            high = high.max(primitive.count * dear / time.low.unwrap_or(time.point));
        }
        None => {
            low = low.min(model.point * (1.0 - ASSUMED_BAND));
            high = high.max(model.point * (1.0 + ASSUMED_BAND));
            let assumed = format!(
                "no cost band is known: the cost in place is taken to lie within {:.0} % of the cost standing alone",
                ASSUMED_BAND * 100.0
            );
            reason = Some(reason.map_or(assumed.clone(), |first| format!("{first}; {assumed}")));
        }
    }
    let share = clamped(Estimate::with_interval(model.point, low, high));
    Reference { basis: Basis::Model, share: Some(share), reason }
}

/// `part ÷ whole` with the interval of a ratio of independent estimates (the distances to each limit
/// add in quadrature).
fn share(part: Estimate, whole: Estimate) -> Estimate {
    let point = part.point / whole.point;
    let end = |part_end: Option<f64>, whole_end: Option<f64>| {
        let by_part = point - part_end? / whole.point;
        let by_whole = whole_end.map_or(0.0, |end| point - part.point / end);
        Some(by_part.hypot(by_whole))
    };
    Estimate {
        point,
        low: end(part.low, whole.high).map(|distance| point - distance),
        high: end(part.high, whole.low).map(|distance| point + distance),
    }
}

/// The reference of what is not behind any boundary: what the primitives leave. A primitive without a
/// reference is somewhere between nothing and its time in place, clock reads included, where that was
/// traced.
pub fn rest(primitives: &[Shares]) -> Reference {
    let mut point = 1.0;
    let (mut below, mut above) = (0.0f64, 0.0f64);
    let mut basis = Basis::Causal;
    for Shares { reference, trace, .. } in primitives {
        let Some(share) = reference.share else {
            let Some(trace) = trace else {
                return Reference::none("a primitive has no reference, so what the primitives leave has none");
            };
            let most = trace.high.unwrap_or(trace.point);
            if most > IGNORED {
                return Reference::none(
                    "a primitive of some size has no reference, so what the primitives leave has none",
                );
            }
            point -= most / 2.0;
            (below, above) = (below + most / 2.0, above + most / 2.0);
            continue;
        };
        let (low, high) = (share.low.unwrap_or(share.point), share.high.unwrap_or(share.point));
        point -= share.point;
        let (up, down) = (high - share.point, share.point - low);
        // Costs in place tend to be off in the same direction, so ranges of costs add up, and so does what the clock costs.
        if reference.is_range() && high > 0.0 {
            basis = if basis == Basis::Model { basis } else { reference.basis };
            (below, above) = (below + up, above + down);
        } else {
            (below, above) = (below.hypot(up), above.hypot(down));
        }
    }
    let share = clamped(Estimate::with_interval(point, point - below, point + above));
    Reference { basis, share: Some(share), reason: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::testing::explanation;

    fn only(explanation: &Explanation) -> Reference {
        shares(explanation, &explanation.primitives[0], 0.01).reference
    }

    #[test]
    fn dose_and_replay_that_agree_are_the_reference() {
        let mut known = explanation(&[("a", 0.30)]);
        known.primitives[0].replay_ns = Some(Estimate::with_interval(308e3, 303e3, 313e3));
        let found = only(&known);
        assert_eq!(found.basis, Basis::Causal);
        let share = found.share.unwrap();
        assert!((share.point - 0.304).abs() < 1e-4);
        assert!(share.low.unwrap() < 0.299 && share.high.unwrap() > 0.309);
    }

    #[test]
    fn beyond_their_intervals_there_is_no_reference() {
        let mut known = explanation(&[("a", 0.30)]);
        known.primitives[0].replay_ns = Some(Estimate::with_interval(400e3, 395e3, 405e3));
        let found = only(&known);
        assert_eq!((found.basis, found.share), (Basis::None, None));
        assert!(found.reason.unwrap().starts_with("replay exceeds dose by 10.0 points"));
    }

    #[test]
    fn the_time_in_place_shows_which_of_the_two_is_off() {
        let mut known = explanation(&[("a", 0.30)]);
        known.primitives[0].replay_ns = Some(Estimate::with_interval(400e3, 395e3, 405e3));
        let traced = |low: f64, high: f64| {
            let mut known = known.clone();
            known.primitives[0].trace_ns = Some(Estimate::with_interval(high, low, high));
            only(&known)
        };
        let found = traced(390e3, 412e3);
        assert_eq!((found.basis, found.share.unwrap().point), (Basis::Replay, 0.4));
        assert!(found.reason.unwrap().contains("dose is 10.0 points off: extra calls in a row are cheaper"));
        assert_eq!(traced(295e3, 312e3).basis, Basis::Dose);
        // Agreeing with both, or with neither, it settles nothing.
        assert_eq!(traced(250e3, 450e3).basis, Basis::None);
        assert_eq!(traced(345e3, 355e3).basis, Basis::None);
    }

    #[test]
    fn a_dose_alone_yields_to_the_time_in_place() {
        let mut known = explanation(&[("a", 0.30)]);
        known.primitives[0].replay_ns = None;
        assert_eq!(only(&known).basis, Basis::Dose);
        known.primitives[0].trace_ns = Some(Estimate::with_interval(312e3, 290e3, 312e3));
        assert_eq!(only(&known).basis, Basis::Dose);
        known.primitives[0].trace_ns = Some(Estimate::with_interval(450e3, 430e3, 450e3));
        let found = only(&known);
        assert_eq!(found.basis, Basis::Trace);
        // A range of what the clock may cost does not widen with the confidence asked for.
        let (low, high) = found.interval(10.0).unwrap();
        assert!((low - 0.43).abs() < 1e-3 && (high - 0.45).abs() < 1e-3, "{low} to {high}");
    }

    #[test]
    fn wide_intervals_that_overlap_do_not_disagree() {
        let mut known = explanation(&[("a", 0.30)]);
        known.primitives[0].replay_ns = Some(Estimate::with_interval(400e3, 250e3, 550e3));
        assert_eq!(only(&known).basis, Basis::Causal);
    }

    #[test]
    fn without_causal_runs_the_model_is_named_and_wider() {
        let mut known = explanation(&[("a", 0.30)]);
        known.primitives[0].dose_ns = None;
        known.primitives[0].replay_ns = None;
        let found = only(&known);
        assert_eq!(found.basis, Basis::Model);
        let share = found.share.unwrap();
        assert!(share.low.unwrap() < 0.271 && share.high.unwrap() > 0.359);
        known.primitives[0].cost_band_ns = None;
        assert!(only(&known).reason.unwrap().contains("within 25 %"));
    }

    #[test]
    fn an_invalid_causal_run_is_never_the_reference() {
        let mut known = explanation(&[("a", 0.30)]);
        known.causal_valid = false;
        let found = only(&known);
        assert_eq!(found.basis, Basis::Model);
        // The cost band begins at the cost itself; what could not be held against the clock may be lower too.
        known.primitives[0].cost_band_ns = Some((300e3, 300e3));
        assert!(only(&known).share.unwrap().low.unwrap() < 0.226);
        // A call of some nanoseconds may vanish in place.
        known.primitives[0].unit_cost_ns = Some(Estimate::point(2.0));
        assert_eq!(only(&known).share.unwrap().low, Some(0.0));
        known.primitives[0].predicted_ns = None;
        known.primitives[0].unit_cost_ns = None;
        assert_eq!(only(&known).basis, Basis::None);
        known.time_ns = None;
        assert!(only(&known).reason.unwrap().contains("time is not known"));
    }

    #[test]
    fn the_rest_is_what_the_primitives_leave() {
        let known = explanation(&[("a", 0.30), ("b", 0.50)]);
        let all: Vec<_> = known.primitives.iter().map(|primitive| shares(&known, primitive, 0.01)).collect();
        let found = rest(&all).share.unwrap();
        assert!((found.point - 0.2).abs() < 1e-9);
        assert!(found.half_width().unwrap() > all[0].reference.share.unwrap().half_width().unwrap());
    }

    #[test]
    fn a_primitive_that_was_only_traced_widens_the_rest() {
        let mut known = explanation(&[("a", 0.30), ("random", 0.02)]);
        let random = &mut known.primitives[1];
        *random =
            Explained { trace_ns: Some(Estimate::point(20e3)), ..crate::crosscheck::testing::primitive("random") };
        let all: Vec<_> = known.primitives.iter().map(|primitive| shares(&known, primitive, 0.01)).collect();
        assert_eq!(all[1].reference.basis, Basis::None);
        let found = rest(&all).share.unwrap();
        assert!(found.low.unwrap() < 0.68 && found.high.unwrap() > 0.70);
    }
}
