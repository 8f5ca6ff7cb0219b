//! The allocator's own statistics.

use super::choice::{self, chosen, Allocator};
use super::stats::malloc::{self, MallocInfo};
use super::stats::numbers;
use crate::json::{object, ToJson, Value};
use crate::memory;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering};
use std::{mem, ptr};

/// The kind of an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AllocatorKind {
    /// Unknown.
    Undeclared,
    Glibc,
    Jemalloc,
    Mimalloc,
}

impl AllocatorKind {
    /// `glibc` and so on.
    pub const fn as_str(self) -> &'static str {
        match self {
            AllocatorKind::Undeclared => "undeclared",
            AllocatorKind::Glibc => "glibc",
            AllocatorKind::Jemalloc => "jemalloc",
            AllocatorKind::Mimalloc => "mimalloc",
        }
    }
}

/// The statistics of an allocator; `None` if they cannot be read.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct AllocatorSnapshot {
    pub kind: AllocatorKind,
    pub comparable: Option<AllocatorComparisonStats>,
    pub specific: Option<AllocatorSpecificDetails>,
}

/// Statistics that several allocators have, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AllocatorComparisonStats {
    pub allocated_bytes: Option<u64>,
    pub active_bytes: Option<u64>,
    pub resident_bytes: Option<u64>,
    pub mapped_bytes: Option<u64>,
    pub retained_bytes: Option<u64>,
    pub metadata_bytes: Option<u64>,
    pub committed_bytes: Option<u64>,
    /// Number of arenas.
    pub allocator_structures: Option<u64>,
}

/// Statistics of one allocator.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum AllocatorSpecificDetails {
    Glibc(GlibcStats),
}

numbers! {
    /// Statistics of glibc's malloc, in bytes.
    GlibcStats { system_max, system_current, free_bytes, mmap_current, in_use_bytes, heaps, }
}

impl From<&MallocInfo> for GlibcStats {
    fn from(info: &MallocInfo) -> Self {
        GlibcStats {
            system_max: info.system_max(),
            system_current: info.system_current(),
            free_bytes: info.free_bytes(),
            mmap_current: info.mmap_bytes(),
            in_use_bytes: info.in_use_bytes(),
            heaps: info.heaps(),
        }
    }
}

impl From<&GlibcStats> for AllocatorComparisonStats {
    fn from(stats: &GlibcStats) -> Self {
        AllocatorComparisonStats {
            allocated_bytes: Some(stats.in_use_bytes),
            mapped_bytes: Some(stats.system_current.saturating_add(stats.mmap_current)),
            retained_bytes: Some(stats.free_bytes),
            allocator_structures: Some(stats.heaps),
            ..Default::default()
        }
    }
}

impl From<&memory::AllocatorMemory> for AllocatorComparisonStats {
    fn from(memory: &memory::AllocatorMemory) -> Self {
        AllocatorComparisonStats {
            allocated_bytes: memory.allocated_bytes,
            active_bytes: memory.active_bytes,
            resident_bytes: memory.resident_bytes,
            mapped_bytes: memory.mapped_bytes,
            retained_bytes: memory.retained_bytes,
            metadata_bytes: memory.metadata_bytes,
            committed_bytes: memory.committed_bytes,
            allocator_structures: memory.arenas,
        }
    }
}

/// An `AllocatorKind`; 0: not declared.
static DECLARED: AtomicU8 = AtomicU8::new(0);

/// Declares the kind, for an allocator that cannot be recognized.
pub fn configure(kind: AllocatorKind) {
    DECLARED.store(kind as u8, Ordering::Relaxed);
}

/// The declared kind, else that of the allocator in use.
pub fn configured() -> AllocatorKind {
    match DECLARED.load(Ordering::Relaxed) {
        1 => AllocatorKind::Glibc,
        2 => AllocatorKind::Jemalloc,
        3 => AllocatorKind::Mimalloc,
        _ => match chosen() {
            Some(Allocator::Jemalloc) => AllocatorKind::Jemalloc,
            Some(Allocator::Mimalloc) => AllocatorKind::Mimalloc,
            _ => recognized(),
        },
    }
}

/// The kind of the allocator behind malloc.
fn recognized() -> AllocatorKind {
    let name = memory::snapshot().map_or_else(|_| String::new(), |now| now.allocator.name);
    match name.as_str() {
        "glibc" => AllocatorKind::Glibc,
        "jemalloc" => AllocatorKind::Jemalloc,
        "mimalloc" => AllocatorKind::Mimalloc,
        _ => AllocatorKind::Undeclared,
    }
}

/// The statistics of the allocator in use.
///
/// ```
/// let now = allotrope::pprof_alloc::allocator::snapshot();
/// println!("{}: {:?}", now.kind.as_str(), now.comparable);
/// ```
pub fn snapshot() -> AllocatorSnapshot {
    snapshot_for(configured())
}

