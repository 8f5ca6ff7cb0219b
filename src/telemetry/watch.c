/* watch.c - see watch.h. */
#include "telemetry/watch.h"

#include "telemetry/cgroup_memory.h"
#include "telemetry/draft.h"
#include "telemetry/process_files.h"
#include "telemetry/ticking.h"

#include <dirent.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

void allo_watch_init(struct allo_watch *watch, const char *root, uint64_t pid)
{
	struct allo_draft draft = { watch->process, sizeof(watch->process), 0 };

	memset(watch, 0, sizeof(*watch));
	watch->root = root;
	watch->page_budget_ns = ALLO_PAGE_BUDGET_NS;
	watch->pid = pid;
	allo_draft_string(&draft, "/proc/");
	if (pid)
		allo_draft_u64(&draft, pid);
	else
		allo_draft_string(&draft, "self");
	allo_draft_end(&draft);
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
	struct allo_draft draft = { out, room, 0 };

	allo_draft_string(&draft, text);
	allo_draft_end(&draft);
}

void allo_snapshot_add_source(struct allo_memory_snapshot *snapshot, const char *name,
			      uint64_t read_ns, const char *why)
{
	struct allo_memory_source *source = &snapshot->sources[snapshot->source_count];

	if (snapshot->source_count == ALLO_MEMORY_SOURCES)
		return;
	copy(source->name, sizeof(source->name), name);
	copy(source->why, sizeof(source->why), why);
	source->read_ns = read_ns;
	snapshot->source_count++;
}

/* Files of the process. */

static void path_of(const struct allo_watch *watch, const char *name, char path[64])
{
	struct allo_draft draft = { path, 64, 0 };

	allo_draft_string(&draft, watch->process);
	allo_draft_string(&draft, "/");
	allo_draft_string(&draft, name);
	allo_draft_end(&draft);
}

static int open_file(struct allo_watch *watch, const char *name)
{
	char path[64];

	path_of(watch, name, path);
	return allo_lines_open(&watch->lines, watch->root, path);
}

static int read_status(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	int why = open_file(watch, "status");

	if (why)
		return why;
	allo_read_status(&watch->lines, &snapshot->process);
	return allo_lines_close(&watch->lines);
}

/* The same each time, though clocks are set and this is done between two of them. */
static uint64_t start_of(struct allo_watch *watch, uint64_t start_ticks, uint64_t ticks_per_second)
{
	uint64_t tick_ns = ALLO_SECOND_NS / ticks_per_second, start_ns;

	if (watch->start_unix_ns == 0 || watch->start_ticks != start_ticks) {
		start_ns = allo_clock_of(CLOCK_REALTIME) - allo_clock_of(CLOCK_BOOTTIME) +
			   start_ticks * tick_ns;
		watch->start_ticks = start_ticks;
		watch->start_unix_ns = (start_ns + tick_ns / 2) / tick_ns * tick_ns;
	}
	return watch->start_unix_ns;
}

static int read_stat(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	uint64_t ticks_per_second = getauxval(AT_CLKTCK), start_ticks = ALLO_UNKNOWN;
	int why = open_file(watch, "stat");

	if (why)
		return why;
	allo_read_stat(&watch->lines, ticks_per_second, &snapshot->process, &start_ticks);
	if (start_ticks != ALLO_UNKNOWN)
		snapshot->process.start_unix_ns = start_of(watch, start_ticks, ticks_per_second);
	return allo_lines_close(&watch->lines);
}

static int read_io(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	int why = open_file(watch, "io");

	if (why)
		return why;
	allo_read_io(&watch->lines, &snapshot->process);
	return allo_lines_close(&watch->lines);
}

static uint64_t limit_of(const struct rlimit64 *limit)
{
	return limit->rlim_cur == RLIM64_INFINITY ? ALLO_UNKNOWN : limit->rlim_cur;
}

