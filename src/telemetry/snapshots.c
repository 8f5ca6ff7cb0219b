/* snapshots.c - one function per source, each timed and with its own error. */
#include "telemetry/snapshots.h"

#include "base/assert.h"
#include "telemetry/error_text.h"
#include "telemetry/monotonic_clock.h"
#include "telemetry/process_files.h"
#include "telemetry/text_buffer.h"

#include <dirent.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

void allo_snapshots_init(struct allo_snapshots *shots, const char *root, uint64_t pid)
{
	struct allo_text_buffer buffer = { shots->process, sizeof(shots->process), 0 };

	memset(shots, 0, sizeof(*shots));
	shots->root = root;
	shots->page_budget_ns = ALLO_PAGE_BUDGET_NS;
	shots->pid = pid;
	allo_buffer_string(&buffer, "/proc/");
	if (pid)
		allo_buffer_u64(&buffer, pid);
	else
		allo_buffer_string(&buffer, "self");
	allo_buffer_end(&buffer);
}

void allo_snapshot_init(struct allo_memory_snapshot *snapshot)
{
	/* ALLO_UNKNOWN is all ones. */
	memset(snapshot, 0xff, sizeof(*snapshot));
	snapshot->cgroup.path[0] = '\0';
	snapshot->cgroup.stat_count = 0;
	snapshot->allocator.name[0] = '\0';
	snapshot->allocator.version[0] = '\0';
	snapshot->source_count = 0;
}

static void copy(char *out, size_t room, const char *text)
{
	struct allo_text_buffer buffer = { out, room, 0 };

	allo_buffer_string(&buffer, text);
	allo_buffer_end(&buffer);
}

void allo_snapshot_add_source(struct allo_memory_snapshot *snapshot, const char *name,
			      uint64_t read_ns, const char *why)
{
	struct allo_memory_source *source;
	uint32_t at = 0;

	while (at < snapshot->source_count && strcmp(snapshot->sources[at].name, name) != 0)
		at++;
	if (at == ALLO_MEMORY_SOURCES)
		return;
	source = &snapshot->sources[at];
	copy(source->name, sizeof(source->name), name);
	copy(source->why, sizeof(source->why), why);
	source->read_ns = read_ns;
	if (at == snapshot->source_count)
		snapshot->source_count++;
}

/* Files of the process. */

static void path_of(const struct allo_snapshots *shots, const char *name, char path[64])
{
	struct allo_text_buffer buffer = { path, 64, 0 };

	allo_buffer_string(&buffer, shots->process);
	allo_buffer_string(&buffer, "/");
	allo_buffer_string(&buffer, name);
	allo_buffer_end(&buffer);
}

static int open_file(struct allo_snapshots *shots, const char *name)
{
	char path[64];

	path_of(shots, name, path);
	return allo_proc_reader_open(&shots->reader, shots->root, path);
}

static int read_status(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	int why = open_file(shots, "status");

	if (why)
		return why;
	allo_read_status(&shots->reader, &snapshot->process);
	return allo_proc_reader_close(&shots->reader);
}

/* Computed once: setting the clock would move it, and so would the time between the two readings.
 */
static uint64_t start_of(struct allo_snapshots *shots, uint64_t start_ticks,
			 uint64_t ticks_per_second)
{
	uint64_t tick_ns = ALLO_SECOND_NS / ticks_per_second, start_ns;

	if (shots->start_unix_ns == 0 || shots->start_ticks != start_ticks) {
		start_ns = allo_clock_of(CLOCK_REALTIME) - allo_clock_of(CLOCK_BOOTTIME) +
			   start_ticks * tick_ns;
		shots->start_ticks = start_ticks;
		shots->start_unix_ns = (start_ns + tick_ns / 2) / tick_ns * tick_ns;
	}
	return shots->start_unix_ns;
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * ALLO_SECOND_NS + (uint64_t)time->tv_usec * 1000;
}

/* getrusage() is faster than /proc/self/stat, once the start time is known. */
static bool ask_for_usage(const struct allo_snapshots *shots, struct allo_process_memory *process)
{
	struct rusage usage;

	if (shots->root[0] || shots->pid || shots->start_unix_ns == 0 ||
	    syscall(SYS_getrusage, RUSAGE_SELF, &usage) < 0)
		return false;
	process->minor_faults = (uint64_t)usage.ru_minflt;
	process->major_faults = (uint64_t)usage.ru_majflt;
	process->cpu_ns = time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime);
	process->start_unix_ns = shots->start_unix_ns;
	return true;
}

