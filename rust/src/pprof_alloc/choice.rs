//! The allocator behind a `PprofAlloc`, chosen when the program starts.

use crate::sys;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

/// The environment variable that selects the allocator; `ALLOCATOR` is used if it is not set.
pub const ALLOCATOR_ENV: &str = "PPROF_ALLOC_ALLOCATOR";

/// An allocator that a program can choose when it starts.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// libc's malloc.
    System = 1,
    /// jemalloc, from `libjemalloc.so.2`. Most builds of it can only be loaded with the program: start it with
    /// `LD_PRELOAD=libjemalloc.so.2`.
    Jemalloc = 2,
    /// mimalloc, from `libmimalloc.so.3`, `.2` or `.2.0`.
    Mimalloc = 3,
}

/// The allocator that the environment variable `PPROF_ALLOC_ALLOCATOR` names: `system` or `glibc`, `jemalloc`, or
/// `mimalloc`. Without the variable it is the default of the program. The library of the allocator is loaded at the
/// first allocation. If it cannot be loaded, a default falls back to the system's allocator; a choice by the environment
/// ends the program with a message.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    default: Allocator,
}

/// The functions of a loaded allocator. All allocators of C have these four.
#[derive(Clone, Copy)]
struct Functions {
    calloc: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    aligned_alloc: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
}

const UNDECIDED: u8 = 0;

/// An `Allocator`, or `UNDECIDED`.
static CHOICE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// The loaded library, as `dlopen` returns it.
static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Each is a function of `Functions`, and set before the choice is.
static FUNCTIONS: [AtomicPtr<c_void>; 4] = [
    AtomicPtr::new(ptr::null_mut()),
    AtomicPtr::new(ptr::null_mut()),
    AtomicPtr::new(ptr::null_mut()),
    AtomicPtr::new(ptr::null_mut()),
];

/// The alignment of malloc.
const USUAL_ALIGN: usize = 16;

impl Chosen {
    pub(super) const fn new(default: Allocator) -> Self {
        Chosen { default }
    }

    /// The functions of a loaded library; `None`: the system's allocator.
    #[inline]
    fn functions(&self) -> Option<Functions> {
        let mut choice = CHOICE.load(Ordering::Acquire);
        if choice == UNDECIDED {
            choice = self.decide();
        }
        if choice == Allocator::System as u8 {
            return None;
        }
        Some(loaded_functions())
    }

    #[cold]
    fn decide(&self) -> u8 {
        let requested = requested();
        let wanted = requested.unwrap_or(self.default);
        let choice = match library_names(wanted) {
            [] => Allocator::System,
            names if load(names) => wanted,
            _ if requested.is_some() => refuse(wanted),
            _ => Allocator::System,
        };
        // Two threads that come here at once load the same library and decide the same.
        CHOICE.store(choice as u8, Ordering::Release);
        choice as u8
    }
}

/// The allocator in use; `None` if no `Chosen` has allocated anything.
pub(super) fn chosen() -> Option<Allocator> {
    match CHOICE.load(Ordering::Acquire) {
        1 => Some(Allocator::System),
        2 => Some(Allocator::Jemalloc),
        3 => Some(Allocator::Mimalloc),
        _ => None,
    }
}

/// A function of the loaded library, by its NUL-terminated name; null if there is none.
pub(super) fn find(name: &'static [u8]) -> *mut c_void {
    let library = LIBRARY.load(Ordering::Acquire);
    if library.is_null() {
        return library;
    }
    unsafe { sys::dlsym(library, name.as_ptr().cast()) }
}

/// The choice of the environment. Unknown names mean the system's allocator, as in pprof-alloc.
fn requested() -> Option<Allocator> {
    let name = variable(b"PPROF_ALLOC_ALLOCATOR\0").or_else(|| variable(b"ALLOCATOR\0"))?.to_bytes();
    Some(if name.eq_ignore_ascii_case(b"jemalloc") {
        Allocator::Jemalloc
    } else if name.eq_ignore_ascii_case(b"mimalloc") {
        Allocator::Mimalloc
    } else {
        Allocator::System
    })
}

