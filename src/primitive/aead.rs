//! Authenticated encryption: ChaCha20-Poly1305 (RFC 8439) and AES-128-GCM (NIST SP 800-38D).
//!
//! Key set-up is part of each call, as in a protocol that derives a key per message.

use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::ChaCha20Poly1305;

use super::SIZES;
use super::pool::{self, Case, PrimitiveError};
use crate::workload::Workload;

/// The ciphertext of a message, tag appended.
///
/// # Errors
///
/// [`PrimitiveError::Length`] where the message is longer than the cipher takes.
#[inline(never)]
pub fn chacha20poly1305_seal(
    key: &[u8; 32],
    nonce: &[u8; 12],
    associated: &[u8],
    message: &[u8],
) -> Result<Vec<u8>, PrimitiveError> {
    ChaCha20Poly1305::new(key.into())
        .encrypt(nonce.into(), Payload { msg: message, aad: associated })
        .map_err(|_| PrimitiveError::Length)
}

/// The message of a ciphertext with its tag.
///
/// # Errors
///
/// [`PrimitiveError::Forged`] where the tag does not match.
#[inline(never)]
pub fn chacha20poly1305_open(
    key: &[u8; 32],
    nonce: &[u8; 12],
    associated: &[u8],
    ciphertext: &[u8],
) -> Result<Vec<u8>, PrimitiveError> {
    ChaCha20Poly1305::new(key.into())
        .decrypt(nonce.into(), Payload { msg: ciphertext, aad: associated })
        .map_err(|_| PrimitiveError::Forged)
}

/// The ciphertext of a message, tag appended.
///
/// # Errors
///
/// [`PrimitiveError::Length`] where the message is longer than the cipher takes.
#[inline(never)]
pub fn aes128gcm_seal(
    key: &[u8; 16],
    nonce: &[u8; 12],
    associated: &[u8],
    message: &[u8],
) -> Result<Vec<u8>, PrimitiveError> {
    Aes128Gcm::new(key.into())
        .encrypt(nonce.into(), Payload { msg: message, aad: associated })
        .map_err(|_| PrimitiveError::Length)
}

/// The message of a ciphertext with its tag.
///
/// # Errors
///
/// [`PrimitiveError::Forged`] where the tag does not match.
#[inline(never)]
pub fn aes128gcm_open(
    key: &[u8; 16],
    nonce: &[u8; 12],
    associated: &[u8],
    ciphertext: &[u8],
) -> Result<Vec<u8>, PrimitiveError> {
    Aes128Gcm::new(key.into())
        .decrypt(nonce.into(), Payload { msg: ciphertext, aad: associated })
        .map_err(|_| PrimitiveError::Forged)
}

/// Seals or opens: key, nonce, associated data, message or ciphertext.
pub(super) type Cipher<const K: usize> = fn(&[u8; K], &[u8; 12], &[u8], &[u8]) -> Result<Vec<u8>, PrimitiveError>;

/// Bytes of associated data in the workloads.
const ASSOCIATED: usize = 16;

pub(super) fn all() -> Vec<Workload> {
    let mut all = both("chacha20poly1305", "chacha20poly1305 0.11", chacha20poly1305_seal, chacha20poly1305_open);
    all.extend(both("aes128gcm", "aes-gcm 0.11", aes128gcm_seal, aes128gcm_open));
    all
}

/// Seal and open at every size; each is checked against the other.
fn both<const K: usize>(family: &str, implementation: &str, seal: Cipher<K>, open: Cipher<K>) -> Vec<Workload> {
    let sealed = move |random: &mut rand_chacha::ChaCha20Rng, size| {
        let (key, nonce, associated) = (pool::array(random), pool::array(random), pool::array::<ASSOCIATED>(random));
        let message = pool::bytes(random, size);
        let ciphertext = seal(&key, &nonce, &associated, &message).expect("the sizes here are allowed");
        assert_eq!(open(&key, &nonce, &associated, &ciphertext).as_ref(), Ok(&message), "what was sealed opens");
        (key, nonce, associated, message, ciphertext)
    };
    let seals = SIZES.map(|size| {
        pool::workload(
            &format!("{family}_seal/{size}"),
            move |random| {
                let (key, nonce, associated, message, ciphertext) = sealed(random, size);
                Case { input: (key, nonce, associated, message), expected: Ok(ciphertext) }
            },
            move |(key, nonce, associated, message)| seal(key, nonce, associated, message),
            |output| output.as_deref().unwrap_or_default(),
        )
    });
    let opens = SIZES.map(|size| {
        pool::workload(
            &format!("{family}_open/{size}"),
            move |random| {
                let (key, nonce, associated, message, ciphertext) = sealed(random, size);
                Case { input: (key, nonce, associated, ciphertext), expected: Ok(message) }
            },
            move |(key, nonce, associated, ciphertext)| open(key, nonce, associated, ciphertext),
            |output| output.as_deref().unwrap_or_default(),
        )
    });
    seals.into_iter().chain(opens).map(|w| w.family(family).implementation(implementation)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::pool::hex;
    use super::*;

    fn assert_seals_and_opens<const K: usize>(seal: Cipher<K>, open: Cipher<K>, vector: [&str; 6]) {
        let [key, nonce, associated, message, ciphertext, tag] = vector.map(hex);
        let (key, nonce) = (key.try_into().unwrap(), nonce.try_into().unwrap());
        let mut sealed = [ciphertext, tag].concat();
        assert_eq!(seal(&key, &nonce, &associated, &message), Ok(sealed.clone()));
        assert_eq!(open(&key, &nonce, &associated, &sealed), Ok(message));
        sealed[0] ^= 1;
        assert_eq!(open(&key, &nonce, &associated, &sealed), Err(PrimitiveError::Forged));
        assert_eq!(open(&key, &nonce, &associated, &[]), Err(PrimitiveError::Forged));
    }

    #[test]
    fn rfc_8439_section_2_8_2() {
        let message: String = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the \
            future, sunscreen would be it."
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let vector = [
            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
            "070000004041424344454647",
            "50515253c0c1c2c3c4c5c6c7",
            &message,
            "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
             3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
             92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
             3ff4def08e4b7a9de576d26586cec64b6116",
            "1ae10b594f09e26a7e902ecbd0600691",
        ];
        assert_seals_and_opens(chacha20poly1305_seal, chacha20poly1305_open, vector);
    }

    /// Test cases 1, 2 and 4 of the GCM specification submitted to NIST (McGrew and Viega 2005, appendix B).
    #[test]
    fn nist_gcm_test_cases() {
        let zero = "00000000000000000000000000000000";
        let vectors = [
            [zero, &zero[..24], "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"],
            [zero, &zero[..24], "", zero, "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"],
            [
                "feffe9928665731c6d6a8f9467308308",
                "cafebabefacedbaddecaf888",
                "feedfacedeadbeeffeedfacedeadbeefabaddad2",
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
                 1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
                "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
                 21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
                "5bc94fbc3221a5db94fae95ae7121a47",
            ],
        ];
        for vector in vectors {
            assert_seals_and_opens(aes128gcm_seal, aes128gcm_open, vector);
        }
    }

    #[test]
    fn workloads_check_out() {
        pool::assert_workloads_check_out(all());
    }
}
