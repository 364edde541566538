//! 5 unsigned limbs of 51 bits (radix 2^51): 25 products of 64 × 64 → 128 bits a multiplication, 15 a squaring.
//!
//! A reduced value has limbs below 2^51 + 2^13. Sums are not carried; differences are, because limbs are unsigned.
//! For limbs below 2^54 a column's five products, four of them times 19, stay below 2^115.

use super::field::representation;

type Limbs = [u64; 5];

representation! {
    /// 5 limbs of 51 bits.
    Limbs5, Limbs5Inlined = "5x51" [u64; 5],
    products: 25 / 15,
    ops: from_words, to_words, add, sub, mul, square, mul_small
}

const MASK: u64 = (1 << 51) - 1;

#[inline(always)]
fn from_words([w0, w1, w2, w3]: [u64; 4]) -> Limbs {
    [w0, w0 >> 51 | w1 << 13, w1 >> 38 | w2 << 26, w2 >> 25 | w3 << 39, w3 >> 12].map(|limb| limb & MASK)
}

#[inline(always)]
fn to_words(limbs: &Limbs) -> [u64; 4] {
    let mut limbs = *limbs;
    for _ in 0..3 {
        for i in 0..5 {
            let carry = limbs[i] >> 51;
            limbs[i] &= MASK;
            if i == 4 { limbs[0] += 19 * carry } else { limbs[i + 1] += carry }
        }
    }
    let [a0, a1, a2, a3, a4] = limbs;
    [a0 | a1 << 51, a1 >> 13 | a2 << 38, a2 >> 26 | a3 << 25, a3 >> 39 | a4 << 12]
}

#[inline(always)]
fn add(a: &Limbs, b: &Limbs) -> Limbs {
    std::array::from_fn(|i| a[i] + b[i])
}

#[inline(always)]
fn sub(a: &Limbs, b: &Limbs) -> Limbs {
    // 16·p, limb by limb, is larger than any operand, so no limb goes below zero.
    const P16: Limbs = [(MASK - 18) << 4, MASK << 4, MASK << 4, MASK << 4, MASK << 4];
    let limbs: Limbs = std::array::from_fn(|i| a[i] + P16[i] - b[i]);
    // All five carries at once: each is below 2^6, so limbs end below 2^51 + 19·2^6.
    let carries = limbs.map(|limb| limb >> 51);
    std::array::from_fn(|i| (limbs[i] & MASK) + if i == 0 { 19 * carries[4] } else { carries[i - 1] })
}

#[inline(always)]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

#[inline(always)]
#[rustfmt::skip]
fn mul(a: &Limbs, b: &Limbs) -> Limbs {
    let [a0, a1, a2, a3, a4] = *a;
    let [b0, b1, b2, b3, b4] = *b;
    let [n1, n2, n3, n4] = [b1, b2, b3, b4].map(|b| 19 * b);
    carry([
        wide(a0, b0) + wide(a1, n4) + wide(a2, n3) + wide(a3, n2) + wide(a4, n1),
        wide(a0, b1) + wide(a1, b0) + wide(a2, n4) + wide(a3, n3) + wide(a4, n2),
        wide(a0, b2) + wide(a1, b1) + wide(a2, b0) + wide(a3, n4) + wide(a4, n3),
        wide(a0, b3) + wide(a1, b2) + wide(a2, b1) + wide(a3, b0) + wide(a4, n4),
        wide(a0, b4) + wide(a1, b3) + wide(a2, b2) + wide(a3, b1) + wide(a4, b0),
    ])
}

#[inline(always)]
#[rustfmt::skip]
fn square(a: &Limbs) -> Limbs {
    let [a0, a1, a2, a3, a4] = *a;
    let [d0, d1, d2, d3] = [a0, a1, a2, a3].map(|a| 2 * a);
    let [n3, n4] = [19 * a3, 19 * a4];
    carry([
        wide(a0, a0) + wide(d1, n4) + wide(d2, n3),
        wide(d0, a1) + wide(d2, n4) + wide(a3, n3),
        wide(d0, a2) + wide(a1, a1) + wide(d3, n4),
        wide(d0, a3) + wide(d1, a2) + wide(a4, n4),
        wide(d0, a4) + wide(d1, a3) + wide(a2, a2),
    ])
}

#[inline(always)]
fn mul_small(a: &Limbs, factor: u32) -> Limbs {
    carry(a.map(|limb| wide(limb, u64::from(factor))))
}

#[inline(always)]
fn carry(mut columns: [u128; 5]) -> Limbs {
    let mut limbs = [0; 5];
    for i in 0..4 {
        columns[i + 1] += columns[i] >> 51;
        limbs[i] = columns[i] as u64 & MASK;
    }
    limbs[4] = columns[4] as u64 & MASK;
    // The last column has no factor 19, so its carry is below 2^59.4, and 19 times that fits.
    limbs[0] += 19 * (columns[4] >> 51) as u64;
    limbs[1] += limbs[0] >> 51;
    limbs[0] &= MASK;
    limbs
}
