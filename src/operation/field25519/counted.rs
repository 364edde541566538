//! `Counted<F>`: the field F with every operation counted, for exact op counts below the primitives.

use std::cell::Cell;

use super::field::{Choice, Field};

/// How often each field operation ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldOps {
    /// Multiplications.
    pub mul: u64,
    /// Squarings.
    pub square: u64,
    /// Additions.
    pub add: u64,
    /// Subtractions.
    pub sub: u64,
    /// Multiplications by a small integer.
    pub mul_small: u64,
    /// Conditional swaps.
    pub swap: u64,
    /// Conditional assignments.
    pub assign: u64,
    /// Inversions. Their multiplications and squarings are counted above as well.
    pub invert: u64,
    /// Those of the multiplications that belong to an inversion or a root: each waits for the one before.
    pub chained_mul: u64,
    /// Those of the squarings that belong to an inversion or a root.
    pub chained_square: u64,
}

impl FieldOps {
    /// The rounded mean of several counts; zero of none.
    pub fn mean(all: &[Self]) -> Self {
        let of = |field: fn(&Self) -> u64| {
            let sum: u64 = all.iter().map(field).sum();
            let n = (all.len() as u64).max(1);
            (sum + n / 2) / n
        };
        Self {
            mul: of(|ops| ops.mul),
            square: of(|ops| ops.square),
            add: of(|ops| ops.add),
            sub: of(|ops| ops.sub),
            mul_small: of(|ops| ops.mul_small),
            swap: of(|ops| ops.swap),
            assign: of(|ops| ops.assign),
            invert: of(|ops| ops.invert),
            chained_mul: of(|ops| ops.chained_mul),
            chained_square: of(|ops| ops.chained_square),
        }
    }

    /// The operations by name, each counted once: without [`FieldOps::invert`], whose parts are counted already.
    pub fn by_name(&self) -> [(&'static str, u64); 7] {
        [
            ("mul", self.mul),
            ("square", self.square),
            ("add", self.add),
            ("sub", self.sub),
            ("mul_small", self.mul_small),
            ("swap", self.swap),
            ("assign", self.assign),
        ]
    }
}

thread_local! {
    static OPS: Cell<FieldOps> = const { Cell::new(FieldOps {
        mul: 0, square: 0, add: 0, sub: 0, mul_small: 0, swap: 0, assign: 0, invert: 0,
        chained_mul: 0, chained_square: 0,
    }) };
}

/// Runs `body` and returns its output and the operations that values of any [`Counted`] field did in it on this
/// thread.
pub fn count<T>(body: impl FnOnce() -> T) -> (T, FieldOps) {
    let outer = OPS.replace(FieldOps::default());
    let output = body();
    (output, OPS.replace(outer))
}

fn tally(one: impl FnOnce(&mut FieldOps)) {
    let mut ops = OPS.get();
    one(&mut ops);
    OPS.set(ops);
}

/// Counts what `body` multiplies and squares as chained, too.
fn chained<T>(body: impl FnOnce() -> T) -> T {
    let before = OPS.get();
    let output = body();
    tally(|ops| {
        ops.chained_mul += ops.mul - before.mul;
        ops.chained_square += ops.square - before.square;
    });
    output
}

/// An element of F that counts what is done with it. Computes the same as F.
#[derive(Clone, Debug)]
pub struct Counted<F>(F);

impl<F: Field> Field for Counted<F> {
    const NAME: &'static str = F::NAME;
    const MUL_PRODUCTS: u32 = F::MUL_PRODUCTS;
    const SQUARE_PRODUCTS: u32 = F::SQUARE_PRODUCTS;

    fn from_small(value: u32) -> Self {
        Self(F::from_small(value))
    }
    fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(F::from_bytes(bytes))
    }
    fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }
    fn add(&self, other: &Self) -> Self {
        tally(|ops| ops.add += 1);
        Self(self.0.add(&other.0))
    }
    fn sub(&self, other: &Self) -> Self {
        tally(|ops| ops.sub += 1);
        Self(self.0.sub(&other.0))
    }
    fn mul(&self, other: &Self) -> Self {
        tally(|ops| ops.mul += 1);
        Self(self.0.mul(&other.0))
    }
    fn square(&self) -> Self {
        tally(|ops| ops.square += 1);
        Self(self.0.square())
    }
    fn mul_small(&self, factor: u32) -> Self {
        tally(|ops| ops.mul_small += 1);
        Self(self.0.mul_small(factor))
    }
    fn swap_if(a: &mut Self, b: &mut Self, choice: Choice) {
        tally(|ops| ops.swap += 1);
        F::swap_if(&mut a.0, &mut b.0, choice);
    }
    fn assign_if(&mut self, other: &Self, choice: Choice) {
        tally(|ops| ops.assign += 1);
        self.0.assign_if(&other.0, choice);
    }
    fn invert(&self) -> Self {
        tally(|ops| ops.invert += 1);
        chained(|| super::field::invert_by_power(self))
    }
    fn power_p58(&self) -> Self {
        chained(|| super::field::power_p58(self))
    }
}
