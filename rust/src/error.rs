use crate::c_text::os_text;
use crate::ignore::ignoring;
use crate::sys;
use std::fmt;
use std::io::{self, Write};

/// Why something could not be done.
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
    /// Something is recorded already.
    AlreadyEnabled,
    /// What the runtime says, in words for whoever runs the program.
    Failed(String),
}

impl Error {
    /// What the last call of this thread has failed of.
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
            Error::AlreadyEnabled => out.write_str("something is recorded already"),
            Error::Failed(why) => out.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// To whoever runs the program, if he listens.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
