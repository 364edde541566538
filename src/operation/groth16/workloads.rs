//! The rows: setup, proofs, verification, the prover's phases, multiscalar and scalar multiplications, the pairing.

use std::sync::Arc;

use ark_bn254::{Bn254, Fr, G1Affine, G1Projective, G2Affine, G2Projective};
use ark_ec::pairing::{MillerLoopOutput, Pairing};
use ark_ec::scalar_mul::glv::GLVConfig;
use ark_ec::{CurveGroup, PrimeGroup, VariableBaseMSM};
use ark_ff::{BigInteger, BitIteratorBE, PrimeField, UniformRand};
use ark_groth16::{Groth16, PreparedVerifyingKey, Proof, ProvingKey, prepare_verifying_key};
use ark_serialize::CanonicalSerialize;
use ark_std::rand::rngs::StdRng;
use ark_std::rand::{RngCore, SeedableRng};

use super::pairing::{easy, hard};
use super::prover::msm;
use super::{Circuit, Input, Phase, Shape, Stages};
use crate::workload::{Digest, Family, Kind, Workload};

/// Distinct inputs a row.
pub(super) const INPUTS: usize = 64;
const IMPLEMENTATION: &str = "ark-groth16 0.6, single-threaded";

/// Every row of the family.
pub fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    for shape in Shape::ALL {
        all.extend([setup_row(shape), prove_row(shape), verify_row(shape)]);
        all.extend(phase_rows(shape));
    }
    for bits in [32, 64, 128, 192, 254] {
        all.push(scalar_mul_row("scalar_mul_g1", bits, double_and_add::<G1Projective>));
        all.push(scalar_mul_row("scalar_mul_g1_glv", bits, ark_bn254::g1::Config::glv_mul_projective));
        all.push(scalar_mul_row("scalar_mul_g2", bits, double_and_add::<G2Projective>));
        all.push(scalar_mul_row("scalar_mul_g2_glv", bits, ark_bn254::g2::Config::glv_mul_projective));
    }
    all.extend(pairing_rows());
    all.into_iter().map(ours).collect()
}

/// Multiscalar multiplications, of any size.
pub fn families() -> Vec<Family> {
    let family = |name: &'static str, build: fn(&str, usize) -> Workload| {
        Family::new(&format!("groth16/{name}"), &[4, 16, 64, 256, 1024], move |n| ours(build(name, n as usize)))
            .at_most(1_000_000, "each point is made at set-up")
    };
    vec![family("msm_g1", msm_row::<G1Projective>), family("msm_g2", msm_row::<G2Projective>)]
}

fn ours(row: Workload) -> Workload {
    row.family("groth16").implementation(IMPLEMENTATION)
}

/// Keys for a circuit, and inputs to prove.
pub(super) struct Prepared {
    pub(super) key: ProvingKey<Bn254>,
    pub(super) verifying: PreparedVerifyingKey<Bn254>,
    pub(super) inputs: Vec<Input<Fr>>,
}

/// Input `i` from a seed, over any field: the same numbers in each.
pub(super) fn input<F: PrimeField>(shape: Shape, random: &mut StdRng) -> Input<F> {
    let circuit = Circuit::random(shape, || random.next_u64());
    Input { circuit, r: F::rand(random), s: F::rand(random) }
}

/// Keys from a seed, over any pairing: the same numbers in each.
pub(super) fn keys<E: Pairing>(shape: Shape, seed: u64) -> Result<ProvingKey<E>, String> {
    let mut random = StdRng::seed_from_u64(seed);
    let Input { circuit, .. } = input(shape, &mut random);
    Groth16::<E>::generate_random_parameters_with_reduction(circuit, &mut random).map_err(|error| error.to_string())
}

pub(super) fn prepare(shape: Shape, seed: u64) -> Result<Prepared, String> {
    let key = keys::<Bn254>(shape, seed)?;
    let mut random = StdRng::seed_from_u64(seed ^ 1);
    let inputs = (0..INPUTS).map(|_| input(shape, &mut random)).collect();
    Ok(Prepared { verifying: prepare_verifying_key(&key.vk), key, inputs })
}

/// The library's whole prover.
#[inline(never)]
pub(super) fn prove<E: Pairing>(key: &ProvingKey<E>, input: Input<E::ScalarField>) -> Option<Proof<E>> {
    Groth16::<E>::create_proof_with_reduction(input.circuit, key, input.r, input.s).ok()
}

