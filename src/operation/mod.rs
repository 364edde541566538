//! The operations: real work built on the primitives, one file or folder per family.

#[cfg(feature = "crypto")]
pub mod bounded;
#[cfg(feature = "crypto")]
pub mod ed25519_batch;
#[cfg(feature = "crypto")]
pub mod field25519;
#[cfg(feature = "mls")]
pub mod mls;
#[cfg(feature = "schnorr")]
pub mod schnorr;

use crate::workload::{Family, Suite, Workload};

/// The operations that this build has, without those of [`families`].
pub fn all() -> Vec<Workload> {
    #[allow(unused_mut, reason = "a build without features has none")]
    let mut all = Vec::new();
    #[cfg(feature = "crypto")]
    all.extend(field25519::all());
    #[cfg(feature = "schnorr")]
    all.extend(schnorr::all());
    all
}

/// The families of operations that this build has.
pub fn families() -> Vec<Family> {
    #[allow(unused_mut, reason = "a build without features has none")]
    let mut families = Vec::new();
    #[cfg(feature = "mls")]
    families.extend(mls::families());
    #[cfg(feature = "crypto")]
    families.extend(ed25519_batch::families());
    families
}

/// The built-in suite: every primitive and operation of this build.
pub fn builtin() -> Suite {
    let mut workloads = crate::primitive::all();
    workloads.extend(all());
    families().into_iter().fold(Suite { workloads, ..Suite::default() }, Suite::with_family)
}
