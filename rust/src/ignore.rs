//! Allocations that are not recorded: those of this crate and of asserted conditions.

use std::cell::Cell;

thread_local! {
    // Without a destructor, so it can be used during the whole life of the thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// Runs `work`; this thread's allocations in it are not reported to the runtime.
pub(crate) fn ignoring<T>(work: impl FnOnce() -> T) -> T {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    let _guard = Guard;
    work()
}

#[inline]
pub(crate) fn is_ignored() -> bool {
    DEPTH.with(|depth| depth.get() > 0)
}
