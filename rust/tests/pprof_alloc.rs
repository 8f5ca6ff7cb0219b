//! The API of the crate pprof-alloc: samples from the first allocation on.

mod cases;

#[global_allocator]
static GLOBAL: allotrope::PprofAlloc =
    allotrope::PprofAlloc::new().with_pprof_sample_rate_from_env(4096).with_stats();

use cases::{allo, Ended};
use std::process::Command;
use std::{env, fs};

const BLOCKS: usize = 4000;
const SIZE: usize = 1009;

fn main() {
    cases::run(&[
        ("sampled", profile, look_at_sampled),
        ("exact", || at_rate("1"), look_at_exact),
        ("off", || at_rate("0"), look_at_off),
    ]);
}

/// The rate is read at the first allocation, which has already happened here.
fn at_rate(rate: &str) {
    let program = env::current_exe().unwrap();
    let status = Command::new(program).arg("sampled").env("PPROF_ALLOC_SAMPLE_RATE", rate).status();
    assert!(status.unwrap().success());
}

#[inline(never)]
fn hold() -> Vec<Box<[u8]>> {
    (0..BLOCKS).map(|_| vec![1; SIZE].into_boxed_slice()).collect()
}

fn profile() {
    let before = allotrope::allocation_stats().unwrap();
    let held = hold();
    let stats = allotrope::allocation_stats().unwrap();
    assert_eq!(stats.allocations - before.allocations, BLOCKS as u64 + 1);
    assert!(stats.allocated - before.allocated >= (BLOCKS * SIZE) as u64);
    assert_eq!(stats.frees, before.frees);
    // The site held twice as much before; the profile has live blocks only.
    drop(hold());
    match allotrope::generate_pprof() {
        Ok(profile) => fs::write("x.pb.gz", profile).unwrap(),
        Err(error) => println!("{error}"),
    }
    drop(held);
}

/// The number of blocks in the profile.
fn found(ended: &Ended) -> f64 {
    ended.must_succeed();
    ended.must_leave(&["x.pb.gz"]);
    let arguments = ["convert", "-q", "--to", "folded", "-M", "inuse_objects", "-F", "hold", "x.pb.gz"];
    let folded = allo(&ended.folder, &arguments);
    folded.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

fn look_at_sampled(ended: &Ended) {
    // 985 samples are expected, each for 4.6 blocks; the tolerance is eight standard deviations.
    let found = found(ended);
    assert!((found - BLOCKS as f64).abs() < BLOCKS as f64 / 4.0, "{found}");
}

fn look_at_exact(ended: &Ended) {
    assert_eq!(found(ended), BLOCKS as f64 + 1.0);
}

fn look_at_off(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&[]);
}
