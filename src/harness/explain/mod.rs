//! Explains an operation by its primitives, without a sampler: counts, costs, dose and replay, in one
//! process and interleaved.
//!
//! In each round the operation runs plainly, under each primitive's doses, and with each primitive replayed and in its
//! shadow, each time on another input; and each primitive runs alone on inputs that the operation had given it. All
//! figures share their rounds, so a slow minute of the machine moves none against another.

mod doubt;
mod frames;
mod recorded;

use std::cell::RefCell;
use std::time::Duration;

use super::alone::{self, Chaining, Pool};
use super::calibrate;
use super::count::{self, OpCounts};
use super::interleave::{self, Arm, Plan, Samples, Session, Treatment};
use crate::boundary::{self, Selection, Supply, Traced};
use crate::crosscheck::explanation::{Explained, Explanation};
use crate::record::Record;
use crate::stats::{self, Estimate};
use crate::workload::{Suite, Workload, WorkloadError};

/// How an operation is explained.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of inputs and orders.
    pub seed: u64,
    /// Thread CPU time for the interleaved rounds, set-up included.
    pub budget: Duration,
    /// Iterations that are counted and whose inputs are captured.
    pub iterations: u64,
    /// Unit costs from a record, instead of measuring them here.
    pub costs: Option<Record>,
    /// What gives the code at an address its names, so that the closures of one function are told apart.
    pub names: Option<Names>,
}

/// The names of the functions at addresses of this process, a list for each address.
pub type Names = fn(&[usize]) -> Vec<Vec<String>>;

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, budget: Duration::from_secs(30), iterations: 8, costs: None, names: None }
    }
}

/// The quantile over rounds that is a figure here. On a busy machine the lower decile of an arm moves half as much from
/// one set of rounds to the next as its lower quartile does, and less with the length of the arm.
const QUANTILE: f64 = 0.1;

/// Part of the operation that one step of a dose adds.
const STEP: f64 = 0.1;

/// Most extra executions at one call in one step.
const MOST: f64 = 4096.0;

/// Explains an operation of a suite. `progress` is told the part that is done, from 0 to 1.
///
/// # Errors
///
/// Where the operation fails or panics, is not deterministic, or where a replay parts from its recording.
pub fn explain(
    suite: &Suite,
    workload: &Workload,
    settings: &Settings,
    progress: &mut dyn FnMut(f64),
) -> Result<Explanation, WorkloadError> {
    if boundary::COMPILED_OUT {
        return Err(workload.error("this build has the feature boundary-off: there is nothing to explain with"));
    }
    let counts = count::count(workload, settings.seed, settings.iterations)?;
    let mut session = Session::new(workload, settings.seed)?;
    let rough = session.calibrate()?;
    let pools = match &settings.costs {
        Some(_) => Vec::new(),
        None => alone::pools(&mut session, suite, settings.seed, settings.iterations, rough)?,
    };
    let sizes = match &settings.costs {
        Some(_) => alone::sizes(&mut session, settings.iterations)?,
        None => Vec::new(),
    };
    let prepared = pools.iter().filter_map(|pool| Some((pool.primitive.clone(), pool.prepared()?)));
    session.supply = Supply::new(prepared);
    let names = pure_primitives(&counts);
    let steps = steps(&mut session, rough, &names)?;
    let session = RefCell::new(session);
    let pools: Vec<RefCell<Pool>> = pools.into_iter().map(RefCell::new).collect();
    let (mut arms, at) = arms(&session, &pools, &names, &steps);
    let plan = Plan { seed: settings.seed, budget: settings.budget, quantile: QUANTILE, ..Plan::default() };
    let samples = interleave::interleave(&mut arms, &plan, progress)?;
    drop(arms);
    let traced = traced(&session.borrow());
    let units = match &settings.costs {
        Some(record) => recorded::units(record, &sizes),
        None => measured_units(&samples, &at),
    };
    let costs = settings.costs.as_ref().map_or(doubt::Costs::Measured(suite), doubt::Costs::Recorded);
    let names = frames::names_of_closures(&counts.primitives, settings.names);
    let mut explanation = assemble(&counts, &samples, &at, &traced, (&units, &names));
    explanation.warnings = doubt::warnings(&explanation, &counts, &samples, &at, costs);
    explanation.warnings.extend(settings.costs.as_ref().and_then(recorded::of_another_machine));
    Ok(explanation)
}

