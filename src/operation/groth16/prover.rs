//! A Groth16 proof phase by phase, each phase a function of its own. For the same randomness the phases make the
//! proof that the library makes.

use ark_ec::pairing::Pairing;
use ark_ec::{CurveGroup, VariableBaseMSM};
use ark_ff::{PrimeField, Zero};
use ark_groth16::r1cs_to_qap::{LibsnarkReduction, R1CSToQAP};
use ark_groth16::{Proof, ProvingKey};
use ark_poly::GeneralEvaluationDomain;
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystem, Matrix, OptimizationGoal, R1CS_PREDICATE_LABEL, Result, SynthesisError,
    SynthesisMode,
};

use super::Circuit;

/// A circuit's matrices and the values of its variables: the constant, public inputs, witnesses.
#[derive(Clone, Debug)]
pub struct Assignment<F: PrimeField> {
    matrices: Vec<Matrix<F>>,
    public: usize,
    constraints: usize,
    values: Vec<F>,
}

impl<F: PrimeField> Assignment<F> {
    /// The values after the constant, as integers: what A and B are multiplied by.
    pub fn scalars(&self) -> Vec<F::BigInt> {
        self.values[1..].iter().map(|value| value.into_bigint()).collect()
    }

    /// The witnesses as integers: what L is multiplied by.
    pub fn witnesses(&self) -> Vec<F::BigInt> {
        self.values[self.public..].iter().map(|value| value.into_bigint()).collect()
    }

    /// Constraints, public inputs with the constant, witnesses.
    pub fn sizes(&self) -> [usize; 3] {
        [self.constraints, self.public, self.values.len() - self.public]
    }
}

/// Phase 1: runs the circuit.
#[inline(never)]
pub fn assign<F: PrimeField>(circuit: Circuit<F>) -> Result<Assignment<F>> {
    let cs = ConstraintSystem::new_ref();
    cs.set_optimization_goal(OptimizationGoal::Constraints);
    cs.set_mode(SynthesisMode::Prove { construct_matrices: true, generate_lc_assignments: false });
    circuit.generate_constraints(cs.clone())?;
    cs.finalize();
    let matrices = cs.to_matrices()?.remove(R1CS_PREDICATE_LABEL).ok_or(SynthesisError::PredicateNotFound)?;
    let values = [cs.instance_assignment()?, cs.witness_assignment()?].concat();
    Ok(Assignment { matrices, public: cs.num_instance_variables(), constraints: cs.num_constraints(), values })
}

/// Phase 2: the coefficients of h = (a·b − c) ÷ z, by seven Fourier transforms.
#[inline(never)]
pub fn compute_h<F: PrimeField>(of: &Assignment<F>) -> Result<Vec<F>> {
    LibsnarkReduction::witness_map_from_matrices::<F, GeneralEvaluationDomain<F>>(
        &of.matrices,
        of.public,
        of.constraints,
        &of.values,
    )
}

/// Phases 3 to 7: a multiscalar multiplication (A and B in G1, B in G2, H, L).
#[inline(never)]
pub fn msm<G: VariableBaseMSM>(bases: &[G::MulBase], scalars: &[<G::ScalarField as PrimeField>::BigInt]) -> G {
    G::msm_bigint(bases, scalars)
}

/// Phase 8: r·δ and s·δ in G1, s·δ in G2, r·s·δ in G1.
#[inline(never)]
pub fn blinding<E: Pairing>(key: &ProvingKey<E>, r: E::ScalarField, s: E::ScalarField) -> (E::G1, E::G1, E::G2, E::G1) {
    (key.delta_g1 * r, key.delta_g1 * s, key.vk.delta_g2 * s, key.delta_g1 * (r * s))
}

/// What the multiscalar multiplications and the blinding leave to be combined.
#[derive(Clone, Copy, Debug)]
pub struct Parts<E: Pairing> {
    /// A in G1.
    pub a: E::G1,
    /// B in G1.
    pub b1: E::G1,
    /// B in G2.
    pub b2: E::G2,
    /// H in G1.
    pub h: E::G1,
    /// L in G1.
    pub l: E::G1,
    /// [`blinding`].
    pub blinding: (E::G1, E::G1, E::G2, E::G1),
}

/// Phase 9: adds up, multiplies A by s and B by r, and brings the three points to affine form.
#[inline(never)]
pub fn final_c<E: Pairing>(key: &ProvingKey<E>, parts: &Parts<E>, r: E::ScalarField, s: E::ScalarField) -> Proof<E> {
    let (r_delta, s_delta, s_delta_g2, rs_delta) = parts.blinding;
    let a = r_delta + key.a_query[0] + parts.a + key.vk.alpha_g1;
    let b1 = if r.is_zero() { E::G1::zero() } else { s_delta + key.b_g1_query[0] + parts.b1 + key.beta_g1 };
    let b2 = s_delta_g2 + key.b_g2_query[0] + parts.b2 + key.vk.beta_g2;
    let c = a * s + b1 * r - rs_delta + parts.l + parts.h;
    Proof { a: a.into_affine(), b: b2.into_affine(), c: c.into_affine() }
}

