use crate::error::Error;
use crate::ignore::ignoring;
use crate::sys;
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_uint};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `ALLO_UNKNOWN` of `c/include/allo.h`.
const UNKNOWN: u64 = u64::MAX;

/// Defines a part of a snapshot twice, texts first: as C lays it out and as Rust programs see it.
macro_rules! figures {
    ($(#[$about:meta])* $name:ident, $raw:ident [$($text:ident: $len:literal),*] { $($field:ident,)* }) => {
        #[repr(C)]
        pub(crate) struct $raw {
            $($text: [c_char; $len],)*
            $($field: u64,)*
            reserved: [u64; 8],
        }

        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub struct $name {
            $(pub $text: String,)*
            $(pub $field: Option<u64>,)*
        }

        impl From<&$raw> for $name {
            fn from(raw: &$raw) -> Self {
                $name { $($text: text(&raw.$text),)* $($field: known(raw.$field),)* }
            }
        }
    };
}

fn known(number: u64) -> Option<u64> {
    Some(number).filter(|&number| number != UNKNOWN)
}

figures! {
    /// The process, as the kernel reports it. `*_call_bytes` count system calls; `*_storage_bytes` count real
    /// input and output.
    ProcessMemory, RawProcess [] {
        rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes, rss_peak_bytes, virtual_bytes,
        virtual_peak_bytes, virtual_max_bytes, data_bytes, stack_bytes, text_bytes, library_bytes, swap_bytes,
        locked_bytes, pinned_bytes, hugetlb_bytes, pagetable_bytes, minor_faults, major_faults, cpu_ns,
        start_unix_ns, threads, open_files, max_files, read_calls, write_calls, read_call_bytes,
        write_call_bytes, read_storage_bytes, write_storage_bytes, cancelled_write_bytes, oom_score,
    }
}

figures! {
    /// The last walk through all pages, `age_ns` ago. A walk takes 8 ms per GiB.
    PageMemory, RawPages [] {
        age_ns, rss_bytes, pss_bytes, uss_bytes, pss_anon_bytes, pss_file_bytes, pss_shmem_bytes,
        pss_dirty_bytes, shared_clean_bytes, shared_dirty_bytes, private_clean_bytes, private_dirty_bytes,
        referenced_bytes, anonymous_bytes, ksm_bytes, lazyfree_bytes, anon_huge_bytes, shmem_huge_bytes,
        file_huge_bytes, shared_hugetlb_bytes, private_hugetlb_bytes, swap_bytes, swap_pss_bytes, locked_bytes,
    }
}

figures! {
    /// Time that some or all processes of the machine have waited for memory.
    SystemMemory, RawSystem [] { pressure_some_ns, pressure_full_ns, }
}

figures! {
    /// The heap statistics, if they are kept.
    HeapMemory, RawHeap [] {
        alloc_bytes, alloc_blocks, freed_bytes, freed_blocks, live_bytes, live_blocks, peak_bytes, peak_blocks,
    }
}

figures! {
    /// The recorder's own memory.
    ProfilerMemory, RawProfiler [] {
        is_recording, own_bytes, recording_bytes, lost_pages, failed_stacks, cut_stacks,
    }
}

const STATS: usize = 96;
const SOURCES: usize = 24;

#[repr(C)]
struct RawStat {
    name: [c_char; 40],
    value: u64,
    is_counter: u8,
}

figures! {
    /// The control group of the process, version 1 or 2. Limits are the lowest of the group and its ancestors, or
    /// `None` if there is no limit.
    CgroupMemory, RawCgroup [path: 256] {
        version, current_bytes, peak_bytes, limit_bytes, high_bytes, swap_limit_bytes, working_set_bytes,
        swap_bytes, swap_peak_bytes, low_events, high_events, max_events, oom_events, oom_kills,
        oom_group_kills, pressure_some_ns, pressure_full_ns,
    }
}

figures! {
    /// The statistics of the allocator behind malloc; no allocator has all of them. Its name is `glibc`,
    /// `jemalloc`, `tcmalloc` or `mimalloc`, or empty for any other.
    AllocatorMemory, RawAllocator [name: 16, version: 48] {
        allocated_bytes, active_bytes, resident_bytes, mapped_bytes, mapped_peak_bytes, retained_bytes,
        metadata_bytes, committed_bytes, committed_peak_bytes, free_list_bytes, free_page_bytes,
        thread_cache_bytes, block_map_bytes, arenas,
    }
}

#[repr(C)]
struct RawSource {
    name: [c_char; 24],
    read_ns: u64,
    why: [c_char; 104],
}

#[repr(C)]
pub struct Raw {
    unix_ns: u64,
    pid: u64,
    process: RawProcess,
    pages: RawPages,
    cgroup: RawCgroup,
    stat_count: u32,
    stats: [RawStat; STATS],
    system: RawSystem,
    allocator: RawAllocator,
    heap: RawHeap,
    profiler: RawProfiler,
    source_count: u32,
    sources: [RawSource; SOURCES],
}

/// A line of the control group's memory.stat, by its cgroup v2 name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CgroupStat {
    /// `anon`, `file`, `pgfault` and so on.
    pub name: String,
    /// Bytes or events.
    pub value: u64,
    /// Whether it counts events.
    pub is_counter: bool,
}

