//! X25519 (RFC 7748): Diffie-Hellman and public-key generation.

use super::pool::{self, Case};
use crate::workload::Workload;

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

pub(super) fn all() -> Vec<Workload> {
    let dh_workload = pool::workload(
        "x25519_dh",
        |random| {
            let (ours, theirs) = (pool::array(random), pool::array(random));
            Case { input: (ours, base(&theirs)), expected: dh(&theirs, &base(&ours)) }
        },
        |(secret, public)| dh(secret, public),
        |shared| shared,
    );
    let base_workload = pool::workload(
        "x25519_base",
        |random| {
            let secret = pool::array(random);
            Case { input: secret, expected: dh(&secret, &x25519_dalek::X25519_BASEPOINT_BYTES) }
        },
        base,
        |public| public,
    );
    [dh_workload, base_workload].map(|w| w.family("x25519").implementation("x25519-dalek 3")).into()
}

#[cfg(test)]
mod tests {
    use super::super::pool::hex;
    use super::*;

    fn key(text: &str) -> [u8; 32] {
        hex(text).try_into().unwrap()
    }

    #[test]
    fn rfc_7748_section_5_2_single_multiplications() {
        let cases = [
            (
                "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
            ),
            (
                "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
                "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
                "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
            ),
        ];
        for (scalar, point, output) in cases {
            assert_eq!(dh(&key(scalar), &key(point)), key(output));
        }
    }

    #[test]
    fn rfc_7748_section_5_2_a_thousand_iterations() {
        let mut nine = [0; 32];
        nine[0] = 9;
        let (mut scalar, mut point) = (nine, nine);
        for iteration in 1..=1_000 {
            (scalar, point) = (dh(&scalar, &point), scalar);
            if iteration == 1 {
                assert_eq!(scalar, key("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"));
            }
        }
        assert_eq!(scalar, key("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"));
    }

    #[test]
    fn rfc_7748_section_6_1_diffie_hellman() {
        let alice = key("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
        let bob = key("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
        let (alice_public, bob_public) = (base(&alice), base(&bob));
        assert_eq!(alice_public, key("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"));
        assert_eq!(bob_public, key("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"));
        let shared = key("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        assert_eq!(dh(&alice, &bob_public), shared);
        assert_eq!(dh(&bob, &alice_public), shared);
    }

    #[test]
    fn workloads_check_out() {
        pool::assert_workloads_check_out(all());
    }
}
