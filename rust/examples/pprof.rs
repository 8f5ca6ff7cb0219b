//! Writes a sampled profile of a running program, with pprof-alloc's API: heap.pb.gz.

#[global_allocator]
static GLOBAL: allotrope::PprofAlloc = allotrope::PprofAlloc::new().with_pprof().with_stats();

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cache: Vec<Vec<u8>> = (0..1000).map(|_| vec![1; 100_000]).collect();
    std::fs::write("heap.pb.gz", allotrope::generate_pprof()?)?;
    let stats = allotrope::allocation_stats()?;
    println!("{} entries, {} MB", cache.len(), (stats.allocated - stats.freed) / 1_000_000);
    Ok(())
}