/// Cost of one call alone, and the band from the lowest to the highest of its forms, in nanoseconds.
struct Unit {
    primitive: String,
    cost: Estimate,
    band: (f64, f64),
}

fn measured_units(samples: &Samples, at: &Places) -> Vec<Unit> {
    let unit = |(name, arms): &(String, [usize; 3])| {
        let forms = arms.map(|arm| samples.of(arm).point);
        // NaN, for a form that there is not, loses both comparisons.
        let band = (forms.into_iter().fold(f64::INFINITY, f64::min), forms.into_iter().fold(0.0, f64::max));
        Unit { primitive: name.clone(), cost: samples.of(arms[0]), band }
    };
    at.alone.iter().map(unit).collect()
}

/// The primitives that can be dosed and replayed: called, and pure.
fn pure_primitives(counts: &OpCounts) -> Vec<String> {
    let pure = |name: &str| !boundary::known(name).is_some_and(|known| known.stateful);
    let called = counts.primitives.iter().filter(|one| one.mean > 0.0);
    called.map(|one| one.primitive.clone()).filter(|name| pure(name)).collect()
}

/// Per primitive: extra executions at each call that add about a tenth of the operation.
fn steps(session: &mut Session, rough: f64, names: &[String]) -> Result<Vec<u32>, WorkloadError> {
    for _ in 0..5 {
        session.time(&Treatment::Trace)?;
    }
    let in_place = |name: &String| {
        let runs = session.traced.iter();
        let of_run = |run: &Vec<Traced>| run.iter().find(|one| one.primitive == *name).map(|one| one.total_ns);
        Some(runs.filter_map(of_run).min()? as f64 / session.batch as f64)
    };
    // One, for a primitive that none of these runs called.
    let step = |name: &String| in_place(name).map_or(1, |ns| (STEP * rough / ns).round().clamp(1.0, MOST) as u32);
    let steps = names.iter().map(step).collect();
    session.traced.clear();
    Ok(steps)
}

/// Where each figure is among the arms.
struct Places {
    off: usize,
    dose_none: usize,
    replay_none: usize,
    all: Causal,
    primitives: Vec<(String, Causal)>,
    alone: Vec<(String, [usize; 3])>,
}

/// The arms of one selection.
struct Causal {
    step: u32,
    once: usize,
    twice: usize,
    /// The arms of a replay: looked up and computed, and returned. None for a primitive whose outputs cannot be kept.
    replay: Option<(usize, usize)>,
}

fn arms<'a>(
    session: &'a RefCell<Session>,
    pools: &'a [RefCell<Pool>],
    names: &[String],
    steps: &[u32],
) -> (Vec<Arm<'a>>, Places) {
    let arms: RefCell<Vec<Arm<'a>>> = RefCell::new(Vec::new());
    let add = |arm: Arm<'a>| {
        arms.borrow_mut().push(arm);
        arms.borrow().len() - 1
    };
    let treated = |treatment: Treatment| add(Box::new(move |_| session.borrow_mut().time(&treatment)));
    let kept = |name: &String| !boundary::known(name).is_some_and(|known| known.unkept);
    let causal = |of: Selection, step: u32, kept: bool| Causal {
        step,
        once: treated(Treatment::Dose(of.clone(), step)),
        twice: treated(Treatment::Dose(of.clone(), 2 * step)),
        replay: kept.then(|| (treated(Treatment::Shadow(of.clone())), treated(Treatment::Replay(of)))),
    };
    let alone = |pool: &'a RefCell<Pool>| {
        // A form that a primitive does not have takes no time and shows as none.
        let arm = |chaining| add(Box::new(move |_| Ok(pool.borrow_mut().time(chaining)?.unwrap_or(f64::NAN))));
        (pool.borrow().primitive.clone(), [Chaining::Throughput, Chaining::Chained, Chaining::Cold].map(arm))
    };
    treated(Treatment::Trace);
    let places = Places {
        off: treated(Treatment::Off),
        dose_none: treated(Treatment::Dose(Selection::none(), 0)),
        replay_none: treated(Treatment::Replay(Selection::none())),
        all: causal(Selection::all(), 1, names.iter().all(kept)),
        primitives: names
            .iter()
            .zip(steps)
            .map(|(name, step)| (name.clone(), causal(Selection::only([name]), *step, kept(name))))
            .collect(),
        alone: pools.iter().map(alone).collect(),
    };
    (arms.into_inner(), places)
}

