/*
 * read_memray.c - recordings of memray, the profiler for Python.
 *
 *     "memray" 0, version, Python's version, flags, counts, command 0, pid, ..., paths
 *     records: a byte with the kind and some flags, then numbers and texts
 *     0 to the end, where memray did not cut the file
 *
 * memray has two layouts.  The usual one holds every event: threads push and pop frames, and
 * allocate.  With --aggregate it holds sums by stack, for the peak and for the end.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "readers/memray/memray_heap.h"
#include "readers/memray/memray_stacks.h"
#include "readers/reader.h"

#include <stdlib.h>

/* The versions of the format that memray 1.19 and 1.20 write. */
enum { OLDEST_VERSION = 12, VERSION_WITH_PATHS = 13, NEWEST_VERSION = 13 };

enum layout { ALL_EVENTS, SUMS };

/* Kinds of records; a kind from 16 on has flags in its lower bits. */
enum kind {
	FILLER = 0,
	END = 1,
	RESIDENT = 2,
	NATIVE_FRAME = 5,
	MAPS = 6,
	MAPPED_FILE = 7,
	SEGMENT = 8,
	THREAD_NAME = 10,
	THREAD = 12,
	CODE = 14,
	POP = 16,
	OBJECT = 32,
	PUSH = 64,
	ALLOCATION = 128,
};

/* Kinds of the other layout, which has the common ones as well. */
enum sum_kind {
	SNAPSHOT = 1,
	SUM = 2,
	STACK = 3,
	FRAME = 4,
	LIVE_OBJECT = 13,
	SUMS_END = 15,
};

enum allocator { PYTHON_FREE = 1, FREE = 5, MMAP = 14, MUNMAP = 15 };

enum { RECENT = 15, SNAPSHOT_SIZE = 24, SUM_SIZE = 72 };

/* A stack of the layout with sums, which has no stack for the main thread's outermost frames. */
struct node {
	allo_stack_id whole, of_main; /* the latter without the skipped frames */
	uint64_t depth;
};

struct memray {
	struct allo_input *in;
	struct allo_profile *profile;
	struct allo_memray_stacks stacks;
	struct allo_memray_heap heap;
	uint64_t version, main_thread, skipped;
	enum layout layout;
	bool has_native, is_ended;
	uint32_t thread; /* current */
	/* Numbers are written as differences to these. */
	uint64_t last_address, last_line;
	uint64_t recent[RECENT]; /* addresses, the latest first */
	/* Of the layout with sums. */
	ALLO_VEC(allo_frame_id) frames;
	ALLO_VEC(struct node) nodes; /* by number; 0 is the empty stack */
};

static void memray_free(struct memray **memray)
{
	struct memray *m = *memray;

	if (!m)
		return;
	allo_memray_stacks_done(&m->stacks);
	allo_memray_heap_done(&m->heap);
	allo_vec_done(&m->frames);
	allo_vec_done(&m->nodes);
	free(m);
}

/* Parts of a record.  Each fails, without an error, where the file ends. */

static bool want(struct memray *m, size_t count, struct allo_error *err)
{
	return allo_input_unread(m->in) >= count ||
	       (allo_input_want(m->in, count, err) && allo_input_unread(m->in) >= count);
}

static bool take_bytes(struct memray *m, size_t count, struct allo_text *bytes,
		       struct allo_error *err)
{
	if (!want(m, count, err))
		return false;
	*bytes = (struct allo_text){ m->in->next, count };
	m->in->next += count;
	return true;
}

static bool take_byte(struct memray *m, unsigned *byte, struct allo_error *err)
{
	if (!want(m, 1, err))
		return false;
	*byte = (unsigned char)*m->in->next++;
	return true;
}

/* A number of `size` bytes, the lowest first. */
static bool take_fixed(struct memray *m, size_t size, uint64_t *value, struct allo_error *err)
{
	struct allo_text bytes;

	if (!take_bytes(m, size, &bytes, err))
		return false;
	*value = 0;
	for (size_t i = size; i-- > 0;)
		*value = *value << 8 | (unsigned char)bytes.data[i];
	return true;
}

static bool take_number(struct memray *m, uint64_t *value, struct allo_error *err)
{
	unsigned byte;

	*value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (!take_byte(m, &byte, err))
			return false;
		*value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			return true;
	}
	return allo_fail(err, ALLO_FORMAT, allo_input_pos(m->in), "a number has more than 64 bits");
}

