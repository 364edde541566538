//! The workloads' inputs as bytes, for other runtimes: the same inputs, so that outputs can be compared
//! before times are.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use serde::Serialize;

use super::pool::{POOL, array, bytes};
use super::{aead, ed25519, hkdf, hmac, sha2, x25519};
use crate::workload::Digest;

/// One input of a workload's pool and the output that it must give, as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedCase {
    /// The arguments in the order that [`arguments`] names.
    pub inputs: Vec<Vec<u8>>,
    /// The output; `[1]` for a verification that succeeds.
    pub output: Vec<u8>,
}

/// What the inputs of a workload's cases are; `None` where it is not shared.
///
/// ```
/// assert_eq!(countercheck::primitive::shared::arguments("x25519_dh"), Some(&["secret", "public"][..]));
/// ```
pub fn arguments(workload: &str) -> Option<&'static [&'static str]> {
    Some(match split(workload).0 {
        "x25519_dh" => &["secret", "public"],
        "x25519_base" => &["secret"],
        "ed25519_keygen" => &["seed"],
        "ed25519_sign" => &["seed", "message"],
        "ed25519_verify" => &["public", "message", "signature"],
        "sha256" | "sha512" => &["message"],
        "hmac_sha256" => &["key", "message"],
        "hkdf_sha256_extract" => &["salt", "material"],
        "hkdf_sha256_expand" => &["key", "info"],
        "chacha20poly1305_seal" | "aes128gcm_seal" => &["key", "nonce", "associated", "message"],
        "chacha20poly1305_open" | "aes128gcm_open" => &["key", "nonce", "associated", "ciphertext"],
        _ => return None,
    })
}

/// The pool that the workload of this name has under this seed; `None` where it is not shared.
pub fn cases(workload: &str, seed: u64) -> Option<Vec<SharedCase>> {
    arguments(workload)?;
    let (name, size) = split(workload);
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    (0..POOL).map(|_| case(name, size, &mut random)).collect()
}

/// The digest that a workload's own check gives for these outputs in this order.
pub fn digest<'a>(outputs: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    outputs.into_iter().fold(Digest::default(), |all, output| all.with(&Digest::of(output).0.to_le_bytes()))
}

fn split(workload: &str) -> (&str, usize) {
    let (name, size) = workload.split_once('/').unwrap_or((workload, ""));
    (name, size.parse().unwrap_or(0))
}

/// Draws from `random` in the order in which the workload of this name does.
fn case(name: &str, size: usize, random: &mut ChaCha20Rng) -> Option<SharedCase> {
    let (inputs, output) = match name {
        "x25519_dh" => {
            let (ours, theirs): ([u8; 32], [u8; 32]) = (array(random), array(random));
            let public = x25519::base(&theirs);
            (vec![ours.to_vec(), public.to_vec()], x25519::dh(&ours, &public).to_vec())
        }
        "x25519_base" => {
            let secret = array::<32>(random);
            (vec![secret.to_vec()], x25519::base(&secret).to_vec())
        }
        "ed25519_keygen" => {
            let seed = array::<32>(random);
            (vec![seed.to_vec()], ed25519::keygen(&seed).verifying_key().to_bytes().to_vec())
        }
        "ed25519_sign" | "ed25519_verify" => {
            let (seed, message) = (array::<32>(random), array::<256>(random).to_vec());
            let key = ed25519::keygen(&seed);
            let signature = ed25519::sign(&key, &message).to_vec();
            if name == "ed25519_sign" {
                (vec![seed.to_vec(), message], signature)
            } else {
                (vec![key.verifying_key().to_bytes().to_vec(), message, signature], vec![1])
            }
        }
        "sha256" => one(bytes(random, size), |message| sha2::sha256(message).to_vec()),
        "sha512" => one(bytes(random, size), |message| sha2::sha512(message).to_vec()),
        "hmac_sha256" => {
            let (key, message): ([u8; 32], [u8; 64]) = (array(random), array(random));
            (vec![key.to_vec(), message.to_vec()], hmac::hmac_sha256(&key, &message).to_vec())
        }
        "hkdf_sha256_extract" => {
            let (salt, material): ([u8; 32], [u8; 32]) = (array(random), array(random));
            (vec![salt.to_vec(), material.to_vec()], hkdf::extract(&salt, &material).to_vec())
        }
        "hkdf_sha256_expand" => {
            let (key, info): ([u8; 32], [u8; 64]) = (array(random), array(random));
            (vec![key.to_vec(), info.to_vec()], hkdf::expand(&key, &info, 32).ok()?)
        }
        "chacha20poly1305_seal" | "chacha20poly1305_open" => sealed(name, size, random, aead::chacha20poly1305_seal)?,
        "aes128gcm_seal" | "aes128gcm_open" => sealed(name, size, random, aead::aes128gcm_seal)?,
        _ => return None,
    };
    Some(SharedCase { inputs, output })
}

fn one(message: Vec<u8>, hash: impl Fn(&[u8]) -> Vec<u8>) -> (Vec<Vec<u8>>, Vec<u8>) {
    let output = hash(&message);
    (vec![message], output)
}

fn sealed<const K: usize>(
    name: &str,
    size: usize,
    random: &mut ChaCha20Rng,
    seal: aead::Cipher<K>,
) -> Option<(Vec<Vec<u8>>, Vec<u8>)> {
    let (key, nonce, associated): ([u8; K], [u8; 12], [u8; 16]) = (array(random), array(random), array(random));
    let message = bytes(random, size);
    let ciphertext = seal(&key, &nonce, &associated, &message).ok()?;
    let (input, output) = if name.ends_with("_seal") { (message, ciphertext) } else { (ciphertext, message) };
    Some((vec![key.to_vec(), nonce.to_vec(), associated.to_vec(), input], output))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The workload folds the digests of its outputs; equal digests mean equal inputs, for all but
    /// verification, whose every output is the same.
    #[test]
    fn the_cases_are_the_workloads_own() {
        let mut shared = 0;
        for workload in super::super::all() {
            let Some(cases) = cases(&workload.name, 5) else { continue };
            shared += 1;
            let mut fixture = workload.fixture(5).unwrap();
            fixture.load(0..POOL as u64).unwrap();
            fixture.run();
            let outputs = cases.iter().map(|case| case.output.as_slice());
            assert_eq!(fixture.unload().unwrap(), digest(outputs), "{}", workload.name);
            let names = arguments(&workload.name).unwrap();
            assert!(cases.iter().all(|case| case.inputs.len() == names.len()), "{}", workload.name);
        }
        assert!(shared >= 20, "only {shared} workloads are shared");
    }

    #[test]
    fn a_workload_that_is_not_shared_has_no_cases() {
        assert_eq!(cases("edwards_compress", 1), None);
        assert_eq!(cases("no_such", 1), None);
    }
}
