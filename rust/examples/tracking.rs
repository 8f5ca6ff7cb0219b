//! Switches recording on and off while the program runs, with rheaper's API.

use std::alloc::System;

#[global_allocator]
static GLOBAL: allotrope::Allocator<System> = allotrope::Allocator::from_allocator(System);

fn main() -> Result<(), allotrope::Error> {
    for round in 1..=2 {
        let path = allotrope::enable_tracking(allotrope::TrackerConfig {
            max_stack_depth: 30,
            max_trackers: 200,
            tracker_event_buffer_size: 5_000,
            sample_rate: 1.0,
            profile_dir: "profiles".into(),
        })?;
        let blocks: Vec<_> = (0..round).map(|_| Box::new([0u8; 1009])).collect();
        allotrope::disable_tracking();
        println!("{} in {}", blocks.len(), path.display());
    }
    Ok(())
}
