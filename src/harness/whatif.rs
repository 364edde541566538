//! What an operation would take with another primitive: predicted from counts and costs, and where an
//! implementation is registered, measured with it swapped in.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::alone::{self, Chaining};
use super::count;
use super::explain::Settings;
use super::interleave::{self, Arm, Plan, Session, Treatment};
use crate::boundary::{self, Selection};
use crate::crosscheck::explanation::Explanation;
use crate::stats::Estimate;
use crate::warning::Warning;
use crate::workload::{Suite, Workload, WorkloadError};

/// One change's effect on an operation. Savings are nanoseconds per operation; negative where it slows down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The operation.
    pub operation: String,
    /// Its time as it is, in nanoseconds.
    pub time_ns: Estimate,
    /// The primitive that changes.
    pub primitive: String,
    /// The change in words: `2 times faster`, `5x51`.
    pub change: String,
    /// Calls per operation that it touches.
    pub count: f64,
    /// `count ×` the difference in unit cost.
    pub predicted_ns: Option<Estimate>,
    /// The same part of the dose slope.
    pub by_dose_ns: Option<Estimate>,
    /// What making the primitive free would save: no implementation can save more.
    pub bound_ns: Option<Estimate>,
    /// What swapping it in did save.
    pub measured_ns: Option<Estimate>,
    /// What to distrust in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// The effect of a primitive that is `factor` times faster, from what is known of the operation. `None`
/// where the operation is not timed or never calls it. Where dose and replay are no reference, neither is shown.
pub fn faster(explanation: &Explanation, primitive: &str, factor: f64) -> Option<Effect> {
    let one = explanation.primitives.iter().find(|one| one.primitive == primitive && one.count > 0.0)?;
    let saved = 1.0 - 1.0 / factor;
    let part = |estimate: Option<Estimate>| estimate.map(|estimate| scaled(estimate, saved));
    Some(Effect {
        operation: explanation.operation.clone(),
        time_ns: explanation.time_ns?,
        primitive: primitive.to_owned(),
        change: format!("{factor} times faster"),
        count: one.count,
        predicted_ns: part(one.predicted_ns),
        by_dose_ns: part(one.dose_ns).filter(|_| explanation.causal_valid),
        bound_ns: one.replay_ns.filter(|_| explanation.causal_valid),
        measured_ns: None,
        warnings: explanation.warnings.iter().filter(|warning| warning.code == "causal-gate").cloned().collect(),
    })
}

/// Scaled by a factor that may be negative, which swaps the interval's ends.
fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    let scaled = estimate.scaled(factor);
    if factor < 0.0 { Estimate { low: scaled.high, high: scaled.low, ..scaled } } else { scaled }
}

/// The implementations that can be swapped in for a primitive of an operation.
///
/// # Errors
///
/// Where the operation fails.
pub fn implementations(workload: &Workload, seed: u64) -> Result<Vec<(String, Vec<&'static str>)>, WorkloadError> {
    let counts = count::count(workload, seed, 1)?;
    let of = |name: &str| {
        let alternatives = boundary::known(name).map(|known| known.alternatives).unwrap_or_default();
        alternatives.iter().map(|one| one.name).collect::<Vec<_>>()
    };
    let each = counts.primitives.iter().map(|one| (one.primitive.clone(), of(&one.primitive)));
    Ok(each.filter(|(_, alternatives)| !alternatives.is_empty()).collect())
}

