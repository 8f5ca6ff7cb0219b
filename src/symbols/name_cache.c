/* name_cache.c - reads, merges and writes cache files of names. */
#include "symbols/name_cache.h"

#include "base/assert.h"
#include "base/defer.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#define KIND  "symbols"
#define MAGIC "ALLOsym2"

enum {
	ID_LEAST = 8,         /* bytes: shorter ids may not be unique */
	FILE_MOST = 16 << 20, /* bytes of a file */
	ALL_MOST = 64 << 20,  /* bytes of all files, before the oldest are removed */
};

/* The header of a cache file; a table of profile/name_table.h follows. */
struct head {
	char magic[8];
	char version[16]; /* of the program: other versions may choose other names */
	uint64_t own_size, debug_size;
	uint32_t source, unused;
	uint64_t hash; /* XXH64 of the fields above and the table, seed 0 */
};

void allo_name_cache_done(struct allo_name_cache *cache)
{
	free(cache->path);
	allo_vec_done(&cache->bytes);
	*cache = (struct allo_name_cache){ 0 };
}

static uint64_t hash_of(const struct head *head, struct allo_text table)
{
	return XXH64(table.data, table.len, XXH64(head, offsetof(struct head, hash), 0));
}

static struct allo_text table_of(const struct allo_name_cache *cache)
{
	return (struct allo_text){ cache->bytes.at + sizeof(struct head),
				   cache->bytes.len - sizeof(struct head) };
}

static void fill_head(struct head *head, const struct allo_name_cache *cache, uint32_t source)
{
	*head = (struct head){ .own_size = cache->own_size,
			       .debug_size = cache->debug_size,
			       .source = source };
	memcpy(head->magic, MAGIC, sizeof(head->magic));
	snprintf(head->version, sizeof(head->version), "%s", ALLO_VERSION);
}

/* Whether the bytes are intact and were saved for the same files. */
static bool is_valid(const struct allo_name_cache *cache)
{
	struct head found, expected;

	if (cache->bytes.len < sizeof(found))
		return false;
	memcpy(&found, cache->bytes.at, sizeof(found));
	fill_head(&expected, cache, found.source);
	expected.hash = hash_of(&expected, table_of(cache));
	return memcmp(&found, &expected, sizeof(found)) == 0;
}

void allo_name_cache_open(struct allo_name_cache *cache, const struct allo_module_files *files,
			  const struct allo_build_id *id)
{
	char hex[ALLO_BUILD_ID_HEX];

	if (id->len < ID_LEAST)
		return;
	cache->path = allo_cache_path(KIND, allo_build_id_hex(id, hex));
	if (!cache->path)
		return;
	cache->own_size = files->own.size;
	cache->debug_size = files->debug.size;
	allo_cache_read(cache->path, FILE_MOST, &cache->bytes);
	if (!is_valid(cache))
		cache->bytes.len = 0;
	else
		memcpy(&cache->source, cache->bytes.at + offsetof(struct head, source),
		       sizeof(cache->source));
}

bool allo_name_cache_use(struct allo_name_cache *cache, struct allo_spots *spots,
			 struct allo_profile *names, struct allo_error *err)
{
	ALLO_DEFER(allo_name_reader_done) struct allo_name_reader reader = { 0 };
	struct allo_name_row row;

	if (cache->bytes.len == 0 || !allo_name_reader_open(&reader, names, table_of(cache), err))
		return !allo_failed(err);
	for (size_t at = 0; allo_name_reader_next(&reader, &row, err);) {
		const struct allo_line *lines;
		struct allo_spot *spot;

		while (at < spots->spots.len && spots->spots.at[at].address < row.address)
			at++;
		if (at == spots->spots.len)
			break;
		ALLO_ASSERT(at == 0 || spots->spots.at[at - 1].address < row.address);
		spot = &spots->spots.at[at];
		if (spot->address != row.address)
			continue;
		lines = allo_name_reader_take(&reader, err);
		if (allo_failed(err))
			return false;
		spot->is_known = true;
		spot->first_line = (uint32_t)spots->lines.len;
		spot->line_count = (uint32_t)row.line_count;
		if (spots->lines.len + row.line_count > UINT32_MAX ||
		    !allo_vec_append(&spots->lines, lines, row.line_count))
			return allo_fail_memory(err);
	}
	return !allo_failed(err);
}

/* Saving. */

static bool add_spot(struct allo_name_writer *writer, const struct allo_spots *spots,
		     const struct allo_spot *spot, struct allo_error *err)
{
	return allo_name_writer_add(writer, spot->address, allo_spot_lines(spots, spot),
				    spot->line_count, err);
}

/* Merges old rows and spots by address; a spot replaces nothing, since equal addresses have equal
 * lines. */
static bool merge(struct allo_name_cache *cache, struct allo_name_writer *writer,
		  const struct allo_spots *spots, struct allo_profile *names,
		  struct allo_error *err)
{
	ALLO_DEFER(allo_name_reader_done) struct allo_name_reader reader = { 0 };
	bool has_rows = cache->bytes.len > 0 &&
			allo_name_reader_open(&reader, names, table_of(cache), err);
	struct allo_name_row row;
	size_t at = 0;

	while (has_rows && allo_name_reader_next(&reader, &row, err)) {
		for (; at < spots->spots.len && spots->spots.at[at].address < row.address; at++) {
			if (!add_spot(writer, spots, &spots->spots.at[at], err))
				return false;
		}
		if (at < spots->spots.len && spots->spots.at[at].address == row.address)
			at++;
		if (!allo_name_reader_take(&reader, err) && allo_failed(err))
			return false;
		if (!allo_name_writer_add(writer, row.address, reader.lines.at, row.line_count,
					  err))
			return false;
	}
	for (; at < spots->spots.len && !allo_failed(err); at++) {
		if (!add_spot(writer, spots, &spots->spots.at[at], err))
			return false;
	}
	return !allo_failed(err);
}

/* Writes the header and the table. */
static bool write_file(const struct allo_name_cache *cache, uint32_t source, struct allo_text table)
{
	allo_cache_bytes bytes = { 0 };
	struct head head;
	bool ok;

	fill_head(&head, cache, source);
	head.hash = hash_of(&head, table);
	ok = allo_vec_append(&bytes, (const char *)&head, sizeof(head)) &&
	     allo_vec_append(&bytes, table.data, table.len) &&
	     allo_cache_write(cache->path, bytes.at, bytes.len);
	allo_vec_done(&bytes);
	return ok;
}

bool allo_name_cache_save(struct allo_name_cache *cache, uint32_t source,
			  const struct allo_spots *spots, struct allo_profile *names,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_name_writer_done) struct allo_name_writer writer = { .profile = names };
	allo_name_bytes table = { 0 };
	bool ok;

	if (!cache->path)
		return false;
	ok = merge(cache, &writer, spots, names, err) &&
	     allo_name_writer_finish(&writer, &table, err) &&
	     table.len <= FILE_MOST - sizeof(struct head) &&
	     write_file(cache, source, (struct allo_text){ table.at, table.len });
	allo_vec_done(&table);
	return ok;
}

void allo_name_cache_trim(void)
{
	allo_cache_trim(KIND, ALL_MOST);
}
