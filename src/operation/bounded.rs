//! The primitives behind their boundaries: what the operations call.
//!
//! Each boundary knows which functions are its primitive's and how to run it alone on captured inputs.

use std::any::Any;

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;

use super::field25519::{BASE, Field, Limbs4, Limbs5, Limbs10, Limbs16, ladder};
use crate::boundary::{Alternative, Boundary, Prepared};
use crate::primitive::ed25519::{Signature, SigningKey, VerifyingKey};
use crate::primitive::{PrimitiveError, aead, ed25519, edwards, hkdf, hmac, sha2, x25519};

static X25519_DH: Boundary = Boundary::new("x25519_dh")
    .frames(&["countercheck::primitive::x25519::dh"])
    .rerun(|inputs| {
        let (secret, public) = (array(inputs[0]), array(inputs[1]));
        Box::new(move || word(&x25519::dh(&secret, &public)))
    })
    .alternatives(&[
        Alternative { name: Limbs16::NAME, compute: |inputs| dh_on::<Limbs16>(inputs) },
        Alternative { name: Limbs10::NAME, compute: |inputs| dh_on::<Limbs10>(inputs) },
        Alternative { name: Limbs5::NAME, compute: |inputs| dh_on::<Limbs5>(inputs) },
        Alternative { name: Limbs4::NAME, compute: |inputs| dh_on::<Limbs4>(inputs) },
    ]);

static X25519_BASE: Boundary = Boundary::new("x25519_base")
    .frames(&["countercheck::primitive::x25519::base"])
    .rerun(|inputs| {
        let secret = array(inputs[0]);
        Box::new(move || word(&x25519::base(&secret)))
    })
    .alternatives(&[
        Alternative { name: Limbs5::NAME, compute: |inputs| base_on::<Limbs5>(inputs) },
        Alternative { name: Limbs4::NAME, compute: |inputs| base_on::<Limbs4>(inputs) },
        Alternative { name: "variable-base", compute: |inputs| Box::new(x25519::dh(&array(inputs[0]), &BASE)) },
    ]);

/// The ladder on a field of this crate.
fn dh_on<F: Field>(inputs: &[&[u8]]) -> Box<dyn Any> {
    Box::new(ladder::<F>(&array(inputs[0]), &array(inputs[1])))
}

/// The same from the base point, without a table.
fn base_on<F: Field>(inputs: &[&[u8]]) -> Box<dyn Any> {
    Box::new(ladder::<F>(&array(inputs[0]), &BASE))
}

static ED25519_KEYGEN: Boundary =
    Boundary::new("ed25519_keygen").frames(&["countercheck::primitive::ed25519::keygen"]).rerun(|inputs| {
        let seed = array(inputs[0]);
        Box::new(move || word(ed25519::keygen(&seed).verifying_key().as_bytes()))
    });

static ED25519_SIGN: Boundary =
    Boundary::new("ed25519_sign").frames(&["countercheck::primitive::ed25519::sign"]).rerun(|inputs| {
        let (key, message) = (ed25519::keygen(&array(inputs[0])), inputs[1].to_vec());
        Box::new(move || word(&ed25519::sign(&key, &message)))
    });

static ED25519_VERIFY: Boundary =
    Boundary::new("ed25519_verify").frames(&["countercheck::primitive::ed25519::verify"]).rerun(|inputs| {
        let (public, message, signature) = (array(inputs[0]), inputs[1].to_vec(), array(inputs[2]));
        Box::new(move || u64::from(ed25519::verify(&public, &message, &signature).is_ok()))
    });

static SHA256: Boundary = Boundary::new("sha256").frames(&["countercheck::primitive::sha2::sha256"]).rerun(|inputs| {
    let message = inputs[0].to_vec();
    Box::new(move || word(&sha2::sha256(&message)))
});

