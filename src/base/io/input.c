/* input.c - filling and decompressing the window of an input. */
#include "base/io/input.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/io/unpack.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WINDOW_SIZE =
		256 << 10, /* fits the L2 cache, so the reader finds the bytes of read() there */
	PACKED_SIZE = 128 << 10,
};

/* Limits on decompression; see most_unpacked(). */
static const uint64_t unpacked_always = (uint64_t)64 << 20;
static const uint64_t unpacked_ratio = 100;
static const uint64_t packed_at_once = (uint64_t)256 << 20; /* in memory beside its contents */
static const uint64_t all_most = (uint64_t)2 << 30;         /* also protobuf's limit */

static struct allo_pos nowhere_in(const struct allo_input *in)
{
	return (struct allo_pos){ .file = in->name };
}

static bool fail_shrunk(const struct allo_input *in, struct allo_error *err)
{
	return allo_fail(err, ALLO_IO, nowhere_in(in),
			 "became shorter while it was read: %llu bytes instead of %llu",
			 (unsigned long long)in->done, (unsigned long long)in->total);
}

/* Reads the descriptor; -1 on failure. */
static ssize_t read_fd(struct allo_input *in, void *buffer, size_t count, struct allo_error *err)
{
	ssize_t got;

	if (in->watch && !in->watch->wait(in->watch->context, in->fd)) {
		in->is_stopped = true;
		return 0;
	}
	do {
		got = read(in->fd, buffer, count);
	} while (got < 0 && errno == EINTR);
	if (got < 0) {
		allo_fail_errno(err, in->name, "read");
		return -1;
	}
	if (got == 0 && count > 0 && in->done < in->total) {
		fail_shrunk(in, err);
		return -1;
	}
	in->done += (uint64_t)got;
	if (in->watch && got > 0)
		in->watch->see(in->watch->context, buffer, (size_t)got);
	if (in->progress)
		in->progress->tell(in->progress->context, in->done, in->total);
	return got;
}

static bool fill_packed(struct allo_input *in, struct allo_error *err)
{
	ssize_t got;

	if (in->fd < 0)
		return true;
	got = read_fd(in, in->packed_buffer, PACKED_SIZE, err);
	if (got < 0)
		return false;
	in->packed = (struct allo_text){ in->packed_buffer, (size_t)got };
	return true;
}

/* Compressed bytes read so far. */
static uint64_t packed_size(const struct allo_input *in)
{
	return in->fd < 0 ? in->memory.len : in->done;
}

/* Limit of unpacked bytes for this many compressed ones, against decompression bombs. */
static uint64_t most_unpacked(uint64_t packed)
{
	return allo_trust_limit(packed, unpacked_ratio, unpacked_always);
}

static bool fail_too_large(const struct allo_input *in, uint64_t most, struct allo_error *err)
{
	allo_fail(err, ALLO_LIMIT, nowhere_in(in), "holds more than %llu MiB%s",
		  (unsigned long long)(most >> 20), in->unpacker ? " once unpacked" : "");
	return allo_hint(err, "%s",
			 most == all_most
				 ? "a profile of this format is at most 2 GiB"
				 : "pass --trust if you trust the file, or unpack it first");
}

/* The position is in the compressed file. */
static bool fail_packed(const struct allo_input *in, const char *problem, const char *hint,
			struct allo_error *err)
{
	struct allo_pos pos = { in->name, 0, packed_size(in) - in->packed.len + 1 };

	allo_fail(err, ALLO_FORMAT, pos, "%s data %s", in->packing, problem);
	return allo_hint(err, "%s", hint);
}

static bool check_unpacked(struct allo_input *in, const struct allo_unpacked *step,
			   struct allo_error *err)
{
	uint64_t most = most_unpacked(packed_size(in));

