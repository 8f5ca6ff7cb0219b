use crate::error::Error;
use crate::session::{session, Kind, Session};
use crate::sys;
use std::ops::Sub;

/// Statistics of the heap since the start of the recording.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
///
/// let _profiler = allotrope::Profiler::builder().testing().build();
/// let before = allotrope::HeapStats::get();
/// let text = String::from("seven..");
/// let grown = allotrope::HeapStats::get() - before;
/// assert_eq!((grown.total_blocks, grown.curr_bytes), (1, 7));
/// drop(text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapStats {
    /// Allocations so far. A resize counts as another allocation.
    pub total_blocks: u64,
    /// Bytes of these allocations (requested sizes).
    pub total_bytes: u64,
    /// Live blocks.
    pub curr_blocks: usize,
    /// Live bytes.
    pub curr_bytes: usize,
    /// Live blocks at the moment with the most live bytes.
    pub max_blocks: usize,
    /// Live bytes at that moment.
    pub max_bytes: usize,
}

/// The difference between two moments. Changes of live blocks and bytes may be negative.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
///
/// let scope = allotrope::Scope::begin();
/// let boxed = Box::new([0u8; 100]);
/// drop(boxed);
/// let change: allotrope::HeapChange = scope.stats();
/// assert_eq!(change.total_bytes, 100);
/// assert_eq!(change.curr_bytes, 0);
/// assert_eq!(change.max_bytes, 100);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapChange {
    /// Allocations in between.
    pub total_blocks: u64,
    /// Bytes of these allocations.
    pub total_bytes: u64,
    /// Change of the live blocks.
    pub curr_blocks: i64,
    /// Change of the live bytes.
    pub curr_bytes: i64,
    /// For a [`Scope`](crate::Scope): blocks at its peak of live bytes, relative to its beginning. For the
    /// difference of two [`HeapStats`]: live blocks at the peak if the peak was reached in between, else 0.
    pub max_blocks: u64,
    /// Bytes at that moment.
    pub max_bytes: u64,
}

impl HeapStats {
    /// The statistics now.
    ///
    /// # Panics
    ///
    /// If nothing is recorded, if the profiler is ad hoc, or after a failed assertion.
    pub fn get() -> Self {
        let problem = match &*session() {
            Session::None => "getting heap stats when no profiler is running",
            Session::Profiler(run) if run.kind == Kind::AdHoc => {
                "getting heap stats while doing ad hoc profiling"
            }
            Session::Asserted => "getting heap stats after the profiler has asserted",
            _ => "",
        };
        if !problem.is_empty() {
            panic!("allo: {problem}");
        }
        HeapStats::read().unwrap_or_else(|error| panic!("allo: getting heap stats: {error}"))
    }

    /// The difference from `before`; the same as `self - before`.
    ///
    /// ```
    /// # #[global_allocator]
    /// # static ALLOC: allotrope::Alloc = allotrope::Alloc;
    /// # let _profiler = allotrope::Profiler::builder().testing().build();
    /// let before = allotrope::HeapStats::get();
    /// assert_eq!(allotrope::HeapStats::get().since(&before).total_blocks, 0);
    /// ```
    pub fn since(&self, before: &HeapStats) -> HeapChange {
        let is_new_peak = self.max_bytes > before.max_bytes;
        HeapChange {
            total_blocks: self.total_blocks - before.total_blocks,
            total_bytes: self.total_bytes - before.total_bytes,
            curr_blocks: self.curr_blocks as i64 - before.curr_blocks as i64,
            curr_bytes: self.curr_bytes as i64 - before.curr_bytes as i64,
            max_blocks: if is_new_peak { self.max_blocks as u64 } else { 0 },
            max_bytes: if is_new_peak { self.max_bytes as u64 } else { 0 },
        }
    }

    /// Like `get`, for any kind of session.
    pub(crate) fn read() -> Result<Self, Error> {
        let mut stats = sys::HeapStats::default();
        Error::unless(unsafe { sys::allo_get_heap_stats(&mut stats) })?;
        Ok(HeapStats {
            total_blocks: stats.total_blocks,
            total_bytes: stats.total_bytes,
            curr_blocks: stats.current_blocks as usize,
            curr_bytes: stats.current_bytes as usize,
            max_blocks: stats.peak_blocks as usize,
            max_bytes: stats.peak_bytes as usize,
        })
    }
}

impl Sub for HeapStats {
    type Output = HeapChange;

    fn sub(self, before: HeapStats) -> HeapChange {
        self.since(&before)
    }
}

impl From<sys::HeapStats> for HeapChange {
    fn from(stats: sys::HeapStats) -> Self {
        HeapChange {
            total_blocks: stats.total_blocks,
            total_bytes: stats.total_bytes,
            curr_blocks: stats.current_blocks,
            curr_bytes: stats.current_bytes,
            max_blocks: stats.peak_blocks,
            max_bytes: stats.peak_bytes,
        }
    }
}

/// The calling thread's allocations and frees since the start. Frees include blocks of other threads.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
///
/// let _recording = allotrope::start(allotrope::Config::new().counters()).unwrap();
/// let boxed = Box::new([0u8; 33]);
/// assert_eq!(allotrope::thread_stats().unwrap().total_bytes, 33);
/// # drop(boxed);
/// ```
pub fn thread_stats() -> Result<HeapChange, Error> {
    let mut stats = sys::HeapStats::default();
    Error::unless(unsafe { sys::allo_get_thread_stats(&mut stats) })?;
    Ok(stats.into())
}

/// Statistics of the program's own events since the start.
///
/// ```
/// let _profiler = allotrope::Profiler::builder().ad_hoc().testing().build();
/// allotrope::ad_hoc_event(100);
/// allotrope::ad_hoc_event(6);
/// let stats = allotrope::AdHocStats::get();
/// assert_eq!((stats.total_events, stats.total_units), (2, 106));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdHocStats {
    /// Number of events.
    pub total_events: u64,
    /// Sum of their weights.
    pub total_units: u64,
}

impl AdHocStats {
    /// The statistics now.
    ///
    /// # Panics
    ///
    /// If nothing is recorded, if the profiler profiles the heap, or after a failed assertion.
    pub fn get() -> Self {
        let problem = match &*session() {
            Session::None => "getting ad hoc stats when no profiler is running",
            Session::Profiler(run) if run.kind == Kind::Heap => {
                "getting ad hoc stats while doing heap profiling"
            }
            Session::Asserted => "getting ad hoc stats after the profiler has asserted",
            _ => "",
        };
        if !problem.is_empty() {
            panic!("allo: {problem}");
        }
        AdHocStats::read().unwrap_or_else(|error| panic!("allo: getting ad hoc stats: {error}"))
    }

    pub(crate) fn read() -> Result<Self, Error> {
        let mut stats = sys::EventStats::default();
        Error::unless(unsafe { sys::allo_get_event_stats(&mut stats) })?;
        Ok(AdHocStats { total_events: stats.total_events, total_units: stats.total_units })
    }
}
