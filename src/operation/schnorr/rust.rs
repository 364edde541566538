//! The crate `k256`, and what it does not offer: verification with a table of one key's multiples.

use k256::elliptic_curve::PrimeField;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::point::{AffineCoordinates, DecompactPoint};
use k256::schnorr::{Signature, SigningKey, VerifyingKey};
use k256::{AffinePoint, FieldBytes, ProjectivePoint, Scalar};
use sha2::{Digest as _, Sha256};

use super::Library;

/// Pure Rust: the crate `k256`.
#[derive(Debug)]
pub struct K256;

impl Library for K256 {
    const NAME: &'static str = "k256";
    const IMPLEMENTATION: &'static str = "k256 0.14";
    type Secret = SigningKey;
    type Public = VerifyingKey;

    #[inline(never)]
    fn create(secret: &[u8; 32]) -> Option<SigningKey> {
        SigningKey::from_bytes(&(*secret).into()).ok()
    }
    fn x_only(secret: &SigningKey) -> [u8; 32] {
        secret.verifying_key().to_bytes().into()
    }
    #[inline(never)]
    fn sign(secret: &SigningKey, message: &[u8], auxiliary: &[u8; 32]) -> [u8; 64] {
        // Fails only where a hash happens to be zero modulo the group order; then so does verification.
        secret.sign_raw(message, auxiliary).map_or([0; 64], |signature| signature.to_bytes())
    }
    #[inline(never)]
    fn lift_x(x: &[u8; 32]) -> Option<VerifyingKey> {
        VerifyingKey::from_bytes(&(*x).into()).ok()
    }
    #[inline(never)]
    fn verify_lifted(public: &VerifyingKey, message: &[u8], signature: &[u8; 64]) -> bool {
        Signature::from_bytes(signature).is_ok_and(|signature| public.verify_raw(message, &signature).is_ok())
    }
    #[inline(never)]
    fn diffie_hellman(secret: &SigningKey, public: &VerifyingKey) -> [u8; 32] {
        let shared = k256::ecdh::diffie_hellman(secret.as_nonzero_scalar(), public.as_affine());
        (*shared.raw_secret_bytes()).into()
    }
}

/// The multiples 1·16^i to 8·16^i of one public key, for verification without doublings: 65 rows of 8 points.
#[derive(Clone, Debug)]
pub struct KeyTable {
    public: [u8; 32],
    rows: Vec<[AffinePoint; 8]>,
}

impl KeyTable {
    /// Computes the table: 65 · (7 additions and 1 doubling), and one inversion for all.
    pub fn new(key: &VerifyingKey) -> Self {
        let mut row_base = ProjectivePoint::from(*key.as_affine());
        let mut points = Vec::with_capacity(ROWS * 8);
        for _ in 0..ROWS {
            let mut multiple = row_base;
            for _ in 0..8 {
                points.push(multiple);
                multiple += row_base;
            }
            // Eight times the row's base is its last point; twice that begins the next row.
            row_base = points[points.len() - 1].double();
        }
        let affine =
            <ProjectivePoint as k256::elliptic_curve::BatchNormalize<[ProjectivePoint]>>::batch_normalize(&points);
        let rows = affine.chunks_exact(8).map(|row| std::array::from_fn(|i| row[i])).collect();
        Self { public: key.to_bytes().into(), rows }
    }

    /// The same verdict as [`Library::verify`], in variable time.
    #[inline(never)]
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let Some((r, s)) = split(signature) else {
            return false;
        };
        let e = challenge(&r, &self.public, message);
        let mut point = ProjectivePoint::mul_by_generator_vartime(&s);
        for (row, digit) in self.rows.iter().zip(signed_nibbles(&-e)) {
            match usize::from(digit.unsigned_abs()) {
                0 => {}
                magnitude if digit > 0 => point += row[magnitude - 1],
                magnitude => point -= row[magnitude - 1],
            }
        }
        let point = point.to_affine();
        point != AffinePoint::IDENTITY && !bool::from(point.y_is_odd()) && point.x()[..] == r
    }
}

/// Digits of four bits in 256, and one for the last carry.
const ROWS: usize = 65;

/// r and s of a signature; `None` where s is not below the group order.
pub(super) fn split(signature: &[u8; 64]) -> Option<([u8; 32], Scalar)> {
    let r = std::array::from_fn(|i| signature[i]);
    let s: [u8; 32] = std::array::from_fn(|i| signature[32 + i]);
    Some((r, Option::from(Scalar::from_repr(s.into()))?))
}

/// The challenge of BIP-340: the tagged hash of R, the key and the message, modulo the group order.
pub(super) fn challenge(r: &[u8; 32], public: &[u8; 32], message: &[u8]) -> Scalar {
    let tag = Sha256::digest(b"BIP0340/challenge");
    let hash = Sha256::new().chain_update(tag).chain_update(tag);
    let hash: [u8; 32] = hash.chain_update(r).chain_update(public).chain_update(message).finalize().into();
    <Scalar as Reduce<FieldBytes>>::reduce(&hash.into())
}

/// The point with this x coordinate and even y.
pub(super) fn lift(x: &[u8; 32]) -> Option<ProjectivePoint> {
    let point: AffinePoint = Option::from(AffinePoint::decompact(&(*x).into()))?;
    debug_assert!(!bool::from(point.y_is_odd()));
    Some(point.into())
}

/// 65 digits in −8..8, lowest first, that sum to the scalar; the last takes the last carry.
fn signed_nibbles(scalar: &Scalar) -> [i8; ROWS] {
    let bytes: [u8; 32] = scalar.to_repr().into();
    let mut digits = [0i8; ROWS];
    for (i, digit) in digits[..64].iter_mut().enumerate() {
        *digit = (bytes[31 - i / 2] >> (4 * (i % 2)) & 15) as i8;
    }
    for i in 0..64 {
        let carry = (digits[i] + 8) >> 4;
        digits[i] -= carry << 4;
        digits[i + 1] += carry;
    }
    digits
}
