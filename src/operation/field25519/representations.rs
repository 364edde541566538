//! The representations side by side: products against times, twins against the plain form.

use std::cell::RefCell;

use super::explain::{Account, OPERATIONS, REPRESENTATIONS, accounts_of};
use super::workloads;
use super::{Field, Limbs4, Limbs5, Limbs10, Limbs16, Limbs16Peeled, Limbs16Symmetric};
use crate::harness::interleave::{Arm, Plan, Session, Treatment, interleave};
use crate::stats::Estimate;
use crate::workload::{Suite, WorkloadError};

/// One representation.
#[derive(Clone, Debug)]
pub struct Representation {
    /// Name: limbs × bits.
    pub name: &'static str,
    /// Limb products of a multiplication and of a squaring.
    pub products: [u32; 2],
    /// Ladder, signing and verification, explained.
    pub accounts: Vec<Account>,
    /// The ladder with every field operation open to inlining, in nanoseconds.
    pub inlined_ladder_ns: Estimate,
    /// The ladder with every result on the heap, in nanoseconds.
    pub boxed_ladder_ns: Estimate,
    /// Bytes and calls that a ladder asks of the allocator, plain and boxed. `None` where they are not counted.
    pub allocated: [Option<(u64, u64)>; 2],
}

impl Representation {
    /// Limb products of one ladder.
    pub fn ladder_products(&self) -> u64 {
        let ops = &self.accounts[0].ops;
        ops.mul * u64::from(self.products[0]) + ops.square * u64::from(self.products[1])
    }
}

/// Measures every representation, one after the other; within one all is interleaved.
///
/// # Errors
///
/// Where an output is wrong.
pub fn all(plan: &Plan, progress: &mut dyn FnMut(f64)) -> Result<Vec<Representation>, WorkloadError> {
    let n = REPRESENTATIONS.len() as f64;
    let measure = |(i, name): (usize, &'static str)| one(name, plan, &mut |done| progress((i as f64 + done) / n));
    REPRESENTATIONS.into_iter().enumerate().map(measure).collect()
}

fn one(name: &'static str, plan: &Plan, progress: &mut dyn FnMut(f64)) -> Result<Representation, WorkloadError> {
    let missing = || WorkloadError { workload: name.to_owned(), message: "is no representation".to_owned() };
    let accounts = accounts_of(name, plan, &mut |done| progress(0.8 * done)).ok_or_else(missing)??;
    let suite = Suite { workloads: workloads::all(), ..Suite::default() };
    let ladder = |form: &str| suite.find(&format!("field25519/{}/{name}{form}", OPERATIONS[0])).ok_or_else(missing);
    let mut arms: Vec<Arm<'_>> = Vec::new();
    for form in ["-inlined", "-boxed"] {
        let session = RefCell::new(Session::new(ladder(form)?, plan.seed)?);
        arms.push(Box::new(move |_| session.borrow_mut().time(&Treatment::Off)));
    }
    let short = Plan { budget: plan.budget / 4, ..*plan };
    let samples = interleave(&mut arms, &short, &mut |done| progress(0.8 + 0.2 * done))?;
    let allocated = |form: &str| -> Result<_, WorkloadError> {
        let mut session = Session::new(ladder(form)?, plan.seed)?;
        Ok(session.run(1, |body| allocation(body))?.0)
    };
    Ok(Representation {
        name,
        products: products(name).ok_or_else(missing)?,
        accounts,
        inlined_ladder_ns: samples.of(0),
        boxed_ladder_ns: samples.of(1),
        allocated: [allocated("")?, allocated("-boxed")?],
    })
}

/// Bytes and calls; the fixture made room for its outputs beforehand.
#[cfg(not(target_arch = "wasm32"))]
fn allocation(body: &mut dyn FnMut()) -> Option<(u64, u64)> {
    crate::harness::alloc::count(body)
}

#[cfg(target_arch = "wasm32")]
fn allocation(body: &mut dyn FnMut()) -> Option<(u64, u64)> {
    body();
    None
}

fn products(name: &str) -> Option<[u32; 2]> {
    fn of<F: Field>() -> [u32; 2] {
        [F::MUL_PRODUCTS, F::SQUARE_PRODUCTS]
    }
    Some(match name {
        Limbs16::NAME => of::<Limbs16>(),
        Limbs16Peeled::NAME => of::<Limbs16Peeled>(),
        Limbs16Symmetric::NAME => of::<Limbs16Symmetric>(),
        Limbs10::NAME => of::<Limbs10>(),
        Limbs5::NAME => of::<Limbs5>(),
        Limbs4::NAME => of::<Limbs4>(),
        _ => return None,
    })
}