	switch (step->problem) {
	case ALLO_UNPACK_NO_MEMORY:
		return allo_fail_memory(err);
	case ALLO_UNPACK_WIDE_WINDOW:
		return fail_packed(in, "needs too much memory to be unpacked",
				   "zstd -d --long=31 unpacks it", err);
	case ALLO_UNPACK_UNSUPPORTED:
		return fail_packed(in, "cannot be unpacked here", "unpack the file first", err);
	case ALLO_UNPACK_DAMAGED:
		return fail_packed(in, "is damaged", "create or copy the file again", err);
	default:
		in->unpacked += step->made;
		return in->unpacked <= most || fail_too_large(in, most, err);
	}
}

/* Unpacks bytes into `buffer`; 0 at the end and on failure. */
static size_t read_unpacked(struct allo_input *in, char *buffer, size_t room,
			    struct allo_error *err)
{
	for (;;) {
		struct allo_unpacked step;

		if (in->packed.len == 0 && !fill_packed(in, err))
			return 0;
		bool is_last = in->packed.len == 0;

		step = allo_unpack(in->unpacker, &in->packed, buffer, room);
		if (!check_unpacked(in, &step, err))
			return 0;
		if (step.made > 0)
			return step.made;
		if (is_last) {
			if (!step.finished)
				fail_packed(in, "ends too early",
					    "the file is truncated; create or copy it again", err);
			return 0;
		}
	}
}

/* Reads (unpacked) bytes that follow the window; 0 at the end and on failure. */
static size_t read_some(struct allo_input *in, char *buffer, size_t room, struct allo_error *err)
{
	size_t got = 0;

	if (in->at_end)
		return 0;
	if (in->unpacker) {
		got = read_unpacked(in, buffer, room, err);
	} else if (in->fd >= 0) {
		ssize_t count = read_fd(in, buffer, room, err);

		got = count > 0 ? (size_t)count : 0;
	}
	in->at_end = got == 0;
	return got;
}

/* Advances the counted offset to `byte` of the window. */
static void count_to(struct allo_input *in, const char *byte)
{
	ALLO_ASSERT(in->counted_to <= byte && byte <= in->end);
	allo_offset_advance(&in->counted,
			    (struct allo_text){ in->counted_to, (size_t)(byte - in->counted_to) });
	in->counted_to = byte;
}

static void set_window(struct allo_input *in, const char *data, size_t len)
{
	in->next = in->counted_to = data;
	in->end = len > 0 ? data + len : data; /* `data` may be NULL */
}

/* Moves the unread bytes to the front and grows the buffer to at least `capacity`. */
static bool make_room(struct allo_input *in, size_t capacity, struct allo_error *err)
{
	size_t unread = allo_input_unread(in);
	char *larger;

	if (in->counted_to)
		count_to(in, in->next);
	if (unread > 0 && in->next != in->buffer)
		memmove(in->buffer, in->next, unread);
	set_window(in, in->buffer, unread);
	if (capacity <= in->capacity)
		return true;
	/* realloc() moves pages of large buffers, so the contents never exist twice. */
	larger = realloc(in->buffer, capacity);
	if (!larger)
		return allo_fail_memory(err);
	in->buffer = larger;
	in->capacity = capacity;
	set_window(in, in->buffer, unread);
	return true;
}

bool allo_input_more(struct allo_input *in, struct allo_error *err)
{
	size_t unread = allo_input_unread(in), got;
	size_t capacity = in->capacity ? in->capacity : WINDOW_SIZE;

	if (in->at_end)
		return false;
	if (unread >= ALLO_PIECE_MAX)
		return allo_fail(err, ALLO_LIMIT, allo_input_pos(in),
				 "one item of the file is larger than %d MiB",
				 ALLO_PIECE_MAX >> 20);
	while (capacity < unread * 2)
		capacity *= 2;
	if (!make_room(in, capacity, err))
		return false;
	ALLO_ASSERT(in->next == in->buffer && unread < in->capacity);
	got = read_some(in, in->buffer + unread, in->capacity - unread, err);
	in->end += got;
	return got > 0;
}

bool allo_input_want(struct allo_input *in, size_t count, struct allo_error *err)
{
	while (allo_input_unread(in) < count && allo_input_more(in, err))
		;
	return !allo_failed(err);
}