/* The lowest bit is the sign. */
static bool take_signed(struct memray *m, int64_t *value, struct allo_error *err)
{
	uint64_t number;

	if (!take_number(m, &number, err))
		return false;
	*value = (int64_t)(number >> 1 ^ -(number & 1));
	return true;
}

static bool take_difference(struct memray *m, uint64_t *last, struct allo_error *err)
{
	int64_t difference;

	if (!take_signed(m, &difference, err))
		return false;
	*last += (uint64_t)difference;
	return true;
}

/* A text, which ends with a zero.  It is valid until the next part is taken. */
static bool take_text(struct memray *m, struct allo_text *text, struct allo_error *err)
{
	size_t searched = 0;

	for (;;) {
		const char *end = memchr(m->in->next + searched, '\0',
					 allo_input_unread(m->in) - searched);

		if (end) {
			*text = (struct allo_text){ m->in->next, (size_t)(end - m->in->next) };
			m->in->next = end + 1;
			return true;
		}
		searched = allo_input_unread(m->in);
		if (searched > ALLO_PIECE_MAX)
			return allo_fail(err, ALLO_LIMIT, allo_input_pos(m->in),
					 "a text is longer than %d MiB", ALLO_PIECE_MAX >> 20);
		if (!allo_input_more(m->in, err))
			return false;
	}
}

static bool skip_text(struct memray *m, struct allo_error *err)
{
	struct allo_text text;

	return take_text(m, &text, err);
}

static bool fail_record(const struct memray *m, const char *problem, struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, allo_input_pos(m->in), "%s", problem);
	return allo_hint(err, "the file is damaged: record it again, or copy it again");
}

/* The head. */

static bool check_version(const struct memray *m, struct allo_error *err)
{
	if (m->version >= OLDEST_VERSION && m->version <= NEWEST_VERSION)
		return true;
	allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = m->in->name },
		  "version %llu of memray's format is not known; %d and %d are",
		  (unsigned long long)m->version, OLDEST_VERSION, NEWEST_VERSION);
	return allo_hint(err,
			 m->version < OLDEST_VERSION
				 ? "record it with memray 1.19 or later"
				 : "'memray transform speedscope' makes a file that can be read");
}

/* Lists of paths, each ended by an empty one: of the standard library and packages, and sys.path.
 */
static bool skip_paths(struct memray *m, struct allo_error *err)
{
	enum { LISTS = 2 };
	struct allo_text path;

	for (int list = 0; m->version >= VERSION_WITH_PATHS && list < LISTS;) {
		if (!take_text(m, &path, err))
			return false;
		list += path.len == 0;
	}
	return true;
}

static bool take_times(struct memray *m, struct allo_error *err)
{
	struct allo_meta *meta = &m->profile->meta;
	uint64_t start_ms, end_ms;

	if (!take_fixed(m, 8, &start_ms, err) || !take_fixed(m, 8, &end_ms, err))
		return false;
	meta->clock = ALLO_CLOCK_NS;
	if (start_ms < INT64_MAX / 1000000)
		meta->start_ns = (int64_t)start_ms * 1000000;
	if (end_ms >= start_ms && end_ms - start_ms < UINT64_MAX / 1000000)
		meta->duration = (end_ms - start_ms) * 1000000;
	return true;
}

static bool take_command(struct memray *m, struct allo_error *err)
{
	struct allo_text command;

	if (!take_text(m, &command, err))
		return false;
	m->profile->meta.command = allo_profile_add_string(m->profile, command, err);
	return !allo_failed(err);
}

static bool take_head(struct memray *m, struct allo_error *err)
{
	struct allo_text unused;
	uint64_t has_native, layout, count;

	if (!take_bytes(m, sizeof("memray"), &unused, err) || !take_fixed(m, 4, &m->version, err) ||
	    !check_version(m, err) || !take_fixed(m, 4, &m->stacks.python, err) ||
	    !take_fixed(m, 1, &has_native, err) || !take_fixed(m, 1, &layout, err) ||
	    !take_fixed(m, 8, &count, err) || /* allocations */
	    !take_fixed(m, 8, &count, err) || /* frames */
	    !take_times(m, err) || !take_command(m, err) ||
	    !take_fixed(m, 4, &m->profile->meta.pid, err) ||
	    !take_fixed(m, 8, &m->main_thread, err) || !take_fixed(m, 8, &m->skipped, err) ||
	    !take_bytes(m, 3, &unused, err) || !skip_paths(m, err))
		return false;
	m->has_native = has_native;
	m->layout = layout == SUMS ? SUMS : ALL_EVENTS;
	m->profile->meta.producer = allo_profile_add_string(m->profile, ALLO_TEXT("memray"), err);
	return layout <= SUMS || fail_record(m, "the layout of the file is not known", err);
}