static HMAC_SHA256: Boundary =
    Boundary::new("hmac_sha256").frames(&["countercheck::primitive::hmac::hmac_sha256"]).rerun(|inputs| {
        let (key, message) = (inputs[0].to_vec(), inputs[1].to_vec());
        Box::new(move || word(&hmac::hmac_sha256(&key, &message)))
    });

static HKDF_SHA256_EXTRACT: Boundary =
    Boundary::new("hkdf_sha256_extract").frames(&["countercheck::primitive::hkdf::extract"]).rerun(|inputs| {
        let (salt, material) = (inputs[0].to_vec(), inputs[1].to_vec());
        Box::new(move || word(&hkdf::extract(&salt, &material)))
    });

static HKDF_SHA256_EXPAND: Boundary =
    Boundary::new("hkdf_sha256_expand").frames(&["countercheck::primitive::hkdf::expand"]).rerun(|inputs| {
        let (key, info) = (inputs[0].to_vec(), inputs[1].to_vec());
        let length = u64::from_le_bytes(array(inputs[2])) as usize;
        Box::new(move || of_result(&hkdf::expand(&key, &info, length)))
    });

static CHACHA20POLY1305_SEAL: Boundary = Boundary::new("chacha20poly1305_seal")
    .frames(&["countercheck::primitive::aead::chacha20poly1305_seal"])
    .rerun(|inputs| cipher(inputs, aead::chacha20poly1305_seal));

static CHACHA20POLY1305_OPEN: Boundary = Boundary::new("chacha20poly1305_open")
    .frames(&["countercheck::primitive::aead::chacha20poly1305_open"])
    .rerun(|inputs| cipher(inputs, aead::chacha20poly1305_open));

static AES128GCM_SEAL: Boundary = Boundary::new("aes128gcm_seal")
    .frames(&["countercheck::primitive::aead::aes128gcm_seal"])
    .rerun(|inputs| cipher(inputs, aead::aes128gcm_seal));

static AES128GCM_OPEN: Boundary = Boundary::new("aes128gcm_open")
    .frames(&["countercheck::primitive::aead::aes128gcm_open"])
    .rerun(|inputs| cipher(inputs, aead::aes128gcm_open));

static SHA512: Boundary = Boundary::new("sha512").frames(&["countercheck::primitive::sha2::sha512"]).rerun(|inputs| {
    let message = inputs[0].to_vec();
    Box::new(move || word(&sha2::sha512(&message)))
});

static EDWARDS_DECOMPRESS: Boundary =
    Boundary::new("edwards_decompress").frames(&["countercheck::primitive::edwards::decompress"]).rerun(|inputs| {
        let encoding = array(inputs[0]);
        Box::new(move || u64::from(edwards::decompress(&encoding).is_ok()))
    });

static EDWARDS_MULTISCALAR: Boundary = Boundary::new("edwards_multiscalar")
    .frames(&["countercheck::primitive::edwards::multiscalar_vartime"])
    .rerun(|inputs| {
        let scalars: Vec<Scalar> = of_32(inputs[0]).map(Scalar::from_bytes_mod_order).collect();
        let decoded = of_32(inputs[1]).map(|encoding| edwards::decompress(&encoding));
        let points: Vec<EdwardsPoint> = decoded.collect::<Result<_, _>>().expect("captured points were points");
        Box::new(move || u64::from(edwards::multiscalar_vartime(&scalars, &points) == EdwardsPoint::default()))
    });

static ED25519_VERIFY_BATCH: Boundary =
    Boundary::new("ed25519_verify_batch").frames(&["countercheck::primitive::ed25519::verify_batch"]).rerun(|inputs| {
        let publics: Vec<VerifyingKey> =
            of_32(inputs[0]).map(|key| VerifyingKey::from_bytes(&key).expect("captured keys were keys")).collect();
        let signatures: Vec<Signature> =
            inputs[1].chunks_exact(64).map(|bytes| Signature::from_bytes(&array(bytes))).collect();
        let messages: Vec<Vec<u8>> =
            inputs[2].chunks(inputs[2].len() / publics.len().max(1)).map(<[u8]>::to_vec).collect();
        Box::new(move || {
            let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
            u64::from(ed25519::verify_batch(&messages, &signatures, &publics).is_ok())
        })
    });

