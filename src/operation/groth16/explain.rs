//! A proof, a verification and a pairing explained at two levels: by their phases, each timed alone, and by field
//! operations, counted by [`super::counting`] and priced in tight loops over varied values.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ark_bn254::{Bn254, Fq, Fr};
use ark_ec::pairing::Pairing;
use ark_ff::PrimeField;
use ark_groth16::{PreparedVerifyingKey, Proof, ProvingKey, prepare_verifying_key};
use ark_std::rand::SeedableRng;
use ark_std::rand::rngs::StdRng;

use super::counting::{CountingBn254, FieldOps, Ops, count};
use super::workloads::{INPUTS, input, keys, prove, verify};
use super::{Input, Phase, Shape, Stages};
use crate::crosscheck::explanation::{Explained, Explanation};
use crate::harness::clock::thread_cpu_ns;
use crate::harness::interleave::{Arm, Plan, Samples, interleave};
use crate::stats::Estimate;
use crate::unit::{Nanos, Share};
use crate::warning::Warning;
use crate::workload::WorkloadError;

/// A part of an operation over some pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The library's whole prover.
    Prove,
    /// The library's whole verifier.
    Verify,
    /// A phase of the prover.
    Phase(Phase),
    /// Public inputs folded into one point.
    PrepareInputs,
    /// The Miller loop over the verifier's three pairs.
    MillerLoop3,
    /// The final exponentiation of its result.
    FinalExponentiation,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Prove => "prove",
            Self::Verify => "verify",
            Self::Phase(phase) => phase.name(),
            Self::PrepareInputs => "prepare_inputs",
            Self::MillerLoop3 => "miller_loop_3",
            Self::FinalExponentiation => "final_exponentiation",
        }
    }
}

/// Everything that any step works on, for one input.
struct Case<E: Pairing> {
    key: Rc<ProvingKey<E>>,
    verifying: Rc<PreparedVerifyingKey<E>>,
    input: Input<E::ScalarField>,
    public: Vec<E::ScalarField>,
    stages: Stages<E>,
    folded: E::G1,
    looped: ark_ec::pairing::MillerLoopOutput<E>,
}

fn cases<E: Pairing>(shape: Shape, seed: u64, n: usize) -> Result<Vec<Case<E>>, String> {
    let key = Rc::new(keys::<E>(shape, seed)?);
    let verifying = Rc::new(prepare_verifying_key(&key.vk));
    let mut random = StdRng::seed_from_u64(seed ^ 1);
    let mut one = || {
        let input: Input<E::ScalarField> = input(shape, &mut random);
        let public = input.circuit.public();
        let stages = Stages::new(&key, &input).map_err(|error| error.to_string())?;
        let folded = fold(&verifying, &public);
        let looped = miller_loop(&verifying, &stages.proof, folded);
        Ok(Case { key: key.clone(), verifying: verifying.clone(), input, public, stages, folded, looped })
    };
    (0..n).map(|_| one()).collect()
}

#[inline(never)]
fn fold<E: Pairing>(key: &PreparedVerifyingKey<E>, public: &[E::ScalarField]) -> E::G1 {
    ark_groth16::Groth16::<E>::prepare_inputs(key, public).unwrap_or_default()
}

#[inline(never)]
fn miller_loop<E: Pairing>(
    key: &PreparedVerifyingKey<E>,
    proof: &Proof<E>,
    folded: E::G1,
) -> ark_ec::pairing::MillerLoopOutput<E> {
    use ark_ec::CurveGroup;
    E::multi_miller_loop(
        [E::G1Prepared::from(proof.a), folded.into_affine().into(), proof.c.into()],
        [E::G2Prepared::from(proof.b), key.gamma_g2_neg_pc.clone(), key.delta_g2_neg_pc.clone()],
    )
}

impl<E: Pairing> Case<E> {
    /// Runs a step; whether it made what it should.
    fn run(&self, step: Step) -> bool {
        match step {
            Step::Prove => prove(&*self.key, self.input.clone()).is_some_and(|proof| proof == self.stages.proof),
            Step::Verify => verify(&*self.verifying, &self.stages.proof, &self.public),
            Step::Phase(phase) => self.stages.run(phase, &self.key),
            Step::PrepareInputs => fold(&self.verifying, &self.public) == self.folded,
            Step::MillerLoop3 => miller_loop(&self.verifying, &self.stages.proof, self.folded).0 == self.looped.0,
            Step::FinalExponentiation => E::final_exponentiation(self.looped).is_some(),
        }
    }
}

