//! Counting allocations on the measuring thread.
//!
//! A binary that wants the columns installs the allocator:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: countercheck::harness::alloc::Counting = countercheck::harness::alloc::Counting;
//! # fn main() {}
//! ```
//!
//! Without it allocation is "not measured", which is not zero.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { active: false, bytes: 0, calls: 0 }) };
}

#[derive(Clone, Copy)]
struct Counts {
    active: bool,
    bytes: u64,
    calls: u64,
}

/// The system's allocator, counting on threads that ask for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` with this layout, as every allocation here does.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: `pointer` came from `System` with this layout; the caller keeps the rest.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Counts one request. A growing reallocation counts as a call of its new size.
#[inline]
fn note(bytes: usize) {
    // While a thread ends its counters may be gone; nobody measures then.
    let _ = COUNTS.try_with(|counts| {
        let mut now = counts.get();
        if now.active {
            now.bytes += bytes as u64;
            now.calls += 1;
            counts.set(now);
        }
    });
}

/// Bytes and calls requested on this thread while `body` runs. `None` where the program has another
/// allocator.
pub fn count(body: impl FnOnce()) -> Option<(u64, u64)> {
    if !is_installed() {
        body();
        return None;
    }
    Some(count_unchecked(body))
}

fn count_unchecked(body: impl FnOnce()) -> (u64, u64) {
    let before = COUNTS.replace(Counts { active: true, bytes: 0, calls: 0 });
    body();
    let after = COUNTS.replace(before);
    (after.bytes, after.calls)
}

/// Whether [`Counting`] is this program's allocator: whether an allocation is noticed.
pub fn is_installed() -> bool {
    let (_, calls) = count_unchecked(|| drop(std::hint::black_box(Box::new(0u8))));
    calls > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_through_the_allocator_itself() {
        let (bytes, calls) = count_unchecked(|| {
            let layout = Layout::from_size_align(100, 8).unwrap();
            // SAFETY: the layout is not empty, and what is allocated is freed with its own layout.
            unsafe {
                let pointer = Counting.realloc(Counting.alloc(layout), layout, 300);
                Counting.dealloc(pointer, Layout::from_size_align(300, 8).unwrap());
                let zeroed = Counting.alloc_zeroed(layout);
                assert_eq!(*zeroed, 0);
                Counting.dealloc(zeroed, layout);
            }
        });
        assert_eq!((bytes, calls), (500, 3));
    }

    #[test]
    fn another_allocator_is_not_zero_but_unknown() {
        // The test program installs none.
        assert!(!is_installed());
        assert_eq!(count(|| ()), None);
    }
}
