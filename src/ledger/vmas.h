/*
 * vmas.h - the mappings of a process and their resident memory, from /proc/PID/smaps.
 *
 * The kernel walks through all pages for it, about 8 ms per GiB.  The process cannot map memory
 * meanwhile.
 */
#ifndef ALLO_LEDGER_VMAS_H
#define ALLO_LEDGER_VMAS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "telemetry/proc_reader.h"

/* The kind of a mapping, by its name and device. */
enum allo_vma_kind {
	ALLO_VMA_ANON,  /* anonymous memory */
	ALLO_VMA_BREAK, /* [heap], from brk() */
	ALLO_VMA_STACK, /* [stack], of the main thread */
	ALLO_VMA_FILE,
	ALLO_VMA_SHMEM,  /* shm, memfd, tmpfs */
	ALLO_VMA_KERNEL, /* [vdso] and similar */
};

struct allo_vma {
	uint64_t start, end;
	uint64_t rss, pss, anonymous, swap; /* bytes; `anonymous` is part of `rss` */
	struct allo_text name;              /* empty: none */
	uint64_t device;                    /* major << 32 | minor */
	enum allo_vma_kind kind;
	bool is_readable, is_writable, is_executable, is_shared;
	bool is_wiped;      /* MADV_WIPEONFORK: zeros in a forked child */
	bool is_unreserved; /* MAP_NORESERVE */
	bool is_data;       /* .bss: anonymous memory directly after a writable file mapping */
	bool is_stack;      /* of a thread other than the main one; set by ledger.c */
	bool is_heap;       /* memory of the allocator; set by ledger.c */
};

/* All zeros is empty. */
struct allo_vmas {
	ALLO_VEC(struct allo_vma) all; /* sorted by address */
	uint64_t rss;                  /* sum of all */
	uint64_t read_ns;              /* duration of reading */

	/* Private from here on. */
	ALLO_VEC(uint64_t) memory_devices; /* of tmpfs */
	struct allo_arena arena;
};

/* Reads the mappings of a process.  `root` is a prefix of all paths ("", except in tests).  Fails
 * if the process does not exist or may not be read. */
bool allo_vmas_read(struct allo_vmas *vmas, const char *root, uint64_t pid, struct allo_error *err);

/* The same without resident memory, from /proc/PID/maps: no walk. */
bool allo_vmas_read_names(struct allo_vmas *vmas, const char *root, uint64_t pid,
			  struct allo_error *err);

/* Parse smaps or maps, and mountinfo, which has to come first. */
bool allo_vmas_take(struct allo_vmas *vmas, struct allo_proc_reader *reader,
		    struct allo_error *err);
bool allo_vmas_take_mounts(struct allo_vmas *vmas, struct allo_proc_reader *reader,
			   struct allo_error *err);

void allo_vmas_done(struct allo_vmas *vmas);

/* The mapping of an address; NULL: none. */
struct allo_vma *allo_vmas_find(const struct allo_vmas *vmas, uint64_t address);

/* Whether the file name of a mapping, without folders, has this prefix. */
bool allo_vma_has_prefix(const struct allo_vma *vma, const char *start);

#endif
