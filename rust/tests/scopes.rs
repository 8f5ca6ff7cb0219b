//! Heap tests that run in parallel, in one process.

#[global_allocator]
static ALLOC: allotrope::Alloc = allotrope::Alloc;

use allotrope::Scope;
use std::sync::mpsc;

/// Keeps at least two scopes open at a time, in any order of tests.
fn churn(size: usize) {
    for round in 0..200 {
        let scope = Scope::begin();
        let held: Vec<Box<[u8]>> = (0..10).map(|_| vec![0; size].into_boxed_slice()).collect();
        drop(vec![1u8; size]);
        let heap = scope.stats();
        let table = 10 * std::mem::size_of::<Box<[u8]>>();
        assert_eq!(heap.total_blocks, 12, "round {round}");
        assert_eq!(heap.total_bytes, (11 * size + table) as u64);
        assert_eq!((heap.curr_blocks, heap.curr_bytes), (11, (10 * size + table) as i64));
        assert_eq!((heap.max_blocks, heap.max_bytes), (12, (11 * size + table) as u64));
        drop(held);
        assert_eq!(scope.stats().curr_blocks, 0);
        assert_eq!(scope.stats().max_blocks, 12);
    }
}

#[test]
fn small_blocks() {
    churn(8);
}

#[test]
fn middling_blocks() {
    churn(1009);
}

#[test]
fn large_blocks() {
    churn(100_003);
}

#[test]
fn nothing() {
    for _ in 0..1000 {
        let scope = Scope::begin();
        let sum: u64 = (0..100u64).sum();
        assert_eq!(sum, 4950);
        assert_eq!(scope.stats(), allotrope::HeapChange::default());
    }
}

#[test]
fn scopes_are_nested() {
    let outer = Scope::begin();
    let first = vec![0u8; 100];
    drop(first);
    let inner = Scope::begin();
    let second = vec![0u8; 10];
    assert_eq!((inner.stats().total_blocks, inner.stats().max_bytes), (1, 10));
    drop(inner);
    assert_eq!((outer.stats().total_blocks, outer.stats().max_bytes), (2, 100));
    drop(second);
}

#[test]
fn what_another_thread_has_allocated_is_freed_here() {
    let (give, take) = mpsc::sync_channel(1);
    let (ready, go) = mpsc::sync_channel(1);
    let other = std::thread::spawn(move || {
        go.recv().unwrap();
        give.send(vec![0u8; 50_000]).unwrap();
    });
    let scope = Scope::begin();
    ready.send(()).unwrap();
    let block = take.recv().unwrap();
    let before = scope.stats();
    drop(block);
    let after = scope.stats();
    assert_eq!(after.curr_bytes - before.curr_bytes, -50_000);
    assert_eq!(after.total_blocks, before.total_blocks);
    drop(scope);
    other.join().unwrap();
}

#[test]
fn labels_marks_and_events_cost_nothing() {
    let scope = Scope::begin();
    let _label = allotrope::label("test", "labels");
    let _long = allotrope::label("key", &"a long value, ".repeat(100)[..]);
    allotrope::mark("here");
    allotrope::event(1);
    assert_eq!(scope.stats().total_blocks, 1, "the text of a long value alone");
}
