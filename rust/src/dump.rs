use crate::c_text::{c_text, with_c_text};
use crate::error::Error;
use crate::ignore::ignoring;
use crate::sys;
use std::os::raw::c_int;
use std::path::Path;
use std::{ptr, slice};

/// Writes everything recorded so far to a file, and keeps recording. The file's ending selects the format:
/// `x.pb.gz`, `x.dhat.json`, `x.db`. Stacks begin at the function that allocates: the frames of the global allocator
/// are removed, except in a database.
///
/// ```no_run
/// # fn main() -> Result<(), allotrope::Error> {
/// let recording = allotrope::start(allotrope::Config::new())?;
/// allotrope::dump("so-far.pb.gz")?;
/// # Ok(())
/// # }
/// ```
pub fn dump(path: impl AsRef<Path>) -> Result<(), Error> {
    let path = c_text(path.as_ref());
    sys::trim_profiles();
    Error::unless(unsafe { sys::allo_dump(path.as_ptr()) })
}

/// Returns everything recorded so far, in a format that `allo formats` lists.
///
/// ```no_run
/// # fn main() -> Result<(), allotrope::Error> {
/// let recording = allotrope::start(allotrope::Config::new())?;
/// let folded = allotrope::dump_bytes("folded")?;
/// # Ok(())
/// # }
/// ```
pub fn dump_bytes(format: &str) -> Result<Vec<u8>, Error> {
    let mut data = ptr::null_mut();
    let mut len = 0;
    sys::trim_profiles();
    let is_done = with_c_text(format, |format| unsafe { sys::allo_dump_buffer(format, &mut data, &mut len) });
    Error::unless(is_done)?;
    let bytes = ignoring(|| unsafe { slice::from_raw_parts(data.cast::<u8>(), len).to_vec() });
    unsafe { sys::free(data) };
    Ok(bytes)
}

/// Returns everything recorded so far as a gzipped pprof profile, under pprof-alloc's name.
///
/// ```no_run
/// # fn main() -> Result<(), allotrope::Error> {
/// let recording = allotrope::start(allotrope::Config::new().sampled(0))?;
/// let profile: Vec<u8> = allotrope::generate_pprof()?; // for example for /debug/pprof/heap
/// # Ok(())
/// # }
/// ```
pub fn generate_pprof() -> Result<Vec<u8>, Error> {
    dump_bytes("pprof")
}

/// Installs a signal handler that dumps the recording. The path is a pattern as in
/// [`Config::path`](crate::Config::path); `%n` counts the signals. The dump runs in the background.
///
/// ```no_run
/// # fn main() -> Result<(), allotrope::Error> {
/// const SIGUSR2: i32 = 12;
/// allotrope::dump_on_signal(SIGUSR2, "heap.%p.%n.pb.gz")?;
/// # Ok(())
/// # }
/// ```
pub fn dump_on_signal(signal: i32, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = c_text(path.as_ref());
    sys::trim_profiles();
    Error::unless(unsafe { sys::allo_dump_on_signal(signal as c_int, path.as_ptr()) })
}
