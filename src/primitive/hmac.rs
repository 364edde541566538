//! HMAC-SHA-256 (RFC 2104).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::pool::{self, Case};
use super::sha2::sha256;
use crate::workload::Workload;

/// The authentication code of a message, key set-up included.
#[inline(never)]
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

pub(super) fn all() -> Vec<Workload> {
    let workload = pool::workload(
        "hmac_sha256",
        |random| {
            let input: ([u8; 32], [u8; 64]) = (pool::array(random), pool::array(random));
            let expected = by_definition(&input.0, &input.1);
            Case { input, expected }
        },
        |(key, message)| hmac_sha256(key, message),
        |code| code,
    );
    vec![workload.implementation("hmac 0.13")]
}

/// `H((K ⊕ opad) ‖ H((K ⊕ ipad) ‖ m))`, RFC 2104 section 2.
pub(super) fn by_definition(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&sha256(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8, rest: &[u8]| sha256(&[block.map(|byte| byte ^ pad).as_slice(), rest].concat());
    padded(0x5c, &padded(0x36, message))
}

#[cfg(test)]
mod tests {
    use super::super::pool::hex;
    use super::*;

    #[test]
    fn rfc_4231_section_4() {
        let long_text = b"This is a test using a larger than block-size key and a larger than block-size data. \
            The key needs to be hashed before being used by the HMAC algorithm.";
        let counting: Vec<u8> = (1..=25).collect();
        let vectors: [(&[u8], &[u8], &str); 6] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
            (&counting, &[0xcd; 50], "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (&[0xaa; 131], long_text, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
        ];
        for (key, message, code) in vectors {
            assert_eq!(hmac_sha256(key, message).as_slice(), hex(code));
            assert_eq!(by_definition(key, message).as_slice(), hex(code));
        }
    }

    #[test]
    fn workloads_check_out() {
        pool::assert_workloads_check_out(all());
    }
}
