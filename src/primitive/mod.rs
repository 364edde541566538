//! The primitives: one file per family, correctness vectors beside them.
//!
//! Each primitive is one `#[inline(never)]` function that the standalone workload and every operation
//! call, so that both run the same machine code and samplers see one name.

#[cfg(feature = "crypto")]
pub mod x25519;

use crate::workload::Workload;

/// The primitives that this build has.
pub fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    #[cfg(feature = "crypto")]
    all.extend(x25519::all());
    all
}
