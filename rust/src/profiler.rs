use crate::c_text::{c_text, os_text};
use crate::config::{stop, Config};
use crate::error::{say, Error};
use crate::ignore::ignoring;
use crate::session::{is_recording, session, try_session, Kind, Session};
use crate::stats::{AdHocStats, HeapStats};
use crate::sys;
use std::ffi::{CString, OsStr};
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{MutexGuard, Once};
use std::{env, fs};

/// A profiler that runs until it is dropped, then writes a profile and prints a summary. Its API and its output,
/// `dhat-heap.json` or `dhat-ad-hoc.json`, are those of the crate dhat.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
///
/// fn main() {
/// #   std::env::set_current_dir(std::env::temp_dir()).unwrap();
///     let _profiler = allotrope::Profiler::new_heap();
///     let numbers: Vec<u32> = (0..100).collect();
/// }
/// ```
///
/// The program `allo` writes the profile; it must be in `PATH`, or `ALLO_PROGRAM` must name it. The profile goes
/// to the directory in which the profiler started. It is also written, and the summary printed, when the program
/// calls `exit`. After an abort or SIGKILL the recording is next to it, in a file that ends in `.allo`.
#[derive(Debug)]
#[must_use = "a profiler ends when it is dropped"]
pub struct Profiler {
    _private: (),
}

/// Options of a [`Profiler`].
///
/// ```
/// use allotrope::Profiler;
///
/// let _profiler = Profiler::builder()
///     .testing()                       // for assertions; writes nothing unless one fails
///     .file_name("heap-%p.json")       // %p is the process id
///     .trim_backtraces(Some(16))       // at most 16 frames per stack
///     .build();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build()"]
pub struct ProfilerBuilder {
    kind: Kind,
    is_testing: bool,
    file_name: Option<PathBuf>,
    trim: Option<usize>,
}

/// The state of a running profiler.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) kind: Kind,
    pub(crate) is_testing: bool,
    file: CString,
    options: CString,
    /// The path of the recording.
    recording: PathBuf,
    /// The directory at the start: relative paths refer to it.
    folder: Option<PathBuf>,
    /// The environment records the whole program, and this is a part of that recording.
    is_part: bool,
}

/// Whether events are recorded; readable without the session's lock.
static IS_AD_HOC: AtomicBool = AtomicBool::new(false);

static HANDLES_EXIT: Once = Once::new();

impl Profiler {
    /// Profiles the heap.
    ///
    /// # Panics
    ///
    /// If another profiler is running.
    pub fn new_heap() -> Self {
        Profiler::builder().build()
    }

    /// Profiles the program's own [events](ad_hoc_event).
    ///
    /// # Panics
    ///
    /// If another profiler is running.
    pub fn new_ad_hoc() -> Self {
        Profiler::builder().ad_hoc().build()
    }

    /// A builder with the default options.
    pub fn builder() -> ProfilerBuilder {
        ProfilerBuilder { kind: Kind::Heap, is_testing: false, file_name: None, trim: Some(usize::MAX) }
    }
}

impl ProfilerBuilder {
    /// Profiles the program's own [events](ad_hoc_event) instead of the heap.
    pub fn ad_hoc(mut self) -> Self {
        self.kind = Kind::AdHoc;
        self
    }

    /// Enables assertions. Writes and prints nothing unless one fails.
    pub fn testing(mut self) -> Self {
        self.is_testing = true;
        self
    }

    /// Sets the path of the profile, a pattern as in [`Config::path`](crate::Config::path).
    pub fn file_name<P: AsRef<Path>>(mut self, file_name: P) -> Self {
        self.file_name = Some(file_name.as_ref().to_path_buf());
        self
    }

    /// Sets the maximum number of frames per stack, at least 4; functions inlined into a frame do not count.
    /// Frames of the allocator and those outside `main` or a thread's function are removed. The default removes
    /// these and has no maximum; `None` keeps all frames of the program and its libraries.
    pub fn trim_backtraces(mut self, max_frames: Option<usize>) -> Self {
        self.trim = max_frames;
        self
    }

