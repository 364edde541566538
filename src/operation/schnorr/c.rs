//! The C library libsecp256k1 behind the crate `secp256k1`.
//!
//! The crate re-randomises its context after each call with a secret key, against side channels: one more
//! fixed-base multiplication in creation, signing and Diffie-Hellman, which other bindings do not pay.

use secp256k1::{Keypair, Parity, XOnlyPublicKey, ecdh, schnorr};

use super::Library;

/// The C library.
#[derive(Debug)]
pub struct C;

impl Library for C {
    const NAME: &'static str = "c";
    const IMPLEMENTATION: &'static str = "libsecp256k1 by secp256k1 0.33, context re-randomised after secrets";
    type Secret = Keypair;
    type Public = XOnlyPublicKey;

    #[inline(never)]
    fn create(secret: &[u8; 32]) -> Option<Keypair> {
        Keypair::from_secret_bytes(*secret).ok()
    }
    fn x_only(secret: &Keypair) -> [u8; 32] {
        secret.x_only_public_key().0.to_byte_array()
    }
    #[inline(never)]
    fn sign(secret: &Keypair, message: &[u8], auxiliary: &[u8; 32]) -> [u8; 64] {
        schnorr::sign_with_aux_rand(message, secret, auxiliary).to_byte_array()
    }
    #[inline(never)]
    fn lift_x(x: &[u8; 32]) -> Option<XOnlyPublicKey> {
        XOnlyPublicKey::from_byte_array(*x).ok()
    }
    #[inline(never)]
    fn verify_lifted(public: &XOnlyPublicKey, message: &[u8], signature: &[u8; 64]) -> bool {
        schnorr::verify(&schnorr::Signature::from_byte_array(*signature), message, public).is_ok()
    }
    #[inline(never)]
    fn diffie_hellman(secret: &Keypair, public: &XOnlyPublicKey) -> [u8; 32] {
        let point = ecdh::shared_secret_point(&public.public_key(Parity::Even), &secret.secret_key());
        std::array::from_fn(|i| point[i])
    }
}