static bool start_unpacking(struct allo_input *in, struct allo_error *err)
{
	in->unpacker = allo_unpacker_new(in->packing, err);
	if (!in->unpacker)
		return false;
	/* The window holds compressed bytes: they become `packed`. */
	in->packed = (struct allo_text){ in->next, allo_input_unread(in) };
	if (in->fd >= 0) {
		in->packed_buffer = malloc(PACKED_SIZE > in->capacity ? PACKED_SIZE : in->capacity);
		if (!in->packed_buffer)
			return allo_fail_memory(err);
		memcpy(in->packed_buffer, in->packed.data, in->packed.len);
		in->packed.data = in->packed_buffer;
	}
	set_window(in, in->buffer, 0);
	in->at_end = false;
	return allo_input_want(in, ALLO_HEAD_SIZE, err);
}

static struct allo_text window_of(const struct allo_input *in)
{
	return (struct allo_text){ in->next, allo_input_unread(in) };
}

/* Reads the head, and unpacks it if it is compressed.  The mark of UTF-8 is skipped. */
static bool start(struct allo_input *in, struct allo_error *err)
{
	if (!allo_input_want(in, ALLO_HEAD_SIZE, err))
		return false;
	in->packing = allo_packing_of(window_of(in));
	if (in->packing && !start_unpacking(in, err))
		return false;
	if (allo_text_starts(window_of(in), ALLO_TEXT("\xef\xbb\xbf")))
		in->next += 3;
	return true;
}

