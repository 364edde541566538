//! Points of the twisted Edwards curve −x² + y² = 1 + d·x²·y² over any representation of the field, and the two
//! scalar multiplications that Ed25519 needs.
//!
//! Formulas: Hisil, Wong, Carter and Dawson, "Twisted Edwards Curves Revisited" (2008), sections 3.1 to 3.3, in
//! extended coordinates (X : Y : Z : T) with x = X ÷ Z, y = Y ÷ Z, T = X·Y ÷ Z.

use super::field::{Choice, Field};

/// A point in extended coordinates.
#[derive(Clone, Debug)]
pub struct Point<F> {
    x: F,
    y: F,
    z: F,
    t: F,
}

/// A point prepared as the second operand of an addition: Y + X, Y − X, 2·d·T, and Z unless it is one.
#[derive(Clone, Debug)]
struct Addend<F> {
    sum: F,
    difference: F,
    t2d: F,
    z: Option<F>,
}

/// A result before its last multiplications: the point (X·T : Y·Z : Z·T), with X·Y as its fourth coordinate.
struct Completed<F> {
    x: F,
    y: F,
    z: F,
    t: F,
}

/// What a doubling needs of a point.
struct Projective<F> {
    x: F,
    y: F,
    z: F,
}

/// The curve's constants, derived from their definitions, and small multiples of the base point.
#[derive(Clone, Debug)]
pub struct Curve<F> {
    d: F,
    d2: F,
    root_of_minus_one: F,
    base: Point<F>,
    /// 1·B to 8·B, for digits of four bits.
    base_multiples: Vec<Addend<F>>,
    /// B, 3·B, … 15·B, for sparse digits.
    base_odd_multiples: Vec<Addend<F>>,
}

impl<F: Field> Curve<F> {
    /// Derives d = −121665 ÷ 121666, i = 2^((p − 1) ÷ 4) and B = (x, 4 ÷ 5) with even x.
    pub fn new() -> Self {
        let d = F::zero().sub(&F::from_small(121_665)).mul(&F::from_small(121_666).invert());
        // (p − 1) ÷ 4 = 2^253 − 5.
        let mut exponent = [0xff; 32];
        exponent[0] = 0xfb;
        exponent[31] = 0x1f;
        let mut curve = Self {
            d2: d.add(&d).mul(&F::one()),
            d,
            root_of_minus_one: F::from_small(2).power(&exponent),
            base: Point { x: F::zero(), y: F::one(), z: F::one(), t: F::zero() },
            base_multiples: Vec::new(),
            base_odd_multiples: Vec::new(),
        };
        let base_y = F::from_small(4).mul(&F::from_small(5).invert());
        if let Some(base) = curve.decompress(&base_y.to_bytes()) {
            curve.base = base;
        }
        let affine = |point: &Point<F>| curve.addend(&point.to_affine()).with_z_one();
        let multiples = curve.multiples(&curve.base, &curve.base, 15);
        let base_multiples = multiples[..8].iter().map(affine).collect();
        let base_odd_multiples = multiples.iter().step_by(2).map(affine).collect();
        Self { base_multiples, base_odd_multiples, ..curve }
    }

    /// The base point.
    pub fn base(&self) -> &Point<F> {
        &self.base
    }

    /// The point with this encoding: y in 255 bits, the lowest bit of x in the last. `None` where no point of
    /// the curve has that y, and for the encoding of −0.
    pub fn decompress(&self, bytes: &[u8; 32]) -> Option<Point<F>> {
        let y = F::from_bytes(bytes);
        let y2 = y.square();
        let (u, v) = (y2.sub(&F::one()), self.d.mul(&y2).add(&F::one()));
        // x = u·v³·(u·v⁷)^((p − 5) ÷ 8), up to a factor of i (RFC 8032, section 5.1.3).
        let v3 = v.square().mul(&v);
        let uv7 = v3.square().mul(&v).mul(&u);
        let mut x = uv7.power_p58().mul(&v3).mul(&u);
        let vx2 = x.square().mul(&v);
        if vx2.equals(&F::zero().sub(&u)) {
            x = x.mul(&self.root_of_minus_one);
        } else if !vx2.equals(&u) {
            return None;
        }
        let sign = bytes[31] >> 7;
        let x_bytes = x.to_bytes();
        if x_bytes == [0; 32] && sign == 1 {
            return None;
        }
        if x_bytes[0] & 1 != sign {
            x = F::zero().sub(&x);
        }
        let t = x.mul(&y);
        Some(Point { x, y, z: F::one(), t })
    }

    /// `scalar` times the base point, in constant time: the same operations for every scalar below 2^253.
    pub fn mul_base(&self, scalar: &[u8; 32]) -> Point<F> {
        let digits = signed_nibbles(scalar);
        let mut sum = Point::identity().add(&self.select(digits[63])).to_extended();
        for digit in digits[..63].iter().rev() {
            let fourfold = sum.to_projective().double().to_projective().double().to_projective();
            let sixteenfold = fourfold.double().to_projective().double().to_extended();
            sum = sixteenfold.add(&self.select(*digit)).to_extended();
        }
        sum
    }

