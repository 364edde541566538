//! The primitives: one file per family, correctness vectors beside them.
//!
//! Each primitive is one `#[inline(never)]` function that the standalone workload and every operation
//! call, so that both run the same machine code and samplers see one name.

#[cfg(feature = "crypto")]
pub mod aead;
#[cfg(feature = "crypto")]
pub mod ed25519;
#[cfg(feature = "crypto")]
pub mod edwards;
#[cfg(feature = "crypto")]
pub mod hkdf;
#[cfg(feature = "crypto")]
pub mod hmac;
pub mod pool;
#[cfg(feature = "crypto")]
pub mod sha2;
#[cfg(feature = "crypto")]
pub mod shared;
#[cfg(feature = "crypto")]
pub mod x25519;

use crate::workload::Workload;

pub use pool::PrimitiveError;

/// Message sizes of the hash and encryption workloads, in bytes.
#[cfg(feature = "crypto")]
const SIZES: [usize; 3] = [64, 1024, 16 * 1024];

/// The primitives that this build has.
pub fn all() -> Vec<Workload> {
    #[allow(unused_mut, reason = "a build without features has none")]
    let mut all = Vec::new();
    #[cfg(feature = "crypto")]
    {
        all.extend(x25519::all());
        all.extend(ed25519::all());
        all.extend(sha2::all());
        all.extend(hmac::all());
        all.extend(hkdf::all());
        all.extend(aead::all());
        all.extend(edwards::all());
    }
    all
}
