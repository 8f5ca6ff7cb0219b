//! Bindings of `c/include/allotrope.h`, and a safe profile on top of them.

use crate::c_text::{c_text, os_text};
use crate::error::Error;
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::{ptr, slice};

#[repr(C)]
struct RawError {
    code: c_int,
    line: u64,
    byte: u64,
    file: [c_char; 256],
    message: [c_char; 256],
    hint: [c_char; 192],
    reserved: [u8; 296],
}

#[repr(C)]
struct ReadOptions {
    from: *const c_char,
    progress: *const c_void,
    context: *mut c_void,
    keep_accesses: bool,
    keep_history: bool,
    range: *const c_char,
    at: *const c_char,
    thread: *const c_char,
    no_symbols: bool,
    no_cache: bool,
    debug_dirs: *const *const c_char,
    sysroot: *const c_char,
    reserved: [u64; 8],
}

#[repr(C)]
struct WriteOptions {
    to: *const c_char,
    packing: *const c_char,
    title: *const c_char,
    replace: bool,
    fast: bool,
    strict: bool,
    reserved: [u64; 4],
}

#[repr(C)]
struct RawMeta {
    format: *const c_char,
    command: *const c_char,
    producer: *const c_char,
    period_type: *const c_char,
    period_unit: *const c_char,
    drop_frames: *const c_char,
    keep_frames: *const c_char,
    doc_url: *const c_char,
    pid: u64,
    start_ns: i64,
    duration: u64,
    peak_time: u64,
    period: i64,
    clock: c_uint,
    default_metric: u32,
    reserved: [u64; 8],
}

#[repr(C)]
struct RawModule {
    path: *const c_char,
    build_id: *const c_char,
    start: u64,
    limit: u64,
    offset: u64,
    build_id_bytes: *const c_void,
    build_id_size: usize,
    reserved: [u64; 4],
}

#[repr(C)]
struct RawLabel {
    key: *const c_char,
    text: *const c_char,
    unit: *const c_char,
    number: i64,
    reserved: [u64; 2],
}

#[repr(C)]
struct RawSample {
    values: *const u64,
    signed_values: *const i64,
    value_count: usize,
    stack: u32,
    labels: u32,
    has_time: bool,
    thread: u32,
    start_ns: u64,
    duration_ns: u64,
    reserved: [u64; 4],
}

/// `struct allotrope_profile`.
#[repr(C)]
struct RawProfile {
    _private: [u8; 0],
}

extern "C" {
    fn allotrope_free(memory: *mut c_void);
    fn allotrope_error_text(err: *const RawError, out: *mut c_char, room: usize) -> usize;
    fn allotrope_profile_new(err: *mut RawError) -> *mut RawProfile;
    fn allotrope_profile_free(profile: *mut RawProfile);
    fn allotrope_read_memory(
        data: *const c_void,
        len: usize,
        name: *const c_char,
        options: *const ReadOptions,
        err: *mut RawError,
    ) -> *mut RawProfile;
    fn allotrope_write_memory(
        profile: *const RawProfile,
        options: *const WriteOptions,
        len: *mut usize,
        err: *mut RawError,
    ) -> *mut c_char;
    fn allotrope_write_file(
        profile: *const RawProfile,
        path: *const c_char,
        options: *const WriteOptions,
        err: *mut RawError,
    ) -> bool;
    fn allotrope_convert(
        input: *const c_char,
        output: *const c_char,
        reading: *const ReadOptions,
        writing: *const WriteOptions,
        err: *mut RawError,
    ) -> bool;
    fn allotrope_get_meta(profile: *const RawProfile, meta: *mut RawMeta) -> bool;
    fn allotrope_set_meta(profile: *mut RawProfile, meta: *const RawMeta, err: *mut RawError) -> bool;
    fn allotrope_add_metric(
        profile: *mut RawProfile,
        name: *const c_char,
        unit: *const c_char,
        err: *mut RawError,
    ) -> c_int;
    fn allotrope_add_module(profile: *mut RawProfile, module: *const RawModule, err: *mut RawError) -> u32;
    fn allotrope_add_stack_of_addresses(
        profile: *mut RawProfile,
        leaf_first: *const u64,
        count: usize,
        err: *mut RawError,
    ) -> u32;
    fn allotrope_add_names(profile: *mut RawProfile, options: *const ReadOptions, err: *mut RawError)
        -> bool;
    fn allotrope_add_labels(
        profile: *mut RawProfile,
        labels: *const RawLabel,
        count: usize,
        err: *mut RawError,
    ) -> u32;
    fn allotrope_add_sample(profile: *mut RawProfile, sample: *const RawSample, err: *mut RawError) -> bool;
}