/* The kernel tells at once of this process, and of others where it may. */
static bool ask_for_limits(const struct allo_watch *watch, struct allo_process_memory *process)
{
	struct rlimit64 files, space;

	if (watch->root[0] || syscall(SYS_prlimit64, watch->pid, RLIMIT_NOFILE, NULL, &files) < 0 ||
	    syscall(SYS_prlimit64, watch->pid, RLIMIT_AS, NULL, &space) < 0)
		return false;
	process->max_files = limit_of(&files);
	process->virtual_max_bytes = limit_of(&space);
	return true;
}

static int read_limits(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	int why;

	if (ask_for_limits(watch, &snapshot->process))
		return 0;
	why = open_file(watch, "limits");
	if (why)
		return why;
	allo_read_limits(&watch->lines, &snapshot->process);
	return allo_lines_close(&watch->lines);
}

static int read_oom_score(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	char path[64];

	path_of(watch, "oom_score", path);
	return allo_lines_number(&watch->lines, watch->root, path, &snapshot->process.oom_score);
}

/* Open files. */

/* Since Linux 6.2 the folder's size tells. */
static bool is_told_by_size(int fd, uint64_t *count)
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

/* False when there are too many to be counted in passing. */
static bool count_entries(struct allo_lines *lines, uint64_t *count)
{
	enum { MOST = 65536 };
	long len;

	*count = 0;
	while (*count <= MOST &&
	       (len = syscall(SYS_getdents64, lines->fd, lines->buffer, ALLO_LINES_ROOM)) > 0) {
		for (long at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(lines->buffer + at);

			*count += entry->d_name[0] != '.';
			at += entry->d_reclen;
		}
	}
	return *count <= MOST;
}

static int read_files(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	struct allo_lines *lines = &watch->lines;
	int why = open_file(watch, "fd");
	uint64_t count;

	if (why)
		return why;
	if (is_told_by_size(lines->fd, &count) || count_entries(lines, &count))
		snapshot->process.open_files = count;
	else
		copy(watch->why, sizeof(watch->why), "too many to be counted in passing");
	return allo_lines_close(lines);
}

/* Pages. */

/* What a walk will take: at first by what others took, 8 ms for each GiB of small pages. */
static uint64_t expected_ns(const struct allo_watch *watch, uint64_t rss)
{
	if (watch->walk_rss == 0)
		return rss / 128;
	return (uint64_t)((double)watch->walk_ns * (double)rss / (double)watch->walk_rss);
}

static int walk_pages(struct allo_watch *watch, uint64_t rss)
{
	uint64_t begin_ns = allo_clock_ns();
	int why = open_file(watch, "smaps_rollup");

	if (why)
		return why;
	memset(&watch->pages, 0xff, sizeof(watch->pages));
	allo_read_smaps_rollup(&watch->lines, &watch->pages);
	why = allo_lines_close(&watch->lines);
	watch->pages_ns = allo_clock_ns();
	watch->walk_ns = watch->pages_ns - begin_ns;
	watch->walk_rss = rss;
	return why;
}

static void explain_budget(struct allo_watch *watch, uint64_t expected)
{
	struct allo_draft draft = { watch->why, sizeof(watch->why), 0 };

	allo_draft_string(&draft, "walking through all pages would take about ");
	allo_draft_u64(&draft, (expected + 999999) / 1000000);
	allo_draft_string(&draft, " ms, which is more than it may");
	allo_draft_end(&draft);
}

/* Walks take no more than a hundredth of the time, unless they are asked for. */
static int read_pages(struct allo_watch *watch, unsigned walks,
		      struct allo_memory_snapshot *snapshot)
{
	uint64_t rss = snapshot->process.rss_bytes, now = allo_clock_ns();
	uint64_t expected = expected_ns(watch, rss);
	bool is_asked = walks & ALLO_WALK_PAGES;
	bool is_new = watch->pages_ns && now - watch->pages_ns < 100 * watch->walk_ns;
	int why = 0;

	if (is_asked || (!is_new && expected <= watch->page_budget_ns))
		why = walk_pages(watch, rss);
	else if (!is_new)
		explain_budget(watch, expected);
	if (watch->pages_ns && !why) {
		snapshot->pages = watch->pages;
		snapshot->pages.age_ns = allo_clock_ns() - watch->pages_ns;
	}
	return why;
}

