/*
 * allo.h - record what this program allocates, ask what its heap holds, assert it in tests.
 *
 *     cc program.c $(pkg-config --cflags --libs allo)
 *
 *     allo_start(NULL);
 *     ... the part that matters ...
 *     printf("recorded in %s\n", allo_stop());
 *
 * Linking the library is enough for malloc and all that stands beside it, and for C++'s operators
 * new and delete, to be seen: in the whole process, in all threads.  Until allo_start() is called
 * this costs next to nothing.  The recording is on disk at every moment: it is there after exit(),
 * abort() and SIGKILL, too, and `allo summary FILE` and all other commands read it.
 *
 * Whoever runs the program has the last word: each setting has an environment variable, which is
 * stronger than what the program asks for.  ALLO_OUTPUT=PATTERN records the whole program from its
 * start, as `allo run` does; allo_start() and allo_stop() are marks in that recording then.
 *
 * Functions that return bool or a pointer return false or NULL when they fail, and allo_error()
 * says why.  All of them may be called from any thread at any time, also when nothing is recorded;
 * none may be called by a signal handler unless it says so.
 */
#ifndef ALLO_H
#define ALLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Recording. */

enum allo_mode {
	ALLO_EXACT,          /* every allocation */
	ALLO_SAMPLED,        /* one for every `rate` bytes, at random: for production */
	ALLO_SAMPLED_EVENTS, /* one in `rate`, at random */
	ALLO_COUNTERS,       /* none: only statistics, and no file */
	ALLO_AD_HOC,         /* none: only what allo_event() says */
};

enum allo_unwinder {
	ALLO_UNWINDER_AUTO,  /* unwind tables, and frame pointers where there are none */
	ALLO_UNWINDER_FP,    /* frame pointers */
	ALLO_UNWINDER_DWARF, /* unwind tables */
	ALLO_UNWINDER_NONE,  /* no stacks */
};

/* Set it to zero first: zero means the default. */
struct allo_config {
	/* Where the recording goes: %e stands for the program, %p for the process, %t for the time,
	 * %h for the host, %n for a number not taken yet.  NULL: "%e.%p.%n.allo".  ALLO_PATH */
	const char *path;
	/* What allo_stop() and exit make of it: NULL or "allo" leaves it as it is; "dhat", "pprof",
	 * "folded", "sqlite" or any other format that `allo formats` lists is written by the
	 * program `allo`, to `path`.  ALLO_FORMAT */
	const char *format;
	/* Further options for that, as on the command line of `allo convert`.  ALLO_OPTIONS */
	const char *options;
	enum allo_mode mode;         /* ALLO_MODE=exact|sampled|events|counters|ad-hoc */
	enum allo_unwinder unwinder; /* ALLO_UNWIND=auto|fp|dwarf|none */
	uint64_t rate;               /* ALLO_RATE; 0: 524288 bytes, or one event in 1000 */
	uint64_t min_size;           /* smaller blocks are left out.  ALLO_MIN_SIZE */
	uint64_t max_file;           /* bytes; recording stops there.  ALLO_MAX_FILE; 0: no limit */
	uint32_t stack_depth;        /* most frames of a stack.  ALLO_STACK_DEPTH; 0: all */
	bool has_stats;              /* keep statistics beside the recording.  ALLO_STATS=1 */
	bool no_follow;              /* leave children made by fork() alone.  ALLO_FOLLOW=0 */
	uint64_t reserved[8];
};

/* Begins to record, in all threads.  Returns where: "" where there is no file.  The text is good
 * until the next start. */
const char *allo_start(const struct allo_config *config);

/* Ends it.  Returns what was written; the text is good until the next stop. */
const char *allo_stop(void);

bool allo_is_recording(void);

/* Why the last call of this thread that failed did; "" if none has. */
const char *allo_error(void);

/* Writes what was recorded so far in the format that the name ends in (x.pb.gz, dhat.out.json,
 * x.db), and goes on recording. */
bool allo_dump(const char *path);

/* The same into memory, in a format of `allo formats`; NULL is "pprof".  To be freed with free().
 */
bool allo_dump_buffer(const char *format, void **data, size_t *len);

/* From now on a signal makes a dump; the path is a pattern as above, %n counts.  Nobody waits for
 * it. */