/// A source of numbers, such as a file in /proc.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemorySource {
    /// `status`, `cgroup`, `allocator` and so on.
    pub name: String,
    /// Duration of the read in nanoseconds.
    pub read_ns: Option<u64>,
    /// The reason that its numbers are missing or old; empty if they are current.
    pub why: String,
}

/// The memory of this process, as the kernel, its control group, the allocator and the recorder report it.
///
/// ```
/// let now = allotrope::snapshot().unwrap();
/// assert!(now.process.rss_bytes.unwrap() > 100_000);
/// if let (Some(limit), Some(used)) = (now.cgroup.limit_bytes, now.cgroup.working_set_bytes) {
///     println!("{} bytes left", limit.saturating_sub(used));
/// }
/// for source in now.sources.iter().filter(|source| !source.why.is_empty()) {
///     println!("{}: {}", source.name, source.why);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct MemorySnapshot {
    pub time: SystemTime,
    pub pid: u32,
    pub process: ProcessMemory,
    pub pages: PageMemory,
    pub cgroup: CgroupMemory,
    pub cgroup_stats: Vec<CgroupStat>,
    pub system: SystemMemory,
    pub allocator: AllocatorMemory,
    pub heap: HeapMemory,
    pub profiler: ProfilerMemory,
    pub sources: Vec<MemorySource>,
}

/// The slow parts of a snapshot.
///
/// ```
/// let walks = allotrope::Walks { arenas: true, ..Default::default() };
/// println!("{:?}", allotrope::MemorySnapshot::walked(walks).unwrap().allocator);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walks {
    /// Walks all pages, which blocks `mmap` in the meantime. Otherwise they are walked only if that takes less
    /// than a millisecond.
    pub pages: bool,
    /// Walks glibc's free blocks, which locks each arena in turn. Other allocators need no walk.
    pub arenas: bool,
}

impl Walks {
    fn bits(self) -> c_uint {
        c_uint::from(self.pages) | c_uint::from(self.arenas) << 1
    }
}

/// Takes a snapshot without walks, in some tenths of a millisecond.
///
/// ```
/// println!("{:#?}", allotrope::snapshot().unwrap());
/// ```
pub fn snapshot() -> Result<MemorySnapshot, Error> {
    MemorySnapshot::walked(Walks::default())
}

impl MemorySnapshot {
    /// Takes a snapshot with walks.
    pub fn walked(walks: Walks) -> Result<Self, Error> {
        let mut raw = MaybeUninit::<Raw>::uninit();
        Error::unless(unsafe { sys::allo_get_memory_snapshot_walked(raw.as_mut_ptr(), walks.bits()) })?;
        let raw = unsafe { raw.assume_init_ref() };
        Ok(ignoring(|| raw.into()))
    }

    /// Takes a snapshot and returns it as JSON, with the names of its members.
    ///
    /// ```
    /// let json = allotrope::MemorySnapshot::json(allotrope::Walks::default());
    /// assert!(json.contains("\"rss_bytes\":"));
    /// ```
    pub fn json(walks: Walks) -> String {
        in_format(2, walks)
    }

    /// Takes a snapshot with walks and returns it in the text format of Prometheus, like [`metrics`].
    ///
    /// ```
    /// let walks = allotrope::Walks { arenas: true, ..Default::default() };
    /// let text = allotrope::MemorySnapshot::metrics(walks);
    /// assert!(text.contains("\nallo_allocator_allocated_bytes "));
    /// ```
    pub fn metrics(walks: Walks) -> String {
        in_format(0, walks)
    }

    /// The same in the OpenMetrics format, like [`openmetrics`].
    pub fn openmetrics(walks: Walks) -> String {
        in_format(1, walks)
    }
}

/// Takes a snapshot and returns it in the text format of Prometheus, `text/plain; version=0.0.4; charset=utf-8`.
/// Numbers that need a walk, such as those of glibc's malloc, are in [`MemorySnapshot::metrics`].
///
/// ```
/// assert!(allotrope::metrics().contains("\nprocess_resident_memory_bytes "));
/// ```
pub fn metrics() -> String {
    in_format(0, Walks::default())
}

/// Takes a snapshot and returns it in the OpenMetrics format,
/// `application/openmetrics-text; version=1.0.0; charset=utf-8`.
///
/// ```
/// assert!(allotrope::openmetrics().ends_with("# EOF\n"));
/// ```
pub fn openmetrics() -> String {
    in_format(1, Walks::default())
}

