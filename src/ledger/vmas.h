/*
 * vmas.h - the mappings of a process with what is resident of each: /proc/PID/smaps.
 *
 * One pass of the kernel's through all pages, during which the process cannot map anything: about
 * 8 ms for each GiB.
 */
#ifndef ALLO_LEDGER_VMAS_H
#define ALLO_LEDGER_VMAS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "telemetry/proc_reader.h"

/* What a mapping is, by its name and its place. */
enum allo_vma_kind {
	ALLO_VMA_ANON,  /* memory of no file */
	ALLO_VMA_BREAK, /* [heap]: what brk() gives */
	ALLO_VMA_STACK, /* [stack]: of the first thread */
	ALLO_VMA_FILE,
	ALLO_VMA_SHMEM,  /* memory that may be shared: shm, memfd, tmpfs */
	ALLO_VMA_KERNEL, /* [vdso] and its like */
};

struct allo_vma {
	uint64_t start, end;
	uint64_t rss, pss, anonymous, swap; /* bytes; anonymous: of the resident ones */
	struct allo_text name;              /* empty: it has none */
	uint64_t device;                    /* major << 32 | minor */
	enum allo_vma_kind kind;
	bool is_readable, is_writable, is_executable, is_shared;
	bool is_wiped; /* a child made by fork finds zeros in it */
	bool is_unreserved;
	/* Memory without a name right behind that of a file that may be written to: variables that
	 * begin as zeros. */
	bool is_data;
	bool is_stack; /* of a thread but the first: see thread_stacks.h */
	bool is_heap;  /* the allocator's: see ledger.h */
};

/* All zeros: nothing to give back. */
struct allo_vmas {
	ALLO_VEC(struct allo_vma) all; /* by address */
	uint64_t rss;                  /* of all */
	uint64_t read_ns;              /* how long it took */

	/* Private from here on. */
	ALLO_VEC(uint64_t) memory_devices; /* tmpfs and its like */
	struct allo_arena arena;
};

/* `pid`'s; `root` is in front of all paths ("", but for tests).  Fails where the process is not
 * there, or not to be looked at. */
bool allo_vmas_read(struct allo_vmas *vmas, const char *root, uint64_t pid, struct allo_error *err);

/* The same without what is resident, which takes no walk: /proc/PID/maps. */
bool allo_vmas_read_names(struct allo_vmas *vmas, const char *root, uint64_t pid,
			  struct allo_error *err);

/* The same from lines of smaps or maps, and of mountinfo, which come first. */
bool allo_vmas_take(struct allo_vmas *vmas, struct allo_proc_reader *lines, struct allo_error *err);
bool allo_vmas_take_mounts(struct allo_vmas *vmas, struct allo_proc_reader *lines,
			   struct allo_error *err);

void allo_vmas_done(struct allo_vmas *vmas);

/* The one that an address is in; NULL: none. */
struct allo_vma *allo_vmas_find(const struct allo_vmas *vmas, uint64_t address);

/* Whether the last part of its name begins so. */
bool allo_vma_is_called(const struct allo_vma *vma, const char *start);

#endif
