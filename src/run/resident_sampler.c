/*
 * resident_sampler.c - reads /proc/PID/status, breaks growth down, and writes both into the head of
 * the recording.
 */
#include "run/resident_sampler.h"

#include "base/assert.h"
#include "base/defer.h"
#include "ledger/ledger.h"
#include "run/allocator_name.h"
#include "run/known_runtime.h"
#include "telemetry/monotonic_clock.h"
#include "telemetry/process_files.h"
#include "wire/layout.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FIRST_MS = 5,
	LONGEST_MS = 1000,
	BUSY_SHARE = 200, /* samples take at most one of this many parts of the time */
	/* The same for breakdowns, which only growth causes.  Programs that end soon get more. */
	BREAKDOWN_SHARE = 150,
	BREAKDOWN_EARLY_SHARE = 33,
	BREAKDOWN_EARLY_NS = 300000000,
	BREAKDOWN_LEAST = 4 << 20,      /* bytes: smaller processes hold little but their code */
	BREAKDOWN_AGE_NS = 20000000,    /* of the recording: many processes end before */
	BREAKDOWN_LATER_NS = 200000000, /* after the last one, less growth is needed */
};

/* The recording. */

/* Finds the place for samples in a recording.  Returns a descriptor, or -1. */
static int open_recording(const char *path, uint64_t *start_ns, uint64_t *at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct allo_wire_head head;

	if (fd >= 0 && pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	    memcmp(head.magic, ALLO_HEAD_MAGIC, sizeof(head.magic)) == 0 &&
	    head.program.at >= sizeof(head) &&
	    head.resident.len == sizeof(struct allo_wire_resident) &&
	    head.resident.at <= ALLO_SLOT_SIZE - sizeof(struct allo_wire_resident)) {
		*start_ns = head.first.monotonic_ns;
		*at = head.resident.at;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Writes all but own_peak.  Never extends a file that was truncated. */
static void write_samples(int fd, uint64_t at, const struct allo_wire_resident *resident)
{
	size_t from = offsetof(struct allo_wire_resident, seen_peak);
	struct stat file;

	ALLO_ASSERT(at >= sizeof(struct allo_wire_head) &&
		    at + sizeof(*resident) <= ALLO_SLOT_SIZE);
	if (fstat(fd, &file) == 0 && file.st_size >= ALLO_SLOT_SIZE)
		(void)!pwrite(fd, (const char *)resident + from, sizeof(*resident) - from,
			      (off_t)(at + from));
}

/* Processes. */

static bool stat_exe(pid_t pid, struct stat *exe)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat(path, exe) == 0;
}

static void end_process(struct allo_sampled_process *process)
{
	ALLO_ASSERT(process->fd >= 0);
	close(process->fd);
	free(process);
}

/* A process that has executed another program has a new recording. */
static void drop_older(struct allo_resident_sampler *sampler, pid_t pid)
{
	for (size_t i = sampler->processes.len; i-- > 0;) {
		if (sampler->processes.at[i]->pid != pid)
			continue;
		end_process(sampler->processes.at[i]);
		sampler->processes.at[i] = sampler->processes.at[--sampler->processes.len];
	}
}

static void add_process(struct allo_resident_sampler *sampler, const struct allo_recorded *recorded)
{
	struct allo_sampled_process *process = calloc(1, sizeof(*process));
	struct stat exe;

	drop_older(sampler, recorded->pid);
	if (!process)
		return;
	process->pid = recorded->pid;
	process->resident.step_ns = ALLO_RESIDENT_STEP_NS;
	process->fd = open_recording(recorded->path, &process->start_ns, &process->at);
	if (process->fd >= 0 && stat_exe(process->pid, &exe) &&
	    allo_vec_append(&sampler->processes, &process, 1)) {
		process->exe_device = exe.st_dev;
		process->exe_inode = exe.st_ino;
		return;
	}
	if (process->fd >= 0)
		close(process->fd);
	free(process);
}

/* Whether a process has executed another program.  It announces that before, so a program that was
 * looked at before this call was still the one of the recording. */
static bool has_executed(struct allo_recordings *recordings, size_t index)
{
	struct allo_error err = { 0 };

	allo_recordings_read_more(recordings, &err);
	return recordings->all.at[index].has_executed;
}

static void find_processes(struct allo_resident_sampler *sampler,
			   struct allo_recordings *recordings)
{
	ALLO_ASSERT(sampler->recordings_seen <= recordings->all.len);
	for (; sampler->recordings_seen < recordings->all.len; sampler->recordings_seen++) {
		const struct allo_recorded *recorded =
			&recordings->all.at[sampler->recordings_seen];

		pid_t pid = recorded->pid;

		if (!recorded->path || pid == 0)
			continue;
		add_process(sampler, recorded);
		if (has_executed(recordings, sampler->recordings_seen))
			drop_older(sampler, pid);
	}
}

/* Breakdowns. */

static const enum allo_resident_part kinds[ALLO_PARTS] = {
	[ALLO_PART_LIVE] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_ROUNDING] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_BLOCKS] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_FREE_BLOCKS] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_CACHES] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_FREE_PAGES] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_ALLOCATOR] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_HEAP] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_UNTOUCHED] = ALLO_RESIDENT_HEAP,
	[ALLO_PART_STACKS] = ALLO_RESIDENT_STACKS,
	[ALLO_PART_CODE] = ALLO_RESIDENT_FILES,
	[ALLO_PART_FILES] = ALLO_RESIDENT_FILES,
	[ALLO_PART_DATA] = ALLO_RESIDENT_DATA,
	[ALLO_PART_SHARED] = ALLO_RESIDENT_SHARED,
	[ALLO_PART_PROFILER] = ALLO_RESIDENT_RECORDER,
	[ALLO_PART_KERNEL] = ALLO_RESIDENT_FILES,
	[ALLO_PART_UNEXPLAINED] = ALLO_RESIDENT_MAPPED,
};