/// Explains `groth16/prove/…` and `groth16/verify/…`, by parts and then by field operations; `None` for any other row.
pub fn explain(
    row: &str,
    plan: &Plan,
    progress: &mut dyn FnMut(f64),
) -> Option<Result<Vec<Explanation>, WorkloadError>> {
    let (operation, shape) = row.strip_prefix("groth16/")?.split_once('/')?;
    let shape = Shape::ALL.into_iter().find(|one| one.name() == shape)?;
    let (whole, parts) = match operation {
        "prove" => (Step::Prove, Phase::OF_PROOF.map(Step::Phase).to_vec()),
        "verify" => (Step::Verify, vec![Step::PrepareInputs, Step::MillerLoop3, Step::FinalExponentiation]),
        _ => return None,
    };
    Some(by_parts(row, shape, whole, &parts, plan, progress))
}

fn by_parts(
    row: &str,
    shape: Shape,
    whole: Step,
    parts: &[Step],
    plan: &Plan,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Explanation>, WorkloadError> {
    let error = |message: String| WorkloadError { workload: row.to_owned(), message };
    let counted = cases::<CountingBn254>(shape, plan.seed, COUNTED).map_err(error)?;
    let ops: Vec<Ops> =
        std::iter::once(whole).chain(parts.iter().copied()).map(|step| mean_ops(&counted, step)).collect();
    drop(counted);
    let cases = Rc::new(RefCell::new(cases::<Bn254>(shape, plan.seed, INPUTS).map_err(error)?));
    let timings = Rc::new(Cell::new(0));
    let mut arms: Vec<Arm<'static>> = Vec::new();
    for step in std::iter::once(whole).chain(parts.iter().copied()) {
        let (cases, timings, row) = (cases.clone(), timings.clone(), row.to_owned());
        arms.push(Box::new(move |_| {
            let cases = cases.borrow();
            // Each timing takes the next input: see `interleave`.
            let case = &cases[timings.replace(timings.get() + 1) % cases.len()];
            let start = thread_cpu_ns();
            let right = case.run(step);
            let time = (thread_cpu_ns() - start) as f64;
            let message = || format!("{} made something else", step.name());
            if right { Ok(time) } else { Err(WorkloadError { workload: row.clone(), message: message() }) }
        }));
    }
    let first_cost = arms.len();
    field_arms::<Fq>(&mut arms);
    field_arms::<Fr>(&mut arms);
    let samples = interleave(&mut arms, plan, progress)?;
    Ok(vec![explanation(row, &samples, parts, &ops, first_cost), by_fields(row, &samples, &ops[0], first_cost)])
}

/// Inputs that are counted.
const COUNTED: usize = 8;

fn mean_ops(cases: &[Case<CountingBn254>], step: Step) -> Ops {
    let all: Vec<Ops> = cases.iter().map(|case| count(|| case.run(step)).1).collect();
    let mean = |field: fn(&Ops) -> &FieldOps| FieldOps::mean(all.iter().map(field));
    Ops { base: mean(|ops| &ops.base), scalar: mean(|ops| &ops.scalar) }
}

fn explanation(row: &str, samples: &Samples, parts: &[Step], ops: &[Ops], first_cost: usize) -> Explanation {
    let primitives = parts
        .iter()
        .enumerate()
        .map(|(i, step)| Explained {
            primitive: step.name().to_owned(),
            count: 1.0,
            unit_cost_ns: Some(samples.of(i + 1)),
            predicted_ns: Some(samples.of(i + 1)),
            ..Explained::default()
        })
        .collect();
    let each: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(i, step)| {
            let measured = samples.of(i + 1).point;
            let predicted =
                Surroundings::ALL.map(|at| priced(samples, &terms(first_cost, &ops[i + 1], |_| at)).point / measured);
            let low = predicted.into_iter().fold(f64::INFINITY, f64::min);
            let high = predicted.into_iter().fold(0.0, f64::max);
            format!("{} {} to {}", step.name(), Share(low), Share(high))
        })
        .collect();
    let warning = Warning {
        code: "below-the-parts".to_owned(),
        message: format!(
            "field operations, from the least to the greatest of their costs, predict of each part: {}",
            each.join(", ")
        ),
        remedy: "trust the parts; the smaller a multiscalar multiplication, the more of it is bookkeeping".to_owned(),
    };
    known(row.to_owned(), samples, primitives, vec![warning])
}

