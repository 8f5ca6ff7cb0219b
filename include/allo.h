/*
 * allo.h - records the allocations of this program, reports heap statistics and memory use, and
 * checks both in tests.
 *
 *     cc program.c $(pkg-config --cflags --libs allo)
 *
 *     allo_start(NULL);
 *     ... the part that matters ...
 *     printf("recorded in %s\n", allo_stop());
 *
 * Linking the library interposes malloc and its relatives, and C++'s operators new and delete, for
 * the whole process and all its threads.  Until allo_start() this costs one indirect jump per call.
 * The recording file is complete at every moment: it survives exit(), abort() and SIGKILL.
 * `allo summary FILE` and all other commands read it.
 *
 * Environment variables override the program: each setting names its variable.
 * ALLO_OUTPUT=PATTERN records the whole program from its start, as `allo run` does; allo_start()
 * and allo_stop() then add marks to that recording.
 *
 * A program with more rights than its caller (setuid, setgid or file capabilities) ignores these
 * variables and PATH, writes no recording and starts no program: allo_start() fails, except in the
 * mode ALLO_COUNTERS, and so do allo_dump(), allo_dump_buffer() and allo_dump_on_signal().
 *
 * Errors: functions that return bool or a pointer return false or NULL on failure, and allo_error()
 * returns the reason.  Threads: all functions may be called from any thread at any time, also while
 * nothing is recorded.  Signal handlers: none of these functions may be called from one.
 *
 * The library copies all strings it is given.
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

/* The allocations that a recording holds. */
enum allo_mode {
	ALLO_EXACT,          /* every allocation */
	ALLO_SAMPLED,        /* random: one per `rate` bytes on average; for production */
	ALLO_SAMPLED_EVENTS, /* random: one in `rate` allocations on average */
	ALLO_COUNTERS,       /* none: statistics only, no file */
	ALLO_AD_HOC,         /* none: only the program's own events, see allo_event() */
};

/* The method that finds the call stack of an allocation. */
enum allo_unwinder {
	ALLO_UNWINDER_AUTO,  /* unwind tables; frame pointers where there are no tables */
	ALLO_UNWINDER_FP,    /* frame pointers */
	ALLO_UNWINDER_DWARF, /* unwind tables */
	ALLO_UNWINDER_NONE,  /* no stacks */
};

/* Options of a recording.  Initialize it to zero: zero means the default. */
struct allo_config {
	/* File name pattern of the recording: %e is the program's name, %p the process id, %t the
	 * time, %h the host, %n the first unused number (default: "%e.%p.%n.allo").  An
	 * existing recording stays: the process id is added to the name then.  ALLO_PATH */
	const char *path;
	/* Output format: "dhat", "pprof", "folded", "sqlite" or another one that `allo formats`
	 * lists.  allo_stop() and exit() run the program `allo` to write it to `path` (default:
	 * "allo", the recording itself).  ALLO_FORMAT */
	const char *format;
	/* More options for that conversion, as on the command line of `allo convert`.
	 * ALLO_OPTIONS */
	const char *options;
	enum allo_mode mode;         /* ALLO_MODE=exact|sampled|events|counters|ad-hoc */
	enum allo_unwinder unwinder; /* ALLO_UNWIND=auto|fp|dwarf|none */
	/* Sampling interval: bytes for ALLO_SAMPLED (default: 524288), allocations for
	 * ALLO_SAMPLED_EVENTS (default: 1000).  ALLO_RATE */
	uint64_t rate;
	uint64_t min_size;    /* bytes; smaller blocks are not recorded.  ALLO_MIN_SIZE */
	uint64_t max_file;    /* bytes; recording stops there (0: no limit).  ALLO_MAX_FILE */
	uint32_t stack_depth; /* maximum frames per stack (0: no limit).  ALLO_STACK_DEPTH */
	bool has_stats;       /* keep statistics as well as the recording.  ALLO_STATS=1 */
	bool no_follow;       /* do not record children made by fork().  ALLO_FOLLOW=0 */
	bool has_exact_times; /* read the clock at every event, for about 7 ns.  ALLO_TIME=exact */
	uint64_t reserved[8];
};

/* Starts recording, in all threads.  NULL as `config` means all defaults.  Returns the path of the
 * recording, or "" if the mode has no file.  The library owns the string and keeps it until the
 * next start. */
const char *allo_start(const struct allo_config *config);

/* Stops recording, and converts the recording if a format was requested.  Returns the path of the
 * file it wrote.  The library owns the string and keeps it until the next stop. */
const char *allo_stop(void);

/* Returns whether a recording is in progress. */
bool allo_is_recording(void);

/* Returns the error message of this thread's last failed call, or "".  The library owns the string
 * and keeps it until this thread's next failure. */
const char *allo_error(void);

