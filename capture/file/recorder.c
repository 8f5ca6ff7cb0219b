/* recorder.c - creating a recording, handing out its slots, and writing its head. */
#include "capture/file/recorder.h"
#include "base/assert.h"
#include "capture/debug_log.h"
#include "capture/file/announce.h"
#include "capture/file/helper_process.h"
#include "capture/file/own_resident.h"
#include "capture/file/recorder_file.h"
#include "capture/settings.h"
#include "capture/system.h"
#include "capture/time/kernel_tick.h"
#include "capture/time/pace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct allo_recorder *allo_recorder;
uint32_t allo_generation;

static const char *reason(enum allo_wire_end why)
{
	static const char *const reasons[] = {
		[ALLO_END_NONE] = "unknown",
		[ALLO_END_EXIT] = "exit",
		[ALLO_END_STOPPED] = "stopped or its time is over",
		[ALLO_END_FULL] = "the size limit of the file is reached",
		[ALLO_END_DISK] = "no room on the disk",
		[ALLO_END_LOST] = "the file cannot be opened any more",
		[ALLO_END_INTERNAL] = "not followed into a child, or out of memory",
		[ALLO_END_SANDBOX] = "the space for the sandbox is used up",
		[ALLO_END_LIMIT] = "the limit of the process for file sizes is reached",
	};

	return reasons[why];
}