/// The library's whole verifier.
#[inline(never)]
pub(super) fn verify<E: Pairing>(key: &PreparedVerifyingKey<E>, proof: &Proof<E>, public: &[E::ScalarField]) -> bool {
    Groth16::<E>::verify_proof(key, proof, public).unwrap_or(false)
}

/// Whether the proof of this input holds, as a digest or an error.
fn proves(prepared: &Prepared, input: &Input<Fr>, proof: &Proof<Bn254>) -> Result<Digest, String> {
    if verify(&prepared.verifying, proof, &input.circuit.public()) {
        digest(proof)
    } else {
        Err("the proof does not hold".to_owned())
    }
}

/// The fingerprint of a value's canonical bytes.
fn digest(value: &impl CanonicalSerialize) -> Result<Digest, String> {
    let mut bytes = Vec::new();
    value.serialize_compressed(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Digest::of(&bytes))
}

/// Where set-up fails the pool is empty, which the workload reports as an error.
fn pool<I>(
    shape: Shape,
    seed: u64,
    make: impl Fn(&Prepared, &Input<Fr>) -> Option<I>,
) -> Vec<(Arc<Prepared>, usize, I)> {
    let Ok(prepared) = prepare(shape, seed) else {
        return Vec::new();
    };
    let prepared = Arc::new(prepared);
    let inputs = prepared.inputs.iter().enumerate();
    inputs.filter_map(|(i, input)| Some((prepared.clone(), i, make(&prepared, input)?))).collect()
}

fn setup_row(shape: Shape) -> Workload {
    Workload::operation(
        &format!("groth16/setup/{}", shape.name()),
        Ok,
        |seed, index| Ok(seed.wrapping_add(index)),
        move |seed| keys::<Bn254>(shape, *seed),
        move |_, _, key| {
            let key = key.as_ref().map_err(Clone::clone)?;
            let input = input::<Fr>(shape, &mut StdRng::seed_from_u64(9));
            let public = input.circuit.public();
            let proof = prove(key, input).ok_or("the circuit cannot be proved")?;
            if verify(&prepare_verifying_key(&key.vk), &proof, &public) {
                digest(&key.vk)
            } else {
                Err("a proof under these keys does not hold".to_owned())
            }
        },
    )
}

fn prove_row(shape: Shape) -> Workload {
    operation(Workload::primitive(
        &format!("groth16/prove/{}", shape.name()),
        move |seed| pool(shape, seed, |_, _| Some(())),
        |(prepared, i, ())| prove(&prepared.key, prepared.inputs[*i].clone()),
        |(prepared, i, ()), proof| {
            proves(prepared, &prepared.inputs[*i], proof.as_ref().ok_or("the circuit cannot be proved")?)
        },
    ))
}

fn verify_row(shape: Shape) -> Workload {
    operation(Workload::primitive(
        &format!("groth16/verify/{}", shape.name()),
        move |seed| {
            pool(shape, seed, |prepared, input| {
                prove(&prepared.key, input.clone()).map(|proof| (proof, input.circuit.public()))
            })
        },
        |(prepared, _, (proof, public)): &(Arc<Prepared>, usize, (Proof<Bn254>, Vec<Fr>))| {
            verify(&prepared.verifying, proof, public)
        },
        |(_, _, (proof, _)), valid| if *valid { digest(proof) } else { Err("a valid proof was refused".to_owned()) },
    ))
}

fn phase_rows(shape: Shape) -> Vec<Workload> {
    let row = |phase: Phase| {
        Workload::primitive(
            &format!("groth16/{}/{}", phase.name(), shape.name()),
            move |seed| pool(shape, seed, |prepared, input| Stages::new(&prepared.key, input).ok()),
            move |(prepared, _, stages)| stages.run(phase, &prepared.key),
            |(_, _, stages), same| {
                if *same { digest(&stages.proof) } else { Err("the phase made something else this time".to_owned()) }
            },
        )
    };
    Phase::OF_PROOF.into_iter().chain([Phase::MsmHL]).map(row).collect()
}

