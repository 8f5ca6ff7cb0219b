use crate::c_text::{c_text, os_text};
use crate::error::Error;
use crate::ignore::ignoring;
use crate::sys;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr;

/// How stacks are found.
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
    /// By unwind tables, and by frame pointers where there are none.
    Auto,
    /// By frame pointers: the program has to be built with `-C force-frame-pointers=yes`.
    FramePointers,
    /// By unwind tables.
    Tables,
    /// There are no stacks.
    None,
}

/// What [`start`](crate::start) records, and where to. Whoever runs the program has the last word: each
/// setting has an environment variable, which is stronger.
///
/// ```
/// use allotrope::Config;
///
/// # fn main() -> Result<(), allotrope::Error> {
/// # std::env::set_current_dir(std::env::temp_dir()).unwrap();
/// let config = Config::new()
///     .path("/tmp/%e.%p.%n.allo") // %e: the program, %p: the process, %n: a number not taken yet
///     .sampled(512 * 1024)        // one allocation for so many bytes, for production
///     .stats();                   // and exact numbers beside it
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
}

/// As allo.h counts them.
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
    /// Every allocation with its whole stack, to `%e.%p.%n.allo` in the current directory.
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
        }
    }

    /// Where the recording goes. `%e` stands for the program, `%p` for the process, `%t` for the time, `%h` for
    /// the host, `%n` for a number not taken yet and `%%` for a `%`. `ALLO_PATH`
    pub fn path(mut self, path: impl AsRef<Path>) -> Self {
        self.path = Some(c_text(path.as_ref()));
        self
    }

    /// What becomes of it in the end: `"dhat"`, `"pprof"`, `"folded"`, `"sqlite"` or any other format that `allo
    /// formats` lists, written by the program `allo` to the path. `ALLO_FORMAT`
    pub fn format(mut self, format: &str) -> Self {
        self.format = Some(c_text(format));
        self
    }

    /// Further options for that, as `allo convert` takes them. `ALLO_OPTIONS`
    pub fn options(mut self, options: &str) -> Self {
        self.options = Some(c_text(options));
        self
    }

    /// Records one allocation for every so many bytes, at random; what is made of it is scaled to the whole. 0
    /// is 512 KiB. `ALLO_MODE=sampled`, `ALLO_RATE`
    pub const fn sampled(mut self, bytes: u64) -> Self {
        self.mode = mode::SAMPLED;
        self.rate = bytes;
        self
    }

    /// Records one allocation of so many, at random; what is made of it is scaled to the whole. 0 is 1000.
    /// `ALLO_MODE=events`, `ALLO_RATE`
    pub const fn sampled_events(mut self, of: u64) -> Self {
        self.mode = mode::SAMPLED_EVENTS;
        self.rate = of;
        self
    }

    /// Records nothing and writes no file: there are only statistics. `ALLO_MODE=counters`
    pub const fn counters(mut self) -> Self {
        self.mode = mode::COUNTERS;
        self.has_stats = true;
        self
    }

    /// Records no allocations, only what [`event`](crate::event) says. `ALLO_MODE=ad-hoc`
    pub const fn ad_hoc(mut self) -> Self {
        self.mode = mode::AD_HOC;
        self
    }

    /// Keeps statistics beside the recording. `ALLO_STATS=1`
    pub const fn stats(mut self) -> Self {
        self.has_stats = true;
        self
    }

    /// How stacks are found. `ALLO_UNWIND=auto|fp|dwarf|none`
    pub const fn unwinder(mut self, unwinder: Unwinder) -> Self {
        self.unwinder = unwinder as u32;
        self
    }

    /// Leaves smaller blocks out. `ALLO_MIN_SIZE`
    pub const fn min_size(mut self, bytes: u64) -> Self {
        self.min_size = bytes;
        self
    }

    /// Recording stops when the file is so large. `ALLO_MAX_FILE`
    pub const fn max_file(mut self, bytes: u64) -> Self {
        self.max_file = bytes;
        self
    }

    /// Keeps at most so many frames of a stack, the innermost ones. `ALLO_STACK_DEPTH`
    pub const fn stack_depth(mut self, frames: u32) -> Self {
        self.stack_depth = frames;
        self
    }

    /// Leaves children that are made by fork alone. `ALLO_FOLLOW=0`
    pub const fn no_follow(mut self) -> Self {
        self.no_follow = true;
        self
    }

    /// Begins to record; returns where.
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
            reserved: [0; 8],
        };
        written(unsafe { sys::allo_start(&config) })
    }
}

/// Ends it; returns what was written.
pub(crate) fn stop() -> Result<PathBuf, Error> {
    written(unsafe { sys::allo_stop() })
}

fn written(path: *const std::os::raw::c_char) -> Result<PathBuf, Error> {
    if path.is_null() {
        return Err(Error::last());
    }
    ignoring(|| Ok(PathBuf::from(unsafe { os_text(path) })))
}
