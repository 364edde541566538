//! Both libraries against all vectors of BIP-340, batches against forgeries, caches against the plain call.

use k256::Scalar;
use k256::elliptic_curve::PrimeField;

use super::workloads::signatures;
use super::*;

struct Vector {
    index: String,
    secret: Option<[u8; 32]>,
    public: [u8; 32],
    auxiliary: Option<[u8; 32]>,
    message: Vec<u8>,
    signature: [u8; 64],
    valid: bool,
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn vectors() -> Vec<Vector> {
    include_str!("bip340.csv")
        .lines()
        .skip(1)
        .map(|line| {
            let field: Vec<_> = line.splitn(8, ',').collect();
            Vector {
                index: field[0].to_owned(),
                secret: hex(field[1]).try_into().ok(),
                public: hex(field[2]).try_into().unwrap(),
                auxiliary: hex(field[3]).try_into().ok(),
                message: hex(field[4]),
                signature: hex(field[5]).try_into().unwrap(),
                valid: field[6] == "TRUE",
            }
        })
        .collect()
}

fn meets_bip_340<L: Library>() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 19);
    for vector in vectors {
        if let (Some(secret), Some(auxiliary)) = (&vector.secret, &vector.auxiliary) {
            let key = L::create(secret).unwrap();
            assert_eq!(L::x_only(&key), vector.public, "key of vector {}", vector.index);
            assert_eq!(L::sign(&key, &vector.message, auxiliary), vector.signature, "vector {}", vector.index);
        }
        let verdict = L::verify(&vector.public, &vector.message, &vector.signature);
        assert_eq!(verdict, vector.valid, "vector {}", vector.index);
    }
}

#[test]
fn k256_meets_bip_340() {
    meets_bip_340::<K256>();
}

#[cfg(feature = "secp256k1-c")]
#[test]
fn the_c_library_meets_bip_340() {
    meets_bip_340::<C>();
}

#[cfg(feature = "secp256k1-c")]
#[test]
fn both_libraries_share_the_same_secret() {
    let inputs = signatures(5, 40);
    for pair in inputs.windows(2) {
        let shared = |one: &[u8; 32], other: &[u8; 32]| {
            let rust = K256::diffie_hellman(&K256::create(one).unwrap(), &K256::lift_x(other).unwrap());
            let c = C::diffie_hellman(&C::create(one).unwrap(), &C::lift_x(other).unwrap());
            assert_eq!(rust, c);
            rust
        };
        assert_eq!(shared(&pair[0].secret, &pair[1].public), shared(&pair[1].secret, &pair[0].public));
    }
}

/// Batches and tables give the single verdict on every vector.
#[test]
fn batches_and_tables_agree_with_single_verification() {
    for vector in vectors() {
        let claim = Claim { message: &vector.message, signature: &vector.signature };
        assert_eq!(verify_batch(&vector.public, &[claim]), vector.valid, "vector {}", vector.index);
        assert_eq!(verify_batch_unsound(&vector.public, &[claim]), vector.valid, "vector {}", vector.index);
        if let Some(key) = K256::lift_x(&vector.public) {
            let verdict = KeyTable::new(&key).verify(&vector.message, &vector.signature);
            assert_eq!(verdict, vector.valid, "vector {}", vector.index);
        }
    }
}

/// A message and its signature.
type Message = ([u8; 32], [u8; 64]);

/// `n` signatures by one key.
fn by_one_key(n: u8) -> ([u8; 32], Vec<Message>) {
    let key = K256::create(&[7; 32]).unwrap();
    let signed = (0..n).map(|i| ([i; 32], K256::sign(&key, &[i; 32], &[i; 32]))).collect();
    (K256::x_only(&key), signed)
}

fn claims(signed: &[Message]) -> Vec<Claim<'_>> {
    signed.iter().map(|(message, signature)| Claim { message, signature }).collect()
}

fn shift_s(signature: &mut [u8; 64], delta: Scalar) {
    let s: [u8; 32] = signature[32..].try_into().unwrap();
    let shifted = Scalar::from_repr(s.into()).unwrap() + delta;
    signature[32..].copy_from_slice(&shifted.to_repr());
}

#[test]
fn the_plain_sum_accepts_two_forgeries_that_the_weighted_sum_rejects() {
    let (public, mut signed) = by_one_key(4);
    assert!(verify_batch(&public, &claims(&signed)) && verify_batch_unsound(&public, &claims(&signed)));
    let delta = Scalar::from(12_345u64);
    shift_s(&mut signed[0].1, delta);
    shift_s(&mut signed[2].1, -delta);
    for forged in [0, 2] {
        assert!(!K256::verify(&public, &signed[forged].0, &signed[forged].1), "each is invalid alone");
    }
    assert!(verify_batch_unsound(&public, &claims(&signed)), "and the plain sum accepts both together");
    assert!(!verify_batch(&public, &claims(&signed)), "the weights tell them apart");
}

#[test]
fn one_bad_signature_spoils_the_batch() {
    for n in [1, 2, 9] {
        for bad in 0..n {
            let (public, mut signed) = by_one_key(n as u8);
            signed[bad].1[63] ^= 1;
            assert!(!verify_batch(&public, &claims(&signed)), "{bad} of {n}");
            let (public, mut signed) = by_one_key(n as u8);
            signed[bad].0[0] ^= 1;
            assert!(!verify_batch(&public, &claims(&signed)), "{bad} of {n}");
        }
    }
}

#[test]
fn caches_remember_and_forget() {
    let inputs = signatures(3, 3);
    let mut keys = Keys::<KeyTable>::new(2);
    for signed in &inputs {
        assert!(keys.verify(&signed.public, &signed.message, &signed.signature));
        assert!(!keys.verify(&signed.public, &signed.auxiliary, &signed.signature));
        assert!(keys.contains(&signed.public));
    }
    assert!(!keys.contains(&inputs[0].public), "the oldest made room");
    assert!(!keys.verify(&[0xff; 32], &[], &[0; 64]), "no such key");
}

#[test]
fn every_row_runs_and_checks_its_outputs() {
    for workload in all().into_iter().chain(families().iter().map(|family| family.member(3))) {
        let mut fixture = workload.fixture(3).unwrap();
        fixture.load(0..3).unwrap();
        fixture.run();
        fixture.unload().unwrap();
    }
}

/// The counted operations against the formulas of k256 (Renes, Costello and Batina 2016, algorithms 7 and 9): an
/// addition takes 12 multiplications and 3 small ones, a doubling 6, 2 squarings and 2 small ones.
#[test]
fn counts_add_up_to_the_formulas() {
    let table = include_str!("counts.tsv");
    for operation in ["create", "sign", "lift_x", "verify_lifted", "ecdh"] {
        let mean = |what: &str| {
            let rows = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
            let mut of_operation = rows.filter(|row| row.len() == 5 && row[0] == operation);
            of_operation.find(|row| row[1] == what).map_or(0.0, |row| row[2].parse::<f64>().unwrap())
        };
        let (add, double) = (mean("point add"), mean("point double"));
        let roots = if operation == "lift_x" { 1.0 } else { 0.0 };
        let besides = mean("field mul") - 12.0 * add - 6.0 * double;
        assert!((1.0..=16.0).contains(&besides), "{operation}: {besides} multiplications besides");
        assert!((mean("field small mul") - 3.0 * add - 2.0 * double).abs() < 1e-6, "{operation}");
        let squares = mean("field square") - 2.0 * double - 253.0 * roots;
        assert!(squares.abs() < 1e-6, "{operation}: {squares} squarings besides");
    }
}
