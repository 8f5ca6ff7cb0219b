//! Texts for the runtime, and from it.

use crate::ignore::ignoring;
use std::ffi::{CStr, CString, OsStr};
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;

/// Hands on a text as C has it, cut at the first NUL if there is one.  Short ones, which nearly all are,
/// cost no allocation.
#[inline(always)]
pub(crate) fn with_c_text<T>(text: &str, work: impl FnOnce(*const c_char) -> T) -> T {
    let mut short = [0u8; 128];
    if text.len() < short.len() {
        short[..text.len()].copy_from_slice(text.as_bytes());
        return work(short.as_ptr().cast());
    }
    work(c_text(text).as_ptr())
}

/// The same to keep.
pub(crate) fn c_text(text: impl AsRef<OsStr>) -> CString {
    ignoring(|| {
        let bytes = text.as_ref().as_bytes();
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        CString::new(&bytes[..end]).unwrap_or_default()
    })
}

/// A text of the runtime's, which is not NULL.
pub(crate) unsafe fn os_text<'a>(text: *const c_char) -> &'a OsStr {
    OsStr::from_bytes(CStr::from_ptr(text).to_bytes())
}
