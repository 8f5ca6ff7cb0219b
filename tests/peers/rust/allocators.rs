//! Calls the global allocator in six threads.  Each way to get memory has its own size; each third thread keeps its last blocks.
//! Prints, for each size, the blocks that were allocated and those that were kept.
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::thread;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const THREADS: usize = 6;
const ROUNDS: usize = 500;
const PLAIN: usize = 1009;
const ZEROED: usize = 2003;
const ALIGNED: usize = 3001;
const GROWN: usize = 40009;
const LARGE: usize = 5_000_011;

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

unsafe fn grow(size: usize, new_size: usize) -> *mut u8 {
    realloc(alloc(layout(size, 1)), layout(size, 1), new_size)
}

#[inline(never)]
fn use_all(keeps: bool) {
    for round in 1..=ROUNDS {
        let blocks = unsafe {
            [
                (alloc(layout(PLAIN, 8)), layout(PLAIN, 8)),
                (alloc_zeroed(layout(ZEROED, 8)), layout(ZEROED, 8)),
                (alloc(layout(ALIGNED, 256)), layout(ALIGNED, 256)),
                (grow(7, GROWN), layout(GROWN, 1)),
                (alloc(layout(LARGE, 16)), layout(LARGE, 16)),
            ]
        };
        for (block, layout) in blocks {
            assert!(!block.is_null());
            unsafe { block.write(1) };
            if !keeps || round < ROUNDS {
                unsafe { dealloc(block, layout) };
            }
        }
    }
}

fn main() {
    let threads: Vec<_> = (0..THREADS).map(|n| thread::spawn(move || use_all(n % 3 == 0))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    for size in [PLAIN, ZEROED, ALIGNED, GROWN, LARGE] {
        println!("{size} {} {}", THREADS * ROUNDS, (THREADS + 2) / 3);
    }
}
