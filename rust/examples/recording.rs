//! Records with labels and marks, and writes two formats.

#[global_allocator]
static ALLOC: allotrope::Alloc = allotrope::Alloc::system();

fn handle(request: &str) -> String {
    let _label = allotrope::label("request", request);
    request.repeat(100)
}

fn main() -> Result<(), allotrope::Error> {
    let recording = allotrope::start(allotrope::Config::new().path("requests.allo").stats())?;
    let first = handle("GET /");
    allotrope::mark("half of it");
    allotrope::dump("half.pb.gz")?;
    let second = handle("GET /favicon.ico");
    let heap = recording.heap_stats()?;
    let path = recording.stop()?;
    println!("{} bytes for {} in {}", heap.curr_bytes, first.len() + second.len(), path.display());
    Ok(())
}
