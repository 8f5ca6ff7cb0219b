use dhat_pprof::convert;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    convert("dhat-heap.json", "output.pb.gz")?;
    Ok(())
}
