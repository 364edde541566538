//! The exam: samplers, and the verdicts on them, on work whose shares are known.
//!
//! [`case`] says what is run, and what each sampler is known to do to it; `work` is that work; [`run`]
//! samples it and judges the profiles; [`board`] sums up.

pub mod board;
pub mod callgrind;
pub mod case;
pub mod run;
pub mod variants;
mod work;

pub use board::Scoreboard;
pub use case::{Case, Expectation, Part};
pub use run::{Outcome, Plan, examine};
