//! The owner of the recording: there is one at a time.

use crate::profiler::Run;
use crate::sys;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The subject of a profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Heap,
    AdHoc,
}

pub(crate) enum Session {
    None,
    Profiler(Run),
    /// A `Profiler` that has written its profile because an assertion failed.
    Asserted,
    /// A `Recording`.
    Recording,
    /// The number of open scopes that keep statistics running without a recording.
    Scopes(usize),
}

static SESSION: Mutex<Session> = Mutex::new(Session::None);

/// Locks the session. Do not panic or print while holding it.
pub(crate) fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same, unless another thread holds the lock.
pub(crate) fn try_session() -> Option<MutexGuard<'static, Session>> {
    match SESSION.try_lock() {
        Ok(session) => Some(session),
        Err(TryLockError::Poisoned(session)) => Some(session.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Whether the runtime records. If this crate did not start it, the environment did.
pub(crate) fn is_recording() -> bool {
    unsafe { sys::allo_is_recording() }
}
