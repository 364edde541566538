//! What to distrust in an explanation: where its estimates disagree, and which known reason fits.

use super::{Causal, Places};
use crate::crosscheck::explanation::{Explained, Explanation};
use crate::harness::count::OpCounts;
use crate::harness::interleave::Samples;
use crate::nearest;
use crate::record::Record;
use crate::stats::Estimate;
use crate::unit::{Nanos, Share};
use crate::warning::Warning;
use crate::workload::{Kind, Suite};

/// Modes that cost less than this part of the operation disturb no reference.
const GATE: f64 = 0.02;

/// Estimates that differ by less than this part are not held against each other.
const TOLERATED: f64 = 0.05;

/// A primitive whose part of the operation is below this is not held against anything.
const SMALLEST: f64 = 0.01;

/// Part of the timings that other work may interrupt before it is worth a word.
const BUSY: f64 = 0.2;

/// Rounds below which intervals are coarse.
const FEW_ROUNDS: usize = 30;

/// Whether off, dose 0 and replay of nothing cost the same: the interval of the difference holds zero, or
/// the difference is below 2 % of the operation.
pub(super) fn gate_holds(samples: &Samples, at: &Places) -> bool {
    [at.dose_none, at.replay_none].into_iter().all(|arm| {
        let off_by = samples.combine(&[at.off, arm], |t| (t[1] - t[0]) / t[0]);
        holds(off_by, 0.0) || off_by.point.abs() < GATE
    })
}

/// Where unit costs came from, and so why one may be missing.
#[derive(Clone, Copy)]
pub(super) enum Costs<'a> {
    Measured(&'a Suite),
    Recorded(&'a Record),
}

impl Costs<'_> {
    /// The primitives of a name like this one, in a clause: a slip in the name is the likeliest reason.
    fn alike(self, name: &str) -> String {
        let names: Vec<&str> = match self {
            Self::Measured(suite) => {
                let primitives = suite.workloads.iter().filter(|workload| workload.kind == Kind::Primitive);
                primitives.map(|workload| workload.name.as_str()).collect()
            }
            Self::Recorded(record) => record.rows.iter().map(|row| row.name.as_str()).collect(),
        };
        match nearest::phrase(name, names, "") {
            nearest if nearest.is_empty() => nearest,
            nearest => format!(" ({nearest})"),
        }
    }

    /// Why a primitive has no unit cost, and the remedy.
    fn missing(self, name: &str) -> (String, &'static str) {
        let (why, remedy) = match self {
            Self::Measured(_) => (
                format!("{name} cannot be run alone, so nothing is predicted for it"),
                "add a primitive of its name to the suite, give its boundary the means with Boundary::rerun, or take its cost \
                 from a record with --costs",
            ),
            Self::Recorded(_) => (
                format!("the record has no row of {name}, so nothing is predicted for it"),
                "measure it too: `time --only` with its name and `--record`, or leave --costs out",
            ),
        };
        (why + &self.alike(name), remedy)
    }
}

pub(super) fn warnings(
    explanation: &Explanation,
    counts: &OpCounts,
    samples: &Samples,
    at: &Places,
    costs: Costs<'_>,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |code: &str, message: String, remedy: &str| {
        warnings.push(Warning { code: code.to_owned(), message, remedy: remedy.to_owned() });
    };
    if !explanation.causal_valid {
        let [off, dose, replay] = [at.off, at.dose_none, at.replay_none].map(|arm| Nanos(samples.of(arm).point));
        warn(
            "causal-gate",
            format!("the operation takes {off} plain, {dose} under a dose of nothing and {replay} replaying nothing"),
            "measure again on a quiet machine; where it stays, the boundary's calls are too short: put it around a batch of them",
        );
    }
    if samples.rounds() < FEW_ROUNDS {
        warn(
            "few-rounds",
            format!("only {} rounds fitted into the budget, so intervals are coarse", samples.rounds()),
            "give a larger --budget",
        );
    }
    if samples.interrupted() > BUSY {
        warn(
            "busy-host",
            format!("{} of the timings were interrupted by other work and left out", Share(samples.interrupted())),
            "stop other work: intervals get narrower, and shared caches stay warm",
        );
    }
    for (name, calls) in &counts.elsewhere {
        warn(
            "calls-elsewhere",
            format!("{calls} calls of {name} ran on threads that were not measured"),
            "keep the operation on one thread while it is explained",
        );
    }
    for count in counts.primitives.iter().filter(|count| !count.is_exact()) {
        let (low, high) = count.calls;
        warn(
            "count-varies",
            format!("{} is called {low} to {high} times, depending on the input", count.primitive),
            "read the prediction as a mean over inputs",
        );
    }
    for primitive in &explanation.primitives {
        for (code, message, remedy) in of_primitive(explanation, primitive, samples, at, costs) {
            warn(code, message, remedy);
        }
    }
    for (what, all, each) in [
        ("dosed", explanation.dose_all_ns, sum(explanation, |one| one.dose_ns)),
        ("replayed", explanation.replay_all_ns, sum(explanation, |one| one.replay_ns)),
    ] {
        if let (Some(all), Some(each)) = (all, each)
            && apart(all, each)
        {
            warn(
                "not-additive",
                format!("all primitives {what} at once make {}, one at a time {}", Nanos(all.point), Nanos(each.point)),
                "trust neither a sum of single savings nor a single share to better than the difference",
            );
        }
    }
    warnings
}

type Doubt = (&'static str, String, &'static str);

