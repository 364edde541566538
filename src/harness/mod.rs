//! How time is measured: clock, calibration, plan, run loop, allocation, fresh processes, self-check.

pub mod clock;
pub mod interleave;
