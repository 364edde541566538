//! 4 saturated limbs of 64 bits: 16 products of 64 × 64 → 128 bits a multiplication, 10 a squaring, and carries
//! that must ripple through every step because no limb has a spare bit.
//!
//! Any four words are a value: operations keep it below 2^256, not below p.

use super::field::representation;

type Limbs = [u64; 4];

representation! {
    /// 4 limbs of 64 bits.
    Limbs4, Limbs4Inlined = "4x64" [u64; 4],
    products: 16 / 10,
    ops: std::convert::identity, to_words, add, sub, mul, square, mul_small
}

#[inline(always)]
fn to_words(limbs: &Limbs) -> [u64; 4] {
    *limbs
}

/// a + b + carry, and the carry out.
#[inline(always)]
fn add_carry(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64, (sum >> 64) as u64)
}

/// a − b − borrow, and the borrow out.
#[inline(always)]
fn sub_borrow(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(borrow);
    (difference, u64::from(first | second))
}

/// sum + a·b + carry, and the carry out; cannot overflow.
#[inline(always)]
fn mul_add(sum: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(sum) + u128::from(a) * u128::from(b) + u128::from(carry);
    (sum as u64, (sum >> 64) as u64)
}

/// Adds `carry`·2^256 ≡ 38·`carry` to the value. A second overflow leaves a value below 38·2^64, so the third
/// addition cannot overflow.
#[inline(always)]
fn fold(mut limbs: Limbs, carry: u64) -> Limbs {
    let (low, mut carry) = mul_add(limbs[0], 38, carry, 0);
    limbs[0] = low;
    for limb in &mut limbs[1..] {
        (*limb, carry) = add_carry(*limb, 0, carry);
    }
    limbs[0] = limbs[0].wrapping_add(38 * carry);
    limbs
}

#[inline(always)]
fn add(a: &Limbs, b: &Limbs) -> Limbs {
    let mut carry = 0;
    let mut limbs = [0; 4];
    for i in 0..4 {
        (limbs[i], carry) = add_carry(a[i], b[i], carry);
    }
    fold(limbs, carry)
}

#[inline(always)]
fn sub(a: &Limbs, b: &Limbs) -> Limbs {
    let mut borrow = 0;
    let mut limbs = [0; 4];
    for i in 0..4 {
        (limbs[i], borrow) = sub_borrow(a[i], b[i], borrow);
    }
    // −2^256 ≡ −38. Where that borrows once more the value is close to 2^256, so the last step cannot.
    (limbs[0], borrow) = sub_borrow(limbs[0], 38 * borrow, 0);
    for limb in &mut limbs[1..] {
        (*limb, borrow) = sub_borrow(*limb, 0, borrow);
    }
    limbs[0] = limbs[0].wrapping_sub(38 * borrow);
    limbs
}

#[inline(always)]
fn mul(a: &Limbs, b: &Limbs) -> Limbs {
    let mut product = [0; 8];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 {
            (product[i + j], carry) = mul_add(product[i + j], a[i], b[j], carry);
        }
        product[i + 4] = carry;
    }
    reduce(product)
}

#[inline(always)]
fn square(a: &Limbs) -> Limbs {
    let mut product = [0; 8];
    for i in 0..3 {
        let mut carry = 0;
        for j in i + 1..4 {
            (product[i + j], carry) = mul_add(product[i + j], a[i], a[j], carry);
        }
        product[i + 4] = carry;
    }
    // Twice the mixed products, then the squares.
    for i in (1..8).rev() {
        product[i] = product[i] << 1 | product[i - 1] >> 63;
    }
    let mut carry = 0;
    for i in 0..4 {
        let (low, high) = mul_add(product[2 * i], a[i], a[i], carry);
        product[2 * i] = low;
        (product[2 * i + 1], carry) = add_carry(product[2 * i + 1], high, 0);
    }
    reduce(product)
}

#[inline(always)]
fn mul_small(a: &Limbs, factor: u32) -> Limbs {
    let mut carry = 0;
    let limbs = a.map(|limb| {
        let (low, high) = mul_add(0, limb, u64::from(factor), carry);
        carry = high;
        low
    });
    fold(limbs, carry)
}

/// The upper half of a product comes back times 38.
#[inline(always)]
fn reduce(product: [u64; 8]) -> Limbs {
    let mut carry = 0;
    let mut limbs = [0; 4];
    for i in 0..4 {
        (limbs[i], carry) = mul_add(product[i], 38, product[i + 4], carry);
    }
    fold(limbs, carry)
}