/// Measures the operation with an implementation swapped in, beside the prediction from both unit costs.
///
/// # Errors
///
/// Where the operation fails, never calls the primitive, or gives another output with the implementation.
pub fn swapped(
    suite: &Suite,
    workload: &Workload,
    (primitive, implementation): (&str, &str),
    settings: &Settings,
    progress: &mut dyn FnMut(f64),
) -> Result<Effect, WorkloadError> {
    let counts = count::count(workload, settings.seed, settings.iterations)?;
    let count = counts.of(primitive).map_or(0.0, |one| one.mean);
    let mut session = Session::new(workload, settings.seed)?;
    let rough = session.calibrate()?;
    let mut pools = alone::pools(&mut session, suite, settings.seed, settings.iterations, rough)?;
    pools.retain(|pool| pool.primitive == primitive);
    let other = alone::alternative(&mut session, (primitive, implementation), settings.iterations, rough)?;
    let Some(other) = other else {
        let message = format!("{primitive} has no call that {implementation} could compute");
        return Err(workload.error(message));
    };
    pools.push(other);
    let session = RefCell::new(session);
    let arm = |treatment: Treatment| -> Arm<'_> {
        let session = &session;
        Box::new(move |_| session.borrow_mut().time(&treatment))
    };
    let only = || Selection::only([primitive]);
    let mut arms = vec![
        arm(Treatment::Off),
        arm(Treatment::Swap(primitive.to_owned(), implementation.to_owned())),
        arm(Treatment::Shadow(only())),
        arm(Treatment::Replay(only())),
    ];
    let first_pool = arms.len();
    for pool in &mut pools {
        arms.push(Box::new(|_| Ok(pool.time(Chaining::Throughput)?.unwrap_or(f64::NAN))));
    }
    let both = arms.len() == first_pool + 2;
    let plan = Plan { seed: settings.seed, budget: settings.budget, ..Plan::default() };
    let samples = interleave::interleave(&mut arms, &plan, progress)?;
    let predicted = || samples.combine(&[first_pool, first_pool + 1], |cost| count * (cost[0] - cost[1]));
    Ok(Effect {
        operation: workload.name.clone(),
        time_ns: samples.of(0),
        primitive: primitive.to_owned(),
        change: implementation.to_owned(),
        count,
        predicted_ns: both.then(predicted),
        by_dose_ns: None,
        bound_ns: Some(samples.combine(&[2, 3], |time| time[0] - time[1])),
        measured_ns: Some(samples.combine(&[0, 1], |time| time[0] - time[1])),
        warnings: Vec::new(),
    })
}

#[cfg(all(test, not(feature = "boundary-off")))]
mod tests {
    use super::*;
    use crate::crosscheck::explanation::Explained;

    fn explanation() -> Explanation {
        Explanation {
            operation: "op/1".to_owned(),
            time_ns: Some(Estimate::point(1000.0)),
            primitives: vec![Explained {
                primitive: "half".to_owned(),
                count: 4.0,
                predicted_ns: Some(Estimate::with_interval(500.0, 480.0, 530.0)),
                dose_ns: Some(Estimate::point(510.0)),
                replay_ns: Some(Estimate::point(520.0)),
                ..Explained::default()
            }],
            dose_all_ns: None,
            replay_all_ns: None,
            causal_valid: true,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn twice_as_fast_saves_half_and_twice_as_slow_costs_as_much_again() {
        let twice = faster(&explanation(), "half", 2.0).unwrap();
        assert_eq!(twice.predicted_ns, Some(Estimate::with_interval(250.0, 240.0, 265.0)));
        assert_eq!((twice.by_dose_ns.unwrap().point, twice.bound_ns.unwrap().point), (255.0, 520.0));
        let slower = faster(&explanation(), "half", 0.5).unwrap();
        assert_eq!(slower.predicted_ns, Some(Estimate::with_interval(-500.0, -530.0, -480.0)));
        assert_eq!(faster(&explanation(), "other", 2.0), None);
    }

    #[cfg(feature = "mls")]
    #[test]
    fn a_slower_ladder_slows_the_operation_by_what_is_predicted() {
        let suite = crate::operation::builtin();
        let workload = suite.resolve("create_group/2").unwrap();
        let offered = implementations(&workload, 1).unwrap();
        assert!(offered.iter().any(|(primitive, names)| primitive == "x25519_dh" && names.len() == 4), "{offered:?}");
        let settings = Settings { budget: std::time::Duration::from_secs(2), ..Settings::default() };
        let (_, names) = offered.iter().find(|(primitive, _)| primitive == "x25519_dh").unwrap();
        // The first is the 16-limb field, several times slower than the library's.
        let effect = swapped(&suite, &workload, ("x25519_dh", names[0]), &settings, &mut |_| ()).unwrap();
        let (predicted, measured) = (effect.predicted_ns.unwrap().point, effect.measured_ns.unwrap().point);
        assert!(measured < 0.0 && (predicted / measured - 1.0).abs() < 0.25, "{predicted} against {measured}");
        let error = swapped(&suite, &workload, ("x25519_dh", "none"), &settings, &mut |_| ()).unwrap_err();
        assert!(error.message.contains("no call that none could compute"), "{error}");
    }
}
