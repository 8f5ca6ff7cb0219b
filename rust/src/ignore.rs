//! Allocations that are not the program's: the crate's own, and those of conditions that are asserted.

use std::cell::Cell;

thread_local! {
    // Without a destructor, so that it is there whenever something is allocated.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// What this thread allocates within `work` is not told to the runtime.
pub(crate) fn ignoring<T>(work: impl FnOnce() -> T) -> T {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    let _guard = Guard;
    work()
}

#[inline]
pub(crate) fn is_ignored() -> bool {
    DEPTH.with(|depth| depth.get() > 0)
}
