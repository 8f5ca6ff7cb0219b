//! One snapshot of all sources, with pprof-alloc's names.

use super::{allocation_stats, allocator, stats};
use crate::json::{object, ToJson, Value};
use std::time::{SystemTime, UNIX_EPOCH};

/// The method that finds call stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// Frame pointers.
    FramePointer,
    /// Unwind tables.
    Backtrace,
}

/// The memory of this process. A source that cannot be read is `None`.
#[derive(Clone, Debug)]
pub struct MemorySnapshot {
    /// Milliseconds since 1970.
    pub captured_at_unix_ms: u64,
    /// The method that finds call stacks.
    pub capture_mode: CaptureMode,
    /// The totals of the global allocator.
    pub allocation_stats: stats::Allocations,
    /// The allocator's own statistics.
    pub allocator: allocator::AllocatorSnapshot,
    /// The control group.
    pub cgroup: Option<stats::cgroups::MemoryStat>,
    /// The pages of the process.
    pub smaps: Option<stats::smaps::ProcessStats>,
}

/// Stacks come from unwind tables, so programs need no frame pointers.
pub const fn capture_mode() -> CaptureMode {
    CaptureMode::Backtrace
}

/// Takes a snapshot. Walks through all pages and, with glibc, through its free blocks.
pub fn snapshot() -> MemorySnapshot {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    MemorySnapshot {
        captured_at_unix_ms: since_1970.as_millis() as u64,
        capture_mode: capture_mode(),
        allocation_stats: allocation_stats(),
        allocator: allocator::snapshot(),
        cgroup: stats::cgroups::get_stats().ok(),
        smaps: stats::smaps::rollup().ok(),
    }
}

impl ToJson for CaptureMode {
    fn to_json(&self) -> Value {
        Value::String(format!("{self:?}"))
    }
}

impl ToJson for MemorySnapshot {
    fn to_json(&self) -> Value {
        object(vec![
            ("captured_at_unix_ms", self.captured_at_unix_ms.to_json()),
            ("capture_mode", self.capture_mode.to_json()),
            ("allocation_stats", self.allocation_stats.to_json()),
            ("allocator", self.allocator.to_json()),
            ("cgroup", self.cgroup.to_json()),
            ("smaps", self.smaps.to_json()),
        ])
    }
}
