use crate::c_text::os_text;
use crate::ignore::ignoring;
use crate::sys;
use std::fmt;
use std::io::{self, Write};

/// The reason for a failure.
///
/// ```
/// use allotrope::{Config, Error};
///
/// let recording = allotrope::start(Config::new().counters()).unwrap();
/// match allotrope::start(Config::new()) {
///     Err(Error::AlreadyEnabled) => println!("one at a time"),
///     other => panic!("{other:?}"),
/// }
/// # drop(recording);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A recording is already running.
    AlreadyEnabled,
    /// The error message of the runtime.
    Failed(String),
}

impl Error {
    /// The error of this thread's last failed call.
    pub(crate) fn last() -> Error {
        let text = unsafe { os_text(sys::allo_error()) };
        ignoring(|| Error::Failed(text.to_string_lossy().into_owned()))
    }

    pub(crate) fn unless(is_done: bool) -> Result<(), Error> {
        if is_done {
            Ok(())
        } else {
            Err(Error::last())
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::AlreadyEnabled => out.write_str("a recording is already running"),
            Error::Failed(why) => out.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// Writes to stderr; ignores errors.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