/* glibc's memory is recognizable; that of other allocators looks like any other mapping. */
static enum allo_resident_part kind_of(const struct allo_ledger *ledger, int part)
{
	bool is_glibc = strcmp(ledger->allocator, "glibc") == 0;

	if (!is_glibc && (kinds[part] == ALLO_RESIDENT_HEAP || part == ALLO_PART_UNEXPLAINED))
		return ALLO_RESIDENT_EITHER;
	return kinds[part];
}

/* The program stays the same. */
static const char *allocator_of(struct allo_sampled_process *process, const struct allo_vmas *vmas)
{
	if (!process->allocator)
		process->allocator = allo_allocator_name(vmas, (uint64_t)process->pid);
	/* Its C code uses malloc; the heap of Go is memory that the program maps. */
	return strcmp(process->allocator, ALLO_GO) == 0 ? "glibc" : process->allocator;
}

/* The parts that 'allo mem --no-walk' prints. */
static bool make_ledger(struct allo_sampled_process *process, struct allo_ledger *ledger)
{
	ALLO_DEFER(allo_other_memory_close) struct allo_other_memory memory = { .pagemap = -1 };
	ALLO_DEFER(allo_vmas_done) struct allo_vmas vmas = { 0 };
	struct allo_ledger_facts facts = { .live_bytes = ALLO_UNKNOWN,
					   .live_blocks = ALLO_UNKNOWN };
	struct allo_error err = { 0 };

	if (!allo_vmas_read(&vmas, "", (uint64_t)process->pid, &err))
		return false;
	allo_other_memory_open(&memory, (uint64_t)process->pid);
	facts.allocator = allocator_of(process, &vmas);
	return allo_ledger_make(ledger, &vmas, &memory, &facts, &err);
}

static void take_parts(struct allo_wire_resident *resident, const struct allo_ledger *ledger,
		       uint64_t ns)
{
	int64_t sums[ALLO_RESIDENT_PARTS] = { 0 };

	for (int i = 0; i < ALLO_PARTS; i++)
		sums[kind_of(ledger, i)] += ledger->rows[i].rss;
	for (int i = 0; i < ALLO_RESIDENT_PARTS; i++)
		resident->parts[i] = sums[i] > 0 ? (uint64_t)sums[i] : 0;
	resident->parts_ns = ns;
}

/* A process that has stopped growing gets a last one, close to its peak. */
static bool has_grown(const struct allo_sampled_process *process, uint64_t age_ns, uint64_t rss)
{
	uint64_t before = process->breakdown_rss;
	bool is_old = age_ns > process->resident.parts_ns + BREAKDOWN_LATER_NS;

	return rss > before + before / (is_old ? 100 : 30);
}

/* The time that breakdowns may take until a recording has this age. */
static uint64_t breakdown_budget(uint64_t age_ns)
{
	uint64_t early_ns = age_ns < BREAKDOWN_EARLY_NS ? age_ns : BREAKDOWN_EARLY_NS;

	return early_ns / BREAKDOWN_EARLY_SHARE + (age_ns - early_ns) / BREAKDOWN_SHARE;
}

static bool is_breakdown_due(const struct allo_sampled_process *process, uint64_t age_ns,
			     uint64_t rss)
{
	return rss >= BREAKDOWN_LEAST && age_ns >= BREAKDOWN_AGE_NS &&
	       has_grown(process, age_ns, rss) && process->breakdown_ns <= breakdown_budget(age_ns);
}

static uint64_t cpu_ns(void)
{
	return allo_clock_of(CLOCK_THREAD_CPUTIME_ID);
}

