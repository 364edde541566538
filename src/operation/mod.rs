//! The operations: real work built on the primitives, one file or folder per family.

use crate::workload::{Suite, Workload};

/// The operations that this build has.
pub fn all() -> Vec<Workload> {
    Vec::new()
}

/// The built-in suite: every primitive and operation of this build.
pub fn builtin() -> Suite {
    let mut workloads = crate::primitive::all();
    workloads.extend(all());
    Suite { workloads }
}
