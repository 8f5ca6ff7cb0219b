/* tar.c - headers of ustar, pax and GNU archives. */
#include "readers/rheaper/tar.h"

#include <stdio.h>

/* A header is one block.  The file's bytes follow, padded to whole blocks. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
	char rest[12];
};

enum { BLOCK = 512 };
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

/* The text of a field; a NUL ends it if it is not full. */
static struct allo_text field(const char *bytes, size_t room)
{
	return (struct allo_text){ bytes, strnlen(bytes, room) };
}

/* Octal digits, or, after a byte 0x80, a big-endian number. */
static bool parse_number(const char *bytes, size_t room, uint64_t *value)
{
	size_t i = 0;

	*value = 0;
	if ((unsigned char)bytes[0] == 0x80) {
		for (i = 1; i < room; i++) {
			if (*value >> 56 != 0)
				return false;
			*value = *value << 8 | (unsigned char)bytes[i];
		}
		return true;
	}
	while (i < room && bytes[i] == ' ')
		i++;
	for (; i < room && bytes[i] >= '0' && bytes[i] <= '7'; i++)
		*value = *value << 3 | (uint64_t)(bytes[i] - '0');
	return i == room || bytes[i] == ' ' || bytes[i] == '\0';
}

/* The checksum is the sum of all bytes, with its own bytes as spaces. */
static bool is_header(const struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	uint64_t stated, sum = 0;

	for (size_t i = 0; i < BLOCK; i++) {
		size_t at = i - offsetof(struct header, checksum);

		sum += at < sizeof(header->checksum) ? ' ' : bytes[i];
	}
	return parse_number(header->checksum, sizeof(header->checksum), &stated) && stated == sum;
}

bool allo_is_tar(struct allo_text head)
{
	struct header header;

	if (head.len < BLOCK)
		return false;
	memcpy(&header, head.data, BLOCK);
	return memcmp(header.magic, "ustar", 5) == 0 && is_header(&header);
}

static void set_path(struct allo_tar *tar, struct allo_text path)
{
	snprintf(tar->path, sizeof(tar->path), "%.*s",
		 (int)(path.len < sizeof(tar->path) ? path.len : sizeof(tar->path) - 1), path.data);
}

/* A pax record, "27 path=rip-1/events/events-0\n", holds a value that does not fit in the next
 * header. */
static void take_records(struct allo_tar *tar, struct allo_text records)
{
	struct allo_text line, rest = records;

	while (allo_text_next(&rest, '\n', &line)) {
		uint64_t len;

		if (!allo_text_take_u64(&line, &len) || !allo_text_skip(&line, ALLO_TEXT(" ")))
			return;
		if (allo_text_skip(&line, ALLO_TEXT("path="))) {
			set_path(tar, line);
			tar->has_path = true;
		} else if (allo_text_skip(&line, ALLO_TEXT("size="))) {
			tar->has_size = allo_text_u64(line, &tar->given_size);
		}
	}
}

/* Reads an entry that precedes a header and extends it: a long path, or pax records. */
static bool take_extra(struct allo_tar *tar, char type, uint64_t size, struct allo_error *err)
{
	char bytes[ALLO_TAR_PATH_MAX];
	size_t got, wanted = size < sizeof(bytes) ? (size_t)size : sizeof(bytes);

	if (!allo_random_access_read(tar->source, tar->next, bytes, wanted, &got, err))
		return false;
	if (type == 'L') {
		set_path(tar, field(bytes, got));
		tar->has_path = true;
	} else {
		take_records(tar, (struct allo_text){ bytes, got });
	}
	return true;
}

static void take_path(struct allo_tar *tar, const struct header *header)
{
	struct allo_text name = field(header->name, sizeof(header->name));
	struct allo_text prefix = field(header->prefix, sizeof(header->prefix));

	/* GNU tar uses the bytes of the prefix for other data. */
	if (memcmp(header->magic, "ustar", 6) != 0 || prefix.len == 0)
		set_path(tar, name);
	else
		snprintf(tar->path, sizeof(tar->path), "%.*s/%.*s", (int)prefix.len, prefix.data,
			 (int)name.len, name.data);
}

/* Reads the next header; false at the end and on failure. */
static bool read_header(struct allo_tar *tar, struct header *header, struct allo_error *err)
{
	size_t got;

	if (!allo_random_access_read(tar->source, tar->next, header, BLOCK, &got, err))
		return false;
	if (got == BLOCK && header->name[0] == '\0' && header->checksum[0] == '\0')
		return false; /* a block of zeros ends the archive */
	tar->is_cut = got < BLOCK || !is_header(header);
	tar->next += BLOCK;
	return !tar->is_cut;
}

/* Skips the bytes after a header; a truncated archive lacks some. */
static void step_over(struct allo_tar *tar, uint64_t size)
{
	uint64_t left = tar->next < tar->source->size ? tar->source->size - tar->next : 0;

	tar->offset = tar->next;
	tar->size = size < left ? size : left;
	tar->is_cut = size > left;
	tar->next = tar->is_cut ? tar->source->size
				: tar->next + (size + BLOCK - 1) / BLOCK * BLOCK;
}

bool allo_tar_next(struct allo_tar *tar, struct allo_error *err)
{
	struct header header;

	while (!tar->is_cut && read_header(tar, &header, err)) {
		bool is_file = header.type == '0' || header.type == '\0' || header.type == '7';
		bool is_extra = header.type == 'L' || header.type == 'x';
		uint64_t size;

		if (!parse_number(header.size, sizeof(header.size), &size)) {
			tar->is_cut = true;
			return false;
		}
		if (is_extra && !take_extra(tar, header.type, size, err))
			return false;
		if (is_extra) {
			step_over(tar, size);
			continue;
		}
		if (!tar->has_path)
			take_path(tar, &header);
		step_over(tar, tar->has_size ? tar->given_size : size);
		tar->has_path = tar->has_size = false;
		if (is_file)
			return true;
	}
	return false;
}