static void break_down(struct allo_resident_sampler *sampler, struct allo_sampled_process *process,
		       uint64_t age_ns, uint64_t rss)
{
	uint64_t begin_ns = cpu_ns(), took_ns;
	bool is_first = !process->allocator;
	struct allo_ledger ledger;

	process->breakdown_rss = rss;
	if (make_ledger(process, &ledger))
		take_parts(&process->resident, &ledger, age_ns);
	took_ns = cpu_ns() - begin_ns;
	sampler->breakdown_ns += took_ns;
	/* The first one finds the allocator, and must not delay the next ones. */
	if (!is_first)
		process->breakdown_ns += took_ns;
}

/* Samples. */

/* False if the process has ended. */
static bool read_memory(pid_t pid, struct allo_process_memory *memory)
{
	struct allo_proc_reader reader;
	char path[48];

	memory->rss_bytes = memory->rss_peak_bytes = ALLO_UNKNOWN;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (allo_proc_reader_open(&reader, "", path) != 0)
		return false;
	allo_read_status(&reader, memory);
	allo_proc_reader_close(&reader);
	return memory->rss_bytes != ALLO_UNKNOWN && memory->rss_peak_bytes != ALLO_UNKNOWN;
}

/* False if the process has ended, or executed another program. */
static bool sample(struct allo_resident_sampler *sampler, struct allo_sampled_process *process)
{
	struct allo_process_memory memory;
	uint64_t now = allo_clock_ns();
	uint64_t age_ns = now > process->start_ns ? now - process->start_ns : 0;
	struct stat exe;

	if (!read_memory(process->pid, &memory) || !stat_exe(process->pid, &exe) ||
	    exe.st_dev != process->exe_device || exe.st_ino != process->exe_inode)
		return false;
	allo_resident_add(&process->resident, age_ns, memory.rss_bytes, memory.rss_peak_bytes);
	if (is_breakdown_due(process, age_ns, memory.rss_bytes))
		break_down(sampler, process, age_ns, memory.rss_bytes);
	write_samples(process->fd, process->at, &process->resident);
	return true;
}

/* One sample per step of a recording of this age, which doubles with its length. */
static unsigned next_ms(const struct allo_resident_sampler *sampler, uint64_t busy_ns)
{
	uint64_t age_ms = (allo_clock_ns() - sampler->begin_ns) / 1000000, next = FIRST_MS;
	uint64_t busy_ms = busy_ns * BUSY_SHARE / 1000000;

	while (next < ALLO_RESIDENT_STEP_NS / 1000000 && next < age_ms)
		next *= 2;
	while (next * ALLO_RESIDENT_SAMPLES < age_ms)
		next *= 2;
	if (next < busy_ms)
		next = busy_ms;
	return next < LONGEST_MS ? (unsigned)next : LONGEST_MS;
}

unsigned allo_resident_sampler_look(struct allo_resident_sampler *sampler,
				    struct allo_recordings *recordings)
{
	uint64_t begin_ns = cpu_ns() - sampler->breakdown_ns;

	if (sampler->begin_ns == 0)
		sampler->begin_ns = allo_clock_ns();
	find_processes(sampler, recordings);
	for (size_t i = sampler->processes.len; i-- > 0;) {
		if (sample(sampler, sampler->processes.at[i]))
			continue;
		end_process(sampler->processes.at[i]);
		sampler->processes.at[i] = sampler->processes.at[--sampler->processes.len];
	}
	return next_ms(sampler, cpu_ns() - sampler->breakdown_ns - begin_ns);
}

/* The end. */

/* NULL as well if the process has executed a program since, of which the peak may be. */
static const char *last_recording(const struct allo_recordings *recordings, pid_t pid)
{
	for (size_t i = recordings->all.len; i > 0; i--) {
		const struct allo_recorded *recorded = &recordings->all.at[i - 1];

		if (recorded->pid == pid && recorded->path)
			return recorded->has_executed ? NULL : recorded->path;
	}
	return NULL;
}

void allo_resident_sampler_end(const struct allo_recordings *recordings, pid_t pid, uint64_t peak)
{
	const char *path = last_recording(recordings, pid);
	struct allo_wire_resident resident;
	uint64_t start_ns, at;
	int fd = path ? open_recording(path, &start_ns, &at) : -1;

	if (fd < 0)
		return;
	if (pread(fd, &resident, sizeof(resident), (off_t)at) == sizeof(resident) &&
	    resident.own_peak == 0 && resident.seen_peak < peak) {
		resident.seen_peak = peak;
		write_samples(fd, at, &resident);
	}
	close(fd);
}

void allo_resident_sampler_done(struct allo_resident_sampler *sampler)
{
	for (size_t i = 0; i < sampler->processes.len; i++)
		end_process(sampler->processes.at[i]);
	allo_vec_done(&sampler->processes);
}