/// [`sha2::sha512`] behind its boundary.
pub fn sha512(message: &[u8]) -> [u8; 64] {
    SHA512.call_on(&[message], || sha2::sha512(message))
}

/// [`edwards::decompress`] behind its boundary.
///
/// # Errors
///
/// Those of [`edwards::decompress`].
pub fn edwards_decompress(encoding: &[u8; 32]) -> Result<EdwardsPoint, PrimitiveError> {
    EDWARDS_DECOMPRESS.call_on(&[encoding], || edwards::decompress(encoding))
}

/// [`edwards::multiscalar_vartime`] behind its boundary; `encodings` makes the points' encodings, one
/// after the other.
pub fn edwards_multiscalar(
    scalars: &[Scalar],
    points: &[EdwardsPoint],
    encodings: impl Fn() -> Vec<u8>,
) -> EdwardsPoint {
    let inputs = || vec![scalars.iter().flat_map(|scalar| *scalar.as_bytes()).collect(), encodings()];
    EDWARDS_MULTISCALAR.call_on_made(inputs, || edwards::multiscalar_vartime(scalars, points))
}

/// [`ed25519::verify_batch`] behind its boundary. The messages must be equally long.
///
/// # Errors
///
/// Those of [`ed25519::verify_batch`].
pub fn ed25519_verify_batch(
    messages: &[&[u8]],
    signatures: &[Signature],
    publics: &[VerifyingKey],
) -> Result<(), PrimitiveError> {
    let inputs = || {
        vec![
            publics.iter().flat_map(|key| key.to_bytes()).collect(),
            signatures.iter().flat_map(|signature| signature.to_bytes()).collect(),
            messages.concat(),
        ]
    };
    ED25519_VERIFY_BATCH.call_on_made(inputs, || ed25519::verify_batch(messages, signatures, publics))
}

/// [`x25519::dh`] behind its boundary.
pub fn x25519_dh(secret: &[u8; 32], public: &[u8; 32]) -> [u8; 32] {
    X25519_DH.call_on(&[secret, public], || x25519::dh(secret, public))
}

/// [`x25519::base`] behind its boundary.
pub fn x25519_base(secret: &[u8; 32]) -> [u8; 32] {
    X25519_BASE.call_on(&[secret], || x25519::base(secret))
}

/// [`ed25519::keygen`] behind its boundary.
pub fn ed25519_keygen(seed: &[u8; 32]) -> SigningKey {
    ED25519_KEYGEN.call_on(&[seed], || ed25519::keygen(seed))
}

/// [`ed25519::sign`] behind its boundary.
pub fn ed25519_sign(key: &SigningKey, message: &[u8]) -> [u8; 64] {
    ED25519_SIGN.call_on(&[key.as_bytes(), message], || ed25519::sign(key, message))
}

/// [`ed25519::verify`] behind its boundary.
///
/// # Errors
///
/// Those of [`ed25519::verify`].
pub fn ed25519_verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> Result<(), PrimitiveError> {
    ED25519_VERIFY.call_on(&[public, message, signature], || ed25519::verify(public, message, signature))
}

/// [`sha2::sha256`] behind its boundary.
pub fn sha256(message: &[u8]) -> [u8; 32] {
    SHA256.call_on(&[message], || sha2::sha256(message))
}

/// [`hmac::hmac_sha256`] behind its boundary.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    HMAC_SHA256.call_on(&[key, message], || hmac::hmac_sha256(key, message))
}

/// [`hkdf::extract`] behind its boundary.
pub fn hkdf_extract(salt: &[u8], material: &[u8]) -> [u8; 32] {
    HKDF_SHA256_EXTRACT.call_on(&[salt, material], || hkdf::extract(salt, material))
}

