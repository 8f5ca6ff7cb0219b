//! Labels, marks, events and custom heaps.

use crate::c_text::with_c_text;
use crate::sys;
use std::marker::PhantomData;
use std::os::raw::c_void;

/// Adds a label to the calling thread's allocations and events until the guard is dropped. If two labels have
/// the same key, the inner one wins.
///
/// ```
/// fn handle(request: &str) {
///     let _label = allotrope::label("request", request);
///     // allocations here carry the label, also in pprof and SQL
/// }
/// # handle("GET /");
/// ```
pub fn label(key: &str, value: &str) -> Label {
    with_c_text(key, |key| with_c_text(value, |value| unsafe { sys::allo_label_push(key, value) }));
    Label { _stays: PhantomData }
}

/// The guard of a [`label`]. Drop the innermost one first.
///
/// ```
/// let outer: allotrope::Label = allotrope::label("phase", "load");
/// let inner = allotrope::label("file", "a.txt");
/// drop(inner);
/// drop(outer);
/// ```
#[derive(Debug)]
#[must_use = "a label ends when it is dropped"]
pub struct Label {
    /// Not `Send`: a label belongs to one thread.
    _stays: PhantomData<*const ()>,
}

impl Drop for Label {
    fn drop(&mut self) {
        unsafe { sys::allo_label_pop() };
    }
}

/// Names this moment, for example for `allo summary --range loaded..end`.
///
/// ```
/// allotrope::mark("loaded");
/// ```
pub fn mark(name: &str) {
    with_c_text(name, |name| unsafe { sys::allo_mark(name) });
}

/// Records an event with its call stack, to profile something other than allocations.
///
/// ```
/// fn copy(bytes: &[u8]) -> Vec<u8> {
///     allotrope::event(bytes.len() as u64);
///     bytes.to_vec()
/// }
/// # copy(b"x");
/// ```
#[inline(always)]
pub fn event(weight: u64) {
    unsafe { sys::allo_event(weight) };
}

/// Records an event with a name, which tells several kinds apart.
///
/// ```
/// allotrope::event_named("bytes sent", 1500);
/// ```
#[inline(always)]
pub fn event_named(name: &str, weight: u64) {
    with_c_text(name, |name| unsafe { sys::allo_event_named(name, weight) });
}

/// A custom heap, such as a pool or an arena. Its blocks are independent of those of the global allocator, so a
/// pool may hand out the first address of a block that it got from there. They carry the label `heap=NAME`.
///
/// ```
/// let arena = allotrope::Heap::new("arena");
/// let room = [0u8; 64];
/// arena.on_alloc(room.as_ptr(), 24);
/// arena.on_realloc(room.as_ptr(), || (room[32..].as_ptr(), 32));
/// arena.on_free(room[32..].as_ptr());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    number: u32,
}

impl Heap {
    /// The heap with this name, which it registers if needed.
    pub fn new(name: &str) -> Self {
        Heap { number: with_c_text(name, |name| unsafe { sys::allo_heap(name) }) }
    }

    /// Reports a new block.
    #[inline(always)]
    pub fn on_alloc<T>(&self, block: *const T, bytes: usize) {
        unsafe { sys::allo_on_alloc(self.number, block as *const c_void, bytes) };
    }

    /// Reports that a block is about to be freed.
    #[inline(always)]
    pub fn on_free<T>(&self, block: *const T) {
        unsafe { sys::allo_on_free(self.number, block as *const c_void) };
    }

    /// Reports a resize. `resize` returns the resized block and its size, or null and the requested size on
    /// failure. The thread's allocations in `resize` are not recorded: they are the heap's own.
    #[inline(always)]
    pub fn on_realloc<T>(&self, block: *const T, resize: impl FnOnce() -> (*const T, usize)) {
        unsafe { sys::allo_on_realloc_begin(self.number, block as *const c_void) };
        let (moved, bytes) = resize();
        unsafe { sys::allo_on_realloc_end(self.number, moved as *const c_void, bytes) };
    }
}