fn of_primitive(
    explanation: &Explanation,
    one: &Explained,
    samples: &Samples,
    at: &Places,
    costs: Costs<'_>,
) -> Vec<Doubt> {
    let name = &one.primitive;
    let mut doubts = Vec::new();
    let Some((_, causal)) = at.primitives.iter().find(|(other, _)| other == name) else { return doubts };
    let (Some(time), Some(dose)) = (explanation.time_ns, one.dose_ns) else { return doubts };
    let Some(predicted) = one.predicted_ns else {
        let (message, remedy) = costs.missing(name);
        doubts.push(("no-unit-cost", message, remedy));
        return doubts;
    };
    if predicted.point.max(dose.point) < SMALLEST * time.point {
        return doubts;
    }
    let widest = [Some(dose), one.replay_ns].into_iter().flatten().filter_map(Estimate::half_width).fold(0.0, f64::max);
    if widest > 0.5 * predicted.point {
        doubts.push((
            "too-small",
            format!("{name} is resolved to ±{} only, of {} predicted", Nanos(widest), Nanos(predicted.point)),
            "trust the prediction, or give a larger --budget",
        ));
        return doubts;
    }
    if let Some(doubt) = disagreement(one, dose) {
        doubts.push(doubt);
    } else if apart(dose, predicted) && one.replay_ns.is_none_or(|replay| apart(replay, predicted)) {
        let more = dose.point / predicted.point - 1.0;
        let cold = one.cost_band_ns.is_some_and(|(_, high)| dose.point < 1.05 * one.count * high);
        let (code, reason) = match (dose.point > predicted.point, cold) {
            (true, true) => ("cold-in-place", "within its cost band, so its code and data are colder there"),
            (true, false) => ("dearer-in-place", "and above its cost band: alone it does not do the same work"),
            (false, _) => ("cheaper-in-place", "its data are warmer there, or it overlaps with what surrounds it"),
        };
        let word = if more > 0.0 { "more" } else { "less" };
        let message = format!("{name} costs {} {word} in place than alone: {reason}", Share(more.abs()));
        doubts.push((code, message, "trust dose and replay"));
    }
    doubts.extend(bent(name, causal, samples, at));
    doubts
}

/// Where dose is held against replay, or against the time in place where nothing could be replayed, and differs.
fn disagreement(one: &Explained, dose: Estimate) -> Option<Doubt> {
    let name = &one.primitive;
    let reason = |other: Estimate| {
        if dose.point > other.point {
            "repeating it costs more than its own calls do, or later work depends on what it leaves in the caches"
        } else {
            "calls repeated in a row run warmer than its own, or overlap"
        }
    };
    let agrees = |estimate: Estimate| one.trace_ns.is_some_and(|in_place| !apart(in_place, estimate));
    match one.replay_ns {
        Some(replay) if apart(dose, replay) => {
            let message =
                format!("{name}: dose says {}, replay {}: {}", Nanos(dose.point), Nanos(replay.point), reason(replay));
            let remedy = match (agrees(dose), agrees(replay)) {
                (false, true) => {
                    "trust replay, with which the time in place agrees; with Boundary::rerun the dose runs on other inputs"
                }
                (true, false) => "trust dose, with which the time in place agrees; read replay as the gain of none",
                _ => {
                    "there is no single share of it: read dose as the cost of one more call, replay as the gain of none"
                }
            };
            Some(("dose-replay-disagree", message, remedy))
        }
        None if one.trace_ns.is_some() && !agrees(dose) => {
            let in_place = one.trace_ns.unwrap_or(dose);
            let message = format!(
                "{name}: dose says {}, the time in place {}: {}",
                Nanos(dose.point),
                Nanos(in_place.point),
                reason(in_place)
            );
            let remedy = "trust the time in place, or let it be repeated on other inputs, with Boundary::rerun";
            Some(("dose-trace-disagree", message, remedy))
        }
        _ => None,
    }
}

fn bent(name: &str, causal: &Causal, samples: &Samples, at: &Places) -> Option<Doubt> {
    let bend = causal.bend(samples, at.dose_none);
    (!holds(bend, 0.0) && bend.point.abs() > 2.0 * TOLERATED).then(|| {
        (
            "dose-bends",
            format!("{name}: the first dose adds {} of what two add, a straight line half", Share(0.5 + bend.point)),
            match causal.replay {
                Some(_) => "the first extra call costs other than the next ones: trust replay",
                None => {
                    "the first extra call costs other than the next ones: return an owned output, and replay settles it"
                }
            },
        )
    })
}

fn sum(explanation: &Explanation, of: impl Fn(&Explained) -> Option<Estimate>) -> Option<Estimate> {
    let parts: Vec<Estimate> = explanation.primitives.iter().filter_map(of).collect();
    let half = parts.iter().filter_map(|part| part.half_width()).map(|half| half * half).sum::<f64>().sqrt();
    let point = parts.iter().map(|part| part.point).sum::<f64>();
    (!parts.is_empty()).then(|| Estimate::with_interval(point, point - half, point + half))
}

fn holds(estimate: Estimate, value: f64) -> bool {
    estimate.low.is_none_or(|low| low <= value) && estimate.high.is_none_or(|high| value <= high)
}

/// Whether two estimates differ by more than is tolerated and their intervals do not touch.
fn apart(a: Estimate, b: Estimate) -> bool {
    let (low, high) = if a.point < b.point { (a, b) } else { (b, a) };
    let gap = high.low.unwrap_or(high.point) - low.high.unwrap_or(low.point);
    gap > 0.0 && high.point - low.point > TOLERATED * high.point.abs()
}