    /// Starts the profiler.
    ///
    /// # Panics
    ///
    /// If another profiler is running.
    pub fn build(self) -> Profiler {
        let mut run = self.run();
        let config = run.config();
        let mut session = session();
        if !matches!(*session, Session::None) {
            drop(session);
            panic!("allo: creating a profiler while a profiler is already running");
        }
        run.is_part = is_recording();
        // Without a file, assertions and statistics still work.
        let started = config.start().map(|path| run.recording = path).or_else(|error| {
            Config::new().counters().start()?;
            Err(error)
        });
        IS_AD_HOC.store(run.kind == Kind::AdHoc, Ordering::Relaxed);
        *session = Session::Profiler(run);
        drop(session);
        HANDLES_EXIT.call_once(|| {
            unsafe { sys::atexit(end_at_exit) };
        });
        if let Err(error) = started {
            ignoring(|| say(&format!("allo: error: {error}\n")));
        }
        Profiler { _private: () }
    }

    fn run(&self) -> Run {
        let default_name = match self.kind {
            Kind::Heap => "dhat-heap.json",
            Kind::AdHoc => "dhat-ad-hoc.json",
        };
        // As in dhat, a resized block stays charged to its first allocation.
        let mut options = String::from("--realloc first");
        if let Some(frames) = self.trim {
            options += " --trim-allocator --trim-startup";
            if frames != usize::MAX {
                let _ = write!(options, " --stack-depth {}", frames.max(4));
            }
        }
        Run {
            kind: self.kind,
            is_testing: self.is_testing,
            file: c_text(self.file_name.as_deref().unwrap_or_else(|| Path::new(default_name))),
            options: c_text(options),
            recording: PathBuf::new(),
            folder: env::current_dir().ok(),
            is_part: false,
        }
    }
}

impl Run {
    fn config(&self) -> Config {
        let config = match self.kind {
            Kind::Heap => Config::new().stats(),
            Kind::AdHoc => Config::new().ad_hoc(),
        };
        if self.is_testing {
            // The recording is only kept if an assertion fails.
            config.path(env::temp_dir().join("%e.%p.%n.allo"))
        } else {
            config.path(self.file_name()).format("dhat").options(&self.options.to_string_lossy())
        }
    }

    fn file_name(&self) -> &Path {
        Path::new(unsafe { os_text(self.file.as_ptr()) })
    }

    /// Stops recording and removes the file.
    fn forget(self) {
        match stop() {
            Ok(recording) if !self.is_part => drop(fs::remove_file(recording)),
            _ => (),
        }
    }

    /// Stops recording and writes the profile. Returns the text to print.
    fn finish(self) -> String {
        let mut said = String::new();
        let heap = HeapStats::read();
        let events = AdHocStats::read();
        let needs_making = self.is_testing && !self.is_part && self.has_recording();
        let made = stop().and_then(|made| if needs_making { self.make(made) } else { Ok(made) });
        let _ = match (self.kind, heap, events) {
            (Kind::Heap, Ok(heap), _) => say_heap(&heap, &mut said),
            (Kind::AdHoc, _, Ok(events)) => say_ad_hoc(&events, &mut said),
            _ => Ok(()),
        };
        let _ = match made {
            Ok(_) if !self.has_recording() => Ok(()), // build() has printed the reason
            Ok(path) if self.is_part => writeln!(said, "allo: It is a part of {}", path.display()),
            Ok(path) => writeln!(
                said,
                "allo: The data has been saved to {}, and is viewable with dhat/dh_view.html",
                path.display()
            ),
            Err(error) => self.say_failure(&error, &mut said),
        };
        said
    }

    fn has_recording(&self) -> bool {
        !self.recording.as_os_str().is_empty()
    }

    fn say_failure(&self, error: &Error, said: &mut String) -> fmt::Result {
        // The recording lies next to the profile and has the expanded name.
        let recording = self.at_start(&self.recording);
        let made = if self.is_testing { self.made() } else { recording.with_extension("") };
        writeln!(said, "allo: error: Writing to {} failed: {error}", made.display())?;
        writeln!(
            said,
            "allo: to write it, run: allo convert --to dhat {} -o {} {}",
            self.options.to_string_lossy(),
            quoted(&made),
            quoted(&recording)
        )
    }

    /// Converts the recording to a profile and removes it.
    fn make(&self, recording: PathBuf) -> Result<PathBuf, Error> {
        let made = self.made();
        let [from, format, to] = [recording.as_os_str(), OsStr::new("dhat"), made.as_os_str()].map(c_text);
        Error::unless(unsafe {
            sys::allo_spawn_convert(&sys::SpawnRequest {
                recording: from.as_ptr(),
                format: format.as_ptr(),
                options: self.options.as_ptr(),
                made: to.as_ptr(),
                output: -1,
                is_live: false,
            })
        })?;
        let _ = fs::remove_file(recording);
        Ok(made)
    }