/* Records of both layouts. */

static bool take_code(struct memray *m, struct allo_error *err)
{
	/* Texts move while more is read. */
	ALLO_DEFER(allo_arena_done) struct allo_arena scratch = { 0 };
	struct allo_text name, file, lines;
	const char *name_copy, *file_copy;
	uint64_t id, len;

	if (!take_number(m, &id, err) || !take_text(m, &name, err))
		return false;
	name_copy = allo_arena_copy(&scratch, name.data, name.len);
	if (!take_text(m, &file, err))
		return false;
	file_copy = allo_arena_copy(&scratch, file.data, file.len);
	if (!name_copy || !file_copy)
		return allo_fail_memory(err);
	name.data = name_copy;
	file.data = file_copy;
	if (!take_difference(m, &m->last_line, err) || !take_number(m, &len, err))
		return false;
	if (len > ALLO_PIECE_MAX)
		return fail_record(m, "a table of lines is too long", err);
	return take_bytes(m, (size_t)len, &lines, err) &&
	       allo_memray_add_code(&m->stacks, id, name, file, (uint32_t)m->last_line, lines, err);
}

/* A mapped file with its segments, which only native frames need. */
static bool skip_file(struct memray *m, struct allo_error *err)
{
	uint64_t count, unused;
	unsigned kind;

	if (!skip_text(m, err) || !take_number(m, &count, err) || !take_fixed(m, 8, &unused, err))
		return false;
	for (; count > 0; count--) {
		if (!take_byte(m, &kind, err) || !take_fixed(m, 8, &unused, err) ||
		    !take_number(m, &unused, err))
			return false;
		if (kind != SEGMENT)
			return fail_record(m, "a mapped file lacks segments", err);
	}
	return true;
}

static bool switch_thread(struct memray *m, uint64_t id, struct allo_error *err)
{
	size_t before = m->stacks.threads.len;

	m->thread = allo_memray_thread(&m->stacks, id, err);
	if (allo_failed(err))
		return false;
	if (m->stacks.threads.len > ALLO_STREAMS_MAX)
		return fail_record(m, "there are too many threads", err);
	if (m->stacks.threads.len > before && id == m->main_thread)
		m->stacks.threads.at[m->thread].skipped = m->skipped;
	m->heap.threads = (uint32_t)m->stacks.threads.len;
	return true;
}

static bool take_common(struct memray *m, unsigned kind, struct allo_error *err)
{
	uint64_t number, other;

	switch (kind) {
	case NATIVE_FRAME:
		return take_number(m, &number, err) && take_number(m, &other, err);
	case MAPS:
		return true;
	case MAPPED_FILE:
		return skip_file(m, err);
	case THREAD_NAME:
		return skip_text(m, err);
	case THREAD:
		return take_fixed(m, 8, &number, err) && switch_thread(m, number, err);
	case CODE:
		return take_code(m, err);
	default:
		return fail_record(m, "a record is of an unknown kind", err);
	}
}

/* A function, and the offset of an instruction. */
static bool take_place(struct memray *m, allo_frame_id *frame, struct allo_error *err)
{
	uint64_t code;
	int64_t offset;

	if (!take_number(m, &code, err) || !take_signed(m, &offset, err))
		return false;
	if (offset < INT32_MIN || offset > INT32_MAX)
		return fail_record(m, "an instruction is too far away", err);
	*frame = allo_memray_frame(&m->stacks, code, offset, err);
	if (allo_failed(err))
		return false;
	return *frame != 0 || fail_record(m, "a frame is of an unknown function", err);
}

/* Records of the layout with events. */

