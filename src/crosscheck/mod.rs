//! Holds a profile against counts, costs, dose and replay. Stored data in, verdict out: nothing here
//! measures, reads a file or looks at a clock.

pub mod explanation;