bool allo_dump_on_signal(int signal, const char *path);

/* Statistics: of ALLO_COUNTERS, and of all other modes with `has_stats`.  Blocks from before the
 * start are never counted. */

/* In C++ write `struct` in front of it, as a function has the same name. */
struct allo_heap_stats {
	uint64_t total_blocks, total_bytes;    /* ever allocated */
	int64_t current_blocks, current_bytes; /* live */
	uint64_t peak_blocks, peak_bytes;      /* live when most bytes were */
};

/* Of the whole process, since the start. */
bool allo_get_heap_stats(struct allo_heap_stats *stats);

/* What has changed since `before`.  Live blocks may have become fewer.  The peak is that since the
 * start if it was reached since then, and 0 otherwise: scopes have a peak of their own. */
bool allo_get_heap_stats_since(const struct allo_heap_stats *before, struct allo_heap_stats *since);

/* Of the calling thread: what it has allocated, and freed, whoever had allocated it. */
bool allo_get_thread_stats(struct allo_heap_stats *stats);

/* Of the calling thread, from begin to end, whatever other threads do: for tests that run in
 * parallel.  Scopes may be nested; the last one begun ends first. */
struct allo_scope {
	struct allo_heap_stats before;
	uint64_t reserved[4];
};

bool allo_scope_begin(struct allo_scope *scope);
bool allo_scope_stats(const struct allo_scope *scope, struct allo_heap_stats *stats);
bool allo_scope_end(struct allo_scope *scope, struct allo_heap_stats *stats);

/* Assertions for tests.  One that fails ends the recording, prints where it is and what was seen
 * against what was allowed, and aborts, or calls the handler.  To assert where no statistics are
 * kept is a failure, too. */

/* { ... }: the calling thread allocates nothing within the braces. */
#define ALLO_ASSERT_NO_ALLOCS ALLO_ASSERT_WITHIN_(ALLO_LIMIT_BLOCKS, 0)

/* { ... }: nor does it ever hold more than `bytes` more than before them. */
#define ALLO_ASSERT_MAX_BYTES(bytes) ALLO_ASSERT_WITHIN_(ALLO_LIMIT_HELD, bytes)

/* In the whole process; the condition may use `stats`, its struct allo_heap_stats:
 *
 *     ALLO_ASSERT_HEAP(stats.peak_bytes < 1 << 20);
 */