/// All zeros is the default of every struct of the library.
fn zeroed<T>() -> T {
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// The error object of one call.
struct Failure(Box<RawError>);

impl Failure {
    fn new() -> Self {
        Failure(Box::new(zeroed()))
    }

    fn as_ptr(&mut self) -> *mut RawError {
        &mut *self.0
    }

    fn error(&self) -> Error {
        let mut text = [0; 1024];
        unsafe { allotrope_error_text(&*self.0, text.as_mut_ptr(), text.len()) };
        Error::Failed(unsafe { os_text(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    fn unless(&self, is_done: bool) -> Result<(), Error> {
        if is_done {
            Ok(())
        } else {
            Err(self.error())
        }
    }
}

const PPROF: *const c_char = b"pprof\0".as_ptr().cast();

/// Options that write the pprof format; `packing` is a NUL-terminated name.
fn pprof_options(packing: &'static [u8]) -> WriteOptions {
    WriteOptions { to: PPROF, packing: packing.as_ptr().cast(), replace: true, ..zeroed() }
}

/// A mapped file of the process.
pub(crate) struct Module<'a> {
    pub path: &'a Path,
    pub build_id: &'a [u8],
    pub start: u64,
    pub limit: u64,
    pub offset: u64,
}

/// A profile of liballotrope.
pub(crate) struct Profile(*mut RawProfile);

impl Drop for Profile {
    fn drop(&mut self) {
        unsafe { allotrope_profile_free(self.0) };
    }
}

impl Profile {
    fn from_raw(raw: *mut RawProfile, failure: &Failure) -> Result<Self, Error> {
        failure.unless(!raw.is_null())?;
        Ok(Profile(raw))
    }

    pub(crate) fn new() -> Result<Self, Error> {
        let mut failure = Failure::new();
        let raw = unsafe { allotrope_profile_new(failure.as_ptr()) };
        Profile::from_raw(raw, &failure)
    }

    /// Reads a profile of this format; `name` is for messages.
    pub(crate) fn read(bytes: &[u8], format: &str, name: &str) -> Result<Self, Error> {
        let (format, name) = (c_text(format), c_text(name));
        let options = ReadOptions { from: format.as_ptr(), ..zeroed() };
        let mut failure = Failure::new();
        let data = bytes.as_ptr().cast();
        let raw =
            unsafe { allotrope_read_memory(data, bytes.len(), name.as_ptr(), &options, failure.as_ptr()) };
        Profile::from_raw(raw, &failure)
    }

    /// Writes pprof to memory; `packing` is a NUL-terminated name.
    fn write_pprof(&self, packing: &'static [u8]) -> Result<Vec<u8>, Error> {
        let mut failure = Failure::new();
        let mut len = 0;
        let data =
            unsafe { allotrope_write_memory(self.0, &pprof_options(packing), &mut len, failure.as_ptr()) };
        failure.unless(!data.is_null())?;
        let bytes = unsafe { slice::from_raw_parts(data.cast::<u8>(), len) }.to_vec();
        unsafe { allotrope_free(data.cast()) };
        Ok(bytes)
    }

    pub(crate) fn plain_pprof(&self) -> Result<Vec<u8>, Error> {
        self.write_pprof(b"none\0")
    }

    pub(crate) fn gzipped_pprof(&self) -> Result<Vec<u8>, Error> {
        self.write_pprof(b"gzip\0")
    }

    /// Writes gzipped pprof to a file, which it replaces.
    pub(crate) fn write_pprof_file(&self, path: &Path) -> Result<(), Error> {
        let mut failure = Failure::new();
        let path = c_text(path);
        let is_done = unsafe {
            allotrope_write_file(self.0, path.as_ptr(), &pprof_options(b"gzip\0"), failure.as_ptr())
        };
        failure.unless(is_done)
    }

    /// Sets the period, the time, and the metric that is shown first.
    pub(crate) fn set_meta(
        &mut self,
        period_type: (&str, &str),
        period: i64,
        start_ns: i64,
        metric: usize,
    ) -> Result<(), Error> {
        let (kind, unit) = (c_text(period_type.0), c_text(period_type.1));
        let mut failure = Failure::new();
        let mut meta: RawMeta = zeroed();
        unsafe { allotrope_get_meta(self.0, &mut meta) };
        meta.period_type = kind.as_ptr();
        meta.period_unit = unit.as_ptr();
        meta.period = period;
        meta.start_ns = start_ns;
        meta.default_metric = metric as u32 + 1;
        let is_done = unsafe { allotrope_set_meta(self.0, &meta, failure.as_ptr()) };
        failure.unless(is_done)
    }

    /// Adds a metric; returns its index.
    pub(crate) fn add_metric(&mut self, name: &str, unit: &str) -> Result<usize, Error> {
        let (name, unit) = (c_text(name), c_text(unit));
        let mut failure = Failure::new();
        let index = unsafe { allotrope_add_metric(self.0, name.as_ptr(), unit.as_ptr(), failure.as_ptr()) };
        failure.unless(index >= 0)?;
        Ok(index as usize)
    }

    pub(crate) fn add_module(&mut self, module: &Module<'_>) -> Result<(), Error> {
        let path = c_text(module.path);
        let mut failure = Failure::new();
        let raw = RawModule {
            path: path.as_ptr(),
            start: module.start,
            limit: module.limit,
            offset: module.offset,
            build_id_bytes: module.build_id.as_ptr().cast(),
            build_id_size: module.build_id.len(),
            ..zeroed()
        };
        let id = unsafe { allotrope_add_module(self.0, &raw, failure.as_ptr()) };
        failure.unless(id != 0)
    }

    /// Adds a sample. The addresses are those of calls, the innermost first.
    pub(crate) fn add_sample(
        &mut self,
        addresses: &[u64],
        label: Option<(&str, &str)>,
        values: &[i64],
    ) -> Result<(), Error> {
        let mut failure = Failure::new();
        let (count, leaf_first) = (addresses.len(), addresses.as_ptr());
        let stack = unsafe { allotrope_add_stack_of_addresses(self.0, leaf_first, count, failure.as_ptr()) };
        let labels = label.map_or(0, |label| self.add_label(label, &mut failure));
        let sample = RawSample {
            signed_values: values.as_ptr(),
            value_count: values.len(),
            stack,
            labels,
            ..zeroed()
        };
        let is_done = unsafe { allotrope_add_sample(self.0, &sample, failure.as_ptr()) };
        failure.unless(is_done)
    }

    fn add_label(&mut self, (key, text): (&str, &str), failure: &mut Failure) -> u32 {
        let (key, text) = (c_text(key), c_text(text));
        let label = RawLabel { key: key.as_ptr(), text: text.as_ptr(), ..zeroed() };
        unsafe { allotrope_add_labels(self.0, &label, 1, failure.as_ptr()) }
    }

    /// Names frames by the files of the modules.
    pub(crate) fn add_names(&mut self) -> Result<(), Error> {
        let mut failure = Failure::new();
        let is_done = unsafe { allotrope_add_names(self.0, ptr::null(), failure.as_ptr()) };
        failure.unless(is_done)
    }
}

/// Converts a DHAT profile to pprof, file to file.
pub(crate) fn convert_dhat(input: &Path, output: &Path) -> Result<(), Error> {
    let (input, output) = (c_text(input), c_text(output));
    let reading = ReadOptions { from: b"dhat\0".as_ptr().cast(), ..zeroed() };
    let writing = pprof_options(b"gzip\0");
    let mut failure = Failure::new();
    let is_done =
        unsafe { allotrope_convert(input.as_ptr(), output.as_ptr(), &reading, &writing, failure.as_ptr()) };
    failure.unless(is_done)
}
