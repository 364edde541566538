//! Ed25519 (RFC 8032) over any representation of the field: signing and verification.
//!
//! Scalars modulo the group order and SHA-512 come from `curve25519-dalek` and `sha2`; they are the same for all
//! representations, and [`Key::hash_and_scalars`] runs them alone so that their cost can be told apart.

use curve25519_dalek::Scalar;
use sha2::{Digest as _, Sha512};

use super::edwards::Curve;
use super::field::Field;
use super::ladder::clamp;

/// A secret key expanded for signing, with its public key.
#[derive(Clone, Debug)]
pub struct Key {
    scalar: Scalar,
    prefix: [u8; 32],
    public: [u8; 32],
}

impl Key {
    /// Expands a 32-byte seed.
    pub fn from_seed<F: Field>(curve: &Curve<F>, seed: &[u8; 32]) -> Self {
        let hash: [u8; 64] = Sha512::digest(seed).into();
        let (low, high) = split(&hash);
        let scalar = Scalar::from_bytes_mod_order(clamp(&low));
        let public = curve.mul_base(scalar.as_bytes()).compress();
        Self { scalar, prefix: high, public }
    }

    /// The public key.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    /// What signing does besides the curve: two hashes and the scalar arithmetic, with `commitment` in place of
    /// the encoded nonce point.
    #[inline(never)]
    pub fn hash_and_scalars(&self, message: &[u8], commitment: &[u8; 32]) -> [u8; 32] {
        let nonce = hash(&[&self.prefix, message]);
        let challenge = hash(&[commitment, &self.public, message]);
        (nonce + challenge * self.scalar).to_bytes()
    }
}

/// The signature of a message.
#[inline(never)]
pub fn sign<F: Field>(curve: &Curve<F>, key: &Key, message: &[u8]) -> [u8; 64] {
    let nonce = hash(&[&key.prefix, message]);
    let commitment = curve.mul_base(nonce.as_bytes()).compress();
    let challenge = hash(&[&commitment, &key.public, message]);
    let response = nonce + challenge * key.scalar;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&commitment);
    signature[32..].copy_from_slice(response.as_bytes());
    signature
}

/// Whether the signature is valid, without multiplying by the cofactor: R must be the canonical encoding of
/// s·B − k·A. Public keys need not be canonical and may have small order, as in RFC 8032.
#[inline(never)]
pub fn verify<F: Field>(curve: &Curve<F>, public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let (commitment, response) = split(signature);
    let Some(response) = Option::<Scalar>::from(Scalar::from_canonical_bytes(response)) else {
        return false;
    };
    let Some(point) = curve.decompress(public) else {
        return false;
    };
    let challenge = challenge(&commitment, public, message);
    curve.double_mul(challenge.as_bytes(), &point.negate(), response.as_bytes()).compress() == commitment
}

/// SHA-512(R ‖ A ‖ message) as a scalar: all that verification does besides the curve.
#[inline(never)]
pub fn challenge(commitment: &[u8; 32], public: &[u8; 32], message: &[u8]) -> Scalar {
    hash(&[commitment, public, message])
}

fn hash(parts: &[&[u8]]) -> Scalar {
    let mut hash = Sha512::new();
    for part in parts {
        hash.update(part);
    }
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

fn split(bytes: &[u8; 64]) -> ([u8; 32], [u8; 32]) {
    (std::array::from_fn(|i| bytes[i]), std::array::from_fn(|i| bytes[32 + i]))
}
