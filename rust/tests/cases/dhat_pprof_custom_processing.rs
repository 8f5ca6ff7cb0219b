use dhat_pprof::{DhatProfile, convert_profile, write_pprof};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Parse DHAT profile
    let json = std::fs::read_to_string("dhat-heap.json")?;
    let dhat_profile: DhatProfile = dhat_pprof::serde_json::from_str(&json)?;

    // Access DHAT metrics
    println!("Command: {}", dhat_profile.cmd);
    println!("Profile points: {}", dhat_profile.pps.len());

    // Convert to pprof
    let pprof_profile = convert_profile(dhat_profile)?;

    // Optionally manipulate the profile here
    println!("Generated {} samples", pprof_profile.sample.len());

    // Write output
    write_pprof(&pprof_profile, "output.pb.gz")?;
    Ok(())
}
