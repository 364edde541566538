//! The operations: real work built on the primitives, one file or folder per family.

use crate::workload::Workload;

/// The operations that this build has.
pub fn all() -> Vec<Workload> {
    Vec::new()
}
