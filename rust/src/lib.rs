//! Records what a program allocates, says what its heap holds, and asserts it in tests.
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
//! Every allocation is recorded with its whole stack, in all threads, at a fraction of what other profilers cost, and is
//! on disk at once: a program that is killed leaves a recording that can be read. Names are found later, by the
//! program `allo`, which shows and converts recordings. The runtime is part of this crate; there are no
//! dependencies, but a C compiler is needed to build it. For Linux, on x86-64 and aarch64.
//!
//! # By what names
//!
//! | you know | here |
//! |---|---|
//! | dhat | [`struct@Alloc`], [`Profiler`], [`HeapStats`], [`AdHocStats`], [`ad_hoc_event`], [`assert!`], [`assert_eq!`], [`assert_ne!`]: replace `dhat::` by `allotrope::` |
//! | rheaper | [`Allocator`], [`enable_tracking`], [`disable_tracking`], [`TrackerConfig`] |
//! | pprof-alloc | [`PprofAlloc`], [`generate_pprof`], [`allocation_stats`], [`snapshot`], [`metrics`] |
//! | none of them | [`start`], [`Config`], [`Recording`], [`Scope`], [`label`], [`mark`], [`event`], [`dump()`] |
//!
//! # Heaps in tests
//!
//! A [`Scope`] counts what its own thread does, so that tests may run in parallel:
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
mod asserts;
mod c_text;
mod config;
mod dump;
mod error;
mod ignore;
mod memory;
mod pprof_alloc;
mod profiler;
mod recording;
mod say;
mod scope;
mod session;
mod stats;
mod sys;
mod tracking;

pub use alloc::Alloc;
pub use config::{Config, Unwinder};
pub use dump::{dump, dump_bytes, dump_on_signal, generate_pprof};
pub use error::Error;
pub use memory::{
    metrics, openmetrics, snapshot, AllocatorMemory, CgroupMemory, CgroupStat, HeapMemory, MemorySnapshot,
    MemorySource, PageMemory, ProcessMemory, ProfilerMemory, SystemMemory, Walks,
};
pub use pprof_alloc::{allocation_stats, AllocationStats, PprofAlloc, DEFAULT_PPROF_SAMPLE_RATE};
#[doc(hidden)]
pub use profiler::assert_nothing_wrong;
pub use profiler::{ad_hoc_event, Profiler, ProfilerBuilder};
pub use recording::{start, Recording};
pub use say::{event, event_named, label, mark, Heap, Label};
pub use scope::Scope;
pub use stats::{thread_stats, AdHocStats, HeapChange, HeapStats};
pub use tracking::{disable_tracking, enable_tracking, Allocator, TrackerConfig};
