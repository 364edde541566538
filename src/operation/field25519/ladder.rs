//! X25519 (RFC 7748) by the Montgomery ladder, over any representation of the field.

use super::field::{Choice, Field};

/// (A − 2) ÷ 4 of the curve v² = u³ + A·u² + u, with A = 486,662.
const A24: u32 = (486_662 - 2) / 4;

/// The u-coordinate of the base point.
pub const BASE: [u8; 32] = {
    let mut bytes = [0; 32];
    bytes[0] = 9;
    bytes
};

/// The u-coordinate of `scalar` times the point with u-coordinate `u`; the scalar is clamped.
///
/// Always 255 steps of the same operations, whatever the inputs (RFC 7748, section 5).
#[inline(never)]
pub fn ladder<F: Field>(scalar: &[u8; 32], u: &[u8; 32]) -> [u8; 32] {
    let scalar = clamp(scalar);
    let base = F::from_bytes(u);
    // (x2 : z2) and (x3 : z3) are n·P and (n + 1)·P for the bits n read so far.
    let (mut x2, mut z2, mut x3, mut z3) = (F::one(), F::zero(), base.clone(), F::one());
    let mut swapped = 0;
    for position in (0..255).rev() {
        let bit = scalar[position / 8] >> (position % 8) & 1;
        let swap = Choice::from_bit(swapped ^ bit);
        swapped = bit;
        F::swap_if(&mut x2, &mut x3, swap);
        F::swap_if(&mut z2, &mut z3, swap);

        let sum2 = x2.add(&z2);
        let difference2 = x2.sub(&z2);
        let sum3 = x3.add(&z3);
        let difference3 = x3.sub(&z3);
        let square_of_sum = sum2.square();
        let square_of_difference = difference2.square();
        let cross1 = difference3.mul(&sum2);
        let cross2 = sum3.mul(&difference2);
        x3 = cross1.add(&cross2).square();
        z3 = cross1.sub(&cross2).square().mul(&base);
        x2 = square_of_sum.mul(&square_of_difference);
        let four_xz = square_of_sum.sub(&square_of_difference);
        z2 = four_xz.mul(&four_xz.mul_small(A24).add(&square_of_sum));
    }
    let swap = Choice::from_bit(swapped);
    F::swap_if(&mut x2, &mut x3, swap);
    F::swap_if(&mut z2, &mut z3, swap);
    x2.mul(&z2.invert()).to_bytes()
}

/// The scalar with bits 0 to 2 and 255 cleared and bit 254 set.
pub(super) fn clamp(scalar: &[u8; 32]) -> [u8; 32] {
    let mut scalar = *scalar;
    scalar[0] &= 248;
    scalar[31] &= 127;
    scalar[31] |= 64;
    scalar
}
