/* random_access.c - see random_access.h. */
#include "base/random_access.h"

#include "base/defer.h"
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPOOL_SIZE = 256 << 10 };

static bool write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t done = write(fd, data, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		data += done;
		len -= (size_t)done;
	}
	return true;
}

static bool spool(struct allo_random_access *source, struct allo_input *in, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *buffer = malloc(SPOOL_SIZE);
	size_t got;

	if (!buffer)
		return allo_fail_memory(err);
	source->fd = allo_temporary_open();
	if (source->fd < 0)
		return allo_fail_errno(err, "a temporary file", "create");
	source->owns_fd = true;
	while ((got = allo_input_take(in, buffer, SPOOL_SIZE, err)) > 0) {
		if (!write_all(source->fd, buffer, got))
			return allo_fail_errno(err, "a temporary file", "write");
		source->size += got;
	}
	source->stored = in->fd < 0 ? in->memory.len : in->done;
	return !allo_failed(err);
}

/* Takes the size of a file.  Holes count in st_size, not in st_blocks, whose unit is 512 bytes. */
static void take_size(struct allo_random_access *source, const struct stat *st)
{
	uint64_t blocks = (uint64_t)st->st_blocks * 512;

	source->size = (uint64_t)st->st_size > source->start ? (uint64_t)st->st_size - source->start
							     : 0;
	source->stored = blocks < source->size ? blocks : source->size;
}

bool allo_random_access_open(struct allo_random_access *source, struct allo_input *in,
			     struct allo_error *err)
{
	struct stat st;
	off_t at;

	*source = (struct allo_random_access){ .name = in->name, .fd = -1 };
	if (in->unpacker)
		return spool(source, in, err);
	if (in->fd < 0) {
		source->memory = in->memory.data;
		source->size = source->stored = in->memory.len;
		return true;
	}
	/* Standard input need not have been at its start. */
	at = lseek(in->fd, 0, SEEK_CUR);
	if (fstat(in->fd, &st) != 0 || !S_ISREG(st.st_mode) || at < (off_t)in->done)
		return spool(source, in, err);
	source->fd = in->fd;
	source->start = (uint64_t)at - in->done;
	take_size(source, &st);
	return true;
}

bool allo_random_access_grow(struct allo_random_access *source)
{
	struct stat st;

	if (source->memory || source->owns_fd || source->fd < 0 || fstat(source->fd, &st) != 0)
		return false;
	if ((uint64_t)st.st_size > source->start + source->size)
		take_size(source, &st);
	return true;
}

void allo_random_access_close(struct allo_random_access *source)
{
	if (source->owns_fd)
		close(source->fd);
	*source = (struct allo_random_access){ .fd = -1 };
}

bool allo_random_access_read(const struct allo_random_access *source, uint64_t offset, void *buffer,
			     size_t count, size_t *got, struct allo_error *err)
{
	*got = 0;
	if (offset >= source->size)
		return true;
	if (count > source->size - offset)
		count = (size_t)(source->size - offset);
	if (source->memory) {
		memcpy(buffer, source->memory + offset, count);
		*got = count;
		return true;
	}
	while (*got < count) {
		ssize_t done = pread(source->fd, (char *)buffer + *got, count - *got,
				     (off_t)(source->start + offset + *got));

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return allo_fail_errno(err, source->name, "read");
		if (done == 0)
			return true; /* the file has shrunk */
		*got += (size_t)done;
	}
	return true;
}

uint64_t allo_random_access_next_data(const struct allo_random_access *source, uint64_t offset)
{
	off_t before, next;

	if (source->memory || offset >= source->size)
		return offset;
	/* Others may rely on the position of the descriptor. */
	before = lseek(source->fd, 0, SEEK_CUR);
	next = lseek(source->fd, (off_t)(source->start + offset), SEEK_DATA);
	if (next < 0 && errno != ENXIO)
		next = (off_t)(source->start + offset); /* the file system has no holes */
	lseek(source->fd, before, SEEK_SET);
	return next < 0 ? source->size : (uint64_t)next - source->start;
}