static int read_smaps_rollup(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	return read_pages(watch, 0, snapshot);
}

static int walk_smaps_rollup(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	return read_pages(watch, ALLO_WALK_PAGES, snapshot);
}

/* Control groups. */

static int find_group(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	struct allo_cgroup_place *place = &watch->cgroup;
	int why = allo_cgroup_find(place, &watch->lines, watch->root, watch->process);

	if (why)
		return why;
	if (place->why) {
		copy(watch->why, sizeof(watch->why), place->why);
		return 0;
	}
	return allo_cgroup_read_usage(place, &watch->lines, watch->root, &snapshot->cgroup);
}

static int read_group_stat(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	return allo_cgroup_read_stat(&watch->cgroup, &watch->lines, watch->root, &snapshot->cgroup);
}

static int read_group_events(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	return allo_cgroup_read_events(&watch->cgroup, &watch->lines, watch->root,
				       &snapshot->cgroup);
}

static int read_group_pressure(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	if (watch->cgroup.v2.path[0])
		return allo_cgroup_read_pressure(&watch->cgroup, &watch->lines, watch->root,
						 &snapshot->cgroup);
	copy(watch->why, sizeof(watch->why),
	     "the process is in no group of version 2 that can be seen from here");
	return 0;
}

static int read_system_pressure(struct allo_watch *watch, struct allo_memory_snapshot *snapshot)
{
	int why = allo_lines_open(&watch->lines, watch->root, "/proc/pressure/memory");

	if (why)
		return why;
	allo_take_pressure(&watch->lines, &snapshot->system.pressure_some_ns,
			   &snapshot->system.pressure_full_ns);
	return allo_lines_close(&watch->lines);
}

/* All of it. */

typedef int reading(struct allo_watch *watch, struct allo_memory_snapshot *snapshot);

static void read_source(struct allo_watch *watch, struct allo_memory_snapshot *snapshot,
			const char *name, reading *read)
{
	uint64_t begin_ns = allo_clock_ns();
	int why;

	watch->why[0] = '\0';
	why = read(watch, snapshot);
	if (why) {
		const char *reason = strerrordesc_np(why);

		copy(watch->why, sizeof(watch->why), reason ? reason : "it cannot be read");
	}
	allo_snapshot_add_source(snapshot, name, allo_clock_ns() - begin_ns, watch->why);
}

static void read_others(struct allo_watch *watch, unsigned walks,
			struct allo_memory_snapshot *snapshot)
{
	read_source(watch, snapshot, "stat", read_stat);
	read_source(watch, snapshot, "io", read_io);
	read_source(watch, snapshot, "limits", read_limits);
	read_source(watch, snapshot, "oom_score", read_oom_score);
	read_source(watch, snapshot, "fd", read_files);
	read_source(watch, snapshot, "smaps_rollup",
		    walks & ALLO_WALK_PAGES ? walk_smaps_rollup : read_smaps_rollup);
	read_source(watch, snapshot, "cgroup", find_group);
	if (watch->cgroup.version > 0) {
		read_source(watch, snapshot, "cgroup_stat", read_group_stat);
		read_source(watch, snapshot, "cgroup_events", read_group_events);
	}
	read_source(watch, snapshot, "cgroup_pressure", read_group_pressure);
	read_source(watch, snapshot, "pressure", read_system_pressure);
}

bool allo_watch_read(struct allo_watch *watch, unsigned walks,
		     struct allo_memory_snapshot *snapshot)
{
	int before = errno;

	allo_snapshot_init(snapshot);
	snapshot->unix_ns = allo_clock_of(CLOCK_REALTIME);
	snapshot->pid = watch->pid ? watch->pid : (uint64_t)syscall(SYS_getpid);
	read_source(watch, snapshot, "status", read_status);
	if (snapshot->process.rss_bytes != ALLO_UNKNOWN)
		read_others(watch, walks, snapshot);
	errno = before;
	return snapshot->process.rss_bytes != ALLO_UNKNOWN;
}
