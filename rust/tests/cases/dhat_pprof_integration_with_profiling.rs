use dhat_pprof::convert;

#[cfg(feature = "dhat-heap")]
#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "dhat-heap")]
    let _profiler = dhat::Profiler::new_heap();

    // Your application code here
    run_application();

    // After profiling completes, convert to pprof
    #[cfg(feature = "dhat-heap")]
    convert("dhat-heap.json", "dhat-heap.pb.gz")?;

    Ok(())
}