#define ALLO_ASSERT_HEAP(condition)                                                                \
	do {                                                                                       \
		struct allo_heap_stats stats;                                                      \
		if (allo_assert_begin(__FILE__, __LINE__, #condition, &stats) && !(condition))     \
			allo_assert_failed(__FILE__, __LINE__, #condition, &stats);                \
	} while (0)

/* What is called instead of abort(); it may return or jump.  NULL: abort(). */
typedef void allo_assert_handler(const char *message);
void allo_set_assert_handler(allo_assert_handler *handler);

/* Labels are of the calling thread; what it does until they are popped has them.  Equal keys: the
 * inner one counts. */
void allo_label_push(const char *key, const char *value);
void allo_label_pop(void);

/* A name for this moment. */
void allo_mark(const char *name);

/* An event of the program's own, with its stack: what is hot need not be an allocation. */
void allo_event(uint64_t weight);
void allo_event_named(const char *name, uint64_t weight);

struct allo_event_stats {
	uint64_t total_events, total_units;
};

/* Since the start. */
bool allo_get_event_stats(struct allo_event_stats *stats);

/* Allocators of the program's own: pools, arenas.  Tell of a block after it was got and before it
 * is given back.  Blocks of one heap have nothing to do with those of another, nor with malloc's,
 * so that a pool may hand out the start of what malloc gave it.  Heap 0 has no name; blocks of the
 * others have it as the label "heap".  For statistics, blocks begin 8 bytes apart at least. */
uint32_t allo_heap(const char *name);
void allo_on_alloc(uint32_t heap, const void *block, size_t size);
void allo_on_free(uint32_t heap, const void *block);

/* Before a block is resized, and after, with what it has become: NULL if it could not be.  What the
 * thread allocates in between is the allocator's own. */
void allo_on_realloc_begin(uint32_t heap, const void *block);
void allo_on_realloc_end(uint32_t heap, const void *moved, size_t size);

/* Memory: what the kernel, the control group, the allocator and we ourselves know of this process.
 * It is read, not measured: a snapshot takes some tenths of a millisecond at most, whatever the
 * size of the process, and stops nobody.  What would take longer has to be asked for.
 *
 *     struct allo_memory_snapshot now;
 *
 *     allo_get_memory_snapshot(&now);
 *     if (now.cgroup.limit_bytes != ALLO_UNKNOWN)
 *             room = now.cgroup.limit_bytes - now.cgroup.working_set_bytes;
 */

/* A number that is not known; never 0 in its place.  `sources` tells why. */
#define ALLO_UNKNOWN UINT64_MAX

struct allo_process_memory {
	uint64_t rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes, rss_peak_bytes;
	uint64_t virtual_bytes, virtual_peak_bytes;
	uint64_t virtual_max_bytes; /* unknown, too, where there is no limit */
	uint64_t data_bytes, stack_bytes, text_bytes, library_bytes; /* of the virtual ones */
	uint64_t swap_bytes, locked_bytes, pinned_bytes, hugetlb_bytes, pagetable_bytes;
	uint64_t minor_faults, major_faults;
	uint64_t cpu_ns, start_unix_ns;
	uint64_t threads, open_files, max_files;
	uint64_t read_calls, write_calls, read_call_bytes, write_call_bytes;
	uint64_t read_storage_bytes, write_storage_bytes, cancelled_write_bytes;
	uint64_t oom_score;
	uint64_t reserved[8];
};

/* Of a walk through all pages, which takes 8 ms for each GiB: see `age_ns`. */
struct allo_page_memory {
	uint64_t age_ns; /* since the walk */
	uint64_t rss_bytes, pss_bytes, uss_bytes;
	uint64_t pss_anon_bytes, pss_file_bytes, pss_shmem_bytes, pss_dirty_bytes;
	uint64_t shared_clean_bytes, shared_dirty_bytes, private_clean_bytes, private_dirty_bytes;
	uint64_t referenced_bytes, anonymous_bytes, ksm_bytes, lazyfree_bytes;
	uint64_t anon_huge_bytes, shmem_huge_bytes, file_huge_bytes;
	uint64_t shared_hugetlb_bytes, private_hugetlb_bytes;
	uint64_t swap_bytes, swap_pss_bytes, locked_bytes;
	uint64_t reserved[8];
};

/* A line of the group's memory.stat, by the name that version 2 has for it. */
struct allo_cgroup_stat {
	char name[40];
	uint64_t value;
	bool is_counter; /* of events since the group was made; else bytes */
};

enum { ALLO_CGROUP_STATS = 96 };

struct allo_cgroup_memory {
	char path[256];   /* of the group; cut if it is longer */
	uint64_t version; /* 1 or 2: of the hierarchy that memory is counted in */
	uint64_t current_bytes, peak_bytes;
	/* The least one up to the root, of which a container sees only a part. */
	uint64_t limit_bytes, high_bytes, swap_limit_bytes;
	uint64_t working_set_bytes; /* without what is given up first */
	uint64_t swap_bytes, swap_peak_bytes;
	uint64_t low_events, high_events, max_events, oom_events, oom_kills, oom_group_kills;
	uint64_t pressure_some_ns, pressure_full_ns; /* waited for memory */
	uint64_t reserved[8];
	uint32_t stat_count;
	struct allo_cgroup_stat stats[ALLO_CGROUP_STATS];
};

struct allo_system_memory {
	uint64_t pressure_some_ns, pressure_full_ns;
	uint64_t reserved[8];
};

/* What the allocator says of itself; none says everything. */
struct allo_allocator_memory {
	char name[16]; /* glibc, jemalloc, tcmalloc, mimalloc; "" if it is not known */
	char version[48];
	uint64_t allocated_bytes; /* in blocks, rounded up */
	uint64_t active_bytes;    /* pages with a block in them */
	uint64_t resident_bytes;  /* by its own account */
	uint64_t mapped_bytes;    /* address space that it has */
	uint64_t mapped_peak_bytes;
	uint64_t retained_bytes; /* address space without memory behind it */
	uint64_t metadata_bytes;
	uint64_t committed_bytes, committed_peak_bytes;
	uint64_t free_list_bytes;    /* free, in its lists */
	uint64_t free_page_bytes;    /* free, whole pages */
	uint64_t thread_cache_bytes; /* free, kept for a thread */
	uint64_t block_map_bytes;    /* blocks with a mapping of their own */
	uint64_t arenas;
	uint64_t reserved[8];
};

/* What was counted of the program's blocks, where it is: see struct allo_heap_stats. */
struct allo_heap_memory {
	uint64_t alloc_bytes, alloc_blocks, freed_bytes, freed_blocks;
	uint64_t live_bytes, live_blocks, peak_bytes, peak_blocks;
	uint64_t reserved[8];
};

/* This runtime itself. */
struct allo_profiler_memory {
	uint64_t is_recording; /* 0 or 1 */
	uint64_t own_bytes;    /* address space that it has; what it has touched may be less */
	uint64_t recording_bytes;
	uint64_t lost_blocks, failed_stacks, cut_stacks;
	uint64_t reserved[8];
};

/* A place that figures come from. */
struct allo_memory_source {
	char name[24];
	uint64_t read_ns; /* that reading it took; unknown if it was not read now */
	char why[104];    /* its figures are unknown, or old; "" if all is well */
};

enum { ALLO_MEMORY_SOURCES = 24 };

struct allo_memory_snapshot {
	uint64_t unix_ns, pid;
	struct allo_process_memory process;
	struct allo_page_memory pages;
	struct allo_cgroup_memory cgroup;
	struct allo_system_memory system;
	struct allo_allocator_memory allocator;
	struct allo_heap_memory heap;
	struct allo_profiler_memory profiler;
	uint32_t source_count;
	struct allo_memory_source sources[ALLO_MEMORY_SOURCES];
};

enum allo_memory_walk {
	/* Through all pages, with the address space locked against mmap() meanwhile.  Without this
	 * it is done where it takes less than a millisecond, and else not. */
	ALLO_WALK_PAGES = 1,
	/* Through glibc's free blocks, each arena being locked meanwhile: milliseconds, or half a
	 * second where millions of them are free.  Other allocators tell all they know at once. */
	ALLO_WALK_ARENAS = 2,
};

/* False if not even the process itself could be read.  In C++ write `struct` in front of the type.
 */
bool allo_get_memory_snapshot(struct allo_memory_snapshot *snapshot);

/* The same with walks: some of the above, added up. */
bool allo_get_memory_snapshot_walked(struct allo_memory_snapshot *snapshot, unsigned walks);

/* The same figures for a monitoring system. */
enum allo_metrics_format {
	ALLO_METRICS_PROMETHEUS,  /* text/plain; version=0.0.4; charset=utf-8 */
	ALLO_METRICS_OPENMETRICS, /* application/openmetrics-text; version=1.0.0; charset=utf-8 */
	ALLO_METRICS_JSON,        /* application/json */
};

/* Writes them, and a NUL, to `text`; what does not fit is left out.  Returns how long all of it is:
 * it fits if that is less than `room`. */
size_t allo_metrics_as(enum allo_metrics_format format, unsigned walks, char *text, size_t room);

/* For Prometheus, without walks. */
size_t allo_metrics_text(char *text, size_t room);

/* What the macros are made of. */

enum allo_limit {
	ALLO_LIMIT_BLOCKS,
	ALLO_LIMIT_HELD,
};

struct allo_limited {
	struct allo_scope scope;
	const char *file;
	int line;
	enum allo_limit limit;
	uint64_t allowed;
	bool is_open, is_checked;
};

struct allo_limited allo_limited_begin(const char *file, int line, enum allo_limit limit,
				       uint64_t allowed);
void allo_limited_end(struct allo_limited *limited);
bool allo_assert_begin(const char *file, int line, const char *condition,
		       struct allo_heap_stats *stats);
void allo_assert_failed(const char *file, int line, const char *condition,
			const struct allo_heap_stats *stats);

/* Left by break, return or goto, the braces are checked all the same. */
#define ALLO_ASSERT_WITHIN_(limit, allowed)                                                        \
	for (struct allo_limited allo_limited_ __attribute__((cleanup(allo_limited_end))) =        \
		     allo_limited_begin(__FILE__, __LINE__, limit, allowed);                       \
	     allo_limited_.is_open; allo_limited_end(&allo_limited_))

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
