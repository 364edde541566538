//! X25519 and Ed25519 explained by field operations: exact counts from [`Counted`], costs from four surroundings.
//!
//! The prediction follows one rule, the same for every representation and operation: powers (inversions and roots)
//! are chains, so theirs are chained costs; all else is priced by throughput, because curve formulas offer the processor
//! several things to do at a time. The rule was settled by looking at all of them on one machine, so it is a calibration
//! there and a prediction elsewhere; what each surrounding's costs alone would say is shown beside it.

use std::cell::RefCell;

use super::costs::{Operation, Surroundings, arms, cost};
use super::ed25519;
use super::edwards::Curve;
use super::workloads::{Signed, signatures};
use super::{
    Counted, Field, FieldOps, Limbs4, Limbs5, Limbs10, Limbs16, Limbs16Peeled, Limbs16Symmetric, count, ladder,
    workloads,
};
use crate::crosscheck::explanation::{Explained, Explanation, FramePattern};
use crate::harness::clock::thread_cpu_ns;
use crate::harness::interleave::{Arm, Plan, Samples, Session, Treatment, interleave};
use crate::stats::Estimate;
use crate::unit::{Nanos, Share};
use crate::warning::Warning;
use crate::workload::WorkloadError;

/// What an operation's clock says and what counts and costs say about it.
#[derive(Clone, Debug)]
pub struct Account {
    /// `ladder`, `sign` or `verify`.
    pub operation: &'static str,
    /// Operations of one execution; for verification a mean over inputs, rounded.
    pub ops: FieldOps,
    /// Measured time of one execution in nanoseconds.
    pub time_ns: Estimate,
    /// What the rule predicts, in nanoseconds.
    pub predicted_ns: Estimate,
    /// What each surrounding's costs would predict alone, in nanoseconds.
    pub by_surroundings_ns: Vec<(Surroundings, Estimate)>,
    /// Hashing and scalar arithmetic, measured alone, in nanoseconds. Part of every prediction.
    pub besides_ns: Estimate,
    /// Unit costs by operation and surrounding, in nanoseconds.
    pub costs_ns: Vec<(Operation, Vec<(Surroundings, Estimate)>)>,
    /// Part of each operation of the prediction, in nanoseconds, by [`Operation::ALL`].
    pub parts_ns: Vec<Estimate>,
}

impl Account {
    /// Predicted ÷ measured.
    pub fn explained(&self) -> Share {
        Share(self.predicted_ns.point / self.time_ns.point)
    }

    /// Predicted ÷ measured with one surrounding's costs for everything.
    pub fn explained_by(&self, surroundings: Surroundings) -> Option<Share> {
        let (_, predicted) = self.by_surroundings_ns.iter().find(|(one, _)| *one == surroundings)?;
        Some(Share(predicted.point / self.time_ns.point))
    }

    /// The surrounding whose costs alone come closest to the clock.
    pub fn nearest(&self) -> Option<Surroundings> {
        let off_by = |predicted: &Estimate| (predicted.point / self.time_ns.point).ln().abs();
        let nearest = self.by_surroundings_ns.iter().min_by(|(_, a), (_, b)| off_by(a).total_cmp(&off_by(b)))?;
        Some(nearest.0)
    }
}

/// The three operations of a representation, measured in one interleaved run with all its unit costs.
///
/// # Errors
///
/// Where an operation's output is wrong.
pub fn accounts<F: Field>(plan: &Plan, progress: &mut dyn FnMut(f64)) -> Result<Vec<Account>, WorkloadError> {
    let inputs = signatures(plan.seed);
    let mut arms = arms::<F>();
    let first_operation = arms.len();
    for operation in OPERATIONS {
        let workload = workloads::row::<F>(operation);
        let session = RefCell::new(Session::new(&workload, plan.seed)?);
        arms.push(Box::new(move |_| session.borrow_mut().time(&Treatment::Off)));
    }
    arms.push(besides(&inputs, |one| one.key.hash_and_scalars(&one.message, &[7; 32])));
    arms.push(besides(&inputs, |one| ed25519::challenge(&[7; 32], one.key.public(), &one.message)));
    let samples = interleave(&mut arms, plan, progress)?;
    Ok(OPERATIONS
        .iter()
        .enumerate()
        .map(|(i, operation)| {
            let besides_arm = (i > 0).then_some(first_operation + OPERATIONS.len() + i - 1);
            account(operation, ops::<F>(operation, &inputs), &samples, first_operation + i, besides_arm)
        })
        .collect())
}

