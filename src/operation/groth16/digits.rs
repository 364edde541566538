//! What a multiscalar multiplication does, from its scalars' digits alone: no point is touched.
//!
//! `ark-ec` 0.6 sorts scalars by width. Wide ones are cut into signed digits and narrow ones into unsigned ones; each
//! window adds the points of a digit into a bucket, and the buckets up from the highest. Which of these additions find
//! an empty bucket follows from the digits, if no two points are related. The counting curve ([`super::counting`])
//! must count the same, and a test holds the two against each other.

use std::hint::black_box;

use ark_ec::short_weierstrass::{Affine, Bucket, Projective, SWCurveConfig};
use ark_ec::{AffineRepr, VariableBaseMSM};
use ark_ff::{BigInt, BigInteger, PrimeField};
use ark_std::UniformRand;
use ark_std::rand::SeedableRng;
use ark_std::rand::rngs::StdRng;

use super::counting::{FieldOps, Fr, count};

/// How often each step ran that computes something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// A point that was negated.
    pub negate: u64,
    /// A point into a bucket that was not empty.
    pub mixed_add: u64,
    /// A bucket to another one.
    pub bucket_add: u64,
    /// A bucket to one that is the same: found out as an addition, done as a doubling.
    pub bucket_double: u64,
    /// A bucket in projective coordinates.
    pub to_projective: u64,
    /// Two sums.
    pub add: u64,
    /// A sum doubled between two windows.
    pub double: u64,
}

impl Steps {
    /// The operations of the base field in these steps, each priced by counting one of its kind.
    pub fn ops<P: SWCurveConfig<ScalarField = Fr>>(&self) -> FieldOps {
        let mut random = StdRng::seed_from_u64(3);
        let point = |random: &mut StdRng| Affine::<P>::rand(random);
        let (p, q) = (point(&mut random), point(&mut random));
        let bucket = |random: &mut StdRng| {
            let mut sum = Bucket::<P>::from(point(random));
            sum += point(random);
            sum
        };
        let (mut b, c) = (bucket(&mut random), bucket(&mut random));
        let (sum, mut other) = (Projective::<P>::from(b), Projective::<P>::from(c));
        let one = |body: &mut dyn FnMut()| count(body).1.base;
        let each = [
            (self.negate, one(&mut || _ = black_box(-p))),
            (self.mixed_add, one(&mut || b += q)),
            (self.bucket_add, one(&mut || b += &c)),
            (self.bucket_double, one(&mut || b += &b.clone())),
            (self.to_projective, one(&mut || _ = black_box(Projective::<P>::from(c)))),
            (self.add, one(&mut || other += &sum)),
            (
                self.double,
                one(&mut || {
                    use ark_ff::AdditiveGroup;
                    other.double_in_place();
                }),
            ),
        ];
        each.iter().fold(FieldOps::default(), |all, (times, ops)| all.plus(*times, ops))
    }
}

/// The steps of `msm_bigint` on these scalars; `empty` says which points are the group's identity.
pub fn steps(scalars: &[BigInt<4>], empty: &[bool]) -> Steps {
    let mut steps = Steps::default();
    let mut groups: [Vec<(BigInt<4>, bool)>; GROUPS] = Default::default();
    for (scalar, empty) in scalars.iter().zip(empty).filter(|(scalar, _)| !scalar.is_zero()) {
        let mut negative = Fr::MODULUS;
        negative.sub_with_borrow(scalar);
        match (width(scalar), width(&negative)) {
            (Some(width), _) => groups[width].push((*scalar, *empty)),
            (None, Some(width)) => groups[WIDTHS.len() + width].push((negative, *empty)),
            (None, None) => groups[GROUPS - 1].push((*scalar, *empty)),
        }
    }
    // Sums of the positive and of the negative scalars, empty at first.
    let mut sums = [false; 2];
    for (at, group) in groups.iter().enumerate().filter(|(_, group)| !group.is_empty()) {
        let sum = match at {
            wide if wide == GROUPS - 1 => signed(&mut steps, group),
            ones if ones % WIDTHS.len() == 0 => binary(&mut steps, group),
            _ => unsigned(&mut steps, group),
        };
        let side = &mut sums[usize::from((WIDTHS.len()..GROUPS - 1).contains(&at))];
        steps.add += u64::from(sum && *side);
        *side |= sum;
    }
    // The negative sum is negated and added even where it is empty.
    steps.negate += 1;
    steps.add += u64::from(sums[0] && sums[1]);
    steps
}

