//! Verification that remembers keys: lifted points, or whole tables of multiples.
//!
//! Published factors for such caches come from loops over one key, where every look-up finds its entry. Real traffic
//! has strangers, so a row states the share of look-ups that find one.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::rust::KeyTable;
use super::{K256, Library};

/// What a cache remembers of a key.
pub trait Cache: 'static {
    /// Name in rows.
    const NAME: &'static str;

    /// Computes it; `None` where there is no such key.
    fn compute(x: &[u8; 32]) -> Option<Self>
    where
        Self: Sized;
    /// Verifies with it.
    fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool;
}

impl Cache for <K256 as Library>::Public {
    const NAME: &'static str = "lift";

    fn compute(x: &[u8; 32]) -> Option<Self> {
        K256::lift_x(x)
    }
    fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        K256::verify_lifted(self, message, signature)
    }
}

impl Cache for KeyTable {
    const NAME: &'static str = "table";

    fn compute(x: &[u8; 32]) -> Option<Self> {
        K256::lift_x(x).map(|key| Self::new(&key))
    }
    fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        KeyTable::verify(self, message, signature)
    }
}

/// Remembered keys, at most `capacity` of them. The oldest makes room, unless it was asked for since it was last looked
/// at: then it gets a second chance.
#[derive(Debug)]
pub struct Keys<T> {
    entries: FxHashMap<[u8; 32], Entry<T>>,
    order: VecDeque<[u8; 32]>,
    capacity: usize,
}

#[derive(Debug)]
struct Entry<T> {
    known: T,
    asked_for: bool,
}

impl<T: Cache> Keys<T> {
    /// An empty cache for at least one key.
    pub fn new(capacity: usize) -> Self {
        Self { entries: FxHashMap::default(), order: VecDeque::new(), capacity: capacity.max(1) }
    }

    /// Whether this key is remembered.
    pub fn contains(&self, x: &[u8; 32]) -> bool {
        self.entries.contains_key(x)
    }

    /// Makes a stranger of this key.
    pub fn forget(&mut self, x: &[u8; 32]) {
        if self.entries.remove(x).is_some() {
            self.order.retain(|other| other != x);
        }
    }

    /// Verifies, and remembers the key if it was not known.
    #[inline(never)]
    pub fn verify(&mut self, x: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
        if let Some(entry) = self.entries.get_mut(x) {
            entry.asked_for = true;
            return entry.known.verify(message, signature);
        }
        let Some(known) = T::compute(x) else {
            return false;
        };
        let valid = known.verify(message, signature);
        while self.order.len() >= self.capacity {
            self.make_room();
        }
        self.order.push_back(*x);
        self.entries.insert(*x, Entry { known, asked_for: false });
        valid
    }

    fn make_room(&mut self) {
        let Some(oldest) = self.order.pop_front() else {
            return;
        };
        match self.entries.get_mut(&oldest) {
            Some(entry) if entry.asked_for => {
                entry.asked_for = false;
                self.order.push_back(oldest);
            }
            _ => {
                self.entries.remove(&oldest);
            }
        }
    }
}
