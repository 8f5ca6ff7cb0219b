use crate::config::{stop, Config};
use crate::error::Error;
use crate::session::{session, Session};
use crate::stats::HeapChange;
use crate::sys;
use std::marker::PhantomData;

/// What the calling thread does with the heap from here on, whatever other threads do: for tests, which run
/// in parallel.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
///
/// let scope = allotrope::Scope::begin();
/// let text = ["a", "b"].join("-");
/// let heap = scope.stats();
/// assert_eq!(heap.total_blocks, 1);
/// assert_eq!(heap.max_bytes, 3);
/// # drop(text);
/// ```
///
/// Nothing needs to be started for it: while nothing else records, scopes have the runtime count, and write
/// no file. Within a [`Profiler`](crate::Profiler) they count along with it. Scopes may be nested; they end when
/// they are dropped, and the last one begun has to be the first.
#[derive(Debug)]
#[must_use = "what is dropped at once has nothing within"]
pub struct Scope {
    raw: sys::Scope,
    has_session: bool,
    /// It is about one thread.
    _stays: PhantomData<*const ()>,
}

impl Scope {
    /// Begins one.
    ///
    /// # Panics
    ///
    /// If something is recorded without [statistics](crate::Config::stats).
    pub fn begin() -> Self {
        Scope::try_begin().unwrap_or_else(|error| panic!("allo: beginning a scope: {error}"))
    }

    /// What has changed since the beginning. `max_bytes` and `max_blocks` are beyond what was held then.
    ///
    /// # Panics
    ///
    /// If what was recorded when it began is over.
    pub fn stats(&self) -> HeapChange {
        let mut stats = sys::HeapStats::default();
        Error::unless(unsafe { sys::allo_scope_stats(&self.raw, &mut stats) })
            .unwrap_or_else(|error| panic!("allo: getting a scope's stats: {error}"));
        stats.into()
    }

    fn try_begin() -> Result<Self, Error> {
        let mut scope =
            Scope { raw: sys::Scope::default(), has_session: enter_session()?, _stays: PhantomData };
        Error::unless(unsafe { sys::allo_scope_begin(&mut scope.raw) })?;
        Ok(scope)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let mut stats = sys::HeapStats::default();
        unsafe { sys::allo_scope_end(&mut self.raw, &mut stats) };
        if self.has_session {
            leave_session();
        }
    }
}

/// Whether scopes are what the session is there for.
fn enter_session() -> Result<bool, Error> {
    let mut session = session();
    match &mut *session {
        Session::None => {
            Config::new().counters().start()?;
            *session = Session::Scopes(1);
            Ok(true)
        }
        Session::Scopes(count) => {
            *count += 1;
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn leave_session() {
    let mut session = session();
    if let Session::Scopes(count) = &mut *session {
        *count -= 1;
        if *count == 0 {
            *session = Session::None;
            // There is no file that could fail.
            let _ = stop();
        }
    }
}