void allo_recorder_stop(enum allo_wire_end why)
{
	struct allo_recorder *r = allo_recorder;
	uint32_t none = ALLO_END_NONE;

	/* The first reason counts. */
	if (r->head && __atomic_compare_exchange_n(&r->head->end, &none, (uint32_t)why, false,
						   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		ALLO_DEBUG(ALLO_DEBUG_SESSION, "recording stopped: %s", reason(why));
	__atomic_store_n(&r->state, ALLO_RECORDER_OFF, __ATOMIC_RELEASE);
}

/* Slots. */

/* Writing beyond RLIMIT_FSIZE would send SIGXFSZ to the program. */
static bool is_within_limit(uint64_t end)
{
	struct rlimit limit;

	return ALLO_SYSCALL4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0 ||
	       limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

/* The first slot that a stream of a bounded recording must not use. */
static uint64_t ring_end(enum allo_stream_kind kind)
{
	struct allo_wire_ring *ring = &allo_recorder->head->ring;
	uint64_t limit = __atomic_load_n(&ring->limit, __ATOMIC_ACQUIRE);

	return kind == ALLO_STREAM_EVENTS ? limit : limit + allo_wire_ring_spare(ring);
}

/* Takes `count` slots.  False, without an effect, if a bounded recording has no room for them: it
 * goes on when `allo run` has freed some. */
static bool take_slots(enum allo_stream_kind kind, uint64_t count, uint64_t *number)
{
	struct allo_recorder *r = allo_recorder;

	*number = __atomic_load_n(&r->slots, __ATOMIC_RELAXED);
	do {
		if (r->head->ring.size > 0 && *number + count > ring_end(kind))
			return false;
	} while (!__atomic_compare_exchange_n(&r->slots, number, *number + count, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

/* The offset of the next slot at the end of the file.  Stops the recording and returns false if the
 * file is full or at its limit. */
static bool take_slot(enum allo_stream_kind kind, uint64_t *offset)
{
	struct allo_recorder *r = allo_recorder;
	uint64_t number;

	if (!take_slots(kind, 1, &number))
		return false;

	*offset = number * ALLO_SLOT_SIZE;
	if (number >= r->slots_max)
		allo_recorder_stop(ALLO_END_FULL);
	else if (!is_within_limit(*offset + ALLO_SLOT_SIZE))
		allo_recorder_stop(ALLO_END_LIMIT);
	else
		return true;
	return false;
}

/* Gives back a slot that was not used, if it is still the last one. */
static void untake_slot(uint64_t offset)
{
	uint64_t next = offset / ALLO_SLOT_SIZE + 1;

	__atomic_compare_exchange_n(&allo_recorder->slots, &next, next - 1, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

/* Raises the head's slot count once the slot is in the file.  Not earlier: if another thread ends
 * the process before that, readers must not miss a slot that was only reserved. */
static void publish_slot(uint64_t offset)
{
	uint64_t *published = &allo_recorder->head->slots, slots = offset / ALLO_SLOT_SIZE + 1;
	uint64_t before = __atomic_load_n(published, __ATOMIC_RELAXED);

	while (before < slots && !__atomic_compare_exchange_n(published, &before, slots, true,
							      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
	}
}

/* Allocates disk blocks first: writing to a mapping that the disk has no room for raises SIGBUS. */
static long reserve(long fd, uint64_t offset, uint64_t size)
{
	static const uint8_t zeros[4096];
	long result = ALLO_SYSCALL4(SYS_fallocate, fd, 0, offset, size);

	if (result != -EOPNOTSUPP && result != -ENOSYS)
		return result;
	for (uint64_t done = 0; done < size; done += sizeof(zeros)) {
		result = ALLO_SYSCALL4(SYS_pwrite64, fd, zeros, sizeof(zeros), offset + done);
		if (result != sizeof(zeros))
			return result < 0 ? result : -ENOSPC;
	}
	return 0;
}

static void *map_reserved(long fd, uint64_t offset, uint64_t size, int flags)
{
	void *slot = allo_map(size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, (int)fd, offset);

	/* A child must not write into its parent's recording. */
	if (slot)
		ALLO_SYSCALL3(SYS_madvise, slot, size, MADV_DONTFORK);
	return slot;
}

/* An operation on the file; may run in a helper process. */
struct file_job {
	struct allo_recorder *r;
	uint64_t offset, size;
	int flags;                         /* of mmap */
	const struct allo_wire_slot *tail; /* to seal */
	struct allo_wire_slot *mapped;
	bool is_open; /* the file could be opened */
};

/* Runs the operation where a descriptor is free: here, or in a helper. */
static long with_descriptor(allo_helper_work *work, void *job)
{
	long result = work(job);

	return result == -EMFILE ? allo_helper_run(work, job) : result;
}

static long map_in_file(void *given)
{
	struct file_job *job = given;
	long fd = allo_recorder_file_open(job->r), result;

	if (fd < 0)
		return fd;
	job->is_open = true;
	result = reserve(fd, job->offset, job->size);
	if (result == 0) {
		job->mapped = map_reserved(fd, job->offset, job->size, job->flags);
		result = job->mapped ? 0 : -ENOMEM;
	}
	allo_recorder_file_close(fd);
	return result;
}

/* Maps a slot of an extended file that cannot be opened any more.  A second mapping of the head's
 * memory reaches up to the slot; the part before the slot is unmapped.  The kernel allocates disk
 * blocks and reports if there are none. */
static void *map_by_head(const struct allo_recorder *r, uint64_t offset)
{
	long start = ALLO_SYSCALL4(SYS_mremap, r->head, 0, offset + ALLO_SLOT_SIZE, MREMAP_MAYMOVE);
	char *slot = (char *)start + offset;

	if (start < 0 && start > -4096)
		return NULL;
	ALLO_SYSCALL2(SYS_munmap, start, offset);
	if (ALLO_SYSCALL3(SYS_madvise, slot, ALLO_SLOT_SIZE, MADV_POPULATE_WRITE) == 0)
		return slot;
	ALLO_SYSCALL2(SYS_munmap, slot, ALLO_SLOT_SIZE);
	return NULL;
}

static bool is_extended_to(const struct allo_recorder *r, uint64_t offset)
{
	return offset / ALLO_SLOT_SIZE < r->extended_slots;
}

/* Ends the recording after an operation has failed. */
static void stop_after(const struct file_job *job)
{
	allo_recorder_stop(job->is_open || is_extended_to(job->r, job->offset) ? ALLO_END_DISK
									       : ALLO_END_LOST);
}

static struct allo_wire_slot *take_from_window(uint64_t *offset)
{
	struct allo_recorder *r = allo_recorder;
	uint64_t number = __atomic_fetch_add(&r->window.used, 1, __ATOMIC_RELAXED);

	if (number >= r->window.count) {
		allo_recorder_stop(ALLO_END_SANDBOX);
		return NULL;
	}
	*offset = r->window.offset + number * ALLO_SLOT_SIZE;
	return (struct allo_wire_slot *)((char *)r->window.start + number * ALLO_SLOT_SIZE);
}

/* Maps a new slot.  NULL, and the recording is off, if there is no room; if there is no memory, or
 * for the moment no room in a bounded recording, it stays on. */
static struct allo_wire_slot *map_slot(enum allo_stream_kind kind, uint64_t *offset)
{
	struct file_job job = { .r = allo_recorder, .size = ALLO_SLOT_SIZE, .flags = MAP_POPULATE };
	long result;

	if (allo_is_confined)
		return take_from_window(offset);
	if (!take_slot(kind, offset))
		return NULL;
	job.offset = *offset;
	result = with_descriptor(map_in_file, &job);
	if (!job.is_open && is_extended_to(job.r, *offset))
		job.mapped = map_by_head(job.r, *offset);
	if (job.mapped)
		return job.mapped;
	if (job.is_open && result == -ENOMEM)
		untake_slot(*offset);
	else
		stop_after(&job);
	return NULL;
}

static const char *stream_name(const struct allo_wire_slot *tail)
{
	return tail->kind == ALLO_STREAM_EVENTS   ? "events"
	       : tail->kind == ALLO_STREAM_STACKS ? "stacks"
						  : "metadata";
}

/* Counts a stream once its slot is in the file. */
static void publish_stream(const struct allo_wire_slot *tail)
{
	__atomic_fetch_add(&allo_recorder->head->streams, 1, __ATOMIC_RELAXED);
	ALLO_DEBUG(ALLO_DEBUG_STREAM, "stream %u opened: %s", tail->stream, stream_name(tail));
}

void allo_tail_close(struct allo_wire_slot *tail)
{
	if (!tail)
		return;
	ALLO_DEBUG(ALLO_DEBUG_STREAM, "stream %u closed: %s", tail->stream, stream_name(tail));
	allo_unmap(tail, ALLO_SLOT_SIZE);
}

struct allo_wire_slot *allo_tail_open(enum allo_stream_kind kind)
{
	struct allo_wire_slot *tail;
	uint64_t offset;

	tail = map_slot(kind, &offset);
	if (!tail)
		return NULL;
	tail->kind = (uint8_t)kind;
	allo_tail_restart(tail);
	__atomic_store_n(&tail->magic, ALLO_SLOT_MAGIC, __ATOMIC_RELEASE); /* valid from here on */
	publish_slot(offset);
	publish_stream(tail);
	return tail;
}

void allo_tail_restart(struct allo_wire_slot *tail)
{
	/* Reuse its number: a stream without contents would look like a lost one. */
	bool is_unused = tail->stream != 0 && tail->used == 0 && tail->sequence == 0;

	tail->used = 0;
	tail->sequence = 0;
	tail->is_fresh = 1;
	tail->thread = allo_thread_number();
	ALLO_SYSCALL2(SYS_prctl, PR_GET_NAME, tail->name);
	if (is_unused)
		return;
	tail->dropped = 0;
	tail->stream = __atomic_add_fetch(&allo_recorder->streams, 1, __ATOMIC_RELAXED);
	if (tail->magic == ALLO_SLOT_MAGIC)
		publish_stream(tail);
}

/* Writes the header last: a header in the file guarantees its contents. */
static long seal_in_file(void *given)
{
	struct file_job *job = given;
	struct allo_wire_slot sealed = *job->tail;
	long fd = allo_recorder_file_open(job->r), result;

	if (fd < 0)
		return fd;
	job->is_open = true;
	sealed.is_sealed = 1;
	result = ALLO_SYSCALL4(SYS_pwrite64, fd, job->tail + 1, sealed.used,
			       job->offset + sizeof(sealed));
	if (result == (long)sealed.used)
		result = ALLO_SYSCALL4(SYS_pwrite64, fd, &sealed, sizeof(sealed), job->offset) -
			 (long)sizeof(sealed);
	else if (result >= 0)
		result = -ENOSPC;
	allo_recorder_file_close(fd);
	return result;
}

/* The same through memory. */
static void seal_in_memory(const struct allo_wire_slot *tail, struct allo_wire_slot *slot)
{
	struct allo_wire_slot sealed = *tail;

	sealed.is_sealed = 1;
	memcpy(slot + 1, tail + 1, tail->used);
	sealed.magic = 0;
	memcpy(slot, &sealed, sizeof(sealed));
	__atomic_store_n(&slot->magic, ALLO_SLOT_MAGIC, __ATOMIC_RELEASE);
}

static bool seal_by_head(const struct file_job *job)
{
	struct allo_wire_slot *slot = map_by_head(job->r, job->offset);

	if (!slot)
		return false;
	seal_in_memory(job->tail, slot);
	allo_unmap(slot, ALLO_SLOT_SIZE);
	return true;
}

static bool seal_in_window(const struct allo_wire_slot *tail, uint64_t *offset)
{
	struct allo_wire_slot *slot = take_from_window(offset);

	if (slot)
		seal_in_memory(tail, slot);
	return slot != NULL;
}

/* Writes the tail to a new slot, or stops the recording, unless it is bounded and lacks room. */
static bool write_sealed(const struct allo_wire_slot *tail, uint64_t *offset)
{
	struct file_job job = { .r = allo_recorder, .tail = tail };

	ALLO_ASSERT(tail->used <= ALLO_SLOT_ROOM);
	if (allo_is_confined)
		return seal_in_window(tail, offset);
	if (!take_slot((enum allo_stream_kind)tail->kind, offset))
		return false;
	job.offset = *offset;
	if (with_descriptor(seal_in_file, &job) == 0 ||
	    (!job.is_open && is_extended_to(job.r, job.offset) && seal_by_head(&job)))
		return true;
	stop_after(&job);
	return false;
}

bool allo_tail_seal(struct allo_wire_slot *tail, uint64_t from_0, uint64_t from_1)
{
	bool is_written = false;
	uint64_t offset;

	if (allo_recorder_is_on()) {
		is_written = write_sealed(tail, &offset);
		if (is_written)
			publish_slot(offset);
	}
	if (!is_written)
		allo_count(&allo_recorder->head->counts.lost_pages, 1);
	/* In this order: if the process is killed in between, a reader finds two copies and takes
	 * the longer one. */
	__atomic_store_n(&tail->used, 0, __ATOMIC_RELEASE);
	tail->from[0] = from_0;
	tail->from[1] = from_1;
	tail->is_fresh = !is_written;
	__atomic_store_n(&tail->sequence, tail->sequence + 1, __ATOMIC_RELEASE);
	if (is_written)
		allo_recorder_update_clock();
	return is_written;
}

/* The head. */

/* Reads both clocks at the same moment.  Repeats it, a few times at most, if the thread was
 * interrupted in between: all times of the recording depend on two such moments. */
static struct allo_wire_moment moment_now(const struct allo_recorder *r)
{
	struct allo_wire_moment moment = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 8 && least > r->ticks_50us / 32; i++) {
		uint64_t before = allo_now(), ns = allo_monotonic_ns(), took = allo_now() - before;

		if (took < least) {
			least = took;
			moment = (struct allo_wire_moment){ before + took / 2, ns };
		}
	}
	return moment;
}

void allo_recorder_update_clock(void)
{
	struct allo_recorder *r = allo_recorder;
	struct allo_wire_moment now;

	/* In a sandbox, reading the clock may be a system call. */
	if (allo_is_confined)
		return;
	/* The two clocks belong together: two threads writing at once would mix theirs. */
	if (__atomic_exchange_n(&r->is_updating_clock, 1, __ATOMIC_ACQUIRE))
		return;
	now = moment_now(r);
	__atomic_store_n(&r->head->last.ticks, now.ticks, __ATOMIC_RELAXED);
	__atomic_store_n(&r->head->last.monotonic_ns, now.monotonic_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&r->is_updating_clock, 0, __ATOMIC_RELEASE);
}

/* Another thread may have one of them at the moment.  Then two threads write the clock, look for a
 * renamed file or read the status at once, which is unlikely, and harmless. */
void allo_recorder_recover(void)
{
	__atomic_store_n(&allo_recorder->is_sampling, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&allo_recorder->is_updating_clock, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&allo_recorder->is_finding, 0, __ATOMIC_RELEASE);
}

bool allo_recorder_attend(uint64_t now)
{
	struct allo_recorder *r = allo_recorder;
	uint64_t due = now + 100 * r->ticks_50us;

	if (now >= r->end_ticks)
		return false;
	allo_recorder_update_clock();
	allo_resident_attend();
	__atomic_store_n(&r->due_ticks, due < r->end_ticks ? due : r->end_ticks, __ATOMIC_RELAXED);
	return true;
}

/* Appends a text, or as much of it as fits, to the texts between the head and the samples. */
static struct allo_wire_text add_text(struct allo_wire_head *head, uint32_t *at, const char *text,
				      size_t len)
{
	struct allo_wire_text added = { *at, (uint32_t)len };
	uint32_t end = head->marks.at;

	ALLO_ASSERT(*at >= sizeof(*head) && *at <= end);
	if (len > end - *at)
		added.len = end - *at;
	memcpy((char *)head + *at, text, added.len);
	*at += added.len;
	return added;
}

/* Appends as much of a file as fits. */
static struct allo_wire_text add_file(struct allo_wire_head *head, uint32_t *at, const char *path)
{
	struct allo_wire_text added = { *at, 0 };
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long count = 1;

	while (fd >= 0 && count > 0) {
		count = ALLO_SYSCALL3(SYS_read, fd, (char *)head + *at, head->marks.at - *at);
		if (count > 0)
			*at += (uint32_t)count;
	}
	if (fd >= 0)
		ALLO_SYSCALL1(SYS_close, fd);
	added.len = *at - added.at;
	return added;
}

static void fill_head(struct allo_wire_head *head)
{
	static const enum allo_wire_mode modes[] = { [ALLO_EXACT] = ALLO_MODE_EXACT,
						     [ALLO_SAMPLED] = ALLO_MODE_SAMPLED,
						     [ALLO_SAMPLED_EVENTS] = ALLO_MODE_EVENTS,
						     [ALLO_AD_HOC] = ALLO_MODE_AD_HOC };
	uint32_t at = sizeof(*head);
	char path[PATH_MAX];
	struct utsname names;
	struct timespec now;
	long len;

	head->version = head->ring.size > 0              ? ALLO_RING_VERSION
			: allo_settings.max_overhead > 0 ? ALLO_RATES_VERSION
							 : ALLO_WIRE_VERSION;
	head->byte_order = ALLO_BYTE_ORDER;
	head->slot_size = ALLO_SLOT_SIZE;
#if defined(__x86_64__)
	head->arch = ALLO_ARCH_X86_64;
#else
	head->arch = ALLO_ARCH_AARCH64;
#endif
	head->pid = allo_process_number();
	clock_gettime(CLOCK_REALTIME, &now);
	head->start_realtime_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	head->first = head->last = moment_now(allo_recorder);
	head->sampling.mode = modes[allo_settings.mode];
	head->sampling.rate = head->overhead.rate = allo_settings.rate;
	head->overhead.limit_ppm = allo_settings.max_overhead;
	head->sampling.time_step = allo_settings.has_exact_times ? ALLO_TIME_EXACT
								 : ALLO_PACE_ERROR_NS;
	head->stack_depth = allo_settings.stack_depth;
	head->min_size = allo_settings.min_size;
	head->tracks_mappings = (allo_settings.track & (ALLO_TRACK_MMAP | ALLO_TRACK_BRK)) != 0;
	allo_resident_reserve(head);
	head->marks.at = ALLO_MARKS_AT;
	head->marks.room = head->resident.at - ALLO_MARKS_AT;
	len = ALLO_SYSCALL4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path));
	head->program = add_text(head, &at, path, len > 0 ? (size_t)len : 0);
	len = ALLO_SYSCALL2(SYS_getcwd, path, sizeof(path)); /* counts the NUL */
	head->folder = add_text(head, &at, path, len > 0 ? (size_t)len - 1 : 0);
	if (ALLO_SYSCALL1(SYS_uname, &names) == 0)
		head->host = add_text(head, &at, names.nodename, strlen(names.nodename));
	if (!allo_settings.no_command)
		head->arguments = add_file(head, &at, "/proc/self/cmdline");
	/* Last: the magic number marks a complete head. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(head->magic, ALLO_HEAD_MAGIC, sizeof(head->magic));
}

static uint64_t ticks_of(const struct allo_recorder *r, uint64_t ns)
{
	uint64_t ticks, ns_0, ticks_0;

	if (!r->is_steady)
		return ns;
	/* Measures the counter's speed for 0.2 ms, which is precise enough for a time limit. */
	ns_0 = allo_monotonic_ns();
	ticks_0 = allo_counter();
	while (allo_monotonic_ns() - ns_0 < 200000) {
	}
	ticks = allo_counter() - ticks_0;
	return (uint64_t)((double)ns * (double)ticks / (double)(allo_monotonic_ns() - ns_0));
}

/* Creating the file. */

enum { AREA_SLOTS_MOST = 1 << 16 }; /* 4 GiB for a checkpoint */

/* Until the first checkpoint, a quarter is left for it, and for stacks and facts. */
static void begin_ring(struct allo_recorder *r)
{
	struct allo_wire_ring *ring = &r->head->ring;
	uint64_t slots = allo_settings.ring / ALLO_SLOT_SIZE;

	if (slots == 0 || slots > UINT32_MAX || allo_settings.mode != ALLO_EXACT)
		return;
	ring->size = slots * ALLO_SLOT_SIZE;
	ring->area_slots = slots < AREA_SLOTS_MOST ? (uint32_t)slots : AREA_SLOTS_MOST;
	r->slots = allo_wire_first_slot(ring);
	ring->limit = r->slots + slots / 4 * 3;
}

struct create_job {
	struct allo_recorder *r;
	bool has_earlier;
	uint32_t parent; /* process */
};

/* Writes the head into the new file. */
static long write_head(const struct create_job *job, long fd)
{
	struct allo_recorder *r = job->r;
	long result = reserve(fd, 0, ALLO_SLOT_SIZE);

	if (result < 0)
		return result;
	r->head = map_reserved(fd, 0, ALLO_SLOT_SIZE, MAP_POPULATE);
	if (!r->head)
		return -ENOMEM;
	publish_slot(0);
	r->head->has_earlier = !job->has_earlier       ? ALLO_EARLIER_NONE
			       : allo_settings.is_late ? ALLO_EARLIER_ATTACHED
						       : ALLO_EARLIER_UNKNOWN;
	r->head->parent_pid = job->parent;
	begin_ring(r);
	fill_head(r->head);
	return 0;
}

static void unmap_head(struct allo_recorder *r)
{
	if (r->head)
		allo_unmap(r->head, ALLO_SLOT_SIZE);
	r->head = NULL;
}

/* The sign of a process that will be recorded (wire/layout.h).  A child made by fork has it until
 * its own recording begins. */
static void *sign;

static void unmap_sign(void)
{
	if (sign)
		allo_unmap(sign, ALLO_SIGN_SIZE);
	sign = NULL;
}

static void map_sign(long fd)
{
	if (!allo_settings.no_follow)
		sign = allo_map(ALLO_SIGN_SIZE, PROT_READ, MAP_SHARED, (int)fd, ALLO_SIGN_OFFSET);
}

/* Maps the head by a descriptor that has a name, which /proc/PID/maps then shows. */
static void map_head_again(struct allo_recorder *r)
{
	long fd = allo_recorder_file_open(r);
	struct allo_wire_head *head;

	if (fd < 0)
		return;
	map_sign(fd);
	head = map_reserved(fd, 0, ALLO_SLOT_SIZE, MAP_POPULATE);
	allo_recorder_file_close(fd);
	if (!head)
		return;
	unmap_head(r);
	r->head = head;
}

/* Writes the head before the file gets its name.  False where the file system cannot do that. */
static bool create_unnamed(const struct create_job *job, long *result)
{
	struct allo_recorder *r = job->r;
	long fd = allo_recorder_file_create_unnamed(r);
	bool is_named = false;

	*result = fd;
	if (fd < 0)
		return fd == -EMFILE;
	*result = write_head(job, fd);
	if (*result == 0)
		is_named = allo_recorder_file_link(r, fd) == 0;
	allo_recorder_file_close(fd);
	if (is_named)
		map_head_again(r);
	else
		unmap_head(r);
	return is_named || *result != 0;
}

static long create_file(void *given)
{
	const struct create_job *job = given;
	long fd, result;

	if (create_unnamed(job, &result))
		return result;
	fd = allo_recorder_file_create(job->r);
	if (fd < 0)
		return fd;
	result = write_head(job, fd);
	map_sign(fd);
	allo_recorder_file_close(fd);
	return result;
}

/* Without a file, only the counters of the head are used. */
static bool make_head(struct allo_recorder *r, bool has_earlier)
{
	struct create_job job = { r, has_earlier, (uint32_t)ALLO_SYSCALL1(SYS_getppid, 0) };

	if (!allo_settings.has_file) {
		r->head = allo_map_private(sizeof(*r->head));
		if (r->head)
			r->head->pid = allo_process_number();
		return r->head != NULL;
	}
	if (is_within_limit(ALLO_SLOT_SIZE))
		r->failure = (int)-with_descriptor(create_file, &job);
	else
		r->failure = EFBIG;
	return r->failure == 0;
}

/* Preparing for restrictions. */

enum { EXTENDED_SLOTS = 1 << 20 }; /* 64 GiB, without disk blocks */

static long extend_file(void *given)
{
	struct file_job *job = given;
	struct stat status;
	long fd = allo_recorder_file_open(job->r), result;

	if (fd < 0)
		return fd;
	result = ALLO_SYSCALL2(SYS_fstat, fd, &status);
	if (result == 0 && (uint64_t)status.st_size < job->size)
		result = ALLO_SYSCALL2(SYS_ftruncate, fd, job->size);
	allo_recorder_file_close(fd);
	return result;
}

void allo_recorder_extend(void)
{
	struct allo_recorder *r = allo_recorder;
	struct file_job job = { .r = r };
	uint64_t slots;

	if (!allo_recorder_is_on() || !allo_settings.has_file)
		return;
	slots = __atomic_load_n(&r->slots, __ATOMIC_RELAXED) + EXTENDED_SLOTS;
	if (slots > r->slots_max)
		slots = r->slots_max;
	/* Other limits, such as the largest file of the file system, are below that. */
	for (; slots > r->extended_slots; slots /= 2) {
		job.size = slots * ALLO_SLOT_SIZE;
		if (is_within_limit(job.size) && with_descriptor(extend_file, &job) == 0) {
			r->extended_slots = slots;
			return;
		}
	}
}

void allo_recorder_cut(void)
{
	enum { SPARE = 64 }; /* slots that other threads may take meanwhile */
	struct allo_recorder *r = allo_recorder;
	uint64_t slots = __atomic_load_n(&r->slots, __ATOMIC_RELAXED) + SPARE;
	long fd;

	if (r->extended_slots < slots)
		return;
	fd = allo_recorder_file_open(r);
	if (fd < 0)
		return;
	r->extended_slots = 0;
	ALLO_SYSCALL2(SYS_ftruncate, fd, slots * ALLO_SLOT_SIZE);
	allo_recorder_file_close(fd);
}

void allo_recorder_map_window(uint64_t slots)
{
	struct allo_recorder *r = allo_recorder;
	struct file_job job = { .r = r };

	if (!allo_recorder_is_on() || !allo_settings.has_file || r->window.start)
		return;
	for (; slots > 0 && !job.mapped; slots /= 2) {
		uint64_t first = __atomic_load_n(&r->slots, __ATOMIC_RELAXED);

		job.size = slots * ALLO_SLOT_SIZE;
		if (first + slots > r->slots_max ||
		    !is_within_limit(first * ALLO_SLOT_SIZE + job.size) ||
		    !take_slots(ALLO_STREAM_EVENTS, slots, &first))
			continue;
		job.offset = first * ALLO_SLOT_SIZE;
		if (with_descriptor(map_in_file, &job) < 0)
			continue;
		r->window.offset = job.offset;
		r->window.count = slots;
		__atomic_store_n(&r->window.start, job.mapped, __ATOMIC_RELEASE);
	}
}

bool allo_recorder_begin(bool has_earlier)
{
	struct allo_recorder *r = allo_recorder;

	r->is_steady = allo_counter_is_steady();
	r->ticks_50us = allo_counter_hertz(r->is_steady) / 20000;
	allo_tick_reset(allo_settings.has_exact_times);
	__atomic_store_n(&allo_generation, 0, __ATOMIC_RELAXED);
	r->end_ticks = UINT64_MAX;
	unmap_sign(); /* of the parent */
	r->slots = 1; /* the head is the first slot */
	r->slots_max = allo_settings.max_file ? allo_settings.max_file / ALLO_SLOT_SIZE
					      : UINT32_MAX;
	if (!make_head(r, has_earlier)) {
		allo_recorder_stop(ALLO_END_DISK);
		allo_announce_failure(r->failure);
		return false;
	}
	allo_announce_begin();
	if (allo_settings.duration_ns)
		r->end_ticks = allo_now() + ticks_of(r, allo_settings.duration_ns);
	return true;
}

void allo_recorder_end(bool is_left)
{
	struct allo_recorder *r = allo_recorder, *next;

	allo_recorder_cut();
	unmap_sign();
	if (!is_left) {
		if (r->head)
			allo_unmap(r->head,
				   allo_settings.has_file ? ALLO_SLOT_SIZE : sizeof(*r->head));
		if (r->window.start)
			allo_unmap(r->window.start, r->window.count * ALLO_SLOT_SIZE);
		memset(r, 0, sizeof(*r));
		return;
	}
	next = allo_map_private(sizeof(*next));
	if (next)
		allo_recorder = next;
}
