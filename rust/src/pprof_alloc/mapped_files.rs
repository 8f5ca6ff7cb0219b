//! The program and its libraries, as the dynamic linker knows them.

use super::pprof::{BuildId, Mapping};
use std::ffi::OsStr;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::{env, slice};

/// `Elf64_Phdr`.
#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical_address: u64,
    file_size: u64,
    memory_size: u64,
    align: u64,
}

/// The beginning of `struct dl_phdr_info`.
#[repr(C)]
struct Object {
    base: u64,
    name: *const c_char,
    segments: *const Segment,
    segment_count: u16,
}

extern "C" {
    fn dl_iterate_phdr(
        take: unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int,
        context: *mut c_void,
    ) -> c_int;
}

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;

/// The program and the libraries that are loaded now, with their build-ids.
///
/// ```
/// for mapping in allotrope::pprof_alloc::mappings() {
///     println!("{} {:?}", mapping.pathname.display(), mapping.build_id.map(|id| id.to_string()));
/// }
/// ```
pub fn mappings() -> Vec<Mapping> {
    let mut found: Vec<Mapping> = Vec::new();
    unsafe { dl_iterate_phdr(take_object, &mut found as *mut Vec<Mapping> as *mut c_void) };
    found
}

unsafe extern "C" fn take_object(object: *const Object, _size: usize, context: *mut c_void) -> c_int {
    let object = &*object;
    let found = &mut *(context as *mut Vec<Mapping>);
    // The program has no name here, and comes first.
    let name = crate::c_text::os_text(object.name);
    let pathname = match env::current_exe() {
        Ok(program) if name.is_empty() && found.is_empty() => program,
        _ => PathBuf::from(OsStr::from_bytes(name.as_bytes())),
    };
    let segments = slice::from_raw_parts(object.segments, object.segment_count.into());
    let notes = segments.iter().filter(|segment| segment.kind == PT_NOTE);
    let build_id = notes.filter_map(|segment| find_build_id(memory_of(object, segment))).next();
    for segment in segments.iter().filter(|segment| segment.kind == PT_LOAD) {
        let start = object.base.wrapping_add(segment.address) as usize;
        found.push(Mapping {
            memory_start: start,
            memory_end: start + segment.memory_size as usize,
            file_offset: segment.offset,
            pathname: pathname.clone(),
            build_id: build_id.clone(),
        });
    }
    0
}

unsafe fn memory_of<'a>(object: &Object, segment: &Segment) -> &'a [u8] {
    let start = object.base.wrapping_add(segment.address) as *const u8;
    slice::from_raw_parts(start, segment.file_size as usize)
}

/// Finds the note GNU with the type of a build-id. A note has the lengths of its name and of its content, its type, the
/// name and the content, each padded to four bytes.
fn find_build_id(mut notes: &[u8]) -> Option<BuildId> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let padded = |len: u32| (len as usize).checked_add(3).map(|len| len / 4 * 4);
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));

    while notes.len() >= 12 {
        let (name_len, len, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let at = 12 + padded(name_len)?;
        let content = notes.get(at..at.checked_add(len as usize)?)?;
        if kind == NT_GNU_BUILD_ID && notes[12..].starts_with(b"GNU\0") {
            return Some(BuildId(content.to_vec()));
        }
        notes = notes.get(at + padded(len)?..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_comes_first_and_has_its_code() {
        let found = mappings();
        let here = find_build_id as *const () as usize;
        let of_here = found.iter().find(|mapping| (mapping.memory_start..mapping.memory_end).contains(&here));
        assert_eq!(found[0].pathname, env::current_exe().unwrap());
        assert_eq!(of_here.unwrap().pathname, found[0].pathname);
        assert!(found.iter().any(|mapping| mapping.pathname.to_string_lossy().contains("libc.so")));
    }

    #[test]
    fn a_build_id_is_found_among_other_notes() {
        let note = |kind: u32, name: &[u8], content: &[u8]| {
            let mut bytes = Vec::new();
            for word in [name.len() as u32, content.len() as u32, kind] {
                bytes.extend(word.to_ne_bytes());
            }
            for part in [name, content] {
                bytes.extend(part);
                bytes.resize((bytes.len() + 3) / 4 * 4, 0);
            }
            bytes
        };
        let mut notes = note(1, b"GNU\0", &[9; 5]);
        notes.extend(note(3, b"Linker\0", &[8; 3]));
        assert_eq!(find_build_id(&notes), None);
        notes.extend(note(3, b"GNU\0", &[0xab, 0x01, 0xff]));
        assert_eq!(find_build_id(&notes).unwrap().to_string(), "ab01ff");
        for len in 0..notes.len() {
            let _ = find_build_id(&notes[..len]);
        }
    }
}