/// The operations explained, and the rows' middle part.
pub const OPERATIONS: [&str; 3] = ["ladder", "sign", "verify"];

/// The representations explained, by the last part of a row's name.
pub const REPRESENTATIONS: [&str; 6] =
    [Limbs16::NAME, Limbs16Peeled::NAME, Limbs16Symmetric::NAME, Limbs10::NAME, Limbs5::NAME, Limbs4::NAME];

/// [`accounts`] of the representation of this name; `None` where there is none.
pub fn accounts_of(
    representation: &str,
    plan: &Plan,
    progress: &mut dyn FnMut(f64),
) -> Option<Result<Vec<Account>, WorkloadError>> {
    Some(match representation {
        Limbs16::NAME => accounts::<Limbs16>(plan, progress),
        Limbs16Peeled::NAME => accounts::<Limbs16Peeled>(plan, progress),
        Limbs16Symmetric::NAME => accounts::<Limbs16Symmetric>(plan, progress),
        Limbs10::NAME => accounts::<Limbs10>(plan, progress),
        Limbs5::NAME => accounts::<Limbs5>(plan, progress),
        Limbs4::NAME => accounts::<Limbs4>(plan, progress),
        _ => return None,
    })
}

/// The rows that compute what a primitive computes, on the fastest and the two most often written fields.
pub fn twins(primitive: &str) -> &'static [&'static str] {
    match primitive {
        "x25519_dh" => &["field25519/ladder/5x51", "field25519/ladder/4x64", "field25519/ladder/10x25.5"],
        "ed25519_sign" => &["field25519/sign/5x51", "field25519/sign/4x64", "field25519/sign/10x25.5"],
        "ed25519_verify" => &["field25519/verify/5x51", "field25519/verify/4x64", "field25519/verify/10x25.5"],
        _ => &[],
    }
}

/// Explains `field25519/ladder/5x51` and its like; `None` for any other row.
pub fn explain(
    row: &str,
    plan: &Plan,
    progress: &mut dyn FnMut(f64),
) -> Option<Result<Vec<Explanation>, WorkloadError>> {
    let rest = row.strip_prefix("field25519/")?;
    let (operation, representation) = rest.split_once('/')?;
    let at = OPERATIONS.iter().position(|one| *one == operation)?;
    let accounts = accounts_of(representation, plan, progress)?;
    Some(accounts.map(|accounts| vec![explanation(row, representation, &accounts[at])]))
}

fn explanation(row: &str, representation: &str, account: &Account) -> Explanation {
    let mut primitives: Vec<_> = account
        .ops
        .by_name()
        .into_iter()
        .zip(&account.costs_ns)
        .zip(&account.parts_ns)
        .filter(|(((_, count), _), _)| *count > 0)
        .map(|(((name, count), (_, costs)), part)| {
            let points = costs.iter().map(|(_, cost)| cost.point);
            Explained {
                primitive: format!("field_{name}"),
                count: count as f64,
                unit_cost_ns: costs.iter().find(|(one, _)| *one == Surroundings::Throughput).map(|(_, cost)| *cost),
                cost_band_ns: Some((points.clone().fold(f64::INFINITY, f64::min), points.fold(0.0, f64::max))),
                predicted_ns: Some(*part),
                frames: frames(representation, name),
                ..Explained::default()
            }
        })
        .collect();
    if account.besides_ns.point > 0.0 {
        primitives.push(Explained {
            primitive: "hash_and_scalars".to_owned(),
            count: 1.0,
            unit_cost_ns: Some(account.besides_ns),
            predicted_ns: Some(account.besides_ns),
            ..Explained::default()
        });
    }
    let alone: Vec<_> = account
        .by_surroundings_ns
        .iter()
        .map(|(surroundings, predicted)| {
            format!("{} {}", surroundings.name(), Share(predicted.point / account.time_ns.point))
        })
        .collect();
    Explanation {
        operation: row.to_owned(),
        time_ns: Some(account.time_ns),
        primitives,
        dose_all_ns: None,
        replay_all_ns: None,
        causal_valid: true,
        warnings: vec![Warning {
            code: "cost-surroundings".to_owned(),
            message: format!(
                "one cost for all would predict, of {} measured: {}",
                Nanos(account.time_ns.point),
                alone.join(", ")
            ),
            remedy: "read a unit cost as a band; the prediction takes chained costs in powers and throughput elsewhere"
                .to_owned(),
        }],
    }
}

