use crate::ignore::is_ignored;
use crate::sys;
use std::alloc::{GlobalAlloc, Layout, System};

/// A global allocator that reports each call to the runtime. It wraps the system's allocator or another one.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc::system();
///
/// fn main() {
///     let _profiler = allotrope::Profiler::builder().testing().build();
///     let numbers = vec![1u64, 2, 3];
///     assert_eq!(allotrope::HeapStats::get().curr_bytes, 24);
///     drop(numbers);
/// }
/// ```
///
/// Each function calls the same function of the wrapped allocator, so zeroed memory and resizing in place stay
/// as cheap. While nothing is recorded, each call costs one load and one branch more.
///
/// ```
/// use std::alloc::{GlobalAlloc, Layout, System};
///
/// struct Pages; // your own allocator, or one from a crate
///
/// unsafe impl GlobalAlloc for Pages {
///     unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
///         System.alloc(layout.align_to(4096).unwrap())
///     }
///     unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
///         System.dealloc(block, layout.align_to(4096).unwrap())
///     }
/// }
///
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc<Pages> = allotrope::Alloc::wrap(Pages);
///
/// let boxed = Box::new(1);
/// assert_eq!(&*boxed as *const i32 as usize % 4096, 0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Alloc<A = System> {
    inner: A,
}

/// The system's allocator as a constant, so `static ALLOC: allotrope::Alloc = allotrope::Alloc;` works as it
/// does with dhat.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
/// ```
#[allow(non_upper_case_globals)]
pub const Alloc: Alloc = Alloc::system();

impl Alloc<System> {
    /// Wraps the system's allocator.
    pub const fn system() -> Self {
        Alloc { inner: System }
    }
}

impl<A> Alloc<A> {
    /// Wraps another allocator.
    pub const fn wrap(inner: A) -> Self {
        Alloc { inner }
    }

    /// Wraps another allocator, under rheaper's name.
    ///
    /// ```
    /// use std::alloc::System;
    ///
    /// #[global_allocator]
    /// static GLOBAL: allotrope::Allocator<System> = allotrope::Allocator::from_allocator(System);
    /// ```
    pub const fn from_allocator(inner: A) -> Self {
        Alloc { inner }
    }

    /// The wrapped allocator.
    ///
    /// ```
    /// static ALLOC: allotrope::Alloc = allotrope::Alloc::system();
    ///
    /// let _the_systems: &std::alloc::System = ALLOC.inner();
    /// ```
    pub fn inner(&self) -> &A {
        &self.inner
    }
}

// A block is reported after it was allocated and before it is freed, so no other thread can report the same
// address in between. All functions are inlined, also without optimization: then no frame of a stack consists of
// this crate's calls only, and `allo` removes them.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Alloc<A> {
    #[inline(always)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        report(self.inner.alloc(layout), layout.size())
    }

    #[inline(always)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        report(self.inner.alloc_zeroed(layout), layout.size())
    }

    #[inline(always)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if sys::is_active() {
            sys::allo_on_free(0, block.cast());
        }
        self.inner.dealloc(block, layout);
    }

    #[inline(always)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !sys::is_active() {
            return self.inner.realloc(block, layout, size);
        }
        if is_ignored() {
            // The old block may be recorded; the new one is not.
            sys::allo_on_free(0, block.cast());
            return self.inner.realloc(block, layout, size);
        }
        sys::allo_on_realloc_begin(0, block.cast());
        let moved = self.inner.realloc(block, layout, size);
        sys::allo_on_realloc_end(0, moved.cast(), size);
        moved
    }
}

#[inline(always)]
unsafe fn report(block: *mut u8, size: usize) -> *mut u8 {
    if sys::is_active() && !block.is_null() && !is_ignored() {
        sys::allo_on_alloc(0, block.cast(), size);
    }
    block
}
