//! `Boxed<F>`: the field F with a fresh heap value for every result, as languages without value types do it.

use super::field::{Choice, Field};

/// An element of F on the heap; every operation allocates its result and drops with its operands.
#[derive(Clone, Debug)]
pub struct Boxed<F>(Box<F>);

impl<F: Field> Boxed<F> {
    fn new(value: F) -> Self {
        // The barrier keeps the allocation: without it the optimiser may put the value back on the stack.
        Self(std::hint::black_box(Box::new(value)))
    }
}

impl<F: Field> Field for Boxed<F> {
    const NAME: &'static str = F::NAME;
    const MUL_PRODUCTS: u32 = F::MUL_PRODUCTS;
    const SQUARE_PRODUCTS: u32 = F::SQUARE_PRODUCTS;

    fn from_small(value: u32) -> Self {
        Self::new(F::from_small(value))
    }
    fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self::new(F::from_bytes(bytes))
    }
    fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }
    fn add(&self, other: &Self) -> Self {
        Self::new(self.0.add(&other.0))
    }
    fn sub(&self, other: &Self) -> Self {
        Self::new(self.0.sub(&other.0))
    }
    fn mul(&self, other: &Self) -> Self {
        Self::new(self.0.mul(&other.0))
    }
    fn square(&self) -> Self {
        Self::new(self.0.square())
    }
    fn mul_small(&self, factor: u32) -> Self {
        Self::new(self.0.mul_small(factor))
    }
    fn swap_if(a: &mut Self, b: &mut Self, choice: Choice) {
        F::swap_if(&mut a.0, &mut b.0, choice);
    }
    fn assign_if(&mut self, other: &Self, choice: Choice) {
        self.0.assign_if(&other.0, choice);
    }
}
