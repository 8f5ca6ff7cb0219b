//! A wrapped allocator: each of its functions is called for its own purpose.

#[global_allocator]
static ALLOC: allotrope::Alloc<Counting> = allotrope::Alloc::wrap(Counting);

use allotrope::{HeapStats, Profiler};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static CALLS: [AtomicUsize; 4] =
    [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)];

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS[0].fetch_add(1, Relaxed);
        System.alloc(layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        CALLS[1].fetch_add(1, Relaxed);
        System.alloc_zeroed(layout)
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS[2].fetch_add(1, Relaxed);
        // More memory than any machine has: the allocation fails.
        if size > 1 << 60 {
            return std::ptr::null_mut();
        }
        System.realloc(block, layout, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        CALLS[3].fetch_add(1, Relaxed);
        System.dealloc(block, layout)
    }
}

fn calls() -> [usize; 4] {
    [0, 1, 2, 3].map(|function| CALLS[function].load(Relaxed))
}

fn use_all() {
    let mut block = Vec::<u8>::with_capacity(10);
    block.reserve_exact(100);
    drop(block);
    drop(vec![0u8; 1000]);
}

fn main() {
    let before = calls();
    use_all();
    assert_eq!(changes(before), [1, 1, 1, 2], "while nothing is recorded");

    let profiler = Profiler::builder().testing().build();
    let before = calls();
    use_all();
    assert_eq!(changes(before), [1, 1, 1, 2], "while something is recorded");
    let stats = HeapStats::get();
    assert_eq!((stats.total_blocks, stats.total_bytes), (3, 1110));
    assert_eq!((stats.curr_blocks, stats.max_bytes), (0, 1000));

    let mut block = Vec::<u8>::with_capacity(10);
    assert!(block.try_reserve_exact((1 << 62) + 1).is_err());
    assert_eq!(HeapStats::get().curr_bytes, 10, "what could not be resized is still there");
    drop(block);
    assert_eq!(HeapStats::get().curr_blocks, 0);
    drop(profiler);
}

fn changes(before: [usize; 4]) -> [usize; 4] {
    let after = calls();
    [0, 1, 2, 3].map(|function| after[function] - before[function])
}
