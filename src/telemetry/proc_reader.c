/* proc_reader.c - a buffer that is refilled when it has no whole line. */
#include "telemetry/proc_reader.h"

#include "base/assert.h"
#include "telemetry/text_buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

int allo_proc_reader_open(struct allo_proc_reader *reader, const char *root, const char *path)
{
	char whole[PATH_MAX];
	struct allo_text_buffer buffer = { whole, sizeof(whole), 0 };

	allo_buffer_string(&buffer, root);
	allo_buffer_string(&buffer, path);
	if (allo_buffer_end(&buffer) >= sizeof(whole))
		return ENAMETOOLONG;
	reader->at = reader->end = 0;
	reader->is_skipping = false;
	reader->is_long = reader->is_read = false;
	reader->failure = 0;
	reader->fd = (int)syscall(SYS_openat, AT_FDCWD, whole, O_RDONLY | O_CLOEXEC);
	return reader->fd < 0 ? errno : 0;
}

int allo_proc_reader_open_long(struct allo_proc_reader *reader, const char *root, const char *path)
{
	int why = allo_proc_reader_open(reader, root, path);

	reader->is_long = true;
	return why;
}

void allo_proc_reader_open_memory(struct allo_proc_reader *reader, struct allo_text text)
{
	*reader = (struct allo_proc_reader){ .fd = -1 };
	reader->end = text.len < ALLO_PROC_READER_SIZE ? text.len : ALLO_PROC_READER_SIZE;
	memcpy(reader->buffer, text.data, reader->end);
}

/* Appends more of the file to the buffer; false at the end, or on failure. */
static bool fill(struct allo_proc_reader *reader)
{
	size_t room;
	long count;

	if (reader->fd < 0 || reader->is_read)
		return false;
	if (reader->at > 0) {
		memmove(reader->buffer, reader->buffer + reader->at, reader->end - reader->at);
		reader->end -= reader->at;
		reader->at = 0;
	}
	ALLO_ASSERT(reader->at == 0 && reader->end <= ALLO_PROC_READER_SIZE);
	room = ALLO_PROC_READER_SIZE - reader->end;
	do {
		count = syscall(SYS_read, reader->fd, reader->buffer + reader->end, room);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		reader->failure = errno;
	reader->is_read = count <= 0 || (!reader->is_long && (size_t)count < room);
	if (count > 0)
		reader->end += (size_t)count;
	return count > 0;
}

/* Takes the text up to `newline`, or all of the buffer if it is NULL. */
static struct allo_text take(struct allo_proc_reader *reader, const char *newline)
{
	const char *start = reader->buffer + reader->at;
	struct allo_text line = { start,
				  newline ? (size_t)(newline - start) : reader->end - reader->at };

	reader->at += line.len + (newline != NULL);
	ALLO_ASSERT(reader->at <= reader->end);
	return line;
}

bool allo_proc_reader_next(struct allo_proc_reader *reader, struct allo_text *line)
{
	for (;;) {
		const char *newline = memchr(reader->buffer + reader->at, '\n',
					     reader->end - reader->at);
		bool is_full = reader->at == 0 && reader->end == ALLO_PROC_READER_SIZE;
		bool was_skipping = reader->is_skipping;

		if (!newline && !is_full && fill(reader))
			continue;
		if (!newline && reader->at == reader->end)
			return false;
		*line = take(reader, newline);
		reader->is_skipping = !newline && is_full;
		if (!was_skipping)
			return true;
	}
}

struct allo_text allo_proc_reader_rest(struct allo_proc_reader *reader)
{
	while (fill(reader)) {
	}
	return take(reader, NULL);
}

int allo_proc_reader_close(struct allo_proc_reader *reader)
{
	if (reader->fd >= 0)
		syscall(SYS_close, reader->fd);
	reader->fd = -1;
	return reader->failure;
}

int allo_proc_reader_number(struct allo_proc_reader *reader, const char *root, const char *path,
			    uint64_t *number)
{
	int why = allo_proc_reader_open(reader, root, path), failure;
	struct allo_text line;
	bool is_max, is_number = false;

	if (why)
		return why;
	if (allo_proc_reader_next(reader, &line)) {
		is_max = allo_text_equal(line, ALLO_TEXT("max"));
		is_number = is_max || allo_text_u64(line, number);
		if (is_max)
			*number = UINT64_MAX;
	}
	failure = allo_proc_reader_close(reader);
	return failure || is_number ? failure : ENODATA;
}
