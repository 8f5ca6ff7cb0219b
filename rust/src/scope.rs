use crate::config::{stop, Config};
use crate::error::Error;
use crate::session::{session, Session};
use crate::stats::HeapChange;
use crate::sys;
use std::marker::PhantomData;

/// Measures the calling thread's allocations from here on, independent of other threads, so tests can run in
/// parallel.
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
/// A scope needs no recording: if none is running, it turns statistics on and writes no file. Within a
/// [`Profiler`](crate::Profiler) it uses the profiler's statistics. Scopes end when they are dropped. They nest:
/// drop the innermost one first.
#[derive(Debug)]
#[must_use = "a scope ends when it is dropped"]
pub struct Scope {
    raw: sys::Scope,
    has_session: bool,
    /// Not `Send`: a scope belongs to one thread.
    _stays: PhantomData<*const ()>,
}

impl Scope {
    /// Begins a scope.
    ///
    /// # Panics
    ///
    /// If a recording without [statistics](crate::Config::stats) is running.
    pub fn begin() -> Self {
        Scope::try_begin().unwrap_or_else(|error| panic!("allo: beginning a scope: {error}"))
    }

    /// The changes since the scope began. `max_bytes` and `max_blocks` are relative to that moment too.
    ///
    /// # Panics
    ///
    /// If the recording that was running when it began has ended.
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

/// Starts statistics if nothing is recorded. Returns whether scopes own the session.
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
            // Statistics have no file, so this cannot fail.
            let _ = stop();
        }
    }
}