/// The second level: the whole by field operations, priced by [`rule`].
fn by_fields(row: &str, samples: &Samples, ops: &Ops, first_cost: usize) -> Explanation {
    let mut primitives = Vec::new();
    for (field, name) in ["fq", "fr"].into_iter().enumerate() {
        let ops = if field == 0 { ops.base } else { ops.scalar };
        for (operation, (operation_name, count)) in ops.by_name().into_iter().enumerate() {
            if count == 0 {
                continue;
            }
            let costs = Surroundings::ALL
                .map(|at| priced(samples, &cost_terms(first_cost, field, operation, at, 1.0)))
                .map(|cost| cost.point);
            let by_rule = |count| priced(samples, &cost_terms(first_cost, field, operation, rule(operation), count));
            primitives.push(Explained {
                primitive: format!("{name}_{operation_name}"),
                count: count as f64,
                unit_cost_ns: Some(by_rule(1.0)),
                cost_band_ns: Some((
                    costs.into_iter().fold(f64::INFINITY, f64::min),
                    costs.into_iter().fold(0.0, f64::max),
                )),
                predicted_ns: Some(by_rule(count as f64)),
                ..Explained::default()
            });
        }
    }
    let time = samples.of(0).point;
    let alone = Surroundings::ALL.map(|at| (at.name(), priced(samples, &terms(first_cost, ops, |_| at)).point / time));
    let off_by = |share: f64| share.ln().abs();
    let nearest = alone.iter().min_by(|a, b| off_by(a.1).total_cmp(&off_by(b.1))).map_or("", |(name, _)| name);
    let each: Vec<String> = alone.iter().map(|(name, share)| format!("{name} {}", Share(*share))).collect();
    let warning = Warning {
        code: "cost-band".to_owned(),
        message: format!(
            "one kind of cost for all would predict, of {}: {}; nearest: {nearest}",
            Nanos(time),
            each.join(", ")
        ),
        remedy:
            "copies, comparisons, memory and branches that depend on data are in no field operation: trust the parts"
                .to_owned(),
    };
    known(format!("{row}, by field operations"), samples, primitives, vec![warning])
}

fn known(operation: String, samples: &Samples, primitives: Vec<Explained>, warnings: Vec<Warning>) -> Explanation {
    Explanation {
        operation,
        time_ns: Some(samples.of(0)),
        primitives,
        dose_all_ns: None,
        replay_all_ns: None,
        causal_valid: true,
        warnings,
    }
}

/// What surrounds the operation whose cost is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surroundings {
    /// Many independent values.
    Throughput,
    /// One value that feeds itself.
    Chained,
    /// One value, multiplied before each: what the operation adds to that multiplication.
    AfterMultiply,
}

impl Surroundings {
    const ALL: [Self; 3] = [Self::Throughput, Self::Chained, Self::AfterMultiply];

    fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Chained => "chained",
            Self::AfterMultiply => "after multiply",
        }
    }
}

/// The surroundings whose cost predicts an operation: sums stand between multiplications in curve formulas and hide
/// behind them; an inversion waits for itself; multiplications overlap.
fn rule(operation: usize) -> Surroundings {
    match FieldOps::default().by_name()[operation].0 {
        "add" | "sub" | "double" | "neg" => Surroundings::AfterMultiply,
        "invert" => Surroundings::Chained,
        _ => Surroundings::Throughput,
    }
}

/// The arms and factors that price all operations, each in the surroundings named for it.
fn terms(first_cost: usize, ops: &Ops, at: impl Fn(usize) -> Surroundings) -> Vec<(usize, f64)> {
    let fields = [&ops.base, &ops.scalar].into_iter().enumerate();
    let of_field = |(field, ops): (usize, &FieldOps)| {
        let counts = ops.by_name().into_iter().enumerate();
        counts
            .flat_map(|(operation, (_, count))| cost_terms(first_cost, field, operation, at(operation), count as f64))
            .collect::<Vec<_>>()
    };
    fields.flat_map(of_field).collect()
}