/// The frames of a field operation in native profiles.
fn frames(representation: &str, operation: &str) -> Vec<FramePattern> {
    let Some(type_name) = type_name(representation) else {
        return Vec::new();
    };
    let function = match operation {
        "swap" => "swap_if",
        "assign" => "assign_if",
        other => other,
    };
    vec![FramePattern::Glob(format!("*::{type_name} as *Field>::{function}"))]
}

fn type_name(representation: &str) -> Option<&'static str> {
    Some(match representation {
        Limbs16::NAME => "Limbs16",
        Limbs16Peeled::NAME => "Limbs16Peeled",
        Limbs16Symmetric::NAME => "Limbs16Symmetric",
        Limbs10::NAME => "Limbs10",
        Limbs5::NAME => "Limbs5",
        Limbs4::NAME => "Limbs4",
        _ => return None,
    })
}

fn account(
    operation: &'static str,
    ops: FieldOps,
    samples: &Samples,
    time_arm: usize,
    besides_arm: Option<usize>,
) -> Account {
    let counts = ops.by_name().map(|(_, count)| count as f64);
    let chained = [ops.chained_mul as f64, ops.chained_square as f64];
    // Coefficients of every arm in a sum of costs, so that intervals come from the same resampled rounds.
    let mut rule = Sum::default();
    let mut parts = Vec::new();
    for (i, one) in Operation::ALL.into_iter().enumerate() {
        let mut part = Sum::default();
        let in_chains = chained.get(i).copied().unwrap_or(0.0);
        part.add(one, Surroundings::Chained, in_chains);
        part.add(one, Surroundings::Throughput, counts[i] - in_chains);
        parts.push(part.estimate(samples));
        rule.terms.extend(part.terms);
    }
    rule.terms.extend(besides_arm.map(|arm| (arm, 1.0)));
    let by_surroundings_ns = Surroundings::ALL
        .map(|surroundings| {
            let mut sum = Sum::default();
            for (one, count) in Operation::ALL.into_iter().zip(counts) {
                sum.add(one, surroundings, count);
            }
            sum.terms.extend(besides_arm.map(|arm| (arm, 1.0)));
            (surroundings, sum.estimate(samples))
        })
        .into();
    let unit = |one, surroundings| {
        let mut sum = Sum::default();
        sum.add(one, surroundings, 1.0);
        (surroundings, sum.estimate(samples))
    };
    Account {
        operation,
        ops,
        time_ns: samples.of(time_arm),
        predicted_ns: rule.estimate(samples),
        by_surroundings_ns,
        besides_ns: besides_arm.map_or(Estimate::point(0.0), |arm| samples.of(arm)),
        costs_ns: Operation::ALL.map(|one| (one, Surroundings::ALL.map(|at| unit(one, at)).into())).into(),
        parts_ns: parts,
    }
}

/// A sum of arms with factors.
#[derive(Default)]
struct Sum {
    terms: Vec<(usize, f64)>,
}

impl Sum {
    fn add(&mut self, operation: Operation, surroundings: Surroundings, count: f64) {
        let (arm, less) = cost(operation, surroundings);
        self.terms.push((arm, count));
        self.terms.extend(less.map(|less| (less, -count)));
    }

    fn estimate(&self, samples: &Samples) -> Estimate {
        let arms: Vec<_> = self.terms.iter().map(|(arm, _)| *arm).collect();
        samples.combine(&arms, |times| times.iter().zip(&self.terms).map(|(time, (_, factor))| time * factor).sum())
    }
}

/// Exact counts; where they depend on the input, their mean over all inputs, rounded.
fn ops<F: Field>(operation: &str, inputs: &[Signed]) -> FieldOps {
    let curve = Curve::<Counted<F>>::new();
    let one = |input: &Signed| match operation {
        "ladder" => count(|| ladder::<Counted<F>>(&[1; 32], input.key.public())).1,
        "sign" => count(|| ed25519::sign(&curve, &input.key, &input.message)).1,
        _ => count(|| ed25519::verify(&curve, input.key.public(), &input.message, &input.signature)).1,
    };
    FieldOps::mean(&inputs.iter().map(one).collect::<Vec<_>>())
}

/// An arm that times work outside the field on every input in turn.
fn besides<T: 'static>(inputs: &[Signed], work: impl Fn(&Signed) -> T + 'static) -> Arm<'static> {
    let inputs: Vec<Signed> = inputs.to_vec();
    Box::new(move |_| {
        let start = thread_cpu_ns();
        for one in &inputs {
            std::hint::black_box(work(std::hint::black_box(one)));
        }
        Ok((thread_cpu_ns() - start) as f64 / inputs.len() as f64)
    })
}