/// [`hkdf::expand`] behind its boundary.
///
/// # Errors
///
/// Those of [`hkdf::expand`].
pub fn hkdf_expand(key: &[u8], info: &[u8], length: usize) -> Result<Vec<u8>, PrimitiveError> {
    let inputs: [&[u8]; 3] = [key, info, &(length as u64).to_le_bytes()];
    HKDF_SHA256_EXPAND.call_on(&inputs, || hkdf::expand(key, info, length))
}

/// An authenticated cipher of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aead {
    /// ChaCha20-Poly1305, 32-byte keys.
    ChaCha20Poly1305,
    /// AES-128-GCM, 16-byte keys.
    Aes128Gcm,
}

/// Seals behind the cipher's boundary.
///
/// # Errors
///
/// [`PrimitiveError::Length`] where key, nonce or message are of no length that the cipher takes.
pub fn seal(cipher: Aead, key: &[u8], nonce: &[u8], associated: &[u8], message: &[u8]) -> SealResult {
    let inputs = [key, nonce, associated, message];
    let nonce = sized(nonce)?;
    match cipher {
        Aead::ChaCha20Poly1305 => {
            let key = sized(key)?;
            CHACHA20POLY1305_SEAL.call_on(&inputs, || aead::chacha20poly1305_seal(key, nonce, associated, message))
        }
        Aead::Aes128Gcm => {
            let key = sized(key)?;
            AES128GCM_SEAL.call_on(&inputs, || aead::aes128gcm_seal(key, nonce, associated, message))
        }
    }
}

/// Opens behind the cipher's boundary.
///
/// # Errors
///
/// [`PrimitiveError::Length`] where key or nonce are of no length that the cipher takes,
/// [`PrimitiveError::Forged`] where the tag does not match.
pub fn open(cipher: Aead, key: &[u8], nonce: &[u8], associated: &[u8], ciphertext: &[u8]) -> SealResult {
    let inputs = [key, nonce, associated, ciphertext];
    let nonce = sized(nonce)?;
    match cipher {
        Aead::ChaCha20Poly1305 => {
            let key = sized(key)?;
            CHACHA20POLY1305_OPEN.call_on(&inputs, || aead::chacha20poly1305_open(key, nonce, associated, ciphertext))
        }
        Aead::Aes128Gcm => {
            let key = sized(key)?;
            AES128GCM_OPEN.call_on(&inputs, || aead::aes128gcm_open(key, nonce, associated, ciphertext))
        }
    }
}

type SealResult = Result<Vec<u8>, PrimitiveError>;

/// Bytes of a fixed length, where they are of it.
///
/// # Errors
///
/// [`PrimitiveError::Length`] where they are not.
pub fn sized<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], PrimitiveError> {
    bytes.try_into().map_err(|_| PrimitiveError::Length)
}

fn cipher<const K: usize>(
    inputs: &[&[u8]],
    apply: impl Fn(&[u8; K], &[u8; 12], &[u8], &[u8]) -> SealResult + 'static,
) -> Prepared {
    let (key, nonce) = (array(inputs[0]), array(inputs[1]));
    let (associated, message) = (inputs[2].to_vec(), inputs[3].to_vec());
    Box::new(move || of_result(&apply(&key, &nonce, &associated, &message)))
}

/// A captured input of fixed length.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("captured inputs are of the lengths that the boundary was called with")
}

/// 32 bytes at a time.
fn of_32(bytes: &[u8]) -> impl Iterator<Item = [u8; 32]> + '_ {
    bytes.chunks_exact(32).map(array)
}

/// The first bytes of an output.
fn word(output: &[u8]) -> u64 {
    output.iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn of_result(output: &SealResult) -> u64 {
    output.as_ref().map_or(0, |bytes| word(bytes))
}