static int read_stat(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	uint64_t ticks_per_second = getauxval(AT_CLKTCK), start_ticks = ALLO_UNKNOWN;
	int why;

	if (ask_for_usage(shots, &snapshot->process))
		return 0;
	why = open_file(shots, "stat");
	if (why)
		return why;
	allo_read_stat(&shots->reader, ticks_per_second, &snapshot->process, &start_ticks);
	if (start_ticks != ALLO_UNKNOWN)
		snapshot->process.start_unix_ns = start_of(shots, start_ticks, ticks_per_second);
	return allo_proc_reader_close(&shots->reader);
}

static int read_io(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	int why = open_file(shots, "io");

	if (why)
		return why;
	allo_read_io(&shots->reader, &snapshot->process);
	return allo_proc_reader_close(&shots->reader);
}

static uint64_t limit_of(const struct rlimit64 *limit)
{
	return limit->rlim_cur == RLIM64_INFINITY ? ALLO_UNKNOWN : limit->rlim_cur;
}

/* prlimit() is faster than /proc/PID/limits, but needs permission. */
static bool ask_for_limits(const struct allo_snapshots *shots, struct allo_process_memory *process)
{
	struct rlimit64 files, space;

	if (shots->root[0] || syscall(SYS_prlimit64, shots->pid, RLIMIT_NOFILE, NULL, &files) < 0 ||
	    syscall(SYS_prlimit64, shots->pid, RLIMIT_AS, NULL, &space) < 0)
		return false;
	process->max_files = limit_of(&files);
	process->virtual_max_bytes = limit_of(&space);
	return true;
}

static int read_limits(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	int why;

	if (ask_for_limits(shots, &snapshot->process))
		return 0;
	why = open_file(shots, "limits");
	if (why)
		return why;
	allo_read_limits(&shots->reader, &snapshot->process);
	return allo_proc_reader_close(&shots->reader);
}

static int read_oom_score(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	char path[64];

	path_of(shots, "oom_score", path);
	return allo_proc_reader_number(&shots->reader, shots->root, path,
				       &snapshot->process.oom_score);
}

/* Open files. */

/* Since Linux 6.2 the size of the folder is the number of open files. */
static bool count_by_size(int fd, uint64_t *count)
{
	enum { PROC_FILE_SYSTEM = 0x9fa0 };
	struct statfs system;
	struct stat status;

	if (syscall(SYS_fstatfs, fd, &system) < 0 || system.f_type != PROC_FILE_SYSTEM ||
	    syscall(SYS_fstat, fd, &status) < 0 || status.st_size == 0)
		return false;
	*count = (uint64_t)status.st_size;
	return true;
}

/* False if there are too many to count quickly. */
static bool count_entries(struct allo_proc_reader *reader, uint64_t *count)
{
	enum { MOST = 65536 };
	long len;

	*count = 0;
	while (*count <= MOST && (len = syscall(SYS_getdents64, reader->fd, reader->buffer,
						ALLO_PROC_READER_SIZE)) > 0) {
		for (long at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(reader->buffer + at);

			*count += entry->d_name[0] != '.';
			at += entry->d_reclen;
		}
	}
	return *count <= MOST;
}

static int read_files(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	struct allo_proc_reader *reader = &shots->reader;
	int why = open_file(shots, "fd");
	uint64_t count;

	if (why)
		return why;
	if (count_by_size(reader->fd, &count) || count_entries(reader, &count))
		snapshot->process.open_files = count;
	else
		copy(shots->why, sizeof(shots->why), "too many open files to count");
	return allo_proc_reader_close(reader);
}

/* Pages. */

/* Scales the duration of the last walk; before the first one, 8 ms per GiB as measured with small
 * pages. */
static uint64_t expected_ns(const struct allo_snapshots *shots, uint64_t rss)
{
	if (shots->walk_rss == 0)
		return rss / 128;
	return (uint64_t)((double)shots->walk_ns * (double)rss / (double)shots->walk_rss);
}