    /// The expanded file name.
    fn made(&self) -> PathBuf {
        let mut name = [0; 4096];
        let fits = unsafe { sys::allo_file_name(self.file.as_ptr(), 1, name.as_mut_ptr(), name.len()) };
        if fits {
            self.at_start(Path::new(unsafe { os_text(name.as_ptr()) }))
        } else {
            self.at_start(self.file_name())
        }
    }

    /// The path as it was meant at the start, if the program has changed its directory.
    fn at_start(&self, path: &Path) -> PathBuf {
        match &self.folder {
            Some(folder) if env::current_dir().ok().as_ref() != Some(folder) => folder.join(path),
            _ => path.into(),
        }
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        ignoring(|| end(session()));
    }
}

/// Ends the profiler that is still running when the program calls `exit`. If another thread starts or ends one
/// right now, or did so when this process was forked, it is left alone.
extern "C" fn end_at_exit() {
    ignoring(|| {
        if let Some(session) = try_session() {
            if matches!(*session, Session::Profiler(_)) {
                end(session);
            }
        }
    });
}

fn end(mut session: MutexGuard<'static, Session>) {
    IS_AD_HOC.store(false, Ordering::Relaxed);
    let ended = std::mem::replace(&mut *session, Session::None);
    let said = match ended {
        Session::Profiler(run) if run.is_testing => {
            run.forget();
            String::new()
        }
        Session::Profiler(run) => run.finish(),
        _ => String::new(),
    };
    // Printing may wait for a lock that another thread holds.
    drop(session);
    say(&said);
}

/// Records an event with its call stack. It has no effect unless an ad hoc profiler is running.
///
/// ```
/// let _profiler = allotrope::Profiler::builder().ad_hoc().testing().build();
/// for size in [1, 2, 3] {
///     allotrope::ad_hoc_event(size);
/// }
/// allotrope::assert_eq!(allotrope::AdHocStats::get().total_units, 6);
/// ```
#[inline(always)]
pub fn ad_hoc_event(weight: usize) {
    if IS_AD_HOC.load(Ordering::Relaxed) {
        unsafe { sys::allo_event(weight as u64) };
    }
}

fn say_heap(stats: &HeapStats, said: &mut String) -> fmt::Result {
    for (what, bytes, blocks) in [
        ("Total:    ", stats.total_bytes, stats.total_blocks),
        ("At t-gmax:", stats.max_bytes as u64, stats.max_blocks as u64),
        ("At t-end: ", stats.curr_bytes as u64, stats.curr_blocks as u64),
    ] {
        writeln!(said, "allo: {what} {} bytes in {} blocks", grouped(bytes), grouped(blocks))?;
    }
    Ok(())
}

fn say_ad_hoc(stats: &AdHocStats, said: &mut String) -> fmt::Result {
    let (units, events) = (grouped(stats.total_units), grouped(stats.total_events));
    writeln!(said, "allo: Total:     {units} units in {events} events")
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-%+=:,@".contains(letter)) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Formats a number as 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The function behind the assertion macros: `check` returns the problem, if any. Its allocations are not
/// recorded.
#[doc(hidden)]
#[track_caller]
pub fn assert_nothing_wrong(check: impl FnOnce() -> Option<String>) {
    let problem = match &*session() {
        Session::None | Session::Recording | Session::Scopes(_) => "asserting when no profiler is running",
        Session::Asserted => "asserting after the profiler has asserted",
        Session::Profiler(run) if !run.is_testing => "asserting while not in testing mode",
        Session::Profiler(_) => "",
    };
    if !problem.is_empty() {
        panic!("allo: {problem}");
    }
    let wrong = match ignoring(check) {
        Some(wrong) => wrong,
        None => return,
    };
    ignoring(|| {
        let mut session = session();
        let ended = std::mem::replace(&mut *session, Session::Asserted);
        IS_AD_HOC.store(false, Ordering::Relaxed);
        let said = match ended {
            Session::Profiler(run) => run.finish(),
            _ => String::new(),
        };
        drop(session);
        say(&said);
    });
    panic!("allo: assertion failed: {wrong}");
}
