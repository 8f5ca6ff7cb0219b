/* recorder.c - creating a recording, handing out its slots, and writing its head. */
#include "capture/recorder.h"
#include "base/assert.h"
#include "capture/announce.h"
#include "capture/debug_log.h"
#include "capture/recorder_file.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

struct allo_recorder *allo_recorder;
uint32_t allo_time_mask, allo_generation;

static const char *reason(enum allo_wire_end why)
{
	static const char *const reasons[] = {
		[ALLO_END_NONE] = "unknown",
		[ALLO_END_EXIT] = "exit",
		[ALLO_END_STOPPED] = "stopped or its time is over",
		[ALLO_END_FULL] = "the size limit of the file is reached",
		[ALLO_END_DISK] = "no room on the disk",
		[ALLO_END_LOST] = "the file was closed and cannot be opened again",
		[ALLO_END_INTERNAL] = "not followed into a child, or out of memory",
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

void allo_recorder_release_file(void)
{
	struct allo_recorder *r = allo_recorder;

	if (!allo_settings.has_file)
		return;
	ALLO_SYSCALL1(SYS_close, r->fd);
	r->fd = -1;
}

/* Slots. */

/* Writing beyond RLIMIT_FSIZE would send SIGXFSZ to the program. */
static bool is_within_limit(uint64_t end)
{
	struct rlimit limit;

	return ALLO_SYSCALL4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0 ||
	       limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

/* Reserves the next slot at the end of the file.  Stops the recording and returns false if the file
 * is full, lost or at its limit. */
static bool take_slot(uint64_t *offset)
{
	struct allo_recorder *r = allo_recorder;
	uint64_t number = __atomic_fetch_add(&r->slots, 1, __ATOMIC_RELAXED);

	*offset = number * ALLO_SLOT_SIZE;
	if (number >= r->slots_max)
		allo_recorder_stop(ALLO_END_FULL);
	else if (!allo_recorder_file_is_open(r))
		allo_recorder_stop(ALLO_END_LOST);
	else if (!is_within_limit(*offset + ALLO_SLOT_SIZE))
		allo_recorder_stop(ALLO_END_DISK);
	else
		return true;
	return false;
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
static bool reserve(int fd, uint64_t offset)
{
	static const uint8_t zeros[4096];
	long result = ALLO_SYSCALL4(SYS_fallocate, fd, 0, offset, ALLO_SLOT_SIZE);

	if (result != -EOPNOTSUPP && result != -ENOSYS)
		return result == 0;
	for (uint64_t done = 0; done < ALLO_SLOT_SIZE; done += sizeof(zeros)) {
		if (ALLO_SYSCALL4(SYS_pwrite64, fd, zeros, sizeof(zeros), offset + done) !=
		    sizeof(zeros))
			return false;
	}
	return true;
}

static void *map_reserved(int fd, uint64_t offset)
{
	void *slot = allo_map(ALLO_SLOT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			      offset);

	/* A child must not write into its parent's recording. */
	if (slot)
		ALLO_SYSCALL3(SYS_madvise, slot, ALLO_SLOT_SIZE, MADV_DONTFORK);
	return slot;
}

static void *map_slot(int fd, uint64_t offset)
{
	return reserve(fd, offset) ? map_reserved(fd, offset) : NULL;
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

	if (!take_slot(&offset))
		return NULL;
	tail = map_slot(__atomic_load_n(&allo_recorder->fd, __ATOMIC_ACQUIRE), offset);
	if (!tail) {
		allo_recorder_stop(ALLO_END_DISK);
		return NULL;
	}
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
static bool write_sealed(const struct allo_wire_slot *tail, uint64_t offset)
{
	struct allo_wire_slot sealed = *tail;
	int fd = __atomic_load_n(&allo_recorder->fd, __ATOMIC_ACQUIRE);

	ALLO_ASSERT(tail->used <= ALLO_SLOT_ROOM && offset % ALLO_SLOT_SIZE == 0);
	sealed.is_sealed = 1;
	return ALLO_SYSCALL4(SYS_pwrite64, fd, tail + 1, tail->used, offset + sizeof(sealed)) ==
		       (long)tail->used &&
	       ALLO_SYSCALL4(SYS_pwrite64, fd, &sealed, sizeof(sealed), offset) ==
		       (long)sizeof(sealed);
}

bool allo_tail_seal(struct allo_wire_slot *tail, uint64_t from_0, uint64_t from_1)
{
	bool is_written = false;
	uint64_t offset;

	if (allo_recorder_is_on() && take_slot(&offset)) {
		is_written = write_sealed(tail, offset);
		if (is_written)
			publish_slot(offset);
		else
			allo_recorder_stop(ALLO_END_DISK);
	}
	if (!is_written)
		allo_count(&allo_recorder->head->counts.lost_blocks, 1);
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

void allo_recorder_update_clock(void)
{
	struct allo_recorder *r = allo_recorder;

	/* The two clocks belong together: two threads writing at once would mix theirs. */
	if (__atomic_exchange_n(&r->is_updating_clock, 1, __ATOMIC_ACQUIRE))
		return;
	r->head->last.ticks = allo_now();
	r->head->last.monotonic_ns = allo_monotonic_ns();
	__atomic_store_n(&r->is_updating_clock, 0, __ATOMIC_RELEASE);
}

/* Appends a text, or as much of it as fits, to the texts behind the head. */
static struct allo_wire_text add_text(struct allo_wire_head *head, uint32_t *at, const char *text,
				      size_t len)
{
	struct allo_wire_text added = { *at, (uint32_t)len };

	ALLO_ASSERT(*at >= sizeof(*head) && *at <= ALLO_SLOT_SIZE);
	if (len > ALLO_SLOT_SIZE - *at)
		added.len = ALLO_SLOT_SIZE - *at;
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
		count = ALLO_SYSCALL3(SYS_read, fd, (char *)head + *at, ALLO_SLOT_SIZE - *at);
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

	head->version = ALLO_WIRE_VERSION;
	head->byte_order = ALLO_BYTE_ORDER;
	head->slot_size = ALLO_SLOT_SIZE;
#if defined(__x86_64__)
	head->arch = ALLO_ARCH_X86_64;
#else
	head->arch = ALLO_ARCH_AARCH64;
#endif
	head->pid = (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0);
	head->parent_pid = (uint32_t)ALLO_SYSCALL1(SYS_getppid, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	head->start_realtime_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	head->first.ticks = allo_now();
	head->first.monotonic_ns = allo_monotonic_ns();
	head->last = head->first;
	head->sampling.mode = modes[allo_settings.mode];
	head->sampling.rate = allo_settings.rate;
	head->stack_depth = allo_settings.stack_depth;
	head->min_size = allo_settings.min_size;
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

/* Writes the head into the new file. */
static bool write_head(struct allo_recorder *r, bool has_earlier)
{
	r->head = map_slot(r->fd, 0);
	r->failure = r->head ? 0 : ENOSPC;
	if (!r->head)
		return false;
	publish_slot(0);
	r->head->has_earlier = has_earlier;
	fill_head(r->head);
	return true;
}

/* Maps the head by the descriptor that has a name, which /proc/PID/maps then shows. */
static void map_head_again(struct allo_recorder *r)
{
	struct allo_wire_head *head = map_reserved(r->fd, 0);

	if (!head)
		return;
	allo_unmap(r->head, ALLO_SLOT_SIZE);
	r->head = head;
}

/* Without a file, only the counters of the head are used. */
static bool make_head(struct allo_recorder *r, bool has_earlier)
{
	if (!allo_settings.has_file) {
		r->head = allo_map_private(sizeof(*r->head));
		if (r->head)
			r->head->pid = (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0);
		return r->head != NULL;
	}
	r->failure = EFBIG;
	if (!is_within_limit(ALLO_SLOT_SIZE))
		return false;
	if (!allo_recorder_file_create_unnamed(r))
		return allo_recorder_file_create(r) && write_head(r, has_earlier);
	if (!write_head(r, has_earlier))
		return false;
	if (allo_recorder_file_link(r)) {
		map_head_again(r);
		return true;
	}
	/* The file system cannot link an unnamed file. */
	allo_unmap(r->head, ALLO_SLOT_SIZE);
	allo_recorder_file_close(r);
	return allo_recorder_file_create(r) && write_head(r, has_earlier);
}

bool allo_recorder_begin(bool has_earlier)
{
	struct allo_recorder *r = allo_recorder;

	r->is_steady = allo_counter_is_steady();
	__atomic_store_n(&allo_time_mask, 31, __ATOMIC_RELAXED);
	__atomic_store_n(&allo_generation, 0, __ATOMIC_RELAXED);
	r->end_ticks = UINT64_MAX;
	r->slots = 1; /* the head is the first slot */
	r->slots_max = allo_settings.max_file ? allo_settings.max_file / ALLO_SLOT_SIZE
					      : UINT32_MAX;
	if (!make_head(r, has_earlier)) {
		allo_recorder_stop(ALLO_END_DISK);
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

	if (!is_left) {
		if (r->head)
			allo_unmap(r->head,
				   allo_settings.has_file ? ALLO_SLOT_SIZE : sizeof(*r->head));
		if (allo_settings.has_file && r->inode)
			allo_recorder_file_close(r);
		memset(r, 0, sizeof(*r));
		return;
	}
	next = allo_map_private(sizeof(*next));
	if (next)
		allo_recorder = next;
}
