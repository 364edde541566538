//! Ed25519 (RFC 8032): key generation, signing and verifying.

use ed25519_dalek::Signer;

pub use ed25519_dalek::{Signature, SigningKey, VerifyingKey};

use super::pool::{self, Case, PrimitiveError};
use crate::workload::Workload;

/// The key pair of a 32-byte seed.
#[inline(never)]
pub fn keygen(seed: &[u8; 32]) -> SigningKey {
    SigningKey::from_bytes(seed)
}

/// The signature of a message. The public half comes with the key and is not derived again.
#[inline(never)]
pub fn sign(key: &SigningKey, message: &[u8]) -> [u8; 64] {
    key.sign(message).to_bytes()
}

/// Checks a signature under an encoded public key: decompression included, small-order keys refused.
///
/// # Errors
///
/// [`PrimitiveError::BadSignature`], also where the key is no point.
#[inline(never)]
pub fn verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> Result<(), PrimitiveError> {
    VerifyingKey::from_bytes(public)
        .and_then(|key| key.verify_strict(message, &Signature::from_bytes(signature)))
        .map_err(|_| PrimitiveError::BadSignature)
}

/// Checks a batch of signatures by the library's own equation: cofactorless, so that signatures made to
/// deceive may pass here and fail alone. All slices must have the same length.
///
/// # Errors
///
/// [`PrimitiveError::BadSignature`] where one does not verify; it does not say which.
#[inline(never)]
pub fn verify_batch(
    messages: &[&[u8]],
    signatures: &[Signature],
    publics: &[VerifyingKey],
) -> Result<(), PrimitiveError> {
    ed25519_dalek::verify_batch(messages, signatures, publics).map_err(|_| PrimitiveError::BadSignature)
}

/// Bytes in the message that is signed and verified.
const MESSAGE: usize = 256;

pub(super) fn all() -> Vec<Workload> {
    let keygen_workload = pool::workload(
        "ed25519_keygen",
        |random| {
            let seed = pool::array(random);
            Case { input: seed, expected: variable_base_public_key(&seed) }
        },
        |seed| keygen(seed).verifying_key().to_bytes(),
        |public| public,
    );
    let sign_workload = pool::workload(
        "ed25519_sign",
        |random| {
            let (key, message) = (keygen(&pool::array(random)), pool::array::<MESSAGE>(random));
            let expected = sign(&key, &message);
            assert_eq!(verify(key.verifying_key().as_bytes(), &message, &expected), Ok(()), "a signature verifies");
            Case { input: (key, message), expected }
        },
        |(key, message)| sign(key, message),
        |signature| signature,
    );
    let verify_workload = pool::workload(
        "ed25519_verify",
        |random| {
            let (key, message) = (keygen(&pool::array(random)), pool::array::<MESSAGE>(random));
            let signature = sign(&key, &message);
            Case { input: (key.verifying_key().to_bytes(), message, signature), expected: Ok(()) }
        },
        |(public, message, signature)| verify(public, message, signature),
        |verdict| VERDICTS[usize::from(verdict.is_ok())],
    );
    [keygen_workload, sign_workload, verify_workload]
        .map(|w| w.family("ed25519").implementation("ed25519-dalek 3"))
        .into()
}

/// A verdict as bytes, by a load rather than a branch, so that a chained call waits for it.
static VERDICTS: [&[u8]; 2] = [&[0], &[1]];

/// The public key by variable-base multiplication: a way that shares no table with [`keygen`].
fn variable_base_public_key(seed: &[u8; 32]) -> [u8; 32] {
    let secret = ed25519_dalek::hazmat::ExpandedSecretKey::from(seed);
    (curve25519_dalek::constants::ED25519_BASEPOINT_POINT * secret.scalar).compress().to_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::pool::hex;
    use super::*;

    /// RFC 8032 section 7.1: secret key, public key, message, signature of tests 1, 2, 3 and SHA(abc).
    const VECTORS: [[&str; 4]; 4] = [
        [
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ],
        [
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ],
        [
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ],
        [
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
        ],
    ];

    #[test]
    fn rfc_8032_section_7_1() {
        for [secret, public, message, signature] in VECTORS {
            let key = keygen(&hex(secret).try_into().unwrap());
            let public: [u8; 32] = hex(public).try_into().unwrap();
            let signature: [u8; 64] = hex(signature).try_into().unwrap();
            let mut message = hex(message);
            assert_eq!(key.verifying_key().to_bytes(), public);
            assert_eq!(variable_base_public_key(key.as_bytes()), public);
            assert_eq!(sign(&key, &message), signature);
            assert_eq!(verify(&public, &message, &signature), Ok(()));
            message.push(0);
            assert_eq!(verify(&public, &message, &signature), Err(PrimitiveError::BadSignature));
        }
    }

    #[test]
    fn a_key_of_small_order_is_refused() {
        let mut identity = [0; 32];
        identity[0] = 1;
        assert_eq!(verify(&identity, b"", &[0; 64]), Err(PrimitiveError::BadSignature));
    }

    #[test]
    fn workloads_check_out() {
        pool::assert_workloads_check_out(all());
    }
}
