// lives.rs - the same as lives.c, in Rust.

use std::arch::asm;

/// Hides a value from the optimizer, as std::hint::black_box does since Rust 1.66; Debian 12 has 1.63.
fn black_box<T>(value: T) -> T {
    unsafe { asm!("/* {0} */", in(reg) &value as *const T) };
    value
}

const BRIEF: usize = 331;
const MIDDLING: usize = 293;
const LASTING: usize = 71;

#[inline(never)]
fn wait_a_while() {
    for i in 0..2_000_000 {
        black_box(i);
    }
}

#[inline(never)]
fn brief() {
    for i in 0..BRIEF {
        drop(black_box(vec![i as u8 | 1; 1013]));
    }
}

#[inline(never)]
fn middling() {
    let mut blocks: Vec<Vec<u8>> = Vec::with_capacity(MIDDLING);
    for i in 0..MIDDLING {
        blocks.push(black_box(vec![i as u8 | 1; 2017]));
    }
    wait_a_while();
    drop(black_box(blocks));
}

#[inline(never)]
fn lasting() {
    for i in 0..LASTING {
        std::mem::forget(black_box(vec![i as u8 | 1; 3019]));
    }
}

fn main() {
    lasting();
    wait_a_while();
    brief();
    middling();
    wait_a_while();
    brief();
}