/// Widths in bits of the groups of narrow scalars; the first holds ones only.
const WIDTHS: [u32; 5] = [1, 8, 16, 32, 64];
/// Narrow scalars, narrow ones below the modulus, and all others.
const GROUPS: usize = 2 * WIDTHS.len() + 1;

fn width(scalar: &BigInt<4>) -> Option<usize> {
    WIDTHS.iter().position(|width| scalar.num_bits() <= *width)
}

/// Bits of a window for so many scalars, as `ark-ec` chooses it.
fn window(scalars: usize) -> usize {
    if scalars < 32 { 3 } else { ark_std::log2(scalars) as usize * 69 / 100 + 2 }
}

/// All points with the scalar one. Returns whether the sum is a point, as the functions below do.
fn binary(steps: &mut Steps, group: &[(BigInt<4>, bool)]) -> bool {
    let mut sum = false;
    for (_, empty) in group {
        put(steps, &mut sum, *empty);
    }
    steps.to_projective += u64::from(sum);
    sum
}

/// Adds a point into a bucket.
fn put(steps: &mut Steps, bucket: &mut bool, empty: bool) {
    if !empty {
        steps.mixed_add += u64::from(*bucket);
        *bucket = true;
    }
}

/// Windows of unsigned digits, for scalars of at most 64 bits.
fn unsigned(steps: &mut Steps, group: &[(BigInt<4>, bool)]) -> bool {
    let c = window(group.len());
    let windows: Vec<bool> = (0..64usize)
        .step_by(c)
        .map(|start| {
            let mut ones = false;
            let mut buckets = vec![false; (1 << c) - 1];
            for (scalar, empty) in group {
                let scalar = scalar.0[0];
                if scalar == 1 {
                    if start == 0 {
                        put(steps, &mut ones, *empty);
                    }
                } else if let digit @ 1.. = (scalar >> start) % (1 << c) {
                    put(steps, &mut buckets[digit as usize - 1], *empty);
                }
            }
            add_up(steps, &buckets, ones)
        })
        .collect();
    combine(steps, &windows, c)
}

/// Windows of signed digits, for wide scalars.
fn signed(steps: &mut Steps, group: &[(BigInt<4>, bool)]) -> bool {
    let c = window(group.len());
    let digits: Vec<Vec<i64>> = group.iter().map(|(scalar, _)| signed_digits(scalar, c)).collect();
    let windows: Vec<bool> = (0..(Fr::MODULUS_BIT_SIZE as usize).div_ceil(c))
        .map(|at| {
            let mut buckets = vec![false; 1 << c];
            for (digits, (_, empty)) in digits.iter().zip(group) {
                let digit = digits[at];
                steps.negate += u64::from(digit < 0);
                if digit != 0 {
                    put(steps, &mut buckets[digit.unsigned_abs() as usize - 1], *empty);
                }
            }
            add_up(steps, &buckets, false)
        })
        .collect();
    combine(steps, &windows, c)
}

/// Digits from −2^(c−1) to 2^(c−1) − 1, lowest first; the last one keeps its carry.
fn signed_digits(scalar: &BigInt<4>, c: usize) -> Vec<i64> {
    let count = (Fr::MODULUS_BIT_SIZE as usize).div_ceil(c);
    let mut carry = 0;
    (0..count)
        .map(|at| {
            let bit = |i: usize| i64::from(scalar.get_bit(at * c + i)) << i;
            let digit = carry + (0..c).map(bit).sum::<i64>();
            carry = (digit + (1 << (c - 1))) >> c;
            if at == count - 1 { digit } else { digit - (carry << c) }
        })
        .collect()
}