/* An address: the difference to the last one, or one of the recent ones by its place. */
static bool take_address(struct memray *m, unsigned place, uint64_t *address,
			 struct allo_error *err)
{
	if (place < RECENT) {
		*address = m->recent[place];
		return true;
	}
	if (!take_difference(m, &m->last_address, err))
		return false;
	*address = m->last_address << 3;
	memmove(m->recent + 1, m->recent, sizeof(m->recent) - sizeof(*m->recent));
	m->recent[0] = *address;
	return true;
}

static bool allocate(struct memray *m, unsigned allocator, uint64_t address, uint64_t size,
		     struct allo_error *err)
{
	allo_stack_id stack = allo_memray_stack(&m->stacks, m->thread, err);

	if (allo_failed(err))
		return false;
	if (allocator == MMAP)
		return allo_memray_map(&m->heap, m->thread, address, size, stack, err);
	return allo_memray_alloc(&m->heap, m->thread, address, size, stack, err);
}

static bool take_allocation(struct memray *m, unsigned flags, struct allo_error *err)
{
	unsigned allocator = flags & 7;
	uint64_t address, size, unused;

	if (!take_address(m, flags >> 3 & 15, &address, err) ||
	    (allocator == 0 && !take_byte(m, &allocator, err)))
		return false;
	if (allocator == FREE || allocator == PYTHON_FREE)
		return allo_memray_free(&m->heap, m->thread, address, err);
	if (allocator == 0 || allocator > MUNMAP)
		return fail_record(m, "an allocation is of an unknown kind", err);
	if ((m->has_native && !take_number(m, &unused, err)) || !take_number(m, &size, err))
		return false;
	if (allocator == MUNMAP)
		return allo_memray_unmap(&m->heap, m->thread, address, size, err);
	return allocate(m, allocator, address, size, err);
}

static bool take_push(struct memray *m, struct allo_error *err)
{
	allo_frame_id frame;

	return take_place(m, &frame, err) && allo_memray_push(&m->stacks, m->thread, frame, err);
}

/* With --track-object-lifetimes: addresses count among the recent ones. */
static bool take_object(struct memray *m, unsigned flags, struct allo_error *err)
{
	uint64_t address, native;

	return take_address(m, flags >> 1 & 15, &address, err) &&
	       (!m->has_native || !(flags & 1) || take_number(m, &native, err));
}

static bool take_time(struct memray *m, struct allo_error *err)
{
	uint64_t resident, ms;

	if (!take_number(m, &resident, err) || !take_number(m, &ms, err))
		return false;
	if (ms < UINT64_MAX / 1000000 && ms * 1000000 > m->heap.ns)
		m->heap.ns = ms * 1000000;
	return true;
}

static bool take_event(struct memray *m, unsigned kind, struct allo_error *err)
{
	if (kind & ALLOCATION)
		return take_allocation(m, kind & (ALLOCATION - 1), err);
	if (kind & PUSH)
		return take_push(m, err);
	if (kind & OBJECT)
		return take_object(m, kind & (OBJECT - 1), err);
	if (kind & POP)
		return allo_memray_pop(&m->stacks, m->thread, (kind & (POP - 1)) + 1) ||
		       fail_record(m, "a thread leaves more functions than it entered", err);
	return kind == RESIDENT ? take_time(m, err) : take_common(m, kind, err);
}

/* Records of the layout with sums. */

static bool take_frame(struct memray *m, struct allo_error *err)
{
	uint64_t number;
	unsigned is_entry;
	allo_frame_id frame;

	if (!take_number(m, &number, err) || !take_place(m, &frame, err) ||
	    !take_byte(m, &is_entry, err))
		return false;
	if (number != m->frames.len)
		return fail_record(m, "a frame is out of order", err);
	return allo_vec_add(&m->frames, frame, err);
}

/* A stack, by its frame and its caller.  They are numbered from 1. */
static bool take_stack(struct memray *m, struct allo_error *err)
{
	uint64_t frame, caller;
	struct node node;

	if (!take_number(m, &frame, err) || !take_number(m, &caller, err))
		return false;
	if (frame >= m->frames.len || caller >= m->nodes.len)
		return fail_record(m, "a stack comes before its parts", err);
	node = m->nodes.at[caller];
	node.whole = allo_profile_add_stack(m->profile, node.whole, m->frames.at[frame], err);
	if (node.depth++ >= m->skipped)
		node.of_main = allo_profile_add_stack(m->profile, node.of_main, m->frames.at[frame],
						      err);
	return allo_vec_add(&m->nodes, node, err);
}