/// The conversion's place in [`FieldOps::by_name`].
const CONVERT: usize = FieldOps::NAMES - 1;

/// The arm of a cost, and the multiplication that is to be taken off it.
fn cost_terms(first: usize, field: usize, operation: usize, at: Surroundings, count: f64) -> Vec<(usize, f64)> {
    let arm = |operation: usize, at: Surroundings| {
        first + (field * FieldOps::NAMES + operation) * Surroundings::ALL.len() + at as usize
    };
    // The first operation is the multiplication itself.
    match (operation, at) {
        (0, Surroundings::AfterMultiply) => vec![(arm(0, Surroundings::Chained), count)],
        // A conversion is timed there and back, so that no half of it alone stands after a multiplication.
        (CONVERT, Surroundings::AfterMultiply) => vec![(arm(CONVERT, Surroundings::Chained), count)],
        (_, Surroundings::AfterMultiply) => vec![(arm(operation, at), count), (arm(0, Surroundings::Chained), -count)],
        _ => vec![(arm(operation, at), count)],
    }
}

fn priced(samples: &Samples, terms: &[(usize, f64)]) -> Estimate {
    let arms: Vec<_> = terms.iter().map(|(arm, _)| *arm).collect();
    samples.combine(&arms, |times| times.iter().zip(terms).map(|(time, (_, count))| time * count).sum())
}

/// An arm for each operation in each of its surroundings, in the order of [`FieldOps::by_name`].
fn field_arms<F: PrimeField>(arms: &mut Vec<Arm<'static>>) {
    add_arms::<F>(arms, |x, y| *x *= y);
    add_arms::<F>(arms, |x, _| {
        x.square_in_place();
    });
    add_arms::<F>(arms, |x, y| *x = F::sum_of_products(&[*x, *y], &[*y, *x]));
    add_arms::<F>(arms, |x, y| *x += y);
    add_arms::<F>(arms, |x, y| *x -= y);
    add_arms::<F>(arms, |x, _| {
        x.double_in_place();
    });
    add_arms::<F>(arms, |x, _| {
        x.neg_in_place();
    });
    add_arms::<F>(arms, |x, y| *x = x.inverse().unwrap_or(*y));
    // There and back is two conversions; the halves cost about the same.
    add_arms::<F>(arms, |x, y| *x = F::from_bigint(x.into_bigint()).unwrap_or(*y));
    let at = arms.len() - Surroundings::ALL.len();
    let both = arms.split_off(at);
    arms.extend(both.into_iter().map(|mut both| -> Arm<'static> { Box::new(move |round| Ok(both(round)? / 2.0)) }));
}

/// Operations in one timing.
const OPERATIONS: usize = 256;

fn add_arms<F: PrimeField>(arms: &mut Vec<Arm<'static>>, step: impl Fn(&mut F, &F) + Copy + 'static) {
    let mut random = StdRng::seed_from_u64(11);
    let mut values: Vec<(F, F)> = (0..OPERATIONS).map(|_| (F::rand(&mut random), F::rand(&mut random))).collect();
    let others: Vec<F> = values.iter().map(|(_, other)| *other).collect();
    arms.push(Box::new(move |_| {
        let start = thread_cpu_ns();
        for (x, y) in &mut values {
            step(x, y);
        }
        std::hint::black_box(&values);
        Ok((thread_cpu_ns() - start) as f64 / OPERATIONS as f64)
    }));
    let first = F::rand(&mut random);
    arms.push(chain(first, others.clone(), step));
    arms.push(chain(first, others, move |x, y| {
        *x *= y;
        step(x, y);
    }));
}

/// An arm that times a chain: every step on the value that the one before left.
fn chain<F: PrimeField>(mut value: F, others: Vec<F>, step: impl Fn(&mut F, &F) + 'static) -> Arm<'static> {
    Box::new(move |_| {
        let start = thread_cpu_ns();
        for y in &others {
            step(&mut value, y);
        }
        std::hint::black_box(&value);
        Ok((thread_cpu_ns() - start) as f64 / OPERATIONS as f64)
    })
}
