//! The API of the crate pprof-alloc: a sampling global allocator, and statistics of this process's memory.
//!
//! ```
//! use allotrope::pprof_alloc;
//!
//! #[global_allocator]
//! static GLOBAL: pprof_alloc::PprofAlloc = pprof_alloc::PprofAlloc::new().with_pprof().with_stats();
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let smaps = pprof_alloc::stats::smaps::rollup()?;
//! println!("{} bytes are resident", smaps.rss);
//! let snapshot = pprof_alloc::snapshot();
//! println!("{}", pprof_alloc::serde_json::to_string_pretty(&snapshot)?);
//! # Ok(())
//! # }
//! ```
//!
//! The rest of this crate offers more under other names: [`crate::snapshot`] has more numbers and says why one is missing,
//! and [`crate::metrics`] writes all of them for Prometheus.

pub mod allocator;
mod choice;
#[cfg(feature = "profiles")]
mod mapped_files;
#[cfg(feature = "profiles")]
pub mod pprof;
pub(crate) mod sampled;
mod snapshot;
pub mod stats;

pub use crate::dump::generate_pprof;
pub use choice::{Allocator, Chosen, ALLOCATOR_ENV};
#[cfg(feature = "profiles")]
pub use pprof::{mappings, BuildId, Mapping, StackProfile, StackProfileIter, WeightedStack};
pub use sampled::{PprofAlloc, DEFAULT_PPROF_SAMPLE_RATE, PPROF_SAMPLE_RATE_ENV};
pub use snapshot::{capture_mode, snapshot, CaptureMode, MemorySnapshot};

/// The functions of the crate serde_json that write a [`MemorySnapshot`], and read any JSON as a value.
pub mod serde_json {
    pub use crate::json::{
        from_reader, from_slice, from_str, to_string, to_string_pretty, Error, FromJson, ToJson, Value,
    };
}

/// The totals of a [`PprofAlloc`] with statistics, exact for all threads; zeros if none are kept.
pub fn allocation_stats() -> stats::Allocations {
    let totals = sampled::allocation_stats().unwrap_or_default();
    stats::Allocations {
        allocated: totals.allocated,
        freed: totals.freed,
        allocations: totals.allocations,
        frees: totals.frees,
    }
}

/// Has no effect, for compatibility: sampling needs no configuration at startup.
pub fn configure() -> Result<(), crate::Error> {
    Ok(())
}

/// Has no effect, for compatibility: see [`configure`].
pub fn configure_with_default(_default: Allocator) -> Result<(), crate::Error> {
    Ok(())
}