/// Reads a variable without std, whose environment takes a lock: the first allocation may hold it.
pub(super) fn variable(name: &[u8]) -> Option<&'static CStr> {
    let value = unsafe { sys::getenv(name.as_ptr() as *const c_char) };
    if value.is_null() {
        return None;
    }
    Some(unsafe { CStr::from_ptr(value) })
}

fn library_names(allocator: Allocator) -> &'static [&'static [u8]] {
    match allocator {
        Allocator::System => &[],
        Allocator::Jemalloc => &[b"libjemalloc.so.2\0"],
        Allocator::Mimalloc => &[b"libmimalloc.so.3\0", b"libmimalloc.so.2\0", b"libmimalloc.so.2.0\0"],
    }
}

/// Loads the first library that exists and has all functions. Its malloc stays invisible to the rest of the program.
fn load(names: &[&[u8]]) -> bool {
    const RTLD_NOW: c_int = 2;
    const SYMBOLS: [&[u8]; 4] = [b"calloc\0", b"aligned_alloc\0", b"realloc\0", b"free\0"];

    for name in names {
        let library = unsafe { sys::dlopen(name.as_ptr().cast(), RTLD_NOW) };
        if library.is_null() {
            continue;
        }
        let found = SYMBOLS.map(|symbol| unsafe { sys::dlsym(library, symbol.as_ptr().cast()) });
        if found.iter().any(|function| function.is_null()) {
            continue;
        }
        for (place, function) in FUNCTIONS.iter().zip(found) {
            place.store(function, Ordering::Relaxed);
        }
        LIBRARY.store(library, Ordering::Release);
        return true;
    }
    false
}

fn loaded_functions() -> Functions {
    let [calloc, aligned_alloc, realloc, free] =
        [0, 1, 2, 3].map(|index: usize| FUNCTIONS[index].load(Ordering::Relaxed));
    // C's declarations of these functions.
    unsafe {
        Functions {
            calloc: std::mem::transmute(calloc),
            aligned_alloc: std::mem::transmute(aligned_alloc),
            realloc: std::mem::transmute(realloc),
            free: std::mem::transmute(free),
        }
    }
}

/// Ends the program without allocating.
fn refuse(wanted: Allocator) -> ! {
    let text: &[u8] = match wanted {
        Allocator::Jemalloc => {
            b"allo: PPROF_ALLOC_ALLOCATOR=jemalloc: cannot load libjemalloc.so.2 now; set LD_PRELOAD=libjemalloc.so.2\n"
        }
        _ => b"allo: PPROF_ALLOC_ALLOCATOR=mimalloc: cannot load libmimalloc.so; install it\n",
    };
    unsafe {
        sys::write(2, text.as_ptr().cast(), text.len());
        sys::_exit(1)
    }
}

unsafe impl GlobalAlloc for Chosen {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.functions() {
            None => System.alloc(layout),
            Some(functions) => aligned(&functions, layout),
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.functions() {
            None => System.alloc_zeroed(layout),
            Some(functions) if layout.align() <= USUAL_ALIGN => (functions.calloc)(1, layout.size()).cast(),
            Some(functions) => {
                let block = aligned(&functions, layout);
                if !block.is_null() {
                    ptr::write_bytes(block, 0, layout.size());
                }
                block
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match self.functions() {
            None => System.dealloc(block, layout),
            Some(functions) => (functions.free)(block.cast()),
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match self.functions() {
            None => System.realloc(block, layout, size),
            Some(functions) if layout.align() <= USUAL_ALIGN => {
                (functions.realloc)(block.cast(), size).cast()
            }
            Some(functions) => {
                let moved = aligned(&functions, Layout::from_size_align_unchecked(size, layout.align()));
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                    (functions.free)(block.cast());
                }
                moved
            }
        }
    }
}

/// Blocks of any alignment; C wants sizes that are multiples of it.
unsafe fn aligned(functions: &Functions, layout: Layout) -> *mut u8 {
    let align = layout.align().max(USUAL_ALIGN);
    match layout.size().checked_add(align - 1) {
        Some(end) if layout.align() > USUAL_ALIGN => {
            (functions.aligned_alloc)(align, end / align * align).cast()
        }
        Some(_) => (functions.realloc)(ptr::null_mut(), layout.size()).cast(),
        None => ptr::null_mut(),
    }
}
