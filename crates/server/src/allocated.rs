//! How many bytes the process has allocated.
//!
//! A thread counts for itself, and adds that to the sum of all threads when it has become much: so counting costs less than a
//! nanosecond an allocation. The sum may therefore be wrong by [`SHARE`] for each thread.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// A thread adds to the sum when it has allocated or freed so many bytes.
const SHARE: i64 = 64 << 10;

static SUM: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static OWN: Cell<i64> = const { Cell::new(0) };
}

#[inline]
fn count(bytes: i64) {
    // A thread that is ending counts no more: its last bytes are lost to the sum.
    let _ = OWN.try_with(|own| {
        let sum = own.get() + bytes;
        if sum.abs() < SHARE {
            own.set(sum);
        } else {
            own.set(0);
            SUM.fetch_add(sum, Relaxed);
        }
    });
}

/// The bytes that the process has allocated, about; none if its allocator does not count.
#[inline]
pub(crate) fn allocated() -> Option<u64> {
    u64::try_from(SUM.load(Relaxed)).ok().filter(|sum| *sum > 0)
}

/// An allocator that counts for `INFO` and `maxmemory`. A process that serves a node should have it as its global allocator: without
/// it the resident memory of the process counts, which does not fall when keys are deleted.
pub struct Counting<A>(pub A);

// SAFETY: every call is handed on as it is to an allocator that keeps the contract.
#[allow(unsafe_code)]
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as the caller says.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as the caller says.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as the caller says.
        unsafe { self.0.dealloc(place, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as the caller says.
        unsafe { self.0.realloc(place, layout, size) }
    }
}
