//! SHA-256 and SHA-512 (FIPS 180-4).

use sha2::{Digest, Sha256, Sha512};

use super::SIZES;
use super::pool::{self, Case};
use crate::workload::Workload;

/// The SHA-256 digest of a message.
#[inline(never)]
pub fn sha256(message: &[u8]) -> [u8; 32] {
    Sha256::digest(message).into()
}

/// The SHA-512 digest of a message.
#[inline(never)]
pub fn sha512(message: &[u8]) -> [u8; 64] {
    Sha512::digest(message).into()
}

pub(super) fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    for size in SIZES {
        all.push(pool::workload(
            &format!("sha256/{size}"),
            move |random| {
                let input = pool::bytes(random, size);
                let expected = in_pieces::<Sha256>(&input).try_into().expect("SHA-256 gives 32 bytes");
                Case { input, expected }
            },
            |message: &Vec<u8>| sha256(message),
            |digest: &[u8; 32]| digest,
        ));
    }
    for size in SIZES {
        all.push(pool::workload(
            &format!("sha512/{size}"),
            move |random| {
                let input = pool::bytes(random, size);
                let expected = in_pieces::<Sha512>(&input).try_into().expect("SHA-512 gives 64 bytes");
                Case { input, expected }
            },
            |message: &Vec<u8>| sha512(message),
            |digest: &[u8; 64]| digest,
        ));
    }
    all.into_iter().map(|w| w.implementation("sha2 0.11")).collect()
}

/// The digest of a message fed in unequal pieces, which exercises the buffering that [`sha256`] skips.
fn in_pieces<H: Digest>(message: &[u8]) -> Vec<u8> {
    let mut hash = H::new();
    for piece in message.chunks(61) {
        hash.update(piece);
    }
    hash.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::pool::hex;
    use super::*;

    const TWO_BLOCKS_256: &[u8] = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    const TWO_BLOCKS_512: &[u8] = b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn\
                                    hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";

    #[test]
    fn fips_180_sha256() {
        let million = vec![b'a'; 1_000_000];
        let vectors: [(&[u8], &str); 4] = [
            (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (TWO_BLOCKS_256, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
            (&million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ];
        for (message, digest) in vectors {
            assert_eq!(sha256(message).as_slice(), hex(digest));
            assert_eq!(in_pieces::<Sha256>(message), hex(digest));
        }
    }

    #[test]
    fn fips_180_sha512() {
        let million = vec![b'a'; 1_000_000];
        let vectors: [(&[u8], &str); 3] = [
            (
                b"abc",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
            (
                TWO_BLOCKS_512,
                "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
            ),
            (
                &million,
                "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
            ),
        ];
        for (message, digest) in vectors {
            assert_eq!(sha512(message).as_slice(), hex(digest));
            assert_eq!(in_pieces::<Sha512>(message), hex(digest));
        }
    }

    #[test]
    fn workloads_check_out() {
        pool::assert_workloads_check_out(all());
    }
}
