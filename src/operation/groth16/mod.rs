//! Groth16 on BN254 with arkworks, single-threaded: setup, proofs, verification, and what they are made of.
//!
//! Inputs vary: these routines branch on data, and one repeated input teaches the branch predictor its way. Scalar
//! sizes matter as much: zeros, ones and short scalars take short cuts in multiscalar multiplication, so a row says
//! how wide its witness is.

mod circuit;
pub mod counting;
pub mod digits;
pub mod explain;
mod pairing;
mod prover;
#[cfg(test)]
mod tests;
mod workloads;

pub use circuit::{Circuit, Shape};
pub use prover::{Assignment, Input, Parts, Phase, Stages, assign, blinding, compute_h, final_c, msm};
pub use workloads::{all, families};
