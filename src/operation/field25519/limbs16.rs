//! 16 signed limbs of 16 bits (radix 2^16, as in TweetNaCl): 256 products a multiplication, and two carry
//! passes that samplers like to blame.
//!
//! Limbs are `i64` and may be negative. A reduced value has limbs in −38..2^16 + 38. The sum of 16 products of limbs
//! below 2^19, with the upper half folded by 38, stays below 2^48, so nothing can overflow.

use super::field::representation;

type Limbs = [i64; 16];

representation! {
    /// 16 limbs, squaring by general multiplication (256 products), carry with modulo and branch.
    Limbs16, Limbs16Inlined = "16x16" [i64; 16],
    products: 256 / 256,
    ops: from_words, to_words, add, sub, mul_wrapping, square_general, mul_small
}

representation! {
    /// 16 limbs, symmetric squaring (136 products), carry with modulo and branch.
    Limbs16Symmetric, Limbs16SymmetricInlined = "16x16-symmetric" [i64; 16],
    products: 256 / 136,
    ops: from_words, to_words, add, sub, mul_wrapping, square_symmetric, mul_small
}

representation! {
    /// 16 limbs, squaring by general multiplication, carry with its last step peeled off: the rewrite that a
    /// profile suggests.
    Limbs16Peeled, Limbs16PeeledInlined = "16x16-peeled" [i64; 16],
    products: 256 / 256,
    ops: from_words, to_words, add, sub, mul_peeled, square_peeled, mul_small_peeled
}

/// Passes over the limbs that one multiplication or squaring makes to carry.
pub const CARRIES_PER_MUL: u32 = 2;

/// One carry pass in the direct form: the target's index by modulo, the factor by a branch.
///
/// Each limb keeps 16 bits and hands the rest to the next; the last hands 38 times its rest to the first,
/// because 2^256 ≡ 38.
#[inline(never)]
pub fn carry_wrapping(limbs: &mut [i64; 16]) {
    for i in 0..16 {
        let carry = limbs[i] >> 16;
        limbs[i] &= 0xffff;
        limbs[(i + 1) % 16] += if i == 15 { 38 * carry } else { carry };
    }
}

/// One carry pass with the last step peeled off: no modulo, no branch.
#[inline(never)]
pub fn carry_peeled(limbs: &mut [i64; 16]) {
    let mut carry = 0;
    for limb in limbs.iter_mut() {
        let value = *limb + carry;
        carry = value >> 16;
        *limb = value & 0xffff;
    }
    limbs[0] += 38 * carry;
}

#[inline(always)]
fn from_words(words: [u64; 4]) -> Limbs {
    std::array::from_fn(|i| (words[i / 4] >> (16 * (i % 4)) & 0xffff) as i64)
}

#[inline(always)]
fn to_words(limbs: &Limbs) -> [u64; 4] {
    // The first pass brings all limbs but the lowest into 0..2^16. The second can leave only the lowest
    // outside, by at most 38, and then its neighbour absorbs the third pass's carry.
    let mut limbs = *limbs;
    for _ in 0..3 {
        carry_peeled(&mut limbs);
    }
    std::array::from_fn(|i| limbs[4 * i..4 * i + 4].iter().rev().fold(0, |word, limb| word << 16 | *limb as u64))
}

#[inline(always)]
fn add(a: &Limbs, b: &Limbs) -> Limbs {
    std::array::from_fn(|i| a[i] + b[i])
}

#[inline(always)]
fn sub(a: &Limbs, b: &Limbs) -> Limbs {
    std::array::from_fn(|i| a[i] - b[i])
}

#[inline(always)]
fn mul_wrapping(a: &Limbs, b: &Limbs) -> Limbs {
    reduce(product(a, b), carry_wrapping)
}

#[inline(always)]
fn square_general(a: &Limbs) -> Limbs {
    reduce(product(a, a), carry_wrapping)
}

#[inline(always)]
fn square_symmetric(a: &Limbs) -> Limbs {
    reduce(symmetric_product(a), carry_wrapping)
}

#[inline(always)]
fn mul_peeled(a: &Limbs, b: &Limbs) -> Limbs {
    reduce(product(a, b), carry_peeled)
}

#[inline(always)]
fn square_peeled(a: &Limbs) -> Limbs {
    reduce(product(a, a), carry_peeled)
}

#[inline(always)]
fn mul_small(a: &Limbs, factor: u32) -> Limbs {
    carried(a.map(|limb| limb * i64::from(factor)), carry_wrapping)
}

#[inline(always)]
fn mul_small_peeled(a: &Limbs, factor: u32) -> Limbs {
    carried(a.map(|limb| limb * i64::from(factor)), carry_peeled)
}

/// The 31 column sums of a schoolbook multiplication.
#[inline(always)]
fn product(a: &Limbs, b: &Limbs) -> [i64; 31] {
    let mut columns = [0; 31];
    for i in 0..16 {
        for j in 0..16 {
            columns[i + j] += a[i] * b[j];
        }
    }
    columns
}

/// The column sums of a square: each mixed product once, doubled.
#[inline(always)]
fn symmetric_product(a: &Limbs) -> [i64; 31] {
    let mut columns = [0; 31];
    for i in 0..16 {
        columns[2 * i] += a[i] * a[i];
        let doubled = 2 * a[i];
        for j in i + 1..16 {
            columns[i + j] += doubled * a[j];
        }
    }
    columns
}

#[inline(always)]
fn reduce(columns: [i64; 31], carry: fn(&mut Limbs)) -> Limbs {
    let mut limbs: Limbs = std::array::from_fn(|i| columns[i]);
    for i in 0..15 {
        limbs[i] += 38 * columns[i + 16];
    }
    carried(limbs, carry)
}

#[inline(always)]
fn carried(mut limbs: Limbs, carry: fn(&mut Limbs)) -> Limbs {
    for _ in 0..CARRIES_PER_MUL {
        carry(&mut limbs);
    }
    limbs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_carry_do_the_same() {
        let mut seed = 1u64;
        for _ in 0..1000 {
            let mut one: Limbs = std::array::from_fn(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                seed as i64 >> 20
            });
            let mut other = one;
            carry_wrapping(&mut one);
            carry_peeled(&mut other);
            assert_eq!(one, other);
        }
    }
}