/// The statistics of this kind of allocator. With glibc, walks through its free blocks.
pub fn snapshot_for(kind: AllocatorKind) -> AllocatorSnapshot {
    if kind == AllocatorKind::Glibc {
        let stats = malloc::info().ok().map(|info| GlibcStats::from(&info));
        return AllocatorSnapshot {
            kind,
            comparable: stats.as_ref().map(AllocatorComparisonStats::from),
            specific: stats.map(AllocatorSpecificDetails::Glibc),
        };
    }
    let comparable = match kind {
        AllocatorKind::Jemalloc => loaded_jemalloc(),
        AllocatorKind::Mimalloc => loaded_mimalloc(),
        _ => None,
    };
    AllocatorSnapshot { kind, comparable: comparable.or_else(|| linked(kind)), specific: None }
}

/// Statistics of an allocator that the program links, as the runtime finds it.
fn linked(kind: AllocatorKind) -> Option<AllocatorComparisonStats> {
    let memory = memory::snapshot().ok()?.allocator;
    Some(AllocatorComparisonStats::from(&memory)).filter(|_| memory.name == kind.as_str())
}

type Mallctl = unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *mut c_void, usize) -> c_int;

/// Statistics of the jemalloc that `Chosen` has loaded.
fn loaded_jemalloc() -> Option<AllocatorComparisonStats> {
    if chosen() != Some(Allocator::Jemalloc) {
        return None;
    }
    let function = choice::find(b"mallctl\0");
    if function.is_null() {
        return None;
    }
    let mallctl: Mallctl = unsafe { mem::transmute(function) };
    let mut epoch = 1u64;
    let (len, new) = (mem::size_of_val(&epoch), &mut epoch as *mut u64);
    // Advancing the epoch refreshes the statistics.
    unsafe { mallctl(b"epoch\0".as_ptr().cast(), ptr::null_mut(), ptr::null_mut(), new.cast(), len) };
    let read = |name: &[u8]| {
        let mut value = 0usize;
        let mut len = mem::size_of_val(&value);
        let old = &mut value as *mut usize;
        let failure = unsafe { mallctl(name.as_ptr().cast(), old.cast(), &mut len, ptr::null_mut(), 0) };
        Some(value as u64).filter(|_| failure == 0)
    };
    Some(AllocatorComparisonStats {
        allocated_bytes: read(b"stats.allocated\0"),
        active_bytes: read(b"stats.active\0"),
        resident_bytes: read(b"stats.resident\0"),
        mapped_bytes: read(b"stats.mapped\0"),
        retained_bytes: read(b"stats.retained\0"),
        metadata_bytes: read(b"stats.metadata\0"),
        ..Default::default()
    })
}

type ProcessInfo = unsafe extern "C" fn(
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
    *mut usize,
);

/// Statistics of the mimalloc that `Chosen` has loaded.
fn loaded_mimalloc() -> Option<AllocatorComparisonStats> {
    if chosen() != Some(Allocator::Mimalloc) {
        return None;
    }
    let function = choice::find(b"mi_process_info\0");
    if function.is_null() {
        return None;
    }
    let process_info: ProcessInfo = unsafe { mem::transmute(function) };
    let mut found = [0usize; 8];
    let [elapsed, user, system, rss, peak_rss, commit, peak_commit, faults] = &mut found;
    unsafe { process_info(elapsed, user, system, rss, peak_rss, commit, peak_commit, faults) };
    Some(AllocatorComparisonStats { committed_bytes: Some(*commit as u64), ..Default::default() })
}

impl ToJson for AllocatorKind {
    fn to_json(&self) -> Value {
        self.as_str().to_json()
    }
}

impl ToJson for AllocatorSnapshot {
    fn to_json(&self) -> Value {
        object(vec![
            ("kind", self.kind.to_json()),
            ("comparable", self.comparable.to_json()),
            ("specific", self.specific.to_json()),
        ])
    }
}

impl ToJson for AllocatorComparisonStats {
    fn to_json(&self) -> Value {
        object(vec![
            ("allocated_bytes", self.allocated_bytes.to_json()),
            ("active_bytes", self.active_bytes.to_json()),
            ("resident_bytes", self.resident_bytes.to_json()),
            ("mapped_bytes", self.mapped_bytes.to_json()),
            ("retained_bytes", self.retained_bytes.to_json()),
            ("metadata_bytes", self.metadata_bytes.to_json()),
            ("committed_bytes", self.committed_bytes.to_json()),
            ("allocator_structures", self.allocator_structures.to_json()),
        ])
    }
}

impl ToJson for AllocatorSpecificDetails {
    fn to_json(&self) -> Value {
        let AllocatorSpecificDetails::Glibc(stats) = self;
        let mut value = stats.to_json();
        if let Value::Object(members) = &mut value {
            members.insert(0, ("kind".into(), "glibc".to_json()));
        }
        value
    }
}
