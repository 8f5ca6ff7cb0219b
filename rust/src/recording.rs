use crate::config::{stop, Config};
use crate::dump;
use crate::error::{say, Error};
use crate::ignore::ignoring;
use crate::session::{session, Session};
use crate::stats::HeapStats;
use std::path::{Path, PathBuf};

/// Starts recording the allocations of all threads. The recording ends when the guard is dropped or the
/// program ends. The file is complete at every moment, even if the program is killed.
///
/// ```
/// # fn main() -> Result<(), allotrope::Error> {
/// # std::env::set_current_dir(std::env::temp_dir()).unwrap();
/// let recording = allotrope::start(allotrope::Config::new())?;
/// let numbers: Vec<u64> = (0..1000).collect();
/// let path = recording.stop()?;
/// println!("allo summary {}", path.display());
/// # std::fs::remove_file(path).unwrap();
/// # Ok(())
/// # }
/// ```
pub fn start(config: Config) -> Result<Recording, Error> {
    let mut session = session();
    if !matches!(*session, Session::None) {
        return Err(Error::AlreadyEnabled);
    }
    let path = config.start()?;
    *session = Session::Recording;
    Ok(Recording { path, is_over: false })
}

/// A running recording; see [`start`]. Dropping it ends the recording.
///
/// ```
/// # fn main() -> Result<(), allotrope::Error> {
/// # std::env::set_current_dir(std::env::temp_dir()).unwrap();
/// {
///     let recording = allotrope::start(allotrope::Config::new().path("part.allo").stats())?;
///     let boxed = Box::new(7);
///     println!("{} bytes are live", recording.heap_stats()?.curr_bytes);
/// } // part.allo is complete
/// # std::fs::remove_file("part.allo").unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a recording ends when it is dropped"]
pub struct Recording {
    path: PathBuf,
    is_over: bool,
}

impl Recording {
    /// The path of the file; empty if the mode has no file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the recording; returns the path of the file that was written.
    pub fn stop(mut self) -> Result<PathBuf, Error> {
        self.end()
    }

    /// Writes everything recorded so far, and keeps recording; see [`dump`](crate::dump()).
    pub fn dump(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        dump::dump(path)
    }

    /// The heap statistics of a recording with [`Config::stats`].
    pub fn heap_stats(&self) -> Result<HeapStats, Error> {
        HeapStats::read()
    }

    fn end(&mut self) -> Result<PathBuf, Error> {
        let mut session = session();
        self.is_over = true;
        *session = Session::None;
        stop()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.is_over {
            if let Err(error) = self.end() {
                ignoring(|| say(&format!("allo: error: {error}\n")));
            }
        }
    }
}
