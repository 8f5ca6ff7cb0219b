//! The allocator behind `PprofAlloc`, as the environment or the program chooses it.

mod cases;

use allotrope::pprof_alloc::{allocator, Allocator, PprofAlloc};
use cases::Ended;
use std::alloc::{alloc_zeroed, dealloc, realloc, Layout};
use std::process::Command;

#[global_allocator]
static GLOBAL: PprofAlloc = PprofAlloc::new().with_default(Allocator::System).with_stats();

fn main() {
    cases::run(&[
        ("system", || choose("PPROF_ALLOC_ALLOCATOR", "system", "glibc"), Ended::must_succeed),
        ("nothing", || choose("PPROF_ALLOC_ALLOCATOR", "", "glibc"), Ended::must_succeed),
        ("jemalloc", || choose_jemalloc("PPROF_ALLOC_ALLOCATOR", "JEmalloc"), Ended::must_succeed),
        ("mimalloc", || choose("PPROF_ALLOC_ALLOCATOR", "mimalloc", "mimalloc"), Ended::must_succeed),
        ("fallback", || choose_jemalloc("ALLOCATOR", "jemalloc"), Ended::must_succeed),
        ("missing", missing, look_at_missing),
        ("use_it", use_it, |_| ()),
    ]);
}

/// The allocator is chosen at the first allocation, which has already happened here.
fn again(variable: &str, value: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("use_it").env_remove("ALLOCATOR").env(variable, value);
    command
}

/// Most builds of jemalloc can only be loaded with the program.
fn choose_jemalloc(variable: &str, value: &str) {
    let mut command = again(variable, value);
    command.env("LD_PRELOAD", "libjemalloc.so.2").env("EXPECTED", "jemalloc");
    assert!(command.status().unwrap().success());
}

fn choose(variable: &str, value: &str, expected: &str) {
    assert!(again(variable, value).env("EXPECTED", expected).status().unwrap().success());
}

/// Blocks of all alignments keep their contents when they are resized.
fn use_it() {
    for align in [1, 8, 16, 64, 4096] {
        let layout = Layout::from_size_align(100, align).unwrap();
        unsafe {
            let block = alloc_zeroed(layout);
            assert_eq!(std::slice::from_raw_parts(block, 100), [0; 100]);
            block.write_bytes(7, 100);
            let moved = realloc(block, layout, 100_000);
            assert_eq!(moved as usize % align, 0);
            assert_eq!(std::slice::from_raw_parts(moved, 100), [7; 100]);
            dealloc(moved, Layout::from_size_align(100_000, align).unwrap());
        }
    }
    let held: Vec<Box<[u8]>> = (0..1000).map(|_| vec![1; 10_000].into_boxed_slice()).collect();
    let now = allocator::snapshot();
    if let Ok(expected) = std::env::var("EXPECTED") {
        assert_eq!(now.kind.as_str(), expected);
    }
    let stats = now.comparable.unwrap();
    let bytes = stats.allocated_bytes.or(stats.committed_bytes).unwrap();
    assert!(bytes >= 10_000_000, "{bytes}");
    assert!(allotrope::allocation_stats().unwrap().allocated >= 10_000_000);
    drop(held);
}

fn missing() {
    let mut command = again("PPROF_ALLOC_ALLOCATOR", "jemalloc");
    // An empty file in front of the library.
    std::fs::write("libjemalloc.so.2", "").unwrap();
    let status = command.env("LD_LIBRARY_PATH", ".").status().unwrap();
    std::fs::remove_file("libjemalloc.so.2").unwrap();
    std::process::exit(status.code().unwrap());
}

fn look_at_missing(ended: &Ended) {
    assert_eq!(ended.output.status.code(), Some(1));
    let message = "allo: PPROF_ALLOC_ALLOCATOR=jemalloc: cannot load libjemalloc.so.2 now; ";
    assert!(ended.said().starts_with(message), "{}", ended.said());
}
