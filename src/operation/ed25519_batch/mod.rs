//! Ed25519 signatures verified in batches of N, under distinct keys.
//!
//! `batch_create` hashes and queues, with an entry vector that grows; `batch_create_preallocated` reserves
//! it first. `batch_verify` verifies such a queue, with the cofactor, built here on curve25519-dalek.
//! `batch_verify_dalek` is ed25519-dalek's own function, cofactorless, hashing included, keys already
//! decoded. Messages have 32 bytes.

mod queue;

use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

pub use queue::{Entries, Entry, Signed, create, verify};

use crate::operation::bounded;
use crate::primitive::PrimitiveError;
use crate::primitive::ed25519::{self, Signature, VerifyingKey};
use crate::workload::{Digest, Family, Workload};

/// The batch sizes that are listed.
const LISTED: [u64; 6] = [1, 8, 64, 1024, 4096, 16384];

/// The largest batch: signing it takes half a minute.
const MOST: u64 = 1_000_000;

/// Bytes in a message.
const MESSAGE: usize = 32;

/// More signatures than a batch takes, so that iterations take different ones.
const SPARE: u64 = 63;

pub(super) fn families() -> Vec<Family> {
    let family = |name: &'static str, implementation: &'static str, build: fn(&str, u64) -> Workload| {
        Family::new(name, &LISTED, move |n| {
            build(&format!("{name}/{n}"), n).family("ed25519_batch").implementation(implementation)
        })
        .at_most(MOST, "each signature is made at set-up")
    };
    vec![
        family("batch_create", "sha2 0.11", |name, n| create_workload(name, n, Entries::Growing)),
        family("batch_create_preallocated", "sha2 0.11", |name, n| create_workload(name, n, Entries::Preallocated)),
        family("batch_verify", "curve25519-dalek 5", verify_workload),
        family("batch_verify_dalek", "ed25519-dalek 3", verify_dalek_workload),
    ]
}

/// Signatures under distinct keys.
fn signed(seed: u64, count: u64) -> Vec<Signed> {
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    (0..count)
        .map(|_| {
            let (mut secret, mut message) = ([0; 32], vec![0; MESSAGE]);
            random.fill_bytes(&mut secret);
            random.fill_bytes(&mut message);
            let key = ed25519::keygen(&secret);
            let signature = ed25519::sign(&key, &message);
            Signed { public: key.verifying_key().to_bytes(), message, signature }
        })
        .collect()
}

/// Where an iteration's batch begins.
fn start(index: u64) -> usize {
    (index % (SPARE + 1)) as usize
}

fn create_workload(name: &str, n: u64, entries: Entries) -> Workload {
    type Shared = Arc<Vec<Signed>>;
    Workload::operation(
        name,
        move |seed| Ok(Arc::new(signed(seed, n + SPARE))),
        |shared: &Shared, index| Ok((shared.clone(), start(index))),
        move |(shared, start)| create(&shared[*start..*start + n as usize], entries),
        move |_, _, queue| {
            if queue.len() as u64 != n {
                return Err(format!("{} entries were queued, {n} were expected", queue.len()));
            }
            Ok(queue.iter().fold(Digest::default(), |digest, entry| digest.with(entry.challenge.as_bytes())))
        },
    )
}

fn verify_workload(name: &str, n: u64) -> Workload {
    Workload::operation(
        name,
        move |seed| Ok((seed, create(&signed(seed, n + SPARE), Entries::Preallocated))),
        move |(seed, queue): &(u64, Vec<Entry>), index| {
            let mut random = ChaCha20Rng::seed_from_u64(*seed);
            random.set_stream(1 + index);
            Ok((queue[start(index)..][..n as usize].to_vec(), random))
        },
        |(entries, random)| verify(entries, random),
        accepted,
    )
}

fn verify_dalek_workload(name: &str, n: u64) -> Workload {
    struct Decoded {
        messages: Vec<Vec<u8>>,
        signatures: Vec<Signature>,
        publics: Vec<VerifyingKey>,
    }
    Workload::operation(
        name,
        move |seed| {
            let signed = signed(seed, n + SPARE);
            let decode = |one: &Signed| VerifyingKey::from_bytes(&one.public).map_err(|error| error.to_string());
            Ok(Arc::new(Decoded {
                publics: signed.iter().map(decode).collect::<Result<_, _>>()?,
                signatures: signed.iter().map(|one| Signature::from_bytes(&one.signature)).collect(),
                messages: signed.into_iter().map(|one| one.message).collect(),
            }))
        },
        |shared: &Arc<Decoded>, index| Ok((shared.clone(), start(index))),
        move |(shared, start)| {
            let batch = *start..*start + n as usize;
            let messages: Vec<&[u8]> = shared.messages[batch.clone()].iter().map(Vec::as_slice).collect();
            bounded::ed25519_verify_batch(&messages, &shared.signatures[batch.clone()], &shared.publics[batch])
        },
        accepted,
    )
}

