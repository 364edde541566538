//! Schnorr signatures on secp256k1 (BIP-340): the pure Rust crate `k256`, and where the feature `secp256k1-c` is on,
//! the C library behind the crate `secp256k1`. Key creation, signing, verification, Diffie-Hellman, lifting an x
//! coordinate, batches of one key, and caches.
//!
//! `counts.tsv` beside this file holds exact field and group operations of each k256 operation, over 64 inputs. k256's
//! field is not generic, so `scripts/schnorr-counts/run` makes the table from an instrumented copy of its sources.

mod batch;
#[cfg(all(feature = "secp256k1-c", not(target_arch = "wasm32")))]
mod c;
mod cache;
pub mod explain;
mod rust;
#[cfg(test)]
mod tests;
mod workloads;

pub use batch::{Claim, verify_batch, verify_batch_unsound};
#[cfg(all(feature = "secp256k1-c", not(target_arch = "wasm32")))]
pub use c::C;
pub use cache::{Cache, Keys};
pub use rust::{K256, KeyTable};
pub use workloads::{all, families};

/// What both libraries do, from bytes to bytes.
///
/// Each call is one function of its own, so that operations and standalone rows run the same code.
pub trait Library: 'static {
    /// Name in rows.
    const NAME: &'static str;
    /// Crate and version.
    const IMPLEMENTATION: &'static str;
    /// A secret key ready to sign.
    type Secret: 'static;
    /// A public key, decompressed.
    type Public: 'static;

    /// The key pair of 32 secret bytes; `None` where they are zero or not below the group order.
    fn create(secret: &[u8; 32]) -> Option<Self::Secret>;
    /// The x coordinate of its public key.
    fn x_only(secret: &Self::Secret) -> [u8; 32];
    /// The signature of a message with 32 bytes of auxiliary randomness.
    fn sign(secret: &Self::Secret, message: &[u8], auxiliary: &[u8; 32]) -> [u8; 64];
    /// The point with this x coordinate and even y; `None` where there is none.
    fn lift_x(x: &[u8; 32]) -> Option<Self::Public>;
    /// Whether the signature is valid for a key that was lifted before.
    fn verify_lifted(public: &Self::Public, message: &[u8], signature: &[u8; 64]) -> bool;
    /// The x coordinate of secret · public.
    fn diffie_hellman(secret: &Self::Secret, public: &Self::Public) -> [u8; 32];

    /// Whether the signature is valid for the key with this x coordinate (BIP-340, "Verification").
    fn verify(x: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
        Self::lift_x(x).is_some_and(|public| Self::verify_lifted(&public, message, signature))
    }
}
