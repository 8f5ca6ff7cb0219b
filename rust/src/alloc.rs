use crate::ignore::is_ignored;
use crate::sys;
use std::alloc::{GlobalAlloc, Layout, System};

/// The global allocator: the system's, or any other, with the runtime told of what it does.
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
/// Each of its functions calls the same one of the allocator that it wraps, so that zeroed memory and
/// resizing in place stay as cheap as they are there. While nothing is recorded it costs next to nothing.
///
/// ```
/// use std::alloc::{GlobalAlloc, Layout, System};
///
/// struct Pages; // an allocator of your own, or a crate's
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

/// So that `static ALLOC: allotrope::Alloc = allotrope::Alloc;` is a global allocator, too: the words in
/// which programs ask for dhat's.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
/// ```
#[allow(non_upper_case_globals)]
pub const Alloc: Alloc = Alloc::system();

impl Alloc<System> {
    /// The system's allocator.
    pub const fn system() -> Self {
        Alloc { inner: System }
    }
}

impl<A> Alloc<A> {
    /// Another allocator.
    pub const fn wrap(inner: A) -> Self {
        Alloc { inner }
    }

    /// The same, by rheaper's name for it.
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

    /// The allocator that is wrapped.
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

// A block is told of after it was got and before it is given back: another thread that gets the same
// address cannot come between.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Alloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        got(self.inner.alloc(layout), layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        got(self.inner.alloc_zeroed(layout), layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if sys::is_told() {
            sys::allo_on_free(0, block.cast());
        }
        self.inner.dealloc(block, layout);
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !sys::is_told() {
            return self.inner.realloc(block, layout, size);
        }
        if is_ignored() {
            // The block may be one that counts; what becomes of it does not.
            sys::allo_on_free(0, block.cast());
            return self.inner.realloc(block, layout, size);
        }
        sys::allo_on_realloc_begin(0, block.cast());
        let moved = self.inner.realloc(block, layout, size);
        sys::allo_on_realloc_end(0, moved.cast(), size);
        moved
    }
}

#[inline]
unsafe fn got(block: *mut u8, size: usize) -> *mut u8 {
    if sys::is_told() && !block.is_null() && !is_ignored() {
        sys::allo_on_alloc(0, block.cast(), size);
    }
    block
}
