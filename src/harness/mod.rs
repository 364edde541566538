//! How time is measured: clock, calibration, plan, run loop, allocation, fresh processes, self-check.

pub mod alone;
pub mod clock;
pub mod count;
pub mod explain;
pub mod interleave;