static bool look_at_fd(struct allo_input *in, struct allo_error *err)
{
	struct stat st;

	if (fstat(in->fd, &st) != 0)
		return allo_fail_errno(err, in->name, "open");
	if (S_ISDIR(st.st_mode))
		return allo_fail(err, ALLO_IO, nowhere_in(in), "is a directory, not a profile");
	if (S_ISREG(st.st_mode)) {
		/* Standard input may be past the start of its file. */
		off_t start = lseek(in->fd, 0, SEEK_CUR);

		in->total = start < st.st_size ? (uint64_t)(st.st_size - start) : 0;
		posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
	return true;
}

bool allo_input_open(struct allo_input *in, const char *path, const struct allo_progress *progress,
		     struct allo_error *err)
{
	return allo_input_open_watched(in, path, progress, NULL, err);
}

bool allo_input_open_watched(struct allo_input *in, const char *path,
			     const struct allo_progress *progress,
			     const struct allo_input_watch *watch, struct allo_error *err)
{
	*in = (struct allo_input){ .name = path, .fd = -1, .progress = progress, .watch = watch };
	if (strcmp(path, "-") == 0) {
		in->name = "standard input";
		in->fd = STDIN_FILENO;
	} else {
		in->fd = open(path, O_RDONLY | O_CLOEXEC);
		in->owns_fd = in->fd >= 0;
	}
	if (in->fd < 0)
		return allo_fail_errno(err, path, "open");
	return look_at_fd(in, err) && start(in, err);
}

bool allo_input_open_fd(struct allo_input *in, int fd, const char *name,
			const struct allo_progress *progress, struct allo_error *err)
{
	*in = (struct allo_input){ .name = name, .fd = fd, .progress = progress };
	return look_at_fd(in, err) && start(in, err);
}

bool allo_input_open_memory(struct allo_input *in, const char *name, const void *data, size_t len,
			    struct allo_error *err)
{
	*in = (struct allo_input){ .name = name, .fd = -1, .total = len, .at_end = true };
	in->memory = (struct allo_text){ len ? data : "", len };
	set_window(in, in->memory.data, len);
	return start(in, err);
}

void allo_input_close(struct allo_input *in)
{
	allo_unpacker_free(in->unpacker);
	free(in->packed_buffer);
	free(in->buffer);
	if (in->owns_fd)
		close(in->fd);
	*in = (struct allo_input){ .fd = -1 };
}

static struct allo_pos pos_of(const struct allo_input *in, struct allo_offset at)
{
	if (in->is_binary)
		return (struct allo_pos){ in->name, 0, at.offset + 1 };
	return allo_offset_pos(at, in->name);
}

struct allo_pos allo_input_pos_at(const struct allo_input *in, const char *byte)
{
	struct allo_offset at = in->counted;

	ALLO_ASSERT(in->counted_to <= byte && byte <= in->end);
	allo_offset_advance(&at,
			    (struct allo_text){ in->counted_to, (size_t)(byte - in->counted_to) });
	return pos_of(in, at);
}

struct allo_offset allo_input_offset(struct allo_input *in)
{
	count_to(in, in->next);
	return in->counted;
}

bool allo_input_line(struct allo_input *in, struct allo_text *line, struct allo_error *err)
{
	size_t searched = 0;

	for (;;) {
		const char *from = in->next + searched;
		const char *newline = in->next == in->end
					      ? NULL
					      : memchr(from, '\n', (size_t)(in->end - from));

		if (newline) {
			*line = (struct allo_text){ in->next, (size_t)(newline - in->next) };
			in->next = newline + 1;
			break;
		}
		searched = allo_input_unread(in);
		if (allo_input_more(in, err))
			continue;
		if (allo_failed(err) || searched == 0)
			return false;
		*line = (struct allo_text){ in->next, searched };
		in->next = in->end;
		break;
	}
	if (line->len > 0 && line->data[line->len - 1] == '\r')
		line->len--;
	return true;
}

bool allo_input_lines(struct allo_input *in, struct allo_text *lines, struct allo_error *err)
{
	size_t searched = 0;

	for (;;) {
		size_t unread = allo_input_unread(in);
		const char *last = NULL;

		if (unread > searched)
			last = memrchr(in->next + searched, '\n', unread - searched);
		searched = unread;
		if (!last && allo_input_more(in, err))
			continue;
		if (allo_failed(err) || unread == 0)
			return false;
		*lines = (struct allo_text){ in->next,
					     last ? (size_t)(last + 1 - in->next) : unread };
		in->next += lines->len;
		return true;
	}
}

void allo_input_lines_counted(struct allo_input *in, uint64_t count)
{
	in->counted.offset += (uint64_t)(in->next - in->counted_to);
	in->counted.lines += count;
	in->counted.line_start = in->counted.offset;
	in->counted_to = in->next;
}

size_t allo_input_take(struct allo_input *in, void *buffer, size_t count, struct allo_error *err)
{
	size_t unread = allo_input_unread(in);

	if (unread == 0)
		return read_some(in, buffer, count, err);
	if (count > unread)
		count = unread;
	memcpy(buffer, in->next, count);
	in->next += count;
	return count;
}

bool allo_input_give_back(struct allo_input *in, struct allo_text text, struct allo_offset at,
			  struct allo_error *err)
{
	size_t unread = allo_input_unread(in), len = text.len + unread;
	char *joined = malloc(len > WINDOW_SIZE ? len : WINDOW_SIZE);

	if (!joined)
		return allo_fail_memory(err);
	if (text.len > 0)
		memcpy(joined, text.data, text.len);
	if (unread > 0)
		memcpy(joined + text.len, in->next, unread);
	free(in->buffer);
	in->buffer = joined;
	in->capacity = len > WINDOW_SIZE ? len : WINDOW_SIZE;
	set_window(in, joined, len);
	in->counted = at;
	return true;
}

static bool grow_to_end(struct allo_input *in, struct allo_error *err)
{
	for (;;) {
		size_t unread = allo_input_unread(in), got;
		uint64_t left = in->unpacker || in->total < in->done ? 0 : in->total - in->done;

		if (unread + left > all_most)
			return fail_too_large(in, all_most, err);
		if (unread == in->capacity || in->next != in->buffer) {
			size_t want = in->capacity < WINDOW_SIZE ? WINDOW_SIZE : unread * 2;

			/* One extra byte of room, so that the next read() finds the end. */
			if (left > 0)
				want = unread + (size_t)left + 1;
			if (!make_room(in, want, err))
				return false;
		}
		got = read_some(in, in->buffer + unread, in->capacity - unread, err);
		if (got == 0)
			return !allo_failed(err);
		in->end += got;
	}
}

static bool is_own_file(const struct allo_input *in)
{
	return in->owns_fd && in->total > 0;
}

/* Reads the whole compressed file again; *owned is memory to free. */
static bool packed_again(const struct allo_input *in, struct allo_text *packed, char **owned)
{
	*packed = in->memory;
	if (in->fd < 0)
		return true;
	*packed = (struct allo_text){ .len = (size_t)in->total }; /* at most packed_at_once */
	packed->data = *owned = malloc(packed->len);
	return *owned && pread(in->fd, *owned, packed->len, 0) == (ssize_t)packed->len;
}

/* Unpacks a gzip file of which nothing has been used yet in one call, which is several times as
 * fast. */
static bool gunzip_at_once(struct allo_input *in)
{
	ALLO_DEFER(allo_free_pointer) char *owned = NULL;
	struct allo_text packed;
	uint64_t most = most_unpacked(in->total);
	size_t len;
	char *data;

	if (in->total > packed_at_once || !packed_again(in, &packed, &owned))
		return false;
	data = allo_gunzip_whole(packed, (size_t)(most < all_most ? most : all_most), &len);
	if (!data)
		return false;
	free(in->buffer);
	in->buffer = data;
	in->capacity = len;
	in->at_end = true;
	set_window(in, data, len);
	return true;
}

bool allo_input_all(struct allo_input *in, struct allo_text *all, struct allo_error *err)
{
	bool is_untouched = in->counted.offset == 0 && in->next == in->buffer;
	bool is_gzip = in->packing && strcmp(in->packing, "gzip") == 0;

	if (!in->at_end && is_gzip && is_untouched && (in->fd < 0 || is_own_file(in)))
		gunzip_at_once(in);
	if (!in->at_end && !grow_to_end(in, err))
		return false;
	*all = (struct allo_text){ in->next, allo_input_unread(in) };
	return true;
}

/* Offset of the last occurrence of `needle` in a file, or (uint64_t)-1. */
static uint64_t find_last_in_file(int fd, uint64_t size, struct allo_text needle)
{
	ALLO_DEFER(allo_free_pointer) char *chunk = malloc(WINDOW_SIZE);
	uint64_t end = size;

	while (chunk && end >= needle.len) {
		size_t len = end < WINDOW_SIZE ? (size_t)end : WINDOW_SIZE;
		size_t at;

		if (pread(fd, chunk, len, (off_t)(end - len)) != (ssize_t)len)
			break;
		at = allo_text_find_last((struct allo_text){ chunk, len }, needle);
		if (at != (size_t)-1)
			return end - len + at;
		/* Chunks overlap, so that a needle across a border is found. */
		end -= len;
		if (end > 0)
			end += needle.len - 1;
	}
	return (uint64_t)-1;
}

static bool is_same_file(int a, int b)
{
	struct stat first, second;

	return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

bool allo_input_open_at_last(const struct allo_input *in, struct allo_text needle,
			     struct allo_input *at, struct allo_error *err)
{
	uint64_t offset;

	*at = (struct allo_input){ .name = in->name, .fd = -1 };
	if (in->unpacker)
		return false;
	if (in->fd < 0) {
		size_t found = allo_text_find_last(in->memory, needle);

		if (found == (size_t)-1)
			return false;
		at->memory = in->memory;
		at->at_end = true;
		set_window(at, in->memory.data + found, in->memory.len - found);
		at->counted.offset = found;
		return true;
	}
	if (!is_own_file(in))
		return false;
	offset = find_last_in_file(in->fd, in->total, needle);
	if (offset == (uint64_t)-1)
		return false;
	at->fd = open(in->name, O_RDONLY | O_CLOEXEC);
	at->owns_fd = at->fd >= 0;
	at->counted.offset = offset;
	return at->owns_fd && is_same_file(in->fd, at->fd) &&
	       lseek(at->fd, (off_t)offset, SEEK_SET) >= 0 && allo_input_want(at, needle.len, err);
}