impl Causal {
    /// Time that one more execution at each call adds: the slope through no dose, one step and two. With
    /// equal steps the least-squares slope does not depend on the middle.
    fn dose(&self, samples: &Samples, none: usize) -> Estimate {
        samples.combine(&[none, self.twice], |t| (t[1] - t[0]) / (2.0 * f64::from(self.step)))
    }

    /// How far the middle dose is off the line through the ends, as part of the rise.
    fn bend(&self, samples: &Samples, none: usize) -> Estimate {
        samples.combine(&[none, self.once, self.twice], |t| (t[1] - 0.5 * (t[0] + t[2])) / (t[2] - t[0]))
    }

    fn saving(&self, samples: &Samples) -> Option<Estimate> {
        self.replay.map(|(shadow, replay)| samples.combine(&[shadow, replay], |t| t[0] - t[1]))
    }
}

/// Times that a primitive's calls may take longer in place for being timed, at most, in readings of an empty window: one
/// for the clock itself, and as much again for what it drives out of the caches.
const CLOCK: f64 = 2.0;

/// Low quantile over tracing runs of each primitive's time in place, per iteration. The lower end of its interval leaves
/// out what reading the clock at each call may have cost.
fn traced(session: &Session) -> Vec<(String, Estimate)> {
    let empty_ns = calibrate::calibrate().empty_ns as f64;
    let mut names: Vec<&'static str> = session.traced.iter().flatten().map(|one| one.primitive).collect();
    names.sort_unstable();
    names.dedup();
    let of = |name: &&'static str| {
        let runs: Vec<&Traced> = session.traced.iter().flatten().filter(|one| one.primitive == *name).collect();
        let totals = stats::sorted(runs.iter().map(|run| run.total_ns as f64).collect());
        let point = stats::quantile(&totals, QUANTILE).unwrap_or(f64::NAN);
        let (low, high) = stats::order::interval(&totals, QUANTILE).unwrap_or((point, point));
        let calls = runs.iter().map(|run| run.calls as f64).sum::<f64>() / runs.len().max(1) as f64;
        let readings = CLOCK * empty_ns * calls;
        let batch = session.batch as f64;
        let in_place = Estimate::with_interval(point, (low - readings).max(0.0), high);
        ((*name).to_owned(), in_place.scaled(1.0 / batch))
    };
    names.iter().map(of).collect()
}

fn assemble(
    counts: &OpCounts,
    samples: &Samples,
    at: &Places,
    traced: &[(String, Estimate)],
    (units, names): (&[Unit], &frames::Symbols),
) -> Explanation {
    let primitives = counts
        .primitives
        .iter()
        .map(|count| {
            let name = &count.primitive;
            let unit = units.iter().find(|unit| unit.primitive == *name);
            let causal = at.primitives.iter().find(|(one, _)| one == name).map(|(_, causal)| causal);
            Explained {
                primitive: name.clone(),
                count: count.mean,
                nested: count.nested.clone(),
                unit_cost_ns: unit.map(|unit| unit.cost),
                cost_band_ns: unit.map(|unit| unit.band),
                predicted_ns: unit.map(|unit| unit.cost.scaled(count.mean)),
                dose_ns: causal.map(|causal| causal.dose(samples, at.dose_none)),
                replay_ns: causal.and_then(|causal| causal.saving(samples)),
                trace_ns: traced.iter().find(|(one, _)| one == name).map(|(_, in_place)| *in_place),
                frames: frames::patterns(name, names),
            }
        })
        .collect();
    Explanation {
        operation: counts.operation.clone(),
        time_ns: Some(samples.of(at.off)),
        primitives,
        dose_all_ns: (!at.primitives.is_empty()).then(|| at.all.dose(samples, at.dose_none)),
        replay_all_ns: if at.primitives.is_empty() { None } else { at.all.saving(samples) },
        causal_valid: doubt::gate_holds(samples, at),
        warnings: Vec::new(),
    }
}

#[cfg(all(test, not(feature = "boundary-off")))]
mod tests;
