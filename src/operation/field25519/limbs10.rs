//! 10 signed limbs of alternately 26 and 25 bits (radix 2^25.5): 100 products a multiplication, 55 a squaring.
//!
//! Limb i weighs 2^⌈25.5·i⌉. A reduced value has even limbs within ±1.01·2^25 and odd limbs within ±1.01·2^24.
//! For sums of four such values the ten products of a column, with their factors 2 and 19, stay below 2^62.

use super::field::representation;

type Limbs = [i32; 10];

representation! {
    /// 10 limbs of 25.5 bits.
    Limbs10, Limbs10Inlined = "10x25.5" [i32; 10],
    products: 100 / 55,
    ops: from_words, to_words, add, sub, mul, square, mul_small
}

/// Bits of limb i.
const fn bits(i: usize) -> u32 {
    if i.is_multiple_of(2) { 26 } else { 25 }
}

/// Weight of limb i as a power of two.
const fn offset(i: usize) -> u32 {
    (51 * i as u32).div_ceil(2)
}

#[inline(always)]
fn from_words(words: [u64; 4]) -> Limbs {
    std::array::from_fn(|i| {
        let (word, shift) = ((offset(i) / 64) as usize, offset(i) % 64);
        let high = if word < 3 && shift > 0 { words[word + 1] << (64 - shift) } else { 0 };
        ((words[word] >> shift | high) & ((1 << bits(i)) - 1)) as i32
    })
}

#[inline(always)]
fn to_words(limbs: &Limbs) -> [u64; 4] {
    // Carries that round down: after three passes every limb is in 0..2^bits. See the 16-limb form for why
    // three suffice.
    let mut limbs = limbs.map(i64::from);
    for _ in 0..3 {
        for i in 0..10 {
            let carry = limbs[i] >> bits(i);
            limbs[i] -= carry << bits(i);
            if i == 9 { limbs[0] += 19 * carry } else { limbs[i + 1] += carry }
        }
    }
    let mut words = [0; 4];
    for (i, limb) in limbs.into_iter().enumerate() {
        let (word, shift) = ((offset(i) / 64) as usize, offset(i) % 64);
        words[word] |= (limb as u64) << shift;
        if shift + bits(i) > 64 {
            words[word + 1] |= limb as u64 >> (64 - shift);
        }
    }
    words
}

#[inline(always)]
fn add(a: &Limbs, b: &Limbs) -> Limbs {
    std::array::from_fn(|i| a[i] + b[i])
}

#[inline(always)]
fn sub(a: &Limbs, b: &Limbs) -> Limbs {
    std::array::from_fn(|i| a[i] - b[i])
}

/// Columns of the product. A pair of odd limbs weighs twice its column, because both offsets were rounded up;
/// what passes limb 9 comes back times 19.
#[inline(always)]
#[rustfmt::skip]
fn mul(a: &Limbs, b: &Limbs) -> Limbs {
    let [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9] = a.map(i64::from);
    let [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9] = b.map(i64::from);
    let [d1, d3, d5, d7, d9] = [2 * a1, 2 * a3, 2 * a5, 2 * a7, 2 * a9];
    let [n1, n2, n3, n4, n5, n6, n7, n8, n9] = [b1, b2, b3, b4, b5, b6, b7, b8, b9].map(|b| 19 * b);
    carry([
        a0*b0 + d1*n9 + a2*n8 + d3*n7 + a4*n6 + d5*n5 + a6*n4 + d7*n3 + a8*n2 + d9*n1,
        a0*b1 + a1*b0 + a2*n9 + a3*n8 + a4*n7 + a5*n6 + a6*n5 + a7*n4 + a8*n3 + a9*n2,
        a0*b2 + d1*b1 + a2*b0 + d3*n9 + a4*n8 + d5*n7 + a6*n6 + d7*n5 + a8*n4 + d9*n3,
        a0*b3 + a1*b2 + a2*b1 + a3*b0 + a4*n9 + a5*n8 + a6*n7 + a7*n6 + a8*n5 + a9*n4,
        a0*b4 + d1*b3 + a2*b2 + d3*b1 + a4*b0 + d5*n9 + a6*n8 + d7*n7 + a8*n6 + d9*n5,
        a0*b5 + a1*b4 + a2*b3 + a3*b2 + a4*b1 + a5*b0 + a6*n9 + a7*n8 + a8*n7 + a9*n6,
        a0*b6 + d1*b5 + a2*b4 + d3*b3 + a4*b2 + d5*b1 + a6*b0 + d7*n9 + a8*n8 + d9*n7,
        a0*b7 + a1*b6 + a2*b5 + a3*b4 + a4*b3 + a5*b2 + a6*b1 + a7*b0 + a8*n9 + a9*n8,
        a0*b8 + d1*b7 + a2*b6 + d3*b5 + a4*b4 + d5*b3 + a6*b2 + d7*b1 + a8*b0 + d9*n9,
        a0*b9 + a1*b8 + a2*b7 + a3*b6 + a4*b5 + a5*b4 + a6*b3 + a7*b2 + a8*b1 + a9*b0,
    ])
}

/// The same columns with each mixed product taken once, doubled.
#[inline(always)]
#[rustfmt::skip]
fn square(a: &Limbs) -> Limbs {
    let [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9] = a.map(i64::from);
    let [d0, d1, d2, d3, d4, d5, d6, d7] = [a0, a1, a2, a3, a4, a5, a6, a7].map(|a| 2 * a);
    let [n6, n8] = [a6, a8].map(|a| 19 * a);
    let [m5, m7, m9] = [a5, a7, a9].map(|a| 38 * a);
    carry([
        a0*a0 + d1*m9 + d2*n8 + d3*m7 + d4*n6 + a5*m5,
        d0*a1 + a2*m9 + d3*n8 + a4*m7 + d5*n6,
        d0*a2 + d1*a1 + d3*m9 + d4*n8 + d5*m7 + a6*n6,
        d0*a3 + d1*a2 + a4*m9 + d5*n8 + a6*m7,
        d0*a4 + d1*d3 + a2*a2 + d5*m9 + d6*n8 + a7*m7,
        d0*a5 + d1*a4 + d2*a3 + a6*m9 + d7*n8,
        d0*a6 + d1*d5 + d2*a4 + d3*a3 + d7*m9 + a8*n8,
        d0*a7 + d1*a6 + d2*a5 + d3*a4 + a8*m9,
        d0*a8 + d1*d7 + d2*a6 + d3*d5 + a4*a4 + a9*m9,
        d0*a9 + d1*a8 + d2*a7 + d3*a6 + d4*a5,
    ])
}

#[inline(always)]
fn mul_small(a: &Limbs, factor: u32) -> Limbs {
    carry(a.map(|limb| i64::from(limb) * i64::from(factor)))
}

/// Brings the columns back to limbs. Carries round to nearest, which keeps limbs small in magnitude; two chains
/// run side by side, since each step waits for the one before.
#[inline(always)]
fn carry(mut columns: [i64; 10]) -> Limbs {
    for i in [0, 4, 1, 5, 2, 6, 3, 7, 4, 8, 9, 0] {
        let carry = (columns[i] + (1 << (bits(i) - 1))) >> bits(i);
        columns[i] -= carry << bits(i);
        if i == 9 { columns[0] += 19 * carry } else { columns[i + 1] += carry }
    }
    columns.map(|limb| limb as i32)
}
