//! Runs code at a random stack depth.
//!
//! The address of the stack decides which cache sets and which store-to-load pairs collide. One address
//! a process would make that luck part of every figure (Mytkowicz et al., Producing wrong data without
//! doing anything obviously wrong, ASPLOS 2009).

use std::hint::black_box;

use rand_core::Rng;

use crate::stats::resample::below;

/// Frames that the pad may have: about one page in all.
const FRAMES: usize = 40;

/// Runs `body` below a random number of stack frames of about 100 bytes.
pub fn at_random_depth(random: &mut impl Rng, body: &mut dyn FnMut()) {
    deeper(below(random, FRAMES), body);
}

#[inline(never)]
fn deeper(frames: usize, body: &mut dyn FnMut()) {
    let pad = [0u8; 48];
    black_box(&pad);
    if frames == 0 {
        body()
    } else {
        deeper(frames - 1, body)
    }
    // Used after the call, so that the call is no jump and the frame stays.
    black_box(&pad);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    #[test]
    fn the_stack_moves_over_more_than_half_a_page() {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let mut addresses = std::collections::BTreeSet::new();
        for _ in 0..400 {
            at_random_depth(&mut random, &mut || {
                let here = 0u8;
                addresses.insert(black_box(&raw const here) as usize);
            });
        }
        assert!(addresses.len() > FRAMES / 2, "{} addresses", addresses.len());
        assert!(addresses.last().unwrap() - addresses.first().unwrap() > 2_048);
    }
}
