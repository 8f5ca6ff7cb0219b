//! Records the allocations of a program, reports heap statistics, and checks them in tests.
//!
//! ```
//! #[global_allocator]
//! static ALLOC: allotrope::Alloc = allotrope::Alloc::system();
//!
//! fn main() -> Result<(), allotrope::Error> {
//! #   std::env::set_current_dir(std::env::temp_dir()).unwrap();
//!     let recording = allotrope::start(allotrope::Config::new().path("work.allo"))?;
//!     let numbers: Vec<u64> = (0..1000).collect();
//!     recording.stop()?;
//! #   std::fs::remove_file("work.allo").unwrap();
//!     Ok(()) // and then, in a shell: allo summary work.allo
//! }
//! ```
//!
//! Every allocation of every thread is recorded with its full stack, at a fraction of the cost of other profilers. It is
//! on disk at once: a program that is killed leaves a readable recording. The program `allo` resolves symbols later, and
//! shows and converts recordings. The runtime is part of this crate. It has no dependencies, but building it needs a C
//! compiler. It runs on Linux, on x86-64 and aarch64.
//!
//! # Names from other crates
//!
//! | other crate | names here |
//! |---|---|
//! | dhat | [`struct@Alloc`], [`Profiler`], [`HeapStats`], [`AdHocStats`], [`ad_hoc_event`], [`assert!`], [`assert_eq!`], [`assert_ne!`]: replace `dhat::` with `allotrope::` |
//! | rheaper | [`Allocator`], [`enable_tracking`], [`disable_tracking`], [`TrackerConfig`] |
//! | pprof-alloc | [`PprofAlloc`], [`generate_pprof`], [`allocation_stats`], [`snapshot`], [`metrics`]; with the same signatures: [`pprof_alloc`] |
//! | dhat-pprof | `dhat_pprof`, with the feature `profiles` |
//! | none | [`start`], [`Config`], [`Recording`], [`Scope`], [`label`], [`mark`], [`event`], [`dump()`] |
//!
//! # Heaps in tests
//!
//! A [`Scope`] counts only the allocations of the thread that created it, so tests can run in parallel:
//!
//! ```
//! #[global_allocator]
//! static ALLOC: allotrope::Alloc = allotrope::Alloc;
//!
//! fn parse(text: &str) -> u32 {
//!     text.split(',').map(|number| number.parse::<u32>().unwrap()).sum()
//! }
//!
//! # /*
//! #[test]
//! # */
//! fn parsing_allocates_nothing() {
//!     let scope = allotrope::Scope::begin();
//!     assert_eq!(parse("1,2,3"), 6);
//!     assert_eq!(scope.stats().total_blocks, 0);
//! }
//! # parsing_allocates_nothing();
//! ```

#![warn(missing_docs)]

mod alloc;
mod annotations;
mod asserts;
mod c_text;
mod config;
#[cfg(feature = "profiles")]
pub mod dhat_pprof;
mod dump;
mod error;
mod ignore;
mod json;
mod memory;
pub mod pprof_alloc;
mod profiler;
#[cfg(feature = "profiles")]
mod profiles;
mod recording;
mod scope;
mod session;
mod stats;
mod sys;
mod tracking;

pub use alloc::Alloc;
pub use annotations::{event, event_named, label, mark, Heap, Label};
pub use config::{Config, Unwinder};
pub use dump::{dump, dump_bytes, dump_on_signal, generate_pprof};
pub use error::Error;
pub use memory::{
    metrics, openmetrics, snapshot, AllocatorMemory, CgroupMemory, CgroupStat, HeapMemory, MemorySnapshot,
    MemorySource, PageMemory, ProcessMemory, ProfilerMemory, SystemMemory, Walks,
};
pub use pprof_alloc::sampled::{allocation_stats, AllocationStats, PprofAlloc, DEFAULT_PPROF_SAMPLE_RATE};
#[doc(hidden)]
pub use profiler::assert_nothing_wrong;
pub use profiler::{ad_hoc_event, Profiler, ProfilerBuilder};
pub use recording::{start, Recording};
pub use scope::Scope;
pub use stats::{thread_stats, AdHocStats, HeapChange, HeapStats};
pub use tracking::{disable_tracking, enable_tracking, Allocator, TrackerConfig};
