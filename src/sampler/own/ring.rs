//! A bounded queue of records between signal handlers and the thread that drains them.
//!
//! Pushing takes no lock and allocates nothing, so a handler may do it. A record is one word with its
//! length, written last, and its content. A record that does not fit is counted as lost.

use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct Ring {
    words: Box<[AtomicU64]>,
    /// Words reserved by producers since the start.
    head: AtomicU64,
    /// Words consumed since the start.
    tail: AtomicU64,
    lost: AtomicU64,
}

impl Ring {
    /// A queue of `capacity` words, a power of two.
    pub(super) fn new(capacity: usize) -> Self {
        assert!(capacity.is_power_of_two(), "positions are masked");
        let words = (0..capacity).map(|_| AtomicU64::new(0)).collect();
        Self { words, head: AtomicU64::new(0), tail: AtomicU64::new(0), lost: AtomicU64::new(0) }
    }

    /// Appends a record of the parts' words, or counts it as lost.
    pub(super) fn push(&self, parts: &[&[u64]]) {
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let Some(start) = self.reserve(length + 1) else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        for (at, word) in parts.iter().copied().flatten().enumerate() {
            self.word(start + 1 + at as u64).store(*word, Ordering::Relaxed);
        }
        // The consumer reads the length first; non-zero says that the rest is there.
        self.word(start).store(length + 1, Ordering::Release);
    }

    fn reserve(&self, length: u64) -> Option<u64> {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head + length - self.tail.load(Ordering::Acquire) > self.words.len() as u64 {
                return None;
            }
            match self.head.compare_exchange_weak(head, head + length, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(head),
                Err(now) => head = now,
            }
        }
    }

    /// Takes the oldest record into `record`. Only one thread may call this. False where there is none, or
    /// its producer has not finished.
    pub(super) fn pop(&self, record: &mut Vec<u64>) -> bool {
        let tail = self.tail.load(Ordering::Relaxed);
        let length = self.word(tail).load(Ordering::Acquire);
        if length == 0 {
            return false;
        }
        record.clear();
        record.extend((1..length).map(|at| self.word(tail + at).load(Ordering::Relaxed)));
        // Zeroed before the room is given back, so that an unfinished record always starts with zero.
        for at in 0..length {
            self.word(tail + at).store(0, Ordering::Relaxed);
        }
        self.tail.store(tail + length, Ordering::Release);
        true
    }

    /// Records that did not fit.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn word(&self, position: u64) -> &AtomicU64 {
        &self.words[(position & (self.words.len() as u64 - 1)) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_in_order_and_those_that_do_not_fit_are_counted() {
        let ring = Ring::new(16);
        let mut record = Vec::new();
        for round in 0..100u64 {
            for n in 0..4 {
                ring.push(&[&[round, n], &[7]]);
            }
            ring.push(&[&[9]]);
            for n in 0..4 {
                assert!(ring.pop(&mut record));
                assert_eq!(record, [round, n, 7]);
            }
            assert!(!ring.pop(&mut record));
        }
        assert_eq!(ring.lost(), 100);
    }

    #[test]
    fn nothing_is_torn_between_producers() {
        let ring = Ring::new(1 << 12);
        let mut seen = [0u64; 4];
        std::thread::scope(|scope| {
            let producers: Vec<_> = (0..4u64)
                .map(|id| {
                    let ring = &ring;
                    scope
                        .spawn(move || (0..20_000u64).for_each(|n| ring.push(&[&[id, n], &[n; 5][..(n % 6) as usize]])))
                })
                .collect();
            let mut record = Vec::new();
            loop {
                let done = producers.iter().all(std::thread::ScopedJoinHandle::is_finished);
                while ring.pop(&mut record) {
                    let (id, n) = (record[0] as usize, record[1]);
                    assert_eq!(record.len() as u64, 2 + n % 6);
                    assert!(record[2..].iter().all(|word| *word == n));
                    seen[id] += 1;
                }
                if done {
                    break;
                }
            }
        });
        assert_eq!(seen.iter().sum::<u64>() + ring.lost(), 80_000);
    }
}
