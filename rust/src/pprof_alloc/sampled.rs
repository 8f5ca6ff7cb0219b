use super::choice::{variable, Allocator, Chosen};
use crate::alloc::Alloc;
use crate::config::Config;
use crate::error::Error;
use crate::session::{is_recording, session, Session};
use crate::stats::HeapStats;
use crate::sys;
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::CStr;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

/// The default sampling interval: one allocation per 512 KiB on average.
///
/// ```
/// assert_eq!(allotrope::DEFAULT_PPROF_SAMPLE_RATE, 512 * 1024);
/// ```
pub const DEFAULT_PPROF_SAMPLE_RATE: usize = 512 * 1024;

/// The environment variable of [`PprofAlloc::with_pprof_sample_rate_from_env`].
pub const PPROF_SAMPLE_RATE_ENV: &str = "PPROF_ALLOC_SAMPLE_RATE";

const RATE_VARIABLE: &[u8] = b"PPROF_ALLOC_SAMPLE_RATE\0";

/// A global allocator that samples from the first allocation on, for [`generate_pprof`](crate::generate_pprof). Its
/// API is that of the crate pprof-alloc.
///
/// ```
/// use allotrope::{PprofAlloc, DEFAULT_PPROF_SAMPLE_RATE};
///
/// #[global_allocator]
/// static GLOBAL: PprofAlloc = PprofAlloc::new()
///     .with_pprof_sample_rate_from_env(DEFAULT_PPROF_SAMPLE_RATE)
///     .with_stats();
///
/// let text = String::from("seven..");
/// assert!(allotrope::allocation_stats().unwrap().allocated >= 7);
/// # drop(text);
/// ```
///
/// The recording goes to `ALLO_PATH`, or to a temporary file that is removed when the program exits.
/// `PPROF_ALLOC_ALLOCATOR` selects the allocator behind it, unless another one is wrapped: see
/// [`Allocator`](crate::pprof_alloc::Allocator).
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct PprofAlloc<A = Chosen> {
    inner: Alloc<A>,
    /// Sampling interval in bytes; 0: nothing is recorded.
    rate: usize,
    is_rate_from_env: bool,
    has_stats: bool,
}

static IS_BEGUN: AtomicBool = AtomicBool::new(false);

impl PprofAlloc<Chosen> {
    /// Wraps the system's allocator, or the one that the environment selects; records nothing yet.
    pub const fn new() -> Self {
        PprofAlloc::from_allocator(Chosen::new(Allocator::System))
    }

    /// Sets the allocator that is used if the environment selects none.
    ///
    /// ```
    /// use allotrope::pprof_alloc::{Allocator, PprofAlloc};
    ///
    /// #[global_allocator]
    /// static GLOBAL: PprofAlloc = PprofAlloc::new().with_default(Allocator::Jemalloc).with_stats();
    /// ```
    pub const fn with_default(mut self, allocator: Allocator) -> Self {
        self.inner = Alloc::wrap(Chosen::new(allocator));
        self
    }
}

impl Default for PprofAlloc<Chosen> {
    fn default() -> Self {
        PprofAlloc::new()
    }
}

impl<A> PprofAlloc<A> {
    /// Wraps another allocator; records nothing yet.
    ///
    /// ```
    /// use allotrope::PprofAlloc;
    /// use std::alloc::System;
    ///
    /// #[global_allocator]
    /// static GLOBAL: PprofAlloc<System> = PprofAlloc::from_allocator(System).with_pprof();
    /// ```
    pub const fn from_allocator(inner: A) -> Self {
        PprofAlloc { inner: Alloc::wrap(inner), rate: 0, is_rate_from_env: false, has_stats: false }
    }

    /// Samples one allocation per [512 KiB](DEFAULT_PPROF_SAMPLE_RATE).
    pub const fn with_pprof(self) -> Self {
        self.with_pprof_sample_rate(DEFAULT_PPROF_SAMPLE_RATE)
    }

