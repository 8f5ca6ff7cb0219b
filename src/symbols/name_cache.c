/* name_cache.c - see name_cache.h. */
#include "symbols/name_cache.h"

#include "base/defer.h"
#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC "ALLOsym1"

enum {
	ID_LEAST = 8,         /* bytes: shorter ones may be no build-ids but numbers */
	FILE_MOST = 16 << 20, /* bytes of a module */
	ALL_MOST = 64 << 20,  /* bytes of all together, before some are removed */
	ALL_KEPT = 48 << 20,  /* and afterwards */
};

/* What a file begins with; a table of profile/name_table.h follows. */
struct head {
	char magic[8];
	char version[16]; /* of the program: others may choose other names */
	uint64_t own_size, debug_size;
	uint32_t source, unused;
	uint64_t hash; /* XXH64 of all before and of the table, seed 0 */
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

/* The folder, to be freed; NULL if there is none. */
static char *find_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *off = getenv("ALLO_NO_CACHE");
	char *folder = NULL;
	int len = -1;

	if (off && off[0] != '\0')
		return NULL;
	if (cache && cache[0] == '/')
		len = asprintf(&folder, "%s/allotrope/symbols", cache);
	else if (home && home[0] == '/')
		len = asprintf(&folder, "%s/.cache/allotrope/symbols", home);
	return len < 0 ? NULL : folder;
}

/* Makes a folder and those that it is in, for the user alone. */
static void make_folders(char *path)
{
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
}

/* All of a file, if it is one and not too large. */
static bool read_whole(const char *path, allo_name_bytes *bytes, struct allo_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	struct stat facts;
	ssize_t got;

	bytes->len = 0;
	if (fd < 0)
		return true;
	if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size <= FILE_MOST) {
		size_t size = (size_t)facts.st_size;

		if (!allo_vec_reserve(bytes, size + 1)) {
			close(fd);
			return allo_fail_memory(err);
		}
		do {
			got = read(fd, bytes->at + bytes->len, size - bytes->len);
			bytes->len += got > 0 ? (size_t)got : 0;
		} while (bytes->len < size && (got > 0 || (got < 0 && errno == EINTR)));
	}
	close(fd);
	return true;
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

/* Whether the bytes are what was once saved for the same files. */
static bool is_of_use(const struct allo_name_cache *cache)
{
	struct head found, expected;

	if (cache->bytes.len < sizeof(found))
		return false;
	memcpy(&found, cache->bytes.at, sizeof(found));
	fill_head(&expected, cache, found.source);
	expected.hash = hash_of(&expected, table_of(cache));
	return memcmp(&found, &expected, sizeof(found)) == 0;
}

bool allo_name_cache_open(struct allo_name_cache *cache, const struct allo_module_files *files,
			  const struct allo_build_id *id, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *folder = id->len < ID_LEAST ? NULL : find_folder();
	char hex[ALLO_BUILD_ID_HEX];

	if (!folder)
		return true;
	if (asprintf(&cache->path, "%s/%s", folder, allo_build_id_hex(id, hex)) < 0) {
		cache->path = NULL;
		return allo_fail_memory(err);
	}
	cache->own_size = files->own.size;
	cache->debug_size = files->debug.size;
	if (!read_whole(cache->path, &cache->bytes, err))
		return false;
	if (!is_of_use(cache))
		cache->bytes.len = 0;
	else
		memcpy(&cache->source, cache->bytes.at + offsetof(struct head, source),
		       sizeof(cache->source));
	return true;
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

/* Old rows and spots, by address; what is in both is the same. */
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

static bool write_file(const struct allo_name_cache *cache, uint32_t source, struct allo_text table)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .replace = true };
	struct allo_error unheard = { 0 };
	struct head head;

	fill_head(&head, cache, source);
	head.hash = hash_of(&head, table);
	make_folders(cache->path);
	if (!allo_output_open(&out, cache->path, &options, &unheard))
		return false;
	allo_output_bytes(&out, &head, sizeof(head));
	allo_output_text(&out, table);
	return allo_output_finish(&out, &unheard);
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

/* Trimming. */

struct entry {
	struct timespec written;
	uint64_t size;
	char name[ALLO_BUILD_ID_HEX];
};

static int compare_entries(const void *left, const void *right)
{
	const struct timespec *a = &((const struct entry *)left)->written;
	const struct timespec *b = &((const struct entry *)right)->written;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

static bool is_ours(const char *name)
{
	size_t len = strlen(name);

	return len >= 2 * ID_LEAST && len < ALLO_BUILD_ID_HEX &&
	       strspn(name, "0123456789abcdef") == len;
}

void allo_name_cache_trim(void)
{
	ALLO_DEFER(allo_free_pointer) char *path = find_folder();
	DIR *folder = path ? opendir(path) : NULL;
	ALLO_VEC(struct entry) entries = { 0 };
	const struct dirent *found;
	uint64_t sum = 0, most;

	while (folder && (found = readdir(folder)) != NULL) {
		struct entry entry = { 0 };
		struct stat facts;

		if (!is_ours(found->d_name) ||
		    fstatat(dirfd(folder), found->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(facts.st_mode))
			continue;
		strcpy(entry.name, found->d_name);
		entry.written = facts.st_mtim;
		entry.size = (uint64_t)facts.st_blocks * 512;
		sum += entry.size;
		if (!allo_vec_append(&entries, &entry, 1))
			break;
	}
	most = sum > ALL_MOST ? ALL_KEPT : ALL_MOST;
	if (sum > most)
		qsort(entries.at, entries.len, sizeof(*entries.at), compare_entries);
	for (size_t i = 0; sum > most && i < entries.len; i++) {
		if (unlinkat(dirfd(folder), entries.at[i].name, 0) == 0)
			sum -= entries.at[i].size;
	}
	allo_vec_done(&entries);
	if (folder)
		closedir(folder);
}
