//! Verifying several signatures of one key at once, on `k256`.
//!
//! The sound way (BIP-340, "Batch Verification") weighs every equation by a number that whoever made the
//! signatures could not foresee: Σ aᵢ·sᵢ·G = Σ aᵢ·Rᵢ + (Σ aᵢ·eᵢ)·P. The plain sum, with every weight one, is
//! published elsewhere with higher factors. It proves nothing: add δ to one s and take it from another, and two
//! invalid signatures pass together. It is here to be measured, under a name that says so.

use k256::elliptic_curve::PrimeField;
use k256::elliptic_curve::ops::{LinearCombination, MulByGeneratorVartime};
use k256::{ProjectivePoint, Scalar};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sha2::{Digest as _, Sha256};

use super::rust::{challenge, lift, split};

/// A message and the signature claimed for it.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The message.
    pub message: &'a [u8],
    /// The signature.
    pub signature: &'a [u8; 64],
}

/// Whether all signatures of the key with this x coordinate are valid; wrongly true with probability about 2^−128.
///
/// The weights are 128 bits from ChaCha20 under the SHA-256 of key, messages and signatures, as BIP-340 allows:
/// whoever changes a signature changes all weights. The first weight is one.
#[inline(never)]
pub fn verify_batch(public: &[u8; 32], claims: &[Claim<'_>]) -> bool {
    let mut seed = Sha256::new().chain_update(public);
    for claim in claims {
        let length = (claim.message.len() as u64).to_le_bytes();
        seed.update(length);
        seed.update(claim.message);
        seed.update(claim.signature);
    }
    let mut random = ChaCha20Rng::from_seed(seed.finalize().into());
    let mut sum_s = Scalar::ZERO;
    let mut sum_e = Scalar::ZERO;
    let mut terms = Vec::with_capacity(claims.len() + 2);
    for (i, claim) in claims.iter().enumerate() {
        let Some((r, s)) = split(claim.signature) else {
            return false;
        };
        let Some(point) = lift(&r) else {
            return false;
        };
        let weight = if i == 0 { Scalar::ONE } else { weight(&mut random) };
        sum_s += weight * s;
        sum_e += weight * challenge(&r, public, claim.message);
        terms.push((point, weight));
    }
    let Some(key) = lift(public) else {
        return false;
    };
    terms.push((key, sum_e));
    terms.push((ProjectivePoint::GENERATOR, -sum_s));
    <ProjectivePoint as LinearCombination<[(ProjectivePoint, Scalar)]>>::lincomb_vartime(&terms)
        == ProjectivePoint::IDENTITY
}

/// Whether the *sum* of all verification equations holds. **Unsound**: it accepts batches of invalid signatures.
/// For measurement only.
#[inline(never)]
pub fn verify_batch_unsound(public: &[u8; 32], claims: &[Claim<'_>]) -> bool {
    let mut sum_s = Scalar::ZERO;
    let mut sum_e = Scalar::ZERO;
    let mut sum_r = ProjectivePoint::IDENTITY;
    for claim in claims {
        let Some((r, s)) = split(claim.signature) else {
            return false;
        };
        let Some(point) = lift(&r) else {
            return false;
        };
        sum_s += s;
        sum_e += challenge(&r, public, claim.message);
        sum_r += point;
    }
    let Some(key) = lift(public) else {
        return false;
    };
    ProjectivePoint::mul_by_generator_and_mul_add_vartime(&sum_s, &-sum_e, &key) == sum_r
}

/// 128 random bits, never zero.
fn weight(random: &mut ChaCha20Rng) -> Scalar {
    let mut bytes = [0; 32];
    random.fill_bytes(&mut bytes[16..]);
    bytes[31] |= u8::from(bytes == [0; 32]);
    // Below 2^128, so always below the group order.
    Option::from(Scalar::from_repr(bytes.into())).unwrap_or(Scalar::ONE)
}
