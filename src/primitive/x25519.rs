//! X25519 (RFC 7748): Diffie-Hellman and public-key generation.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::workload::{Digest, Workload};

/// The shared secret of a secret key and a public key.
#[inline(never)]
pub fn dh(secret: &[u8; 32], public: &[u8; 32]) -> [u8; 32] {
    x25519_dalek::x25519(*secret, *public)
}

/// The public key of a secret key (fixed-base multiplication).
#[inline(never)]
pub fn base(secret: &[u8; 32]) -> [u8; 32] {
    let secret = x25519_dalek::StaticSecret::from(*secret);
    x25519_dalek::PublicKey::from(&secret).to_bytes()
}

const IMPLEMENTATION: &str = "x25519-dalek 3";

pub(super) fn all() -> Vec<Workload> {
    let dh_workload = Workload::primitive(
        "x25519_dh",
        |seed| key_pairs(seed, 64),
        |(secret, public)| dh(secret, public),
        |_, shared| not_zero(shared),
    );
    let base_workload = Workload::primitive(
        "x25519_base",
        |seed| key_pairs(seed, 64),
        |(secret, _)| base(secret),
        |_, public| not_zero(public),
    );
    [dh_workload, base_workload].map(|w| w.family("x25519").implementation(IMPLEMENTATION)).into()
}

/// Secret keys, each with another one's public key.
fn key_pairs(seed: u64, count: usize) -> Vec<([u8; 32], [u8; 32])> {
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    let mut key = || {
        let mut bytes = [0; 32];
        random.fill_bytes(&mut bytes);
        bytes
    };
    (0..count).map(|_| (key(), base(&key()))).collect()
}

fn not_zero(bytes: &[u8; 32]) -> Result<Digest, String> {
    if *bytes == [0; 32] { Err("the output is all zero".to_owned()) } else { Ok(Digest::of(bytes)) }
}
