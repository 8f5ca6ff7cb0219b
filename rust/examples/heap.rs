//! Profiles the heap of a part of a program, with dhat's API. Writes dhat-heap.json.

#[global_allocator]
static ALLOC: allotrope::Alloc = allotrope::Alloc;

fn squares(count: u64) -> Vec<u64> {
    let mut squares = Vec::new();
    for number in 0..count {
        squares.push(number * number); // reallocates; Vec::with_capacity() would not
    }
    squares
}

fn main() {
    let profiler = allotrope::Profiler::new_heap();
    let last = squares(1000).pop();
    drop(profiler);
    println!("the last one is {}", last.unwrap());
}
