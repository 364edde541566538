//! Disturbs caches and branch predictors, so that what runs next starts cold.

use std::hint::black_box;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Memory walked over: more than the second-level cache of today's cores.
const BYTES: usize = 4 << 20;

/// Branches on random bits, in two places each.
const BRANCHES: usize = 8_192;

/// What disturbs: memory to walk over and bits to branch on.
pub struct Disturber {
    memory: Vec<u64>,
    random: ChaCha8Rng,
}

impl Disturber {
    /// A disturber whose bits come from a seed.
    pub fn new(seed: u64) -> Self {
        Self { memory: vec![1; BYTES / 8], random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Writes to every cache line of the memory and takes branches that cannot be predicted.
    pub fn disturb(&mut self) {
        for line in self.memory.chunks_mut(8) {
            line[0] = line[0].wrapping_add(1);
        }
        let mut sum = 0u64;
        for _ in 0..BRANCHES / 64 {
            let mut bits = self.random.next_u64();
            for _ in 0..64 {
                // Opaque, so that the compiler keeps the branches.
                if black_box(bits) & 1 == 1 {
                    sum = sum.rotate_left(3) ^ bits;
                } else {
                    sum = sum.wrapping_add(0x9e37);
                }
                bits >>= 1;
            }
        }
        black_box(sum);
        black_box(&self.memory);
    }
}
