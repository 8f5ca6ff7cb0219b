//! Statistics of this process, each from one source.

use crate::json::{object, ToJson, Value};

/// Defines a struct of numbers that can be written as JSON.
macro_rules! numbers {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub struct $name {
            $($(#[$meaning])* pub $field: u64,)*
        }

        impl ToJson for $name {
            fn to_json(&self) -> Value {
                object(vec![$((stringify!($field), self.$field.to_json()),)*])
            }
        }
    };
}
pub(super) use numbers;

numbers! {
    /// Totals of the global allocator.
    Allocations {
        /// Allocated bytes.
        allocated,
        /// Freed bytes.
        freed,
        /// Number of allocations.
        allocations,
        /// Number of frees.
        frees,
    }
}

impl Allocations {
    /// Live bytes.
    pub fn in_use_bytes(&self) -> u64 {
        self.allocated.saturating_sub(self.freed)
    }

    /// Live blocks.
    pub fn in_use_allocations(&self) -> u64 {
        self.allocations.saturating_sub(self.frees)
    }
}

/// glibc's malloc.
pub mod malloc {
    use crate::error::Error;
    use crate::memory::{MemorySnapshot, Walks};
    use crate::sys;

    /// The numbers of glibc's `malloc_info`, in bytes.
    ///
    /// ```
    /// let info = allotrope::pprof_alloc::stats::malloc::info().unwrap();
    /// assert!(info.in_use_bytes() > 0 && info.heaps() > 0);
    /// ```
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MallocInfo {
        system_max: u64,
        system_current: u64,
        free: u64,
        mapped: u64,
        heaps: u64,
    }

    impl MallocInfo {
        /// The peak of `system_current`.
        pub fn system_max(&self) -> u64 {
            self.system_max
        }

        /// The memory of all arenas.
        pub fn system_current(&self) -> u64 {
            self.system_current
        }

        /// Free blocks, and blocks that have their own mapping.
        pub fn total(&self) -> u64 {
            self.free + self.mapped
        }

        /// Free blocks of the arenas.
        pub fn free_bytes(&self) -> u64 {
            self.free
        }

        /// Blocks that have their own mapping.
        pub fn mmap_bytes(&self) -> u64 {
            self.mapped
        }

        /// Blocks in use.
        pub fn in_use_bytes(&self) -> u64 {
            self.system_current.saturating_sub(self.free).saturating_add(self.mapped)
        }

        /// The number of arenas.
        pub fn heaps(&self) -> u64 {
            self.heaps
        }
    }

    /// Walks through glibc's free blocks, which locks each arena in turn. Fails if malloc is not glibc's.
    pub fn info() -> Result<MallocInfo, Error> {
        let walks = Walks { arenas: true, ..Default::default() };
        let memory = MemorySnapshot::walked(walks)?.allocator;
        let missing = || Error::Failed(format!("malloc is that of '{}', not glibc's", memory.name));
        let known = |number: Option<u64>| number.ok_or_else(missing);
        let mapped = known(memory.block_map_bytes)?;
        Ok(MallocInfo {
            system_max: known(memory.mapped_peak_bytes)?,
            system_current: known(memory.mapped_bytes)?.saturating_sub(mapped),
            free: known(memory.free_list_bytes)?,
            mapped,
            heaps: known(memory.arenas)?,
        })
    }

    /// Returns free memory of glibc's malloc to the kernel.
    ///
    /// ```
    /// allotrope::pprof_alloc::stats::malloc::malloc_trim();
    /// ```
    pub fn malloc_trim() {
        unsafe { sys::malloc_trim(0) };
    }
}

/// The control group, of version 1 or 2.
pub mod cgroups {
    use super::{object, ToJson, Value};
    use crate::error::Error;
    use crate::memory::snapshot;

    numbers! {
        /// Numbers of the control group; 0 if the kernel does not report one. Names as in memory.stat of version 2.
        MemoryStat {
            /// Bytes in use.
            usage,
            /// Bytes in use without inactive file pages.
            working_set,
            anon, inactive_anon, active_anon, file, file_mapped, active_file, inactive_file, shmem, kernel,
            kernel_stack, pagetables, percpu, sock, slab, slab_reclaimable, slab_unreclaimable, pgfault, pgmajfault,
            workingset_refault_anon, workingset_refault_file, workingset_activate_anon, workingset_activate_file,
            workingset_restore_anon, workingset_restore_file,
        }
    }

    fn missing() -> Error {
        Error::Failed(
            "the control group of the process reports no memory; snapshot().sources says why".into(),
        )
    }

    /// Bytes in use.
    pub fn get_memory() -> Result<u64, Error> {
        snapshot()?.cgroup.current_bytes.ok_or_else(missing)
    }

    /// All numbers.
    pub fn get_stats() -> Result<MemoryStat, Error> {
        let now = snapshot()?;
        let mut stat = MemoryStat {
            usage: now.cgroup.current_bytes.ok_or_else(missing)?,
            working_set: now.cgroup.working_set_bytes.unwrap_or(0),
            ..Default::default()
        };
        for line in &now.cgroup_stats {
            if let Some(number) = stat.find(&line.name) {
                *number = line.value;
            }
        }
        Ok(stat)
    }

    impl MemoryStat {
        fn find(&mut self, name: &str) -> Option<&mut u64> {
            Some(match name {
                "anon" => &mut self.anon,
                "inactive_anon" => &mut self.inactive_anon,
                "active_anon" => &mut self.active_anon,
                "file" => &mut self.file,
                "file_mapped" => &mut self.file_mapped,
                "active_file" => &mut self.active_file,
                "inactive_file" => &mut self.inactive_file,
                "shmem" => &mut self.shmem,
                "kernel" => &mut self.kernel,
                "kernel_stack" => &mut self.kernel_stack,
                "pagetables" => &mut self.pagetables,
                "percpu" => &mut self.percpu,
                "sock" => &mut self.sock,
                "slab" => &mut self.slab,
                "slab_reclaimable" => &mut self.slab_reclaimable,
                "slab_unreclaimable" => &mut self.slab_unreclaimable,
                "pgfault" => &mut self.pgfault,
                "pgmajfault" => &mut self.pgmajfault,
                "workingset_refault_anon" => &mut self.workingset_refault_anon,
                "workingset_refault_file" => &mut self.workingset_refault_file,
                "workingset_activate_anon" => &mut self.workingset_activate_anon,
                "workingset_activate_file" => &mut self.workingset_activate_file,
                "workingset_restore_anon" => &mut self.workingset_restore_anon,
                "workingset_restore_file" => &mut self.workingset_restore_file,
                _ => return None,
            })
        }
    }
}

/// The pages of the process.
pub mod smaps {
    use super::{object, ToJson, Value};
    use crate::error::Error;
    use crate::memory::{MemorySnapshot, Walks};

    numbers! {
        /// Sums over all mappings, in bytes; 0 if the kernel does not report one.
        ProcessStats {
            /// Virtual memory.
            size,
            rss, pss, pss_dirty, shared_clean, shared_dirty, private_clean, private_dirty, referenced, anonymous,
            lazy_free, anon_huge_pages,
            /// Always 0: the kernel reports no sum of these.
            shmem_huge_pages,
            shmem_pmd_mapped, file_pmd_mapped, shared_hugetlb, private_hugetlb, swap, swap_pss, locked,
        }
    }

    /// Walks through all pages.
    pub fn rollup() -> Result<ProcessStats, Error> {
        let now = MemorySnapshot::walked(Walks { pages: true, ..Default::default() })?;
        let why = || {
            let source = now.sources.iter().find(|source| source.name == "smaps_rollup");
            Error::Failed(format!("smaps_rollup: {}", source.map_or("not read", |source| &source.why)))
        };
        let pages = &now.pages;
        let or_0 = |number: Option<u64>| number.unwrap_or(0);
        Ok(ProcessStats {
            size: or_0(now.process.virtual_bytes),
            rss: pages.rss_bytes.ok_or_else(why)?,
            pss: or_0(pages.pss_bytes),
            pss_dirty: or_0(pages.pss_dirty_bytes),
            shared_clean: or_0(pages.shared_clean_bytes),
            shared_dirty: or_0(pages.shared_dirty_bytes),
            private_clean: or_0(pages.private_clean_bytes),
            private_dirty: or_0(pages.private_dirty_bytes),
            referenced: or_0(pages.referenced_bytes),
            anonymous: or_0(pages.anonymous_bytes),
            lazy_free: or_0(pages.lazyfree_bytes),
            anon_huge_pages: or_0(pages.anon_huge_bytes),
            shmem_huge_pages: 0,
            shmem_pmd_mapped: or_0(pages.shmem_huge_bytes),
            file_pmd_mapped: or_0(pages.file_huge_bytes),
            shared_hugetlb: or_0(pages.shared_hugetlb_bytes),
            private_hugetlb: or_0(pages.private_hugetlb_bytes),
            swap: or_0(pages.swap_bytes),
            swap_pss: or_0(pages.swap_pss_bytes),
            locked: or_0(pages.locked_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_agree_with_the_kernel_and_with_glibc() {
        let pages = smaps::rollup().unwrap();
        let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let rss: u64 = text.split_once("Rss:").unwrap().1.split_whitespace().next().unwrap().parse().unwrap();
        assert!(pages.rss.abs_diff(rss * 1024) < 16 << 20, "{pages:?}: {text}");
        assert!(pages.size >= pages.rss && pages.pss <= pages.rss);

        let info = malloc::info().unwrap();
        assert!(info.system_max() >= info.system_current() && info.system_current() >= info.free_bytes());
        assert_eq!(info.total(), info.free_bytes() + info.mmap_bytes());
        malloc::malloc_trim();
    }

    #[test]
    fn a_control_group_reports_its_memory_or_why_not() {
        match cgroups::get_stats() {
            Ok(stat) => assert!(stat.usage > 0 && stat.working_set <= stat.usage, "{stat:?}"),
            Err(error) => assert!(error.to_string().contains("control group"), "{error}"),
        }
    }
}
