//! Bindings of `c/include/allo.h`.

use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

#[repr(C)]
pub struct Config {
    pub path: *const c_char,
    pub format: *const c_char,
    pub options: *const c_char,
    pub mode: c_uint,
    pub unwinder: c_uint,
    pub rate: u64,
    pub min_size: u64,
    pub max_file: u64,
    pub stack_depth: u32,
    pub has_stats: bool,
    pub no_follow: bool,
    pub has_exact_times: bool,
    pub reserved: [u64; 8],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct HeapStats {
    pub total_blocks: u64,
    pub total_bytes: u64,
    pub current_blocks: i64,
    pub current_bytes: i64,
    pub peak_blocks: u64,
    pub peak_bytes: u64,
}

#[repr(C)]
#[derive(Debug, Default)]
pub struct Scope {
    pub before: HeapStats,
    pub reserved: [u64; 4],
}

#[repr(C)]
#[derive(Default)]
pub struct EventStats {
    pub total_events: u64,
    pub total_units: u64,
}

/// `struct allo_spawn_request` of `c/capture/api/spawn_allo.h`.
#[repr(C)]
pub struct SpawnRequest {
    pub recording: *const c_char,
    pub format: *const c_char,
    pub options: *const c_char,
    pub made: *const c_char,
    pub output: c_int,
    pub is_live: bool,
}

extern "C" {
    pub fn allo_start(config: *const Config) -> *const c_char;
    pub fn allo_stop() -> *const c_char;
    pub fn allo_is_recording() -> bool;
    pub fn allo_error() -> *const c_char;
    pub fn allo_dump(path: *const c_char) -> bool;
    pub fn allo_dump_buffer(format: *const c_char, data: *mut *mut c_void, len: *mut usize) -> bool;
    pub fn allo_dump_on_signal(signal: c_int, path: *const c_char) -> bool;
    pub fn allo_get_heap_stats(stats: *mut HeapStats) -> bool;
    pub fn allo_get_thread_stats(stats: *mut HeapStats) -> bool;
    pub fn allo_scope_begin(scope: *mut Scope) -> bool;
    pub fn allo_scope_stats(scope: *const Scope, stats: *mut HeapStats) -> bool;
    pub fn allo_scope_end(scope: *mut Scope, stats: *mut HeapStats) -> bool;
    pub fn allo_label_push(key: *const c_char, value: *const c_char);
    pub fn allo_label_pop();
    pub fn allo_mark(name: *const c_char);
    pub fn allo_event(weight: u64);
    pub fn allo_event_named(name: *const c_char, weight: u64);
    pub fn allo_get_event_stats(stats: *mut EventStats) -> bool;
    pub fn allo_heap(name: *const c_char) -> u32;
    pub fn allo_on_alloc(heap: u32, block: *const c_void, size: usize);
    pub fn allo_on_free(heap: u32, block: *const c_void);
    pub fn allo_on_realloc_begin(heap: u32, block: *const c_void);
    pub fn allo_on_realloc_end(heap: u32, moved: *const c_void, size: usize);
    pub fn allo_get_memory_snapshot_walked(snapshot: *mut crate::memory::Raw, walks: c_uint) -> bool;
    pub fn allo_metrics_as(format: c_uint, walks: c_uint, text: *mut c_char, room: usize) -> usize;

    // Private parts of the runtime: the safepoint word, conversions by `allo`, and file name patterns.
    static allo_safepoint: AtomicU32;
    static allo_spawn_trims: AtomicBool;
    pub fn allo_spawn_convert(conversion: *const SpawnRequest) -> bool;
    pub fn allo_file_name(pattern: *const c_char, number: c_uint, name: *mut c_char, room: usize) -> bool;

    // libc.
    pub fn free(block: *mut c_void);
    pub fn getenv(name: *const c_char) -> *const c_char;
    pub fn atexit(function: extern "C" fn()) -> c_int;
    pub fn malloc_trim(pad: usize) -> c_int;
    pub fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    pub fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn write(fd: c_int, bytes: *const c_void, len: usize) -> isize;
    pub fn _exit(status: c_int) -> !;
}

/// Whether the runtime wants calls to be reported, by the state in `c/capture/safepoint.h`.
#[inline]
pub fn is_active() -> bool {
    const SHUT: u32 = 0;
    unsafe { allo_safepoint.load(Ordering::Relaxed) % 4 != SHUT }
}

/// Profiles made from now on begin at the function that allocates: without frames of the global allocator.
pub fn trim_profiles() {
    unsafe { allo_spawn_trims.store(true, Ordering::Relaxed) };
}

#[cfg(test)]
mod tests {
    use crate::{start, Config};

    #[test]
    fn the_runtime_is_active_only_while_it_records() {
        for _ in 0..3 {
            assert!(!super::is_active());
            let recording = start(Config::new().counters()).unwrap();
            assert!(super::is_active());
            drop(recording);
        }
        assert!(!super::is_active());
    }
}