    /// a·A + b·B with B the base point, in variable time: for public inputs only.
    pub fn double_mul(&self, a: &[u8; 32], point: &Point<F>, b: &[u8; 32]) -> Point<F> {
        let (a, b) = (sparse_digits(a), sparse_digits(b));
        let doubled = point.to_projective().double().to_extended();
        let multiples: Vec<_> =
            self.multiples(point, &doubled, 8).iter().map(|multiple| self.addend(multiple)).collect();
        let mut sum = Point::identity();
        let highest = (0..256).rev().find(|&i| a[i] != 0 || b[i] != 0).unwrap_or(0);
        for i in (0..=highest).rev() {
            let mut completed = sum.to_projective().double();
            for (digit, multiples) in [(a[i], &multiples), (b[i], &self.base_odd_multiples)] {
                if digit != 0 {
                    let multiple = &multiples[usize::from(digit.unsigned_abs()) / 2];
                    let extended = completed.to_extended();
                    completed = if digit > 0 { extended.add(multiple) } else { extended.subtract(multiple) };
                }
            }
            sum = completed.to_extended();
        }
        sum
    }

    /// `first`, `first + step`, … : `count` points.
    fn multiples(&self, first: &Point<F>, step: &Point<F>, count: usize) -> Vec<Point<F>> {
        let step = self.addend(step);
        std::iter::successors(Some(first.clone()), |last| Some(last.add(&step).to_extended())).take(count).collect()
    }

    fn addend(&self, point: &Point<F>) -> Addend<F> {
        Addend {
            sum: point.y.add(&point.x),
            difference: point.y.sub(&point.x),
            t2d: point.t.mul(&self.d2),
            z: Some(point.z.clone()),
        }
    }

    /// The digit's multiple of the base point, read in constant time: all eight are looked at.
    fn select(&self, digit: i8) -> Addend<F> {
        let negative = (digit >> 7) as u8 & 1;
        let magnitude = digit.unsigned_abs();
        let mut chosen = Addend { sum: F::one(), difference: F::one(), t2d: F::zero(), z: None };
        for (multiple, candidate) in (1..).zip(&self.base_multiples) {
            let choice = Choice::equal(magnitude, multiple);
            chosen.sum.assign_if(&candidate.sum, choice);
            chosen.difference.assign_if(&candidate.difference, choice);
            chosen.t2d.assign_if(&candidate.t2d, choice);
        }
        let negative = Choice::from_bit(negative);
        F::swap_if(&mut chosen.sum, &mut chosen.difference, negative);
        let negated = F::zero().sub(&chosen.t2d);
        chosen.t2d.assign_if(&negated, negative);
        chosen
    }
}

impl<F: Field> Default for Curve<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Field> Point<F> {
    /// The neutral element.
    pub fn identity() -> Self {
        Self { x: F::zero(), y: F::one(), z: F::one(), t: F::zero() }
    }

    /// The inverse.
    #[must_use]
    pub fn negate(&self) -> Self {
        Self { x: F::zero().sub(&self.x), y: self.y.clone(), z: self.z.clone(), t: F::zero().sub(&self.t) }
    }

    /// The encoding: y with the lowest bit of x in bit 255.
    pub fn compress(&self) -> [u8; 32] {
        let inverse = self.z.invert();
        let mut bytes = self.y.mul(&inverse).to_bytes();
        bytes[31] |= (self.x.mul(&inverse).to_bytes()[0] & 1) << 7;
        bytes
    }

    fn to_affine(&self) -> Self {
        let inverse = self.z.invert();
        let (x, y) = (self.x.mul(&inverse), self.y.mul(&inverse));
        let t = x.mul(&y);
        Self { x, y, z: F::one(), t }
    }

    fn to_projective(&self) -> Projective<F> {
        Projective { x: self.x.clone(), y: self.y.clone(), z: self.z.clone() }
    }

    fn add(&self, other: &Addend<F>) -> Completed<F> {
        let a = self.y.sub(&self.x).mul(&other.difference);
        let b = self.y.add(&self.x).mul(&other.sum);
        let c = self.t.mul(&other.t2d);
        let d = self.twice_z(other);
        Completed { x: b.sub(&a), y: b.add(&a), z: d.add(&c), t: d.sub(&c) }
    }

    fn subtract(&self, other: &Addend<F>) -> Completed<F> {
        let a = self.y.sub(&self.x).mul(&other.sum);
        let b = self.y.add(&self.x).mul(&other.difference);
        let c = self.t.mul(&other.t2d);
        let d = self.twice_z(other);
        Completed { x: b.sub(&a), y: b.add(&a), z: d.sub(&c), t: d.add(&c) }
    }