static uint64_t number_at(struct allo_text bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes.data + at, sizeof(value));
	return value;
}

static bool take_sum(struct memray *m, struct allo_error *err)
{
	struct allo_text sum;
	uint64_t number, values[4];
	const struct node *node;

	if (!take_bytes(m, SUM_SIZE, &sum, err))
		return false;
	number = number_at(sum, 24);
	if (number >= m->nodes.len)
		return fail_record(m, "a sum is of an unknown stack", err);
	node = &m->nodes.at[number];
	values[0] = number_at(sum, 40);
	values[1] = number_at(sum, 56);
	values[2] = number_at(sum, 48);
	values[3] = number_at(sum, 64);
	return allo_profile_add_values(
		m->profile, number_at(sum, 0) == m->main_thread ? node->of_main : node->whole, 0,
		values, err);
}

static bool take_sums_record(struct memray *m, unsigned kind, struct allo_error *err)
{
	struct allo_text unused;
	uint64_t number;

	switch (kind) {
	case SNAPSHOT:
		return take_bytes(m, SNAPSHOT_SIZE, &unused, err);
	case SUM:
		return take_sum(m, err);
	case STACK:
		return take_stack(m, err);
	case FRAME:
		return take_frame(m, err);
	case LIVE_OBJECT:
		return take_number(m, &number, err) &&
		       (!m->has_native || take_number(m, &number, err));
	default:
		return take_common(m, kind, err);
	}
}

static bool begin_sums(struct memray *m, struct allo_error *err)
{
	static const enum allo_meaning meanings[] = { ALLO_PEAK_BLOCKS, ALLO_PEAK_BYTES,
						      ALLO_END_BLOCKS, ALLO_END_BYTES };

	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		allo_profile_add_metric(m->profile, meanings[i], NULL, err);
	m->profile->meta.default_metric = 2;
	return allo_vec_add(&m->nodes, ((struct node){ 0 }), err) && !allo_failed(err);
}

/* The file. */

/* Reads records up to the end.  A file of a killed program ends with zeros, or within a record. */
static bool take_records(struct memray *m, struct allo_error *err)
{
	unsigned end = m->layout == SUMS ? SUMS_END : END, kind;

	while (take_byte(m, &kind, err) && kind != FILLER) {
		if (kind == end) {
			m->is_ended = true;
			break;
		}
		m->heap.input_bytes = m->in->done;
		if (!(m->layout == SUMS ? take_sums_record : take_event)(m, kind, err))
			break;
	}
	return !allo_failed(err);
}

static bool read_memray(struct allo_input *in, const struct allo_read_options *options,
			struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(memray_free) struct memray *m = calloc(1, sizeof(*m));

	(void)options;
	if (!m)
		return allo_fail_memory(err);
	m->in = in;
	m->profile = m->stacks.profile = m->heap.profile = profile;
	allo_input_set_binary(in);
	if (!take_head(m, err))
		return allo_failed(err) ? false : fail_record(m, "the head is incomplete", err);
	if (!switch_thread(m, m->main_thread, err) ||
	    !(m->layout == SUMS ? begin_sums(m, err) : allo_memray_heap_init(&m->heap, err)) ||
	    !take_records(m, err) ||
	    (m->layout == ALL_EVENTS && !allo_memray_heap_end(&m->heap, err)))
		return false;
	if (!m->is_ended)
		allo_note(&profile->notes, ALLO_NOTE_CUT, allo_input_pos(in));
	return true;
}

static enum allo_guess probe_memray(struct allo_text head)
{
	return allo_text_starts(head, (struct allo_text){ "memray", sizeof("memray") }) ? ALLO_SURE
											: ALLO_NO;
}

const struct allo_reader allo_read_memray = {
	.name = "memray",
	.title = "recordings of memray, the profiler for Python",
	.about =
		"Files of 'memray run', of memray 1.19 and later. All events are replayed: the "
		"metrics are those of Allotrope's own recordings, and the peak is exact. Times come "
		"from memray's samples of the resident memory, ten milliseconds apart. Files of "
		"'memray run --aggregate' hold the blocks of the peak and of the end only. Frames "
		"are Python's, with file and line; the native ones of --native are left out. A "
		"recording of a program that was killed can be read; a note says so.",
	.probe = probe_memray,
	.read = read_memray,
	.is_binary = true,
};
