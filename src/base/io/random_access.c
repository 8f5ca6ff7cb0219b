/* random_access.c - see random_access.h. */
#include "base/io/random_access.h"

#include "base/io/temporary.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PORTION = 256 << 10,
	COPY_IN_MEMORY = 16 << 20, /* bytes; larger copies are files */
};

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

/* Copies of pipes and compressed files.  All zeros but for `fd`: nothing yet. */
struct copy {
	ALLO_VEC(char) kept; /* in memory; a buffer once there is a file */
	int fd;              /* -1: all of it is in memory */
	uint64_t size;
};

static bool write_copy(struct copy *copy, struct allo_error *err)
{
	if (copy->fd < 0)
		copy->fd = allo_temporary_open();
	if (copy->fd < 0)
		return allo_fail_errno(err, "a temporary file", "create");
	if (!write_all(copy->fd, copy->kept.at, copy->kept.len))
		return allo_fail_errno(err, "a temporary file", "write");
	copy->kept.len = 0;
	return true;
}

static bool make_copy(struct copy *copy, struct allo_input *in, struct allo_error *err)
{
	for (;;) {
		size_t got;

		if (!allo_vec_reserve(&copy->kept, PORTION))
			return allo_fail_memory(err);
		got = allo_input_take(in, copy->kept.at + copy->kept.len, PORTION, err);
		copy->kept.len += got;
		copy->size += got;
		if (got == 0)
			return !allo_failed(err) && (copy->fd < 0 || write_copy(copy, err));
		if (copy->kept.len > COPY_IN_MEMORY && !write_copy(copy, err))
			return false;
	}
}

static bool spool(struct allo_random_access *source, struct allo_input *in, struct allo_error *err)
{
	struct copy copy = { .fd = -1 };
	bool ok = make_copy(&copy, in, err);

	source->size = copy.size;
	source->stored = in->fd < 0 ? in->memory.len : in->done;
	source->fd = copy.fd;
	source->owns_fd = copy.fd >= 0;
	if (copy.fd < 0)
		source->memory = source->copy = copy.kept.at;
	else
		allo_vec_done(&copy.kept);
	return ok;
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
	free(source->copy);
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
