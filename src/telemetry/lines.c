/* lines.c - see lines.h. */
#include "telemetry/lines.h"

#include "telemetry/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

int allo_lines_open(struct allo_lines *lines, const char *root, const char *path)
{
	char whole[PATH_MAX];
	struct allo_draft draft = { whole, sizeof(whole), 0 };

	allo_draft_string(&draft, root);
	allo_draft_string(&draft, path);
	if (allo_draft_end(&draft) >= sizeof(whole))
		return ENAMETOOLONG;
	lines->at = lines->end = 0;
	lines->is_skipping = false;
	lines->is_long = lines->is_read = false;
	lines->failure = 0;
	lines->fd = (int)syscall(SYS_openat, AT_FDCWD, whole, O_RDONLY | O_CLOEXEC);
	return lines->fd < 0 ? errno : 0;
}

int allo_lines_open_long(struct allo_lines *lines, const char *root, const char *path)
{
	int why = allo_lines_open(lines, root, path);

	lines->is_long = true;
	return why;
}

void allo_lines_open_memory(struct allo_lines *lines, struct allo_text text)
{
	*lines = (struct allo_lines){ .fd = -1 };
	lines->end = text.len < ALLO_LINES_ROOM ? text.len : ALLO_LINES_ROOM;
	memcpy(lines->buffer, text.data, lines->end);
}

/* More of the file behind what is there; false at its end, or when it cannot be read. */
static bool fill(struct allo_lines *lines)
{
	size_t room;
	long count;

	if (lines->fd < 0 || lines->is_read)
		return false;
	if (lines->at > 0) {
		memmove(lines->buffer, lines->buffer + lines->at, lines->end - lines->at);
		lines->end -= lines->at;
		lines->at = 0;
	}
	room = ALLO_LINES_ROOM - lines->end;
	do {
		count = syscall(SYS_read, lines->fd, lines->buffer + lines->end, room);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		lines->failure = errno;
	lines->is_read = count <= 0 || (!lines->is_long && (size_t)count < room);
	if (count > 0)
		lines->end += (size_t)count;
	return count > 0;
}

/* What the buffer has of a line, up to its end if `newline` is there. */
static struct allo_text take(struct allo_lines *lines, const char *newline)
{
	const char *start = lines->buffer + lines->at;
	struct allo_text line = { start,
				  newline ? (size_t)(newline - start) : lines->end - lines->at };

	lines->at += line.len + (newline != NULL);
	return line;
}

bool allo_lines_next(struct allo_lines *lines, struct allo_text *line)
{
	for (;;) {
		const char *newline = memchr(lines->buffer + lines->at, '\n',
					     lines->end - lines->at);
		bool is_full = lines->at == 0 && lines->end == ALLO_LINES_ROOM;
		bool was_skipping = lines->is_skipping;

		if (!newline && !is_full && fill(lines))
			continue;
		if (!newline && lines->at == lines->end)
			return false;
		*line = take(lines, newline);
		lines->is_skipping = !newline && is_full;
		if (!was_skipping)
			return true;
	}
}

struct allo_text allo_lines_rest(struct allo_lines *lines)
{
	while (fill(lines)) {
	}
	return take(lines, NULL);
}

int allo_lines_close(struct allo_lines *lines)
{
	if (lines->fd >= 0)
		syscall(SYS_close, lines->fd);
	lines->fd = -1;
	return lines->failure;
}

int allo_lines_number(struct allo_lines *lines, const char *root, const char *path,
		      uint64_t *number)
{
	int why = allo_lines_open(lines, root, path), failure;
	struct allo_text line;
	bool is_max, is_number = false;

	if (why)
		return why;
	if (allo_lines_next(lines, &line)) {
		is_max = allo_text_equal(line, ALLO_TEXT("max"));
		is_number = is_max || allo_text_u64(line, number);
		if (is_max)
			*number = UINT64_MAX;
	}
	failure = allo_lines_close(lines);
	return failure || is_number ? failure : ENODATA;
}
