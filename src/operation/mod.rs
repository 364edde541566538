//! The operations: real work built on the primitives, one file or folder per family.

#[cfg(feature = "crypto")]
pub mod bounded;
#[cfg(feature = "crypto")]
pub mod ed25519_batch;
#[cfg(feature = "crypto")]
pub mod field25519;
#[cfg(feature = "groth16")]
pub mod groth16;
#[cfg(feature = "mls")]
pub mod mls;
#[cfg(feature = "schnorr")]
pub mod schnorr;

use crate::crosscheck::explanation::Explanation;
use crate::workload::{Family, Suite, Workload, WorkloadError};

/// The operations that this build has, without those of [`families`].
pub fn all() -> Vec<Workload> {
    #[allow(unused_mut, reason = "a build without features has none")]
    let mut all = Vec::new();
    #[cfg(feature = "crypto")]
    all.extend(field25519::all());
    #[cfg(feature = "schnorr")]
    all.extend(schnorr::all());
    #[cfg(feature = "groth16")]
    all.extend(groth16::all());
    all
}

/// Explains an operation whose parts are too short for a boundary, from the counts and costs that its family knows:
/// by one level of parts, or by several, the coarsest first. `None` for operations that boundaries explain.
pub fn explain_below_boundaries(
    row: &str,
    plan: &crate::harness::interleave::Plan,
    progress: &mut dyn FnMut(f64),
) -> Option<Result<Vec<Explanation>, WorkloadError>> {
    #[cfg(feature = "crypto")]
    if let Some(explained) = field25519::explain::explain(row, plan, progress) {
        return Some(explained);
    }
    #[cfg(feature = "groth16")]
    if let Some(explained) = groth16::explain::explain(row, plan, progress) {
        return Some(explained);
    }
    #[cfg(feature = "schnorr")]
    if let Some(explained) = schnorr::explain::explain(row, plan, progress) {
        return Some(explained);
    }
    let _ = (row, plan, progress);
    None
}

/// The operations that compute what a primitive computes on fields whose operations are counted; none where the
/// primitive has no such twin.
pub fn counted_below(primitive: &str) -> &'static [&'static str] {
    #[cfg(feature = "crypto")]
    return field25519::explain::twins(primitive);
    #[cfg(not(feature = "crypto"))]
    return {
        let _ = primitive;
        &[]
    };
}

/// The families of operations that this build has.
pub fn families() -> Vec<Family> {
    #[allow(unused_mut, reason = "a build without features has none")]
    let mut families = Vec::new();
    #[cfg(feature = "mls")]
    families.extend(mls::families());
    #[cfg(feature = "crypto")]
    families.extend(ed25519_batch::families());
    #[cfg(feature = "schnorr")]
    families.extend(schnorr::families());
    #[cfg(feature = "groth16")]
    families.extend(groth16::families());
    families
}

/// The built-in suite: every primitive and operation of this build.
pub fn builtin() -> Suite {
    let mut workloads = crate::primitive::all();
    workloads.extend(all());
    #[allow(unused_mut, reason = "a build without features has none")]
    let mut rewrites = Vec::new();
    #[cfg(feature = "crypto")]
    rewrites.extend(field25519::rewrites());
    families().into_iter().fold(Suite { workloads, rewrites, ..Suite::default() }, Suite::with_family)
}