    fn twice_z(&self, other: &Addend<F>) -> F {
        match &other.z {
            Some(z) => {
                let product = self.z.mul(z);
                product.add(&product)
            }
            None => self.z.add(&self.z),
        }
    }
}

impl<F: Field> Addend<F> {
    /// The same, for a point whose Z is known to be one.
    fn with_z_one(self) -> Self {
        Self { z: None, ..self }
    }
}

impl<F: Field> Projective<F> {
    /// Twice the point. With x² − y² for G and 2z² + x² − y² for F all four signs change, which is the same point.
    fn double(&self) -> Completed<F> {
        let x2 = self.x.square();
        let y2 = self.y.square();
        let z2 = self.z.square();
        let sum2 = self.x.add(&self.y).square();
        let y = y2.add(&x2);
        let z = y2.sub(&x2);
        let t = z2.add(&z2).sub(&z);
        Completed { x: sum2.sub(&y), y, z, t }
    }
}

impl<F: Field> Completed<F> {
    fn to_projective(&self) -> Projective<F> {
        Projective { x: self.x.mul(&self.t), y: self.y.mul(&self.z), z: self.z.mul(&self.t) }
    }

    fn to_extended(&self) -> Point<F> {
        let Projective { x, y, z } = self.to_projective();
        Point { x, y, z, t: self.x.mul(&self.y) }
    }
}

/// 64 digits in −8..8, lowest first, that sum to a scalar below 2^253.
fn signed_nibbles(scalar: &[u8; 32]) -> [i8; 64] {
    let mut digits: [i8; 64] = std::array::from_fn(|i| (scalar[i / 2] >> (4 * (i % 2)) & 15) as i8);
    for i in 0..63 {
        let carry = (digits[i] + 8) >> 4;
        digits[i] -= carry << 4;
        digits[i + 1] += carry;
    }
    digits
}

/// Digits that are zero or odd in −15..16, at most one in any five neighbours non-zero, lowest first, that sum
/// to a scalar below 2^253 (width-5 non-adjacent form).
fn sparse_digits(scalar: &[u8; 32]) -> [i8; 256] {
    let mut digits = [0i8; 256];
    let mut carry = 0;
    let mut at = 0;
    let bit = |i: usize| if i < 256 { scalar[i / 8] >> (i % 8) & 1 } else { 0 };
    while at < 256 {
        if bit(at) == carry {
            at += 1;
            continue;
        }
        let window = (0..5).map(|i| bit(at + i) << i).sum::<u8>() + carry;
        carry = u8::from(window > 16);
        digits[at] = window as i8 - 32 * carry as i8;
        at += 5;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::super::limbs5::Limbs5;
    use super::*;

    #[test]
    fn constants_meet_their_definitions() {
        let curve = Curve::<Limbs5>::new();
        let minus_one = Limbs5::zero().sub(&Limbs5::one());
        assert!(curve.root_of_minus_one.square().equals(&minus_one));
        let d_times = curve.d.mul_small(121_666).add(&Limbs5::from_small(121_665));
        assert!(d_times.equals(&Limbs5::zero()));
        let base = curve.base.to_affine();
        assert!(base.y.mul_small(5).equals(&Limbs5::from_small(4)));
        assert_eq!(base.x.to_bytes()[0] & 1, 0);
        let (x2, y2) = (base.x.square(), base.y.square());
        let right = Limbs5::one().add(&curve.d.mul(&x2).mul(&y2));
        assert!(y2.sub(&x2).equals(&right));
        // One less than the order of the base point takes it to its inverse.
        let order_less_one = (-curve25519_dalek::Scalar::ONE).to_bytes();
        assert_eq!(curve.mul_base(&order_less_one).compress(), curve.base.negate().compress());
    }

    #[test]
    fn digits_sum_to_the_scalar() {
        use curve25519_dalek::Scalar;
        let signed = |digit: i8| {
            let magnitude = Scalar::from(u64::from(digit.unsigned_abs()));
            if digit < 0 { -magnitude } else { magnitude }
        };
        for seed in 0..200u8 {
            let scalar = Scalar::from_bytes_mod_order([seed.wrapping_mul(83) ^ 0x5a; 32]);
            let horner = |digits: &[i8], radix: u64| {
                digits.iter().rev().fold(Scalar::ZERO, |sum, digit| sum * Scalar::from(radix) + signed(*digit))
            };
            assert_eq!(horner(&signed_nibbles(scalar.as_bytes()), 16), scalar);
            let sparse = sparse_digits(scalar.as_bytes());
            assert_eq!(horner(&sparse, 2), scalar);
            assert!(sparse.windows(5).all(|window| window.iter().filter(|digit| **digit != 0).count() <= 1));
        }
    }
}
