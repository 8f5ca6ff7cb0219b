//! The API of the crate rheaper: recording that is switched on and off.

use crate::config::Config;
use crate::error::Error;
use crate::ignore::ignoring;
use crate::recording::{start, Recording};
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The global allocator, under rheaper's name: see [`Alloc::from_allocator`](crate::Alloc::from_allocator).
///
/// ```
/// use std::alloc::System;
///
/// #[global_allocator]
/// static GLOBAL: allotrope::Allocator<System> = allotrope::Allocator::from_allocator(System);
/// ```
pub type Allocator<A> = crate::Alloc<A>;

/// Options of [`enable_tracking`].
///
/// ```
/// let config = allotrope::TrackerConfig {
///     max_stack_depth: 30,
///     max_trackers: 200,
///     tracker_event_buffer_size: 5_000,
///     sample_rate: 0.5,
///     profile_dir: std::env::temp_dir(),
/// };
/// # let _ = config;
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TrackerConfig {
    /// Maximum number of frames per stack (0: no limit).
    pub max_stack_depth: usize,
    /// Ignored, for compatibility: all threads are recorded.
    pub max_trackers: usize,
    /// Ignored, for compatibility: events are in the file at once.
    pub tracker_event_buffer_size: usize,
    /// Fraction of all allocations that is recorded, from 0.0 to 1.0. Frees and resizes of recorded blocks are
    /// always recorded.
    pub sample_rate: f64,
    /// Folder of the recording (empty: the current directory).
    pub profile_dir: PathBuf,
}

impl Default for TrackerConfig {
    /// Records every allocation with its full stack, to the current directory.
    fn default() -> Self {
        TrackerConfig {
            max_stack_depth: 0,
            max_trackers: 200,
            tracker_event_buffer_size: 5_000,
            sample_rate: 1.0,
            profile_dir: PathBuf::new(),
        }
    }
}

static TRACKING: Mutex<Option<Recording>> = Mutex::new(None);

fn tracking() -> MutexGuard<'static, Option<Recording>> {
    TRACKING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts recording, in all threads; returns the path. It may be called again after [`disable_tracking`]: each
/// recording gets a new file.
///
/// ```
/// # fn main() -> Result<(), allotrope::Error> {
/// let path = allotrope::enable_tracking(allotrope::TrackerConfig {
///     profile_dir: std::env::temp_dir(),
///     ..Default::default()
/// })?;
/// let numbers = vec![1, 2, 3];
/// allotrope::disable_tracking();
/// println!("rheaper {} profile.db", path.display()); // or: allo sql
/// # std::fs::remove_file(path).unwrap();
/// # Ok(())
/// # }
/// ```
pub fn enable_tracking(config: TrackerConfig) -> Result<PathBuf, Error> {
    ignoring(|| {
        let mut tracking = tracking();
        if tracking.is_some() {
            return Err(Error::AlreadyEnabled);
        }
        let recording = begin(&config)?;
        let path = recording.path().to_path_buf();
        *tracking = Some(recording);
        Ok(path)
    })
}

fn begin(config: &TrackerConfig) -> Result<Recording, Error> {
    let folder = &config.profile_dir;
    // An empty path is the current directory.
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder)
            .map_err(|error| Error::Failed(format!("{}: {error}", folder.display())))?;
    }
    let depth = config.max_stack_depth.try_into().unwrap_or(u32::MAX);
    let to_file = Config::new().path(folder.join("rip-%t.%p.%n.allo")).stack_depth(depth);
    start(sampled(to_file, config.sample_rate))
}

fn sampled(config: Config, rate: f64) -> Config {
    if rate >= 1.0 {
        config
    } else if rate > 0.0 {
        config.sampled_events((1.0 / rate).round() as u64)
    } else {
        config.sampled_events(u64::MAX)
    }
}

/// Ends the recording that [`enable_tracking`] started; does nothing if there is no such recording.
///
/// ```
/// allotrope::disable_tracking();
/// ```
pub fn disable_tracking() {
    let ended = tracking().take();
    drop(ended);
}
