//! Points of the twisted Edwards curve edwards25519 and their 32-byte encoding (RFC 8032 section 5.1).

use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::VartimeMultiscalarMul;

use super::pool::{self, Case, PrimitiveError};
use crate::workload::Workload;

/// The encoding of a point: one inversion in the field.
#[inline(never)]
pub fn compress(point: &EdwardsPoint) -> [u8; 32] {
    point.compress().to_bytes()
}

/// The point of an encoding: one square root in the field.
///
/// # Errors
///
/// [`PrimitiveError::NotAPoint`] where the curve has no such point.
#[inline(never)]
pub fn decompress(encoding: &[u8; 32]) -> Result<EdwardsPoint, PrimitiveError> {
    CompressedEdwardsY(*encoding).decompress().ok_or(PrimitiveError::NotAPoint)
}

/// Σ scalar · point, in variable time: interleaved tables for few points, buckets from 190 on. Both
/// slices must have the same length.
#[inline(never)]
pub fn multiscalar_vartime(scalars: &[Scalar], points: &[EdwardsPoint]) -> EdwardsPoint {
    EdwardsPoint::vartime_multiscalar_mul(scalars, points)
}

pub(super) fn all() -> Vec<Workload> {
    let compress_workload = pool::workload(
        "edwards_compress",
        |random| {
            let point = EdwardsPoint::mul_base_clamped(pool::array(random));
            let expected = point.compress().to_bytes();
            assert_eq!(decompress(&expected), Ok(point), "an encoding decodes to its point");
            Case { input: point, expected }
        },
        compress,
        |encoding| encoding,
    );
    let decompress_workload = pool::workload(
        "edwards_decompress",
        |random| {
            let point = EdwardsPoint::mul_base_clamped(pool::array(random));
            Case { input: compress(&point), expected: Decoded(Ok(point)) }
        },
        |encoding| Decoded(decompress(encoding)),
        Decoded::bytes,
    );
    [compress_workload, decompress_workload]
        .map(|w| w.family("edwards25519").implementation("curve25519-dalek 5"))
        .into()
}

/// A decoded point. Two are equal where they are the same point, whatever their coordinates.
#[derive(PartialEq)]
struct Decoded(Result<EdwardsPoint, PrimitiveError>);

impl Decoded {
    /// Whether a point came out, by a load rather than a branch, so that a chained call waits for it.
    fn bytes(&self) -> &[u8] {
        static VERDICTS: [&[u8]; 2] = [&[0], &[1]];
        VERDICTS[usize::from(self.0.is_ok())]
    }
}

#[cfg(test)]
mod tests {
    use super::super::pool::hex;
    use super::*;
    use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;

    #[test]
    fn rfc_8032_section_5_1_base_point() {
        let encoding: [u8; 32] =
            hex("5866666666666666666666666666666666666666666666666666666666666666").try_into().unwrap();
        assert_eq!(compress(&ED25519_BASEPOINT_POINT), encoding);
        assert_eq!(decompress(&encoding), Ok(ED25519_BASEPOINT_POINT));
    }

    #[test]
    fn rfc_8032_section_7_1_public_keys_decode_and_encode() {
        for key in [
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        ] {
            let encoding: [u8; 32] = hex(key).try_into().unwrap();
            assert_eq!(decompress(&encoding).map(|point| compress(&point)), Ok(encoding));
        }
    }

    #[test]
    fn bytes_that_are_no_point_are_refused() {
        let mut two = [0; 32];
        two[0] = 2;
        assert_eq!(decompress(&two), Err(PrimitiveError::NotAPoint));
    }

    #[test]
    fn workloads_check_out() {
        pool::assert_workloads_check_out(all());
    }
}