/// Σ i·bucketᵢ by two running sums from the highest down; `sum` says whether it starts with a point.
fn add_up(steps: &mut Steps, buckets: &[bool], mut sum: bool) -> bool {
    let mut running = false;
    // Whether the sum is the running one: only after the first full bucket, and before anything else.
    let mut same = false;
    for full in buckets.iter().rev() {
        steps.bucket_add += u64::from(*full && running);
        same &= !full;
        running |= full;
        match (running, sum) {
            (true, true) if same => {
                steps.bucket_double += 1;
                same = false;
            }
            (true, true) => steps.bucket_add += 1,
            (true, false) => (sum, same) = (true, true),
            (false, _) => {}
        }
    }
    sum
}

/// All windows from the highest down, with doublings between them.
fn combine(steps: &mut Steps, windows: &[bool], c: usize) -> bool {
    let mut total = false;
    for window in windows[1..].iter().rev() {
        steps.to_projective += u64::from(*window);
        steps.add += u64::from(*window && total);
        total |= window;
        steps.double += if total { c as u64 } else { 0 };
    }
    steps.to_projective += u64::from(windows[0]);
    steps.add += u64::from(windows[0] && total);
    total || windows[0]
}

/// The steps of a multiplication of these points.
pub fn steps_of<P: SWCurveConfig<ScalarField = Fr>>(points: &[Affine<P>], scalars: &[BigInt<4>]) -> Steps
where
    Projective<P>: VariableBaseMSM<MulBase = Affine<P>>,
{
    let empty: Vec<bool> = points.iter().map(AffineRepr::is_zero).collect();
    steps(scalars, &empty)
}

#[cfg(test)]
mod tests {
    use ark_ff::Zero;
    use ark_std::rand::Rng;

    use super::super::counting::{G1Config, G2Config};
    use super::super::msm;
    use super::*;

    fn agree<P: SWCurveConfig<ScalarField = Fr>>(scalars: &[BigInt<4>], random: &mut StdRng)
    where
        Projective<P>: VariableBaseMSM<MulBase = Affine<P>, ScalarField = Fr>,
    {
        let mut points: Vec<Affine<P>> = scalars.iter().map(|_| Affine::<P>::rand(random)).collect();
        if let Some(last) = points.last_mut().filter(|_| scalars.len() > 4) {
            *last = Affine::identity();
        }
        let simulated = steps_of(&points, scalars).ops::<P>();
        let (_, counted) = count(|| msm::<Projective<P>>(&points, scalars));
        assert_eq!(simulated, counted.base, "{} scalars", scalars.len());
    }

    #[test]
    fn digits_and_counters_agree_for_wide_scalars() {
        let random = &mut StdRng::seed_from_u64(1);
        for n in [1, 2, 4, 16, 31, 32, 64, 256] {
            let scalars: Vec<_> = (0..n).map(|_| Fr::rand(random).into_bigint()).collect();
            agree::<G1Config>(&scalars, random);
            agree::<G2Config>(&scalars, random);
        }
    }

    #[test]
    fn digits_and_counters_agree_for_scalars_of_every_width() {
        let random = &mut StdRng::seed_from_u64(2);
        for _ in 0..40 {
            let n = random.gen_range(1..50);
            let scalar = |random: &mut StdRng| {
                let wide = Fr::rand(random).into_bigint();
                let narrow = Fr::from(random.r#gen::<u64>() >> random.gen_range(0..64));
                match random.gen_range(0..3) {
                    0 => wide,
                    1 => narrow.into_bigint(),
                    _ => (-narrow).into_bigint(),
                }
            };
            let scalars: Vec<_> = (0..n).map(|_| scalar(random)).collect();
            agree::<G1Config>(&scalars, random);
        }
    }

    #[test]
    fn a_wide_scalar_is_the_sum_of_its_digits() {
        let random = &mut StdRng::seed_from_u64(4);
        let scalar = Fr::rand(random);
        for c in [3, 5, 9] {
            let sum = signed_digits(&scalar.into_bigint(), c)
                .iter()
                .rev()
                .fold(Fr::zero(), |sum, digit| sum * Fr::from(1u64 << c) + Fr::from(*digit));
            assert_eq!(sum, scalar);
        }
    }
}