/* Writes everything recorded so far to `path`, and keeps recording.  The file's ending selects the
 * format: x.pb.gz, dhat.out.json, x.db.  Formats of live memory (pprof, gperftools) get the live
 * heap, with inuse_space as pprof's default. */
bool allo_dump(const char *path);

/* Writes everything recorded so far to memory, in a format that `allo formats` lists (NULL:
 * "pprof").  The caller frees *data with free(). */
bool allo_dump_buffer(const char *format, void **data, size_t *len);

/* Installs a signal handler that dumps the recording as allo_dump() does.  `path` is a pattern as
 * in allo_config; %n counts the signals.  The dump runs in the background. */
bool allo_dump_on_signal(int signal, const char *path);

/* Statistics.  ALLO_COUNTERS keeps them; other modes do if `has_stats` is set.  They count
 * requested sizes, in bytes, and never blocks from before the start. */

struct allo_heap_stats {
	uint64_t total_blocks, total_bytes;    /* all allocations so far */
	int64_t current_blocks, current_bytes; /* live now */
	uint64_t peak_blocks, peak_bytes;      /* live at the moment with the most live bytes */
};

/* Gets the statistics of the whole process since the start.  They are exact: other threads wait
 * while they are summed. */
bool allo_get_heap_stats(struct allo_heap_stats *stats);

/* Gets the difference between now and `before`.  Current numbers may be negative.  The peak is that
 * since the start if it was reached after `before`, else 0; for the peak of a period use a scope.
 */
bool allo_get_heap_stats_since(const struct allo_heap_stats *before, struct allo_heap_stats *since);

/* Gets the statistics of the calling thread since the start: its allocations and its frees, also of
 * other threads' blocks. */
bool allo_get_thread_stats(struct allo_heap_stats *stats);

/* Measures the calling thread from begin to end, independent of other threads, so tests can run in
 * parallel.  A scope has its own peak.  Scopes nest: end the innermost one first. */
struct allo_scope {
	struct allo_heap_stats before;
	uint64_t reserved[4];
};

/* Begins a scope in the calling thread. */
bool allo_scope_begin(struct allo_scope *scope);

/* Gets the statistics of an open scope so far. */
bool allo_scope_stats(const struct allo_scope *scope, struct allo_heap_stats *stats);

/* Ends a scope and gets its statistics.  Call it in the thread that began it. */
bool allo_scope_end(struct allo_scope *scope, struct allo_heap_stats *stats);

/* Assertions for tests.  They need statistics, and fail without them.  A failed assertion stops the
 * recording, prints its path, the limit and the actual numbers, and aborts (see
 * allo_set_assert_handler()). */

/* ALLO_ASSERT_NO_ALLOCS { ... }: the calling thread allocates nothing within the braces. */
#define ALLO_ASSERT_NO_ALLOCS ALLO_ASSERT_WITHIN_(ALLO_LIMIT_BLOCKS, 0)

/* ALLO_ASSERT_MAX_BYTES(bytes) { ... }: within the braces the calling thread's live bytes never
 * grow by more than `bytes`. */
#define ALLO_ASSERT_MAX_BYTES(bytes) ALLO_ASSERT_WITHIN_(ALLO_LIMIT_HELD, bytes)

/* Asserts a condition on `stats`, the struct allo_heap_stats of the process:
 *
 *     ALLO_ASSERT_HEAP(stats.peak_bytes < 1 << 20);
 */