static int walk_pages(struct allo_snapshots *shots, uint64_t rss)
{
	/* CPU time: preemption must not make the next walk look expensive. */
	uint64_t begin_ns = allo_clock_of(CLOCK_THREAD_CPUTIME_ID);
	int why = open_file(shots, "smaps_rollup");

	if (why)
		return why;
	memset(&shots->pages, 0xff, sizeof(shots->pages));
	allo_read_smaps_rollup(&shots->reader, &shots->pages);
	why = allo_proc_reader_close(&shots->reader);
	shots->pages_ns = allo_clock_ns();
	shots->walk_ns = allo_clock_of(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	shots->walk_rss = rss;
	return why;
}

static void explain_budget(struct allo_snapshots *shots, uint64_t expected)
{
	struct allo_text_buffer buffer = { shots->why, sizeof(shots->why), 0 };

	allo_buffer_string(&buffer, "a walk through all pages would take about ");
	allo_buffer_u64(&buffer, (expected + 999999) / 1000000);
	allo_buffer_string(&buffer, " ms, which exceeds the budget");
	allo_buffer_end(&buffer);
}

/* Walks take at most 1 % of the time, unless the caller asks for one. */
static int read_pages(struct allo_snapshots *shots, unsigned walks,
		      struct allo_memory_snapshot *snapshot)
{
	uint64_t rss = snapshot->process.rss_bytes, now = allo_clock_ns();
	uint64_t expected = expected_ns(shots, rss);
	bool is_requested = walks & ALLO_WALK_PAGES;
	bool is_recent = shots->pages_ns && now - shots->pages_ns < 100 * shots->walk_ns;
	int why = 0;

	if (is_requested || (!is_recent && expected <= shots->page_budget_ns))
		why = walk_pages(shots, rss);
	else if (!is_recent)
		explain_budget(shots, expected);
	if (shots->pages_ns && !why) {
		snapshot->pages = shots->pages;
		snapshot->pages.age_ns = allo_clock_ns() - shots->pages_ns;
	}
	return why;
}

static int read_smaps_rollup(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	return read_pages(shots, 0, snapshot);
}

static int walk_smaps_rollup(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	return read_pages(shots, ALLO_WALK_PAGES, snapshot);
}

/* Control groups. */

static int find_group(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	struct allo_cgroup_place *place = &shots->cgroup;
	int why = allo_cgroup_find(place, &shots->reader, shots->root, shots->process);

	if (why)
		return why;
	if (place->why) {
		copy(shots->why, sizeof(shots->why), place->why);
		return 0;
	}
	return allo_cgroup_read_usage(place, &shots->reader, shots->root, &snapshot->cgroup);
}

static int read_group_stat(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	return allo_cgroup_read_stat(&shots->cgroup, &shots->reader, shots->root,
				     &snapshot->cgroup);
}

static int read_group_events(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	return allo_cgroup_read_events(&shots->cgroup, &shots->reader, shots->root,
				       &snapshot->cgroup);
}

static int read_group_pressure(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	if (shots->cgroup.v2.path[0])
		return allo_cgroup_read_pressure(&shots->cgroup, &shots->reader, shots->root,
						 &snapshot->cgroup);
	copy(shots->why, sizeof(shots->why),
	     "the process is in no visible control group of version 2");
	return 0;
}

static int read_system_pressure(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot)
{
	int why = allo_proc_reader_open(&shots->reader, shots->root, "/proc/pressure/memory");

	if (why)
		return why;
	allo_take_pressure(&shots->reader, &snapshot->system.pressure_some_ns,
			   &snapshot->system.pressure_full_ns);
	return allo_proc_reader_close(&shots->reader);
}

/* All sources. */

typedef int read_function(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot);

static void read_source(struct allo_snapshots *shots, struct allo_memory_snapshot *snapshot,
			const char *name, read_function *read)
{
	uint64_t begin_ns = allo_clock_ns();
	int why;

	shots->why[0] = '\0';
	why = read(shots, snapshot);
	if (why)
		copy(shots->why, sizeof(shots->why), allo_error_text(why));
	allo_snapshot_add_source(snapshot, name, allo_clock_ns() - begin_ns, shots->why);
}

static void read_others(struct allo_snapshots *shots, unsigned walks,
			struct allo_memory_snapshot *snapshot)
{
	read_source(shots, snapshot, "stat", read_stat);
	read_source(shots, snapshot, "io", read_io);
	read_source(shots, snapshot, "limits", read_limits);
	read_source(shots, snapshot, "oom_score", read_oom_score);
	read_source(shots, snapshot, "fd", read_files);
	read_source(shots, snapshot, "smaps_rollup",
		    walks & ALLO_WALK_PAGES ? walk_smaps_rollup : read_smaps_rollup);
	read_source(shots, snapshot, "cgroup", find_group);
	if (shots->cgroup.version > 0) {
		read_source(shots, snapshot, "cgroup_stat", read_group_stat);
		read_source(shots, snapshot, "cgroup_events", read_group_events);
	}
	read_source(shots, snapshot, "cgroup_pressure", read_group_pressure);
	read_source(shots, snapshot, "pressure", read_system_pressure);
}

bool allo_snapshots_take(struct allo_snapshots *shots, unsigned walks,
			 struct allo_memory_snapshot *snapshot)
{
	int before = errno;

	allo_snapshot_init(snapshot);
	snapshot->unix_ns = allo_clock_of(CLOCK_REALTIME);
	snapshot->pid = shots->pid ? shots->pid : (uint64_t)syscall(SYS_getpid);
	read_source(shots, snapshot, "status", read_status);
	if (snapshot->process.rss_bytes != ALLO_UNKNOWN)
		read_others(shots, walks, snapshot);
	errno = before;
	return snapshot->process.rss_bytes != ALLO_UNKNOWN;
}
