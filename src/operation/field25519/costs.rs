//! What a field operation costs in four surroundings. No single one of them is "the" cost: independent operations
//! overlap in the processor, dependent ones wait for each other, and short ones hide behind long ones.

use std::hint::black_box;

use super::field::{Choice, Field};
use super::workloads::pairs;
use crate::harness::clock::thread_cpu_ns;
use crate::harness::interleave::Arm;

/// A field operation that has a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Multiplication.
    Mul,
    /// Squaring.
    Square,
    /// Addition.
    Add,
    /// Subtraction.
    Sub,
    /// Multiplication by a small integer.
    MulSmall,
    /// Conditional swap.
    Swap,
    /// Conditional assignment.
    Assign,
}

impl Operation {
    /// Every operation, in the order of [`FieldOps::by_name`](super::FieldOps::by_name).
    pub const ALL: [Self; 7] =
        [Self::Mul, Self::Square, Self::Add, Self::Sub, Self::MulSmall, Self::Swap, Self::Assign];
}

/// What surrounds the operation whose cost is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// Independent operations: the processor overlaps them.
    Throughput,
    /// One chain of it: each waits for the one before.
    Chained,
    /// One chain in which a multiplication comes before each: what it adds to that multiplication.
    AfterMultiply,
    /// Four chains side by side; additions and their like after a multiplication each. Curve formulas consist of
    /// rows of about four operations that do not depend on each other.
    Fours,
}

impl Surroundings {
    /// Every surrounding.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::Chained, Self::AfterMultiply, Self::Fours];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Chained => "chained",
            Self::AfterMultiply => "after multiply",
            Self::Fours => "four chains",
        }
    }
}

/// The arms that [`cost`] combines, for every operation: nanoseconds an operation, with the multiplications that
/// surround it.
pub fn arms<F: Field>() -> Vec<Arm<'static>> {
    let mut arms: Vec<Arm<'static>> = Vec::new();
    value_arms::<F>(&mut arms, |x, y| x.mul(y));
    value_arms::<F>(&mut arms, |x, _| x.square());
    value_arms::<F>(&mut arms, |x, y| x.add(y));
    value_arms::<F>(&mut arms, |x, y| x.sub(y));
    value_arms::<F>(&mut arms, |x, _| x.mul_small(121_665));
    place_arms::<F>(&mut arms, |x, y| F::swap_if(x, y, Choice::from_bit(1)));
    place_arms::<F>(&mut arms, |x, y| x.assign_if(y, Choice::from_bit(1)));
    arms
}

/// Where a cost comes from: the arm, and the arm that is to be taken off it.
///
/// Swaps and assignments depend on nothing before them but memory, so four of them side by side cost what
/// independent ones do.
pub fn cost(operation: Operation, surroundings: Surroundings) -> (usize, Option<usize>) {
    use Operation::{Assign, Mul, Square, Swap};
    let in_place = matches!(operation, Swap | Assign);
    let arm = |operation: Operation, kind: usize| {
        let before = (operation as usize).min(VALUE_OPERATIONS);
        before * VALUE_ARMS + (operation as usize - before) * PLACE_ARMS + kind
    };
    match surroundings {
        Surroundings::Throughput => (arm(operation, 0), None),
        Surroundings::Chained => (arm(operation, 1), None),
        _ if in_place => (arm(operation, 0), None),
        Surroundings::AfterMultiply if operation == Mul => (arm(operation, 1), None),
        Surroundings::AfterMultiply => (arm(operation, 3), Some(arm(Mul, 1))),
        Surroundings::Fours if matches!(operation, Mul | Square) => (arm(operation, 2), None),
        Surroundings::Fours => (arm(operation, 4), Some(arm(Mul, 2))),
    }
}

/// Operations that make a value, which come first in [`Operation::ALL`], and their arms.
const VALUE_OPERATIONS: usize = 5;
const VALUE_ARMS: usize = 5;
/// Arms of an operation that changes its operands.
const PLACE_ARMS: usize = 2;

/// Blocks of operations in one timing.
const BLOCKS: usize = 32;
/// Steps of a chain in a block; chains start anew, since sums that nobody multiplies would outgrow their limbs.
const STEPS: usize = 8;
/// Pairs that operations in place are timed on.
const PLACES: usize = 64;

fn value_arms<F: Field>(arms: &mut Vec<Arm<'static>>, step: impl Fn(&F, &F) -> F + Copy + 'static) {
    let inputs = || -> ([F; 4], F) {
        let [a, b, c, d]: [(F, F); 4] = pairs(2, 4).try_into().expect("there are four");
        ([a.0, b.0, c.0, d.0], a.1)
    };
    let independent = pairs::<F>(1, STEPS);
    arms.push(timed(STEPS, move || {
        for (x, y) in black_box(&independent) {
            black_box(&step(x, y));
        }
    }));
    let (xs, y) = inputs();
    arms.push(timed(STEPS, move || one_chain(&xs[0], |x| step(x, &y))));
    let (xs, y) = inputs();
    arms.push(timed(4 * STEPS, move || four_chains(&xs, |x| step(x, &y))));
    let (xs, y) = inputs();
    arms.push(timed(STEPS, move || one_chain(&xs[0], |x| step(&x.mul(&y), &y))));
    let (xs, y) = inputs();
    arms.push(timed(4 * STEPS, move || four_chains(&xs, |x| step(&x.mul(&y), &y))));
}

/// [`STEPS`] steps, each on the value that the one before made. Every value has a place of its own: writing back to
/// one would add a copy, which no formula makes and which costs as much as an addition.
#[inline(always)]
fn one_chain<F: Field>(x: &F, step: impl Fn(&F) -> F) {
    let x = step(black_box(x));
    let x = step(&x);
    let x = step(&x);
    let x = step(&x);
    let x = step(&x);
    let x = step(&x);
    let x = step(&x);
    black_box(&step(&x));
}

/// The same in four chains side by side.
#[inline(always)]
fn four_chains<F: Field>(xs: &[F; 4], step: impl Fn(&F) -> F) {
    macro_rules! row {
        ($p:ident $q:ident $r:ident $s:ident) => {
            let $p = step(&$p);
            let $q = step(&$q);
            let $r = step(&$r);
            let $s = step(&$s);
        };
    }
    let [p, q, r, s] = black_box(xs).each_ref().map(&step);
    row!(p q r s);
    row!(p q r s);
    row!(p q r s);
    row!(p q r s);
    row!(p q r s);
    row!(p q r s);
    row!(p q r s);
    black_box((&p, &q, &r, &s));
}

fn place_arms<F: Field>(arms: &mut Vec<Arm<'static>>, step: impl Fn(&mut F, &mut F) + Copy + 'static) {
    // Many enough that what one block wrote has left the processor's store queue when the next reads it.
    let mut independent = pairs::<F>(1, PLACES);
    arms.push(timed(PLACES, move || {
        for (x, y) in &mut independent {
            step(x, y);
        }
    }));
    let mut one = pairs::<F>(1, 1).remove(0);
    arms.push(timed(STEPS, move || {
        for _ in 0..STEPS {
            step(&mut one.0, &mut one.1);
        }
    }));
}

/// Times a block that does so many operations.
fn timed(operations: usize, mut block: impl FnMut() + 'static) -> Arm<'static> {
    Box::new(move |_| {
        let start = thread_cpu_ns();
        for _ in 0..BLOCKS {
            block();
        }
        Ok((thread_cpu_ns() - start) as f64 / (BLOCKS * operations) as f64)
    })
}
