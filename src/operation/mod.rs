//! The operations: real work built on the primitives, one file or folder per family.

#[cfg(feature = "crypto")]
pub mod field25519;

use crate::workload::{Suite, Workload};

/// The operations that this build has.
pub fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    #[cfg(feature = "crypto")]
    all.extend(field25519::all());
    all
}

/// The built-in suite: every primitive and operation of this build.
pub fn builtin() -> Suite {
    let mut workloads = crate::primitive::all();
    workloads.extend(all());
    Suite { workloads }
}
