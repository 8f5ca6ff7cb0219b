//! Conversions between Rust strings and C strings.

use crate::ignore::ignoring;
use std::ffi::{CStr, CString, OsStr};
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;

/// Calls `work` with a C string, truncated at the first NUL. Texts of less than 128 bytes need no
/// allocation.
#[inline(always)]
pub(crate) fn with_c_text<T>(text: &str, work: impl FnOnce(*const c_char) -> T) -> T {
    let mut short = [0u8; 128];
    if text.len() < short.len() {
        short[..text.len()].copy_from_slice(text.as_bytes());
        return work(short.as_ptr().cast());
    }
    work(c_text(text).as_ptr())
}

/// Makes an owned C string, truncated at the first NUL.
pub(crate) fn c_text(text: impl AsRef<OsStr>) -> CString {
    ignoring(|| {
        let bytes = text.as_ref().as_bytes();
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        CString::new(&bytes[..end]).unwrap_or_default()
    })
}

/// Borrows a C string of the runtime, which must not be NULL.
pub(crate) unsafe fn os_text<'a>(text: *const c_char) -> &'a OsStr {
    OsStr::from_bytes(CStr::from_ptr(text).to_bytes())
}