    /// Samples one allocation per `bytes` bytes (1: all allocations; 0: none).
    pub const fn with_pprof_sample_rate(mut self, bytes: usize) -> Self {
        self.rate = bytes;
        self
    }

    /// Samples one allocation per `default` bytes; the environment variable `PPROF_ALLOC_SAMPLE_RATE` overrides it.
    pub const fn with_pprof_sample_rate_from_env(mut self, default: usize) -> Self {
        self.rate = default;
        self.is_rate_from_env = true;
        self
    }

    /// Keeps exact statistics too, for [`allocation_stats`].
    pub const fn with_stats(mut self) -> Self {
        self.has_stats = true;
        self
    }

    #[inline]
    fn begin_once(&self) {
        if !IS_BEGUN.load(Ordering::Relaxed) {
            self.begin();
        }
    }

    #[cold]
    fn begin(&self) {
        // Allocations made in here are not recorded.
        if IS_BEGUN.swap(true, Ordering::Relaxed) {
            return;
        }
        let rate = if self.is_rate_from_env { rate_from_env(self.rate) } else { self.rate };
        let config = match rate {
            0 if !self.has_stats => return,
            0 => Config::new().counters(),
            1 => in_temporary_file(Config::new()),
            bytes => in_temporary_file(Config::new().sampled(bytes as u64)),
        };
        let config = if self.has_stats { config.stats() } else { config };
        let mut session = session();
        let is_part = is_recording();
        // generate_pprof() reports a failure later.
        if matches!(*session, Session::None) && config.start().is_ok() {
            *session = Session::Recording;
            if rate > 0 && !is_part {
                unsafe { sys::atexit(remove_recording) };
            }
        }
    }
}

fn in_temporary_file(config: Config) -> Config {
    config.path(std::env::temp_dir().join("%e.%p.%n.allo"))
}

/// Parses decimal digits; anything else means the default.
fn rate_from_env(default: usize) -> usize {
    let digits = variable(RATE_VARIABLE).map_or(&b""[..], CStr::to_bytes);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return default;
    }
    digits.iter().fold(0usize, |rate, digit| rate.saturating_mul(10).saturating_add((digit - b'0').into()))
}

extern "C" fn remove_recording() {
    let mut session = session();
    if !matches!(*session, Session::Recording) {
        return;
    }
    *session = Session::None;
    if let Ok(path) = crate::config::stop() {
        if variable(b"ALLO_PATH\0").is_none() {
            let _ = fs::remove_file(path);
        }
    }
}

unsafe impl<A: GlobalAlloc> GlobalAlloc for PprofAlloc<A> {
    #[inline(always)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.begin_once();
        self.inner.alloc(layout)
    }

    #[inline(always)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.begin_once();
        self.inner.alloc_zeroed(layout)
    }

    #[inline(always)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.inner.dealloc(block, layout);
    }

    #[inline(always)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.inner.realloc(block, layout, size)
    }
}

/// Exact totals of all threads since the start, with pprof-alloc's names.
///
/// ```
/// use allotrope::AllocationStats;
///
/// let _recording = allotrope::start(allotrope::Config::new().counters()).unwrap();
/// let AllocationStats { allocated, freed, .. } = allotrope::allocation_stats().unwrap();
/// println!("{} bytes are live", allocated - freed);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocationStats {
    /// Allocated bytes.
    pub allocated: u64,
    /// Freed bytes.
    pub freed: u64,
    /// Number of allocations.
    pub allocations: u64,
    /// Number of frees.
    pub frees: u64,
}

/// The totals of a [`PprofAlloc`] with statistics, or of any other recording that keeps them.
pub fn allocation_stats() -> Result<AllocationStats, Error> {
    let stats = HeapStats::read()?;
    Ok(AllocationStats {
        allocated: stats.total_bytes,
        freed: stats.total_bytes - stats.curr_bytes as u64,
        allocations: stats.total_blocks,
        frees: stats.total_blocks - stats.curr_blocks as u64,
    })
}
