//! Holds a profile against counts, costs, dose and replay. Stored data in, verdict out: nothing here
//! measures, reads a file or looks at a clock.
//!
//! 1. [`explanation`] is what is known without a sampler; [`crate::profile`] what the sampler says.
//! 2. [`attribute`] gives each stack sample to the outermost primitive ([`pattern`]) on its stack.
//! 3. [`budget`] asks whether the sampler delivered what it was asked for.
//! 4. [`share`] puts intervals on the sampled shares; [`reference`](mod@reference) makes the shares that
//!    they are judged against from dose, replay or the model.
//! 5. [`verdict`] compares the two; [`diagnose`] says which mechanism fits and what to do.
//! 6. [`judge`](mod@judge) runs these steps and writes a [`report`].

pub mod explanation;

pub mod attribute;
pub mod budget;
pub mod diagnose;
pub mod falsify;
pub mod flame;
pub mod judge;
pub mod pattern;
pub mod reference;
pub mod report;
mod scores;
pub mod share;
#[cfg(test)]
mod simulation;
#[cfg(test)]
pub(crate) mod testing;
pub mod verdict;
