//! What this process's clock can tell apart.

use super::clock::{thread_cpu_ns, wall_ns};
use crate::record::ClockCalibration;

/// Readings for the smallest step, and empty windows for their median.
const READINGS: usize = 1_001;

/// Measures the clocks. Takes well under a millisecond where reading a clock takes under 200 ns.
pub fn calibrate() -> ClockCalibration {
    let mut empty: Vec<u64> = (0..READINGS)
        .map(|_| {
            let start = thread_cpu_ns();
            thread_cpu_ns() - start
        })
        .collect();
    empty.sort_unstable();
    ClockCalibration {
        step_ns: smallest_step(thread_cpu_ns),
        empty_ns: empty[READINGS / 2],
        wall_step_ns: smallest_step(wall_ns),
    }
}

/// The smallest step that the clock can show. A clock that stands still between readings shows it as its
/// smallest move; one that moves at every reading, as the smallest difference between two windows. A clock
/// that never moves steps by 1 s.
fn smallest_step(clock: impl Fn() -> u64) -> u64 {
    let mut last = clock();
    let mut moves = Vec::with_capacity(READINGS);
    let mut stood_still = false;
    // A coarse clock repeats its value many times, so the number of readings has its own bound.
    for _ in 0..1_000_000 {
        let now = clock();
        if now > last {
            moves.push(now - last);
        } else {
            stood_still = true;
        }
        last = now;
        if moves.len() == READINGS {
            break;
        }
    }
    moves.sort_unstable();
    moves.dedup();
    let smallest_difference = moves.windows(2).map(|pair| pair[1] - pair[0]).min();
    match (moves.first(), smallest_difference) {
        (Some(_), Some(difference)) if !stood_still => difference,
        (Some(smallest), _) => *smallest,
        (None, _) => 1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_step_is_the_smallest_that_occurs() {
        let time = Cell::new(0);
        let coarse = || {
            time.set(time.get() + 1);
            time.get() / 10 * 250
        };
        assert_eq!(smallest_step(coarse), 250);
        assert_eq!(smallest_step(|| 7), 1_000_000_000);
        // A fine clock that takes 300 or more to read.
        let slow = || {
            time.set(time.get() + 300 + time.get() % 3 * 7);
            time.get()
        };
        assert_eq!(smallest_step(slow), 7);
    }

    #[test]
    fn this_machine_has_a_clock() {
        let clock = calibrate();
        assert!(clock.step_ns > 0 && clock.step_ns < 1_000_000_000);
        assert!(clock.wall_step_ns > 0 && clock.wall_step_ns < 1_000_000_000);
    }
}