fn accepted<S>(_: &S, _: u64, verdict: &Result<(), PrimitiveError>) -> Result<Digest, String> {
    verdict.map(|()| Digest::of(&[1])).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(signed: &[Signed]) -> Result<(), PrimitiveError> {
        let growing = verify(&create(signed, Entries::Growing), &mut ChaCha20Rng::seed_from_u64(9));
        let preallocated = verify(&create(signed, Entries::Preallocated), &mut ChaCha20Rng::seed_from_u64(9));
        assert_eq!(growing, preallocated);
        growing
    }

    #[test]
    fn one_bad_signature_among_many_is_refused() {
        // On both sides of the switch from tables to buckets.
        for n in [1, 8, 64, 128] {
            let good = signed(3, n);
            assert_eq!(verdict(&good), Ok(()));
            for change in [
                |one: &mut Signed| one.message[0] ^= 1,
                |one: &mut Signed| one.signature[33] ^= 1,
                |one: &mut Signed| one.public = signed(4, 1)[0].public,
            ] {
                let mut bad = good.clone();
                change(&mut bad[n as usize / 2]);
                assert_eq!(verdict(&bad), Err(PrimitiveError::BadSignature), "{n}");
            }
        }
    }

    #[test]
    fn a_response_that_is_not_reduced_is_refused() {
        let mut signed = signed(3, 2);
        signed[1].signature[32..].fill(0xff);
        assert_eq!(verdict(&signed), Err(PrimitiveError::BadSignature));
    }

    /// `[8]R` hides a commitment's part of small order: with the cofactor the equation holds, without it not.
    #[test]
    fn the_queue_verifies_with_the_cofactor_and_the_single_signature_without() {
        use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
        use curve25519_dalek::scalar::Scalar;
        let mut crafted = signed(6, 2);
        let secret = ed25519_dalek::hazmat::ExpandedSecretKey::from(&[7; 32]);
        let public = (ED25519_BASEPOINT_POINT * secret.scalar).compress().to_bytes();
        let nonce = Scalar::from(1234u64);
        let commitment = (ED25519_BASEPOINT_POINT * nonce + EIGHT_TORSION[1]).compress().to_bytes();
        let hash = crate::primitive::sha2::sha512(&[commitment.as_slice(), &public, &crafted[0].message].concat());
        let response = nonce + Scalar::from_bytes_mod_order_wide(&hash) * secret.scalar;
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&commitment);
        signature[32..].copy_from_slice(response.as_bytes());
        crafted[0] = Signed { public, signature, message: crafted[0].message.clone() };
        assert_eq!(verdict(&crafted), Ok(()));
        assert_eq!(verdict(&crafted[..1]), Ok(()));
        assert_eq!(ed25519::verify(&public, &crafted[0].message, &signature), Err(PrimitiveError::BadSignature));
    }

    #[test]
    fn the_librarys_batch_refuses_a_bad_signature_too() {
        let signed = signed(5, 8);
        let publics: Vec<_> = signed.iter().map(|one| VerifyingKey::from_bytes(&one.public).unwrap()).collect();
        let mut signatures: Vec<_> = signed.iter().map(|one| Signature::from_bytes(&one.signature)).collect();
        let messages: Vec<&[u8]> = signed.iter().map(|one| one.message.as_slice()).collect();
        assert_eq!(bounded::ed25519_verify_batch(&messages, &signatures, &publics), Ok(()));
        signatures.swap(2, 3);
        assert_eq!(bounded::ed25519_verify_batch(&messages, &signatures, &publics), Err(PrimitiveError::BadSignature));
    }

    #[cfg(not(feature = "boundary-off"))]
    #[test]
    fn a_batch_decodes_two_points_a_signature_and_multiplies_once() {
        let signed = signed(1, 5);
        let (queue, counts) = crate::boundary::count(|| create(&signed, Entries::Growing));
        assert_eq!(counts.outermost, [("sha512", 5)]);
        let (_, counts) = crate::boundary::count(|| verify(&queue, &mut ChaCha20Rng::seed_from_u64(1)));
        assert_eq!(counts.outermost, [("edwards_decompress", 10), ("edwards_multiscalar", 1)]);
    }

    #[test]
    fn workloads_check_out() {
        for family in families() {
            let workload = family.member(3);
            let mut fixture = workload.fixture(7).unwrap();
            fixture.load(62..65).unwrap();
            fixture.run();
            fixture.unload().unwrap_or_else(|message| panic!("{}: {message}", workload.name));
        }
    }
}
