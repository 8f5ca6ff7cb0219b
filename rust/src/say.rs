//! What a program says of itself.

use crate::c_text::with_c_text;
use crate::sys;
use std::marker::PhantomData;
use std::os::raw::c_void;

/// A label on all that the calling thread does until the guard is dropped. Of equal keys the inner one counts.
///
/// ```
/// fn handle(request: &str) {
///     let _label = allotrope::label("request", request);
///     // whatever is allocated here has the label, in pprof and in SQL as well
/// }
/// # handle("GET /");
/// ```
pub fn label(key: &str, value: &str) -> Label {
    with_c_text(key, |key| with_c_text(value, |value| unsafe { sys::allo_label_push(key, value) }));
    Label { _stays: PhantomData }
}

/// See [`label`]. The last one made has to be dropped first.
///
/// ```
/// let outer: allotrope::Label = allotrope::label("phase", "load");
/// let inner = allotrope::label("file", "a.txt");
/// drop(inner);
/// drop(outer);
/// ```
#[derive(Debug)]
#[must_use = "a label that is dropped at once is on nothing"]
pub struct Label {
    /// It is one thread's.
    _stays: PhantomData<*const ()>,
}

impl Drop for Label {
    fn drop(&mut self) {
        unsafe { sys::allo_label_pop() };
    }
}

/// A name for this moment.
///
/// ```
/// allotrope::mark("loaded");
/// ```
pub fn mark(name: &str) {
    with_c_text(name, |name| unsafe { sys::allo_mark(name) });
}

/// An event of the program's own, with its stack: what is hot need not be an allocation.
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

/// The same with a name, to tell several kinds apart.
///
/// ```
/// allotrope::event_named("bytes sent", 1500);
/// ```
#[inline(always)]
pub fn event_named(name: &str, weight: u64) {
    with_c_text(name, |name| unsafe { sys::allo_event_named(name, weight) });
}

/// A heap of the program's own: a pool, an arena. Its blocks have nothing to do with those of the global
/// allocator, so that a pool may hand out the start of what it has got from there; they have its name as the
/// label "heap".
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
    /// A heap of this name. Heaps of the same name are one.
    pub fn new(name: &str) -> Self {
        Heap { number: with_c_text(name, |name| unsafe { sys::allo_heap(name) }) }
    }

    /// To be told after a block was got.
    #[inline]
    pub fn on_alloc<T>(&self, block: *const T, bytes: usize) {
        unsafe { sys::allo_on_alloc(self.number, block as *const c_void, bytes) };
    }

    /// To be told before a block is given back.
    #[inline]
    pub fn on_free<T>(&self, block: *const T) {
        unsafe { sys::allo_on_free(self.number, block as *const c_void) };
    }

    /// Around what resizes a block, and says what it has become: null and the size that was asked for if it
    /// could not be. What the thread allocates meanwhile is the heap's own.
    #[inline]
    pub fn on_realloc<T>(&self, block: *const T, resize: impl FnOnce() -> (*const T, usize)) {
        unsafe { sys::allo_on_realloc_begin(self.number, block as *const c_void) };
        let (moved, bytes) = resize();
        unsafe { sys::allo_on_realloc_end(self.number, moved as *const c_void, bytes) };
    }
}
