use crate::c_text::{c_text, os_text};
use crate::error::Error;
use crate::ignore::ignoring;
use crate::sys;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr;

/// The method that finds call stacks.
///
/// ```
/// use allotrope::{Config, Unwinder};
///
/// let config = Config::new().unwinder(Unwinder::FramePointers);
/// # let _ = config;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unwinder {
    /// Unwind tables; frame pointers where there are no tables.
    Auto,
    /// Frame pointers. Build the program with `-C force-frame-pointers=yes`.
    FramePointers,
    /// Unwind tables.
    Tables,
    /// No stacks.
    None,
}

/// Options of a recording, for [`start`](crate::start). Each option has an environment variable, which
/// overrides it.
///
/// ```
/// use allotrope::Config;
///
/// # fn main() -> Result<(), allotrope::Error> {
/// # std::env::set_current_dir(std::env::temp_dir()).unwrap();
/// let config = Config::new()
///     .path("/tmp/%e.%p.%n.allo") // %e: the program, %p: the process, %n: the first unused number
///     .sampled(512 * 1024)        // sampling interval in bytes, for production
///     .stats();                   // and exact statistics
/// let recording = allotrope::start(config)?;
/// let path = recording.stop()?;
/// # std::fs::remove_file(path).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Config {
    path: Option<CString>,
    format: Option<CString>,
    options: Option<CString>,
    mode: u32,
    unwinder: u32,
    rate: u64,
    min_size: u64,
    max_file: u64,
    stack_depth: u32,
    has_stats: bool,
    no_follow: bool,
    has_exact_times: bool,
}

/// `enum allo_mode` of allo.h.
mod mode {
    pub const EXACT: u32 = 0;
    pub const SAMPLED: u32 = 1;
    pub const SAMPLED_EVENTS: u32 = 2;
    pub const COUNTERS: u32 = 3;
    pub const AD_HOC: u32 = 4;
}

impl Default for Config {
    fn default() -> Self {
        Config::new()
    }
}

impl Config {
    /// Records every allocation with its full stack, to `%e.%p.%n.allo` in the current directory.
    pub const fn new() -> Self {
        Config {
            path: None,
            format: None,
            options: None,
            mode: mode::EXACT,
            unwinder: 0,
            rate: 0,
            min_size: 0,
            max_file: 0,
            stack_depth: 0,
            has_stats: false,
            no_follow: false,
            has_exact_times: false,
        }
    }

    /// Sets the path of the recording. `%e` is the program's name, `%p` the process id, `%t` the time, `%h` the
    /// host, `%n` the first unused number and `%%` a `%`. An existing file stays: the process id is added to the
    /// name then. `ALLO_PATH`
    pub fn path(mut self, path: impl AsRef<Path>) -> Self {
        self.path = Some(c_text(path.as_ref()));
        self
    }

    /// Sets the output format: `"dhat"`, `"pprof"`, `"folded"`, `"sqlite"` or another one that `allo formats`
    /// lists. The program `allo` writes it to the path when the recording ends. `ALLO_FORMAT`
    pub fn format(mut self, format: &str) -> Self {
        self.format = Some(c_text(format));
        self
    }

    /// Sets options of `allo convert` for that conversion (default: `--trim-allocator`). `ALLO_OPTIONS`
    pub fn options(mut self, options: &str) -> Self {
        self.options = Some(c_text(options));
        self
    }

    /// Samples allocations at random, one per `bytes` bytes on average (0: 512 KiB). Reports scale the samples up.
    /// `ALLO_MODE=sampled`, `ALLO_RATE`
    pub const fn sampled(mut self, bytes: u64) -> Self {
        self.mode = mode::SAMPLED;
        self.rate = bytes;
        self
    }

    /// Samples one in `of` allocations at random, on average (0: 1000). Reports scale the samples up.
    /// `ALLO_MODE=events`, `ALLO_RATE`
    pub const fn sampled_events(mut self, of: u64) -> Self {
        self.mode = mode::SAMPLED_EVENTS;
        self.rate = of;
        self
    }

    /// Keeps statistics only, without a recording file. `ALLO_MODE=counters`
    pub const fn counters(mut self) -> Self {
        self.mode = mode::COUNTERS;
        self.has_stats = true;
        self
    }

    /// Records no allocations, only the program's own events: see [`event`](crate::event). `ALLO_MODE=ad-hoc`
    pub const fn ad_hoc(mut self) -> Self {
        self.mode = mode::AD_HOC;
        self
    }

    /// Keeps statistics as well as the recording. `ALLO_STATS=1`
    pub const fn stats(mut self) -> Self {
        self.has_stats = true;
        self
    }

    /// Sets the method that finds call stacks. `ALLO_UNWIND=auto|fp|dwarf|none`
    pub const fn unwinder(mut self, unwinder: Unwinder) -> Self {
        self.unwinder = unwinder as u32;
        self
    }

    /// Records only blocks of at least `bytes` bytes. `ALLO_MIN_SIZE`
    pub const fn min_size(mut self, bytes: u64) -> Self {
        self.min_size = bytes;
        self
    }

    /// Stops recording when the file has `bytes` bytes. `ALLO_MAX_FILE`
    pub const fn max_file(mut self, bytes: u64) -> Self {
        self.max_file = bytes;
        self
    }

    /// Keeps at most the `frames` innermost frames of each stack. `ALLO_STACK_DEPTH`
    pub const fn stack_depth(mut self, frames: u32) -> Self {
        self.stack_depth = frames;
        self
    }

    /// Does not record children made by fork. `ALLO_FOLLOW=0`
    pub const fn no_follow(mut self) -> Self {
        self.no_follow = true;
        self
    }

    /// Reads the clock at every event. `ALLO_TIME=exact`
    pub const fn exact_times(mut self) -> Self {
        self.has_exact_times = true;
        self
    }

    /// Starts recording; returns the path.
    pub(crate) fn start(&self) -> Result<PathBuf, Error> {
        let text = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let config = sys::Config {
            path: text(&self.path),
            format: text(&self.format),
            options: text(&self.options),
            mode: self.mode,
            unwinder: self.unwinder,
            rate: self.rate,
            min_size: self.min_size,
            max_file: self.max_file,
            stack_depth: self.stack_depth,
            has_stats: self.has_stats,
            no_follow: self.no_follow,
            has_exact_times: self.has_exact_times,
            reserved: [0; 8],
        };
        sys::trim_profiles();
        written(unsafe { sys::allo_start(&config) })
    }
}

/// Stops recording; returns the path of the file that was written.
pub(crate) fn stop() -> Result<PathBuf, Error> {
    written(unsafe { sys::allo_stop() })
}

fn written(path: *const std::os::raw::c_char) -> Result<PathBuf, Error> {
    if path.is_null() {
        return Err(Error::last());
    }
    ignoring(|| Ok(PathBuf::from(unsafe { os_text(path) })))
}