#define ALLO_ASSERT_HEAP(condition)                                                                \
	do {                                                                                       \
		struct allo_heap_stats stats;                                                      \
		if (allo_assert_begin(__FILE__, __LINE__, #condition, &stats) && !(condition))     \
			allo_assert_failed(__FILE__, __LINE__, #condition, &stats);                \
	} while (0)

/* Sets the function that a failed assertion calls instead of abort() (NULL: abort() again).  It
 * may return or longjmp().  It applies to all threads. */
typedef void allo_assert_handler(const char *message);
void allo_set_assert_handler(allo_assert_handler *handler);

/* Annotations. */

/* Adds a label to the calling thread: its allocations carry it until allo_label_pop().  If two
 * labels have the same key, the inner one wins. */
void allo_label_push(const char *key, const char *value);

/* Removes the calling thread's innermost label. */
void allo_label_pop(void);

/* Names this moment, for example for `allo summary --range loaded..end`. */
void allo_mark(const char *name);

/* Records an event with its call stack, to profile something other than allocations.  The unit of
 * `weight` is the program's choice. */
void allo_event(uint64_t weight);
void allo_event_named(const char *name, uint64_t weight);

struct allo_event_stats {
	uint64_t total_events, total_units; /* units: the sum of the weights */
};

/* Gets the number and the total weight of all events since the start. */
bool allo_get_event_stats(struct allo_event_stats *stats);

/* Custom allocators such as pools and arenas.  Report a block after it was allocated and before it
 * is freed.  Heaps are independent of each other and of malloc, so a pool may hand out the first
 * address of a block that it got from malloc.  Statistics need blocks at least 8 bytes apart. */

/* Returns the id of the heap with this name, which it registers if needed.  Its blocks carry the
 * label heap=NAME.  Returns 0, the heap without a name, on failure. */
uint32_t allo_heap(const char *name);

/* Reports a new block of `size` bytes. */
void allo_on_alloc(uint32_t heap, const void *block, size_t size);

/* Reports that a block is about to be freed. */
void allo_on_free(uint32_t heap, const void *block);

/* Reports that a block is about to be resized.  Allocations of the calling thread are not recorded
 * until allo_on_realloc_end(): they are the allocator's own. */
void allo_on_realloc_begin(uint32_t heap, const void *block);

/* Reports the resized block, or NULL if resizing failed. */
void allo_on_realloc_end(uint32_t heap, const void *moved, size_t size);

/* Memory: numbers about this process from the kernel, its control group, its allocator and this
 * library.  A snapshot takes at most a few tenths of a millisecond for a process of any size, does
 * not allocate and stops no thread.  Slower numbers must be requested as walks.
 *
 *     struct allo_memory_snapshot now;
 *
 *     allo_get_memory_snapshot(&now);
 *     if (now.cgroup.limit_bytes != ALLO_UNKNOWN)
 *             room = now.cgroup.limit_bytes - now.cgroup.working_set_bytes;
 */

/* The value of an unknown number; never 0.  `sources` gives the reason. */
#define ALLO_UNKNOWN UINT64_MAX

/* The process, as the kernel reports it. */
struct allo_process_memory {
	uint64_t rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes, rss_peak_bytes;
	uint64_t virtual_bytes, virtual_peak_bytes;
	uint64_t virtual_max_bytes; /* ALLO_UNKNOWN also means no limit */
	uint64_t data_bytes, stack_bytes, text_bytes, library_bytes; /* parts of virtual_bytes */
	uint64_t swap_bytes, locked_bytes, pinned_bytes, hugetlb_bytes, pagetable_bytes;
	uint64_t minor_faults, major_faults;
	uint64_t cpu_ns, start_unix_ns;
	uint64_t threads, open_files, max_files;
	uint64_t read_calls, write_calls, read_call_bytes, write_call_bytes;
	uint64_t read_storage_bytes, write_storage_bytes, cancelled_write_bytes;
	uint64_t oom_score;
	uint64_t reserved[8];
};

/* The last walk through all pages, which takes 8 ms per GiB. */
struct allo_page_memory {
	uint64_t age_ns; /* time since the walk */
	uint64_t rss_bytes, pss_bytes, uss_bytes;
	uint64_t pss_anon_bytes, pss_file_bytes, pss_shmem_bytes, pss_dirty_bytes;
	uint64_t shared_clean_bytes, shared_dirty_bytes, private_clean_bytes, private_dirty_bytes;
	uint64_t referenced_bytes, anonymous_bytes, ksm_bytes, lazyfree_bytes;
	uint64_t anon_huge_bytes, shmem_huge_bytes, file_huge_bytes;
	uint64_t shared_hugetlb_bytes, private_hugetlb_bytes;
	uint64_t swap_bytes, swap_pss_bytes, locked_bytes;
	uint64_t reserved[8];
};

/* A line of the control group's memory.stat, by its cgroup v2 name. */
struct allo_cgroup_stat {
	char name[40];
	uint64_t value;
	bool is_counter; /* events since the group was created; else bytes */
};

enum { ALLO_CGROUP_STATS = 96 };

/* The control group that counts the memory of this process. */
struct allo_cgroup_memory {
	char path[256];   /* truncated if longer */
	uint64_t version; /* of the hierarchy: 1 or 2 */
	uint64_t current_bytes, peak_bytes;
	/* The lowest of the group and its ancestors; a container sees only some of them. */
	uint64_t limit_bytes, high_bytes, swap_limit_bytes;
	uint64_t working_set_bytes; /* current_bytes without inactive file pages */
	uint64_t swap_bytes, swap_peak_bytes;
	uint64_t low_events, high_events, max_events, oom_events, oom_kills, oom_group_kills;
	uint64_t pressure_some_ns, pressure_full_ns; /* time spent waiting for memory */
	uint64_t reserved[8];
	uint32_t stat_count; /* used entries of `stats` */
	struct allo_cgroup_stat stats[ALLO_CGROUP_STATS];
};

/* The whole machine. */
struct allo_system_memory {
	uint64_t pressure_some_ns, pressure_full_ns; /* time spent waiting for memory */
	uint64_t reserved[8];
};

/* The allocator's own statistics; no allocator has all of them. */
struct allo_allocator_memory {
	char name[16]; /* glibc, jemalloc, tcmalloc, mimalloc; "" if unknown */
	char version[48];
	uint64_t allocated_bytes; /* in live blocks, rounded up to size classes */
	uint64_t active_bytes;    /* in pages that hold at least one block */
	uint64_t resident_bytes;  /* as the allocator counts them */
	uint64_t mapped_bytes;    /* address space */
	uint64_t mapped_peak_bytes;
	uint64_t retained_bytes; /* address space without memory behind it */
	uint64_t metadata_bytes;
	uint64_t committed_bytes, committed_peak_bytes;
	uint64_t free_list_bytes;    /* free, in free lists */
	uint64_t free_page_bytes;    /* free, whole pages */
	uint64_t thread_cache_bytes; /* free, in thread caches */
	uint64_t block_map_bytes;    /* blocks that are mappings of their own */
	uint64_t arenas;
	uint64_t reserved[8];
};

/* The heap statistics of this library, if it keeps them: see struct allo_heap_stats. */
struct allo_heap_memory {
	uint64_t alloc_bytes, alloc_blocks, freed_bytes, freed_blocks;
	uint64_t live_bytes, live_blocks, peak_bytes, peak_blocks;
	uint64_t reserved[8];
};

/* This library itself. */
struct allo_profiler_memory {
	uint64_t is_recording;    /* 0 or 1 */
	uint64_t own_bytes;       /* address space that it uses; its resident set is smaller */
	uint64_t recording_bytes; /* size of the recording file */
	uint64_t lost_pages, failed_stacks, cut_stacks;
	uint64_t reserved[8];
};

/* A source of numbers, such as a file in /proc. */
struct allo_memory_source {
	char name[24];
	uint64_t read_ns; /* duration of the read; ALLO_UNKNOWN if it was not read now */
	char why[104];    /* reason that its numbers are unknown or old; "" if they are current */
};

enum { ALLO_MEMORY_SOURCES = 24 };

/* All numbers together, about 10 KB; the caller owns it. */
struct allo_memory_snapshot {
	uint64_t unix_ns; /* time of the snapshot since 1970, UTC */
	uint64_t pid;
	struct allo_process_memory process;
	struct allo_page_memory pages;
	struct allo_cgroup_memory cgroup;
	struct allo_system_memory system;
	struct allo_allocator_memory allocator;
	struct allo_heap_memory heap;
	struct allo_profiler_memory profiler;
	uint32_t source_count; /* used entries of `sources` */
	struct allo_memory_source sources[ALLO_MEMORY_SOURCES];
};

/* Slow parts of a snapshot. */
enum allo_memory_walk {
	/* Walks all pages, which blocks mmap() in the meantime.  Without this flag, a snapshot
	 * walks them only if that takes less than a millisecond. */
	ALLO_WALK_PAGES = 1,
	/* Walks glibc's free blocks, which locks each arena in turn: milliseconds, or half a second
	 * with millions of free blocks.  Other allocators need no walk. */
	ALLO_WALK_ARENAS = 2,
};

/* Fills a snapshot without walks.  Returns false if even the process itself cannot be read. */
bool allo_get_memory_snapshot(struct allo_memory_snapshot *snapshot);

/* Fills a snapshot with walks: an OR of enum allo_memory_walk. */
bool allo_get_memory_snapshot_walked(struct allo_memory_snapshot *snapshot, unsigned walks);

/* Formats of a snapshot for a monitoring system, with their content types. */
enum allo_metrics_format {
	ALLO_METRICS_PROMETHEUS,  /* text/plain; version=0.0.4; charset=utf-8 */
	ALLO_METRICS_OPENMETRICS, /* application/openmetrics-text; version=1.0.0; charset=utf-8 */
	ALLO_METRICS_JSON,        /* application/json */
};

/* Takes a snapshot and writes it as a NUL-terminated text of at most `room` bytes.  Returns the
 * length of the whole text without its NUL: the text is truncated if that is `room` or more.
 * Returns 0 on failure. */
size_t allo_metrics_as(enum allo_metrics_format format, unsigned walks, char *text, size_t room);

/* Writes a snapshot for Prometheus, without walks. */
size_t allo_metrics_text(char *text, size_t room);

/* Internal: the assertion macros call these. */

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

/* The cleanup attribute checks the limit also after break, return or goto out of the braces. */
#define ALLO_ASSERT_WITHIN_(limit, allowed)                                                        \
	for (struct allo_limited allo_limited_ __attribute__((cleanup(allo_limited_end))) =        \
		     allo_limited_begin(__FILE__, __LINE__, limit, allowed);                       \
	     allo_limited_.is_open; allo_limited_end(&allo_limited_))

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