fn in_format(format: c_uint, walks: Walks) -> String {
    ignoring(|| {
        let mut text: Vec<u8> = Vec::with_capacity(32 << 10);
        loop {
            let room = text.capacity();
            let len = unsafe { sys::allo_metrics_as(format, walks.bits(), text.as_mut_ptr().cast(), room) };
            if len < room {
                unsafe { text.set_len(len) };
                return String::from_utf8_lossy(&text).into_owned();
            }
            text.reserve(len + 1024);
        }
    })
}

fn text(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl From<&Raw> for MemorySnapshot {
    fn from(raw: &Raw) -> Self {
        let sources = &raw.sources[..raw.source_count as usize];
        let stats = &raw.stats[..raw.stat_count as usize];
        MemorySnapshot {
            time: UNIX_EPOCH + Duration::from_nanos(raw.unix_ns),
            pid: raw.pid as u32,
            process: (&raw.process).into(),
            pages: (&raw.pages).into(),
            cgroup: (&raw.cgroup).into(),
            cgroup_stats: stats.iter().map(CgroupStat::from).collect(),
            system: (&raw.system).into(),
            allocator: (&raw.allocator).into(),
            heap: (&raw.heap).into(),
            profiler: (&raw.profiler).into(),
            sources: sources.iter().map(MemorySource::from).collect(),
        }
    }
}

impl From<&RawSource> for MemorySource {
    fn from(raw: &RawSource) -> Self {
        MemorySource { name: text(&raw.name), read_ns: known(raw.read_ns), why: text(&raw.why) }
    }
}

impl From<&RawStat> for CgroupStat {
    fn from(raw: &RawStat) -> Self {
        CgroupStat { name: text(&raw.name), value: raw.value, is_counter: raw.is_counter != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number from C's own JSON.
    fn number(json: &str, group: &str, name: &str) -> Option<u64> {
        let members = json.split_once(&format!("\"{group}\":{{"))?.1;
        let value = members.split_once(&format!("\"{name}\":"))?.1;
        value.split([',', '}']).next()?.parse().ok()
    }

    #[test]
    fn what_c_says_is_what_rust_sees() {
        // While another test holds the session, the snapshot cannot know whether there is a recording.
        let mut snapshots = (0..1000).map(|_| snapshot().unwrap());
        let now = snapshots.find(|now| now.profiler.is_recording.is_some()).unwrap();
        let json = MemorySnapshot::json(Walks::default());
        assert_eq!(now.process.max_files, number(&json, "process", "max_files"));
        assert_eq!(now.process.start_unix_ns, number(&json, "process", "start_unix_ns"));
        assert_eq!(now.cgroup.version, number(&json, "cgroup", "version"));
        assert_eq!(now.cgroup.limit_bytes, number(&json, "cgroup", "limit_bytes"));
        assert_eq!(now.profiler.lost_pages, number(&json, "profiler", "lost_pages"));
        assert_eq!(now.pid, std::process::id());
        assert_eq!(now.allocator.name, "glibc");
        assert!(now.allocator.version.starts_with("2."));
        assert_eq!(now.profiler.is_recording, Some(0));
        let names: Vec<&str> = now.sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!((names[0], names[names.len() - 1]), ("status", "heap"));
        assert!(now.cgroup_stats.iter().all(|stat| !stat.name.is_empty()));
    }

    #[test]
    fn what_is_not_known_is_none() {
        let now = snapshot().unwrap();
        assert_eq!(now.allocator.allocated_bytes, None);
        assert_eq!(now.heap.live_bytes, None);
        let allocator = now.sources.iter().find(|source| source.name == "allocator").unwrap();
        assert!(allocator.why.contains("walk"));
        let walked = MemorySnapshot::walked(Walks { pages: true, arenas: true }).unwrap();
        assert!(walked.allocator.allocated_bytes.unwrap() > 0);
        assert!(walked.pages.pss_bytes.unwrap() <= walked.pages.rss_bytes.unwrap());
    }

    #[test]
    fn gauges_of_the_allocator_come_on_request() {
        let gauges = ["allocated_bytes", "mapped_bytes", "mapped_peak_bytes", "block_map_bytes", "arenas"];
        let walks = Walks { arenas: true, ..Default::default() };
        for (cheap, walked) in
            [(metrics(), MemorySnapshot::metrics(walks)), (openmetrics(), MemorySnapshot::openmetrics(walks))]
        {
            for gauge in gauges {
                let line = format!("\nallo_allocator_{gauge} ");
                assert!(!cheap.contains(&line) && walked.contains(&line), "{gauge} in {walked}");
            }
        }
    }

    #[test]
    fn every_metric_is_explained() {
        for text in [metrics(), openmetrics()] {
            let mut known = "";
            for line in text.lines() {
                if let Some(about) = line.strip_prefix("# TYPE ") {
                    known = about.split(' ').next().unwrap();
                } else if !line.starts_with('#') {
                    assert!(line.starts_with(known), "{line}");
                    assert!(!line.contains("_total_total") && !line.contains("_info_info"));
                }
            }
        }
    }
}
