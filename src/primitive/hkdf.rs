//! HKDF-SHA-256 (RFC 5869): extract and expand.

use hkdf::Hkdf;
use sha2::Sha256;

use super::hmac::by_definition;
use super::pool::{self, Case, PrimitiveError};
use crate::workload::Workload;

/// The pseudo-random key of a salt and input keying material.
#[inline(never)]
pub fn extract(salt: &[u8], material: &[u8]) -> [u8; 32] {
    Hkdf::<Sha256>::extract(Some(salt), material).0.into()
}

/// `length` bytes of output keying material from a pseudo-random key.
///
/// # Errors
///
/// [`PrimitiveError::Length`] where `length` exceeds 255 × 32 or the key is shorter than 32 bytes.
#[inline(never)]
pub fn expand(key: &[u8], info: &[u8], length: usize) -> Result<Vec<u8>, PrimitiveError> {
    let hkdf = Hkdf::<Sha256>::from_prk(key).map_err(|_| PrimitiveError::Length)?;
    if length > 255 * 32 {
        return Err(PrimitiveError::Length);
    }
    let mut output = vec![0; length];
    hkdf.expand(info, &mut output).map_err(|_| PrimitiveError::Length)?;
    Ok(output)
}

pub(super) fn all() -> Vec<Workload> {
    let extract_workload = pool::workload(
        "hkdf_sha256_extract",
        |random| {
            let input: ([u8; 32], [u8; 32]) = (pool::array(random), pool::array(random));
            let expected = by_definition(&input.0, &input.1);
            Case { input, expected }
        },
        |(salt, material)| extract(salt, material),
        |key| key,
    );
    let expand_workload = pool::workload(
        "hkdf_sha256_expand",
        |random| {
            let input: ([u8; 32], [u8; 64]) = (pool::array(random), pool::array(random));
            let expected = Ok(by_definition(&input.0, &[input.1.as_slice(), &[1]].concat()).to_vec());
            Case { input, expected }
        },
        |(key, info)| expand(key, info, 32),
        |output| output.as_deref().unwrap_or_default(),
    );
    [extract_workload, expand_workload].map(|w| w.family("hkdf_sha256").implementation("hkdf 0.13")).into()
}

#[cfg(test)]
mod tests {
    use super::super::pool::hex;
    use super::*;

    #[test]
    fn rfc_5869_appendix_a() {
        let counting = |range: std::ops::RangeInclusive<u8>| range.collect::<Vec<u8>>();
        let vectors = [
            (
                vec![0x0b; 22],
                counting(0x00..=0x0c),
                counting(0xf0..=0xf9),
                "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
            ),
            (
                counting(0x00..=0x4f),
                counting(0x60..=0xaf),
                counting(0xb0..=0xff),
                "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
            ),
            (
                vec![0x0b; 22],
                vec![],
                vec![],
                "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
                "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
            ),
        ];
        for (material, salt, info, key, output) in vectors {
            assert_eq!(extract(&salt, &material).as_slice(), hex(key));
            assert_eq!(expand(&hex(key), &info, hex(output).len()), Ok(hex(output)));
        }
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        assert_eq!(expand(&[0; 32], b"", 255 * 32).map(|output| output.len()), Ok(255 * 32));
        assert_eq!(expand(&[0; 32], b"", 255 * 32 + 1), Err(PrimitiveError::Length));
        assert_eq!(expand(&[0; 31], b"", 1), Err(PrimitiveError::Length));
    }

    #[test]
    fn workloads_check_out() {
        pool::assert_workloads_check_out(all());
    }
}
