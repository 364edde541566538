//! Inputs written by the rules of their formats, for tests.

pub mod jfr;