/// A circuit with its values, and the randomness of its proof.
#[derive(Clone, Debug)]
pub struct Input<F> {
    /// The circuit.
    pub circuit: Circuit<F>,
    /// Blinds A.
    pub r: F,
    /// Blinds B.
    pub s: F,
}

/// A part of the prover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// [`assign`].
    Assign,
    /// [`compute_h`].
    ComputeH,
    /// A in G1.
    MsmA,
    /// B in G1.
    MsmB1,
    /// B in G2.
    MsmB2,
    /// H.
    MsmH,
    /// L.
    MsmL,
    /// H and L in one multiplication, as others do it; no part of this prover.
    MsmHL,
    /// [`blinding`].
    Blinding,
    /// [`final_c`].
    FinalC,
}

impl Phase {
    /// The phases of a proof, in order.
    pub const OF_PROOF: [Self; 9] = [
        Self::Assign,
        Self::ComputeH,
        Self::MsmA,
        Self::MsmB1,
        Self::MsmB2,
        Self::MsmH,
        Self::MsmL,
        Self::Blinding,
        Self::FinalC,
    ];

    /// Name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assign => "assign",
            Self::ComputeH => "compute_h",
            Self::MsmA => "msm_a",
            Self::MsmB1 => "msm_b1",
            Self::MsmB2 => "msm_b2",
            Self::MsmH => "msm_h",
            Self::MsmL => "msm_l",
            Self::MsmHL => "msm_h_l",
            Self::Blinding => "blinding",
            Self::FinalC => "final_c",
        }
    }
}

/// What every phase of one proof starts from and what it makes.
#[derive(Clone, Debug)]
pub struct Stages<E: Pairing> {
    input: Input<E::ScalarField>,
    assignment: Assignment<E::ScalarField>,
    scalars: Vec<<E::ScalarField as PrimeField>::BigInt>,
    witnesses: Vec<<E::ScalarField as PrimeField>::BigInt>,
    h: Vec<E::ScalarField>,
    h_scalars: Vec<<E::ScalarField as PrimeField>::BigInt>,
    parts: Parts<E>,
    /// The proof.
    pub proof: Proof<E>,
}

impl<E: Pairing> Stages<E> {
    /// Runs all phases in order.
    ///
    /// # Errors
    ///
    /// Where the circuit cannot be run.
    pub fn new(key: &ProvingKey<E>, input: &Input<E::ScalarField>) -> Result<Self> {
        let assignment = assign(input.circuit.clone())?;
        let h = compute_h(&assignment)?;
        let h_scalars: Vec<_> = h.iter().map(|value| value.into_bigint()).collect();
        let (scalars, witnesses) = (assignment.scalars(), assignment.witnesses());
        let parts = Parts {
            a: msm::<E::G1>(&key.a_query[1..], &scalars),
            b1: msm::<E::G1>(&key.b_g1_query[1..], &scalars),
            b2: msm::<E::G2>(&key.b_g2_query[1..], &scalars),
            h: msm::<E::G1>(&key.h_query, &h_scalars),
            l: msm::<E::G1>(&key.l_query, &witnesses),
            blinding: blinding(key, input.r, input.s),
        };
        let proof = final_c(key, &parts, input.r, input.s);
        Ok(Self { input: input.clone(), assignment, scalars, witnesses, h, h_scalars, parts, proof })
    }

    /// Runs one phase again; whether it made the same.
    pub fn run(&self, phase: Phase, key: &ProvingKey<E>) -> bool {
        let Input { circuit, r, s } = &self.input;
        match phase {
            Phase::Assign => assign(circuit.clone()).is_ok_and(|again| again.values == self.assignment.values),
            Phase::ComputeH => compute_h(&self.assignment).is_ok_and(|h| h == self.h),
            Phase::MsmA => msm::<E::G1>(&key.a_query[1..], &self.scalars) == self.parts.a,
            Phase::MsmB1 => msm::<E::G1>(&key.b_g1_query[1..], &self.scalars) == self.parts.b1,
            Phase::MsmB2 => msm::<E::G2>(&key.b_g2_query[1..], &self.scalars) == self.parts.b2,
            Phase::MsmH => msm::<E::G1>(&key.h_query, &self.h_scalars) == self.parts.h,
            Phase::MsmL => msm::<E::G1>(&key.l_query, &self.witnesses) == self.parts.l,
            Phase::MsmHL => {
                let bases = [&key.h_query[..], &key.l_query].concat();
                // H has one coefficient more than its key has points: the highest is always zero.
                let scalars = [&self.h_scalars[..key.h_query.len()], &self.witnesses].concat();
                msm::<E::G1>(&bases, &scalars) == self.parts.h + self.parts.l
            }
            Phase::Blinding => blinding(key, *r, *s) == self.parts.blinding,
            Phase::FinalC => final_c(key, &self.parts, *r, *s) == self.proof,
        }
    }
}
