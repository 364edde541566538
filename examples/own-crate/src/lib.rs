//! The code under test: splits text into words and hashes each.

/// A word's hash: the primitive.
#[inline(never)]
pub fn hash(word: &[u8]) -> u64 {
    word.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
