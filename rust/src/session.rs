//! Who records: one at a time.

use crate::profiler::Run;
use crate::sys;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a profiler does, for those who ask for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Heap,
    AdHoc,
}

pub(crate) enum Session {
    None,
    Profiler(Run),
    /// A `Profiler` that has written its profile because an assertion did not hold.
    Asserted,
    /// A `Recording`.
    Recording,
    /// Scopes that nobody has started anything for, so many of them: they count, and nothing else.
    Scopes(usize),
}

static SESSION: Mutex<Session> = Mutex::new(Session::None);

/// Nothing panics while it holds this, and nothing is printed.
pub(crate) fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the runtime records: with nobody here who asked for it, the environment did.
pub(crate) fn is_recording() -> bool {
    unsafe { sys::allo_is_recording() }
}
