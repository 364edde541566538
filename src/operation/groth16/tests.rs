//! The phases against the library, the circuits against their published sizes, the counting curve against BN254.

use ark_bn254::{Bn254, Fr};
use ark_ec::pairing::Pairing;
use ark_ff::PrimeField;
use ark_poly::{EvaluationDomain, GeneralEvaluationDomain};
use ark_std::rand::SeedableRng;
use ark_std::rand::rngs::StdRng;

use super::counting::{self, CountingBn254, count};
use super::workloads::{input, keys, prepare, prove, verify};
use super::*;

#[test]
fn circuits_have_the_published_sizes() {
    for shape in Shape::ALL {
        let input = input::<Fr>(shape, &mut StdRng::seed_from_u64(1));
        let [constraints, public, witnesses] = assign(input.circuit).unwrap().sizes();
        let domain = GeneralEvaluationDomain::<Fr>::new(constraints + public).unwrap().size();
        assert_eq!([constraints, public, witnesses, domain], shape.sizes(), "{}", shape.name());
    }
}

#[test]
fn the_phases_make_the_librarys_proof() {
    for shape in Shape::ALL {
        let prepared = prepare(shape, 3).unwrap();
        for input in &prepared.inputs[..4] {
            let library = prove(&prepared.key, input.clone()).unwrap();
            let ours = Stages::new(&prepared.key, input).unwrap().proof;
            assert_eq!(ours, library);
            let mut public = input.circuit.public();
            assert!(verify(&prepared.verifying, &library, &public));
            public[0] += Fr::from(1u64);
            assert!(!verify(&prepared.verifying, &library, &public), "a false statement");
        }
    }
}

#[test]
fn the_counting_curve_makes_the_same_proof() {
    let shape = Shape::Generated24;
    let (key, counting_key) = (keys::<Bn254>(shape, 5).unwrap(), keys::<CountingBn254>(shape, 5).unwrap());
    let one = input::<Fr>(shape, &mut StdRng::seed_from_u64(6));
    let counted = input::<counting::Fr>(shape, &mut StdRng::seed_from_u64(6));
    let expected = prove(&key, one).unwrap();
    let public = counted.circuit.public();
    let (proof, ops) = count(|| prove(&counting_key, counted).unwrap());
    assert_eq!(proof.a.x.into_bigint(), expected.a.x.into_bigint());
    assert_eq!(proof.c.y.into_bigint(), expected.c.y.into_bigint());
    assert_eq!(proof.b.x.c1.into_bigint(), expected.b.x.c1.into_bigint());
    assert!(ops.base.mul > 10_000 && ops.scalar.mul > 100, "{ops:?}");
    let prepared = ark_groth16::prepare_verifying_key(&counting_key.vk);
    assert!(verify(&prepared, &proof, &public));
}

#[test]
fn the_counting_pairing_is_bilinear_and_counts_the_same_for_every_input() {
    use ark_std::UniformRand;
    let mut random = StdRng::seed_from_u64(7);
    let pair = |random: &mut StdRng| {
        let p = <CountingBn254 as Pairing>::G1::rand(random);
        let q = <CountingBn254 as Pairing>::G2::rand(random);
        (p, q)
    };
    let ((p, q), (u, v)) = (pair(&mut random), pair(&mut random));
    let k = counting::Fr::rand(&mut random);
    let (first, ops) = count(|| CountingBn254::pairing(p * k, q));
    assert_eq!(first, CountingBn254::pairing(p, q * k));
    let (_, others) = count(|| CountingBn254::pairing(u * k, v));
    let near = |a: u64, b: u64| a.abs_diff(b) * 20 < a;
    assert!(near(ops.base.mul, others.base.mul) && near(ops.base.add, others.base.add), "{ops:?} {others:?}");
}

#[test]
fn every_row_runs_and_checks_its_outputs() {
    for workload in all().into_iter().chain(families().iter().map(|family| family.member(5))) {
        let mut fixture = workload.fixture(3).unwrap();
        fixture.load(0..1).unwrap();
        fixture.run();
        fixture.unload().unwrap();
    }
}