fn msm_row<G: VariableBaseMSM<ScalarField = Fr> + CurveGroup>(name: &str, n: usize) -> Workload {
    // As many scalars in all, whatever n is, but never fewer than four inputs.
    let inputs = (16 * 1024 / n.max(1)).clamp(4, INPUTS);
    Workload::primitive(
        &format!("groth16/{name}/{n}"),
        move |seed| {
            let mut random = StdRng::seed_from_u64(seed);
            let points: Vec<G> = (0..n).map(|_| G::rand(&mut random)).collect();
            let bases: Arc<Vec<G::MulBase>> = Arc::new(points.iter().map(|point| (*point).into()).collect());
            let scalars = |random: &mut StdRng| (0..n).map(|_| Fr::rand(random).into_bigint()).collect::<Vec<_>>();
            (0..inputs).map(|_| (bases.clone(), points.clone(), scalars(&mut random))).collect()
        },
        |(bases, _, scalars)| msm::<G>(bases, scalars),
        |(_, points, scalars), sum| {
            let expected: G = points.iter().zip(scalars).map(|(point, scalar)| point.mul_bigint(scalar)).sum();
            if expected == *sum { digest(&sum.into_affine()) } else { Err("not the sum of the products".to_owned()) }
        },
    )
}

fn scalar_mul_row<G: CurveGroup<ScalarField = Fr>>(name: &str, bits: u32, multiply: fn(G, Fr) -> G) -> Workload {
    Workload::primitive(
        &format!("groth16/{name}/{bits}"),
        move |seed| {
            let mut random = StdRng::seed_from_u64(seed);
            (0..INPUTS).map(|_| (G::rand(&mut random), scalar(bits, &mut random))).collect()
        },
        move |(point, scalar)| multiply(*point, *scalar),
        |(point, scalar), product| {
            if *product == *point * *scalar {
                digest(&product.into_affine())
            } else {
                Err("not the product".to_owned())
            }
        },
    )
}

/// A scalar of exactly this many bits, below the group order.
fn scalar(bits: u32, random: &mut StdRng) -> Fr {
    loop {
        let mut integer = Fr::rand(random).into_bigint();
        integer >>= 254 - bits;
        if integer.num_bits() == bits
            && let Some(scalar) = Fr::from_bigint(integer)
        {
            return scalar;
        }
    }
}

/// Without the endomorphism: a doubling for each bit, an addition for each one among them.
fn double_and_add<G: PrimeGroup<ScalarField = Fr>>(point: G, scalar: Fr) -> G {
    let mut sum = G::zero();
    for bit in BitIteratorBE::without_leading_zeros(scalar.into_bigint()) {
        sum.double_in_place();
        if bit {
            sum += point;
        }
    }
    sum
}

fn pairing_rows() -> Vec<Workload> {
    let points = |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let pair =
            |random: &mut StdRng| (G1Projective::rand(random).into_affine(), G2Projective::rand(random).into_affine());
        (0..INPUTS).map(|_| pair(&mut random)).collect::<Vec<(G1Affine, G2Affine)>>()
    };
    let looped = move |seed| points(seed).into_iter().map(|(p, q)| Bn254::miller_loop(p, q)).collect::<Vec<_>>();
    let row = |name: &str| format!("groth16/{name}");
    vec![
        Workload::primitive(&row("miller_loop"), points, |(p, q)| Bn254::miller_loop(p, q), |_, f| digest(&f.0)),
        Workload::primitive(
            &row("final_exponentiation"),
            looped,
            |f: &MillerLoopOutput<Bn254>| Bn254::final_exponentiation(*f),
            |f, power| {
                let ours = easy(&f.0).map(|easy| hard(&easy));
                match power {
                    Some(power) if ours == Some(power.0) => digest(&power.0),
                    _ => Err("the halves make another power than the whole".to_owned()),
                }
            },
        ),
        Workload::primitive(&row("final_exponentiation_easy"), looped, |f| easy(&f.0), |_, power| digest(power)),
        Workload::primitive(
            &row("final_exponentiation_hard"),
            move |seed| looped(seed).iter().filter_map(|f| easy(&f.0)).collect(),
            hard,
            |_, power| digest(power),
        ),
        Workload::primitive(&row("pairing"), points, |(p, q)| Bn254::pairing(p, q), |_, output| digest(&output.0)),
    ]
}

/// Finished as an operation, although its inputs are only read.
fn operation(mut workload: Workload) -> Workload {
    workload.kind = Kind::Operation;
    workload
}
