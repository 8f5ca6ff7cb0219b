/* make_database.c - see make_database.h. */
#include "engine/make_database.h"

#include "base/cache_file.h"
#include "base/defer.h"
#include "base/temporary.h"
#include "engine/merged_profile.h"
#include "engine/rows.h"
#include "replay/packed/packed_file.h"
#include "sql/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Making one. */

struct request {
	const struct allo_source_options *source;
	char **files;
	struct allo_conversion *conversion;   /* with its filter and metrics; NULL: everything */
	struct allo_attribution *attribution; /* chooses the sites */
	const char *stamp;                    /* for the table `meta`; may be NULL */
	bool has_rows;                        /* result: the input could have some */
};

/* The key in `meta` of the text that identifies the file a database was made from. */
static const char stamp_key[] = "made of";
enum { STAMP_SIZE = 256, HEAD_SIZE = 4096 };

/* A recording: the name of its database in the cache, and its state. */
struct stamp {
	char name[48], text[STAMP_SIZE];
};

/* The folder of the cache, and the most bytes of its files. */
static const char kept_kind[] = "databases";
static const uint64_t kept_most = UINT64_C(4) << 30;

/* Where the rows of a file go. */
struct row_target {
	struct allo_database *db;
	const struct request *request;
	struct allo_profile *profile; /* the one that the rows refer to */
};

static bool begin_rows(void *context, const struct allo_profile *profile,
		       const struct allo_process_info *process, const bool *has_rows,
		       const struct allo_marker *markers, size_t marker_count,
		       struct allo_error *err)
{
	const struct row_target *target = context;

	if (target->request->conversion)
		allo_conversion_clean(target->request->conversion, target->profile);
	return allo_database_add_profile(target->db, profile, target->request->attribution, process,
					 has_rows, err) &&
	       allo_database_add_markers(target->db, markers, marker_count, err);
}

static bool take_rows(void *context, const struct allo_allocation *rows, size_t count,
		      struct allo_error *err)
{
	const struct row_target *target = context;

	return allo_database_add_rows(target->db, rows, count, err);
}

static bool is_selective(const struct request *request)
{
	const struct allo_conversion *conversion = request->conversion;

	return conversion &&
	       (conversion->metric_count > 0 || !allo_filter_is_empty(conversion->filter));
}

static bool add_profile(const struct request *request, struct allo_profile *profile,
			struct allo_database *db, struct allo_error *err)
{
	/* Before the filter: a function is a wrapper in all views or in none. */
	return allo_attribution_learn(request->attribution, profile, err) &&
	       (!request->conversion ||
		allo_conversion_select(request->conversion, profile, err)) &&
	       allo_database_add_profile(db, profile, request->attribution, NULL, NULL, err);
}

static bool add_file(struct request *request, struct allo_profile *profile,
		     struct allo_database *db, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	struct row_target target = { db, request, profile };
	const struct allo_allocation_sink sink = { begin_rows, take_rows, &target };
	const struct allo_profile_request times = { .wants_times = true };

	if (!allo_source_open(&source, request->files[0], request->source, err))
		return false;
	request->has_rows = allo_source_has_rows(&source) && !is_selective(request);
	if (request->has_rows)
		return allo_source_rows(&source, &sink, profile, err);
	return allo_source_profile(&source, &times, profile, err) &&
	       add_profile(request, profile, db, err);
}

static bool add_files(struct request *request, struct allo_profile *profile,
		      struct allo_database *db, struct allo_error *err)
{
	const struct allo_profile_request times = { .wants_times = true };

	if (!request->files[1])
		return add_file(request, profile, db, err);
	return allo_read_merged(request->files, request->source, &times, NULL, profile, err) &&
	       add_profile(request, profile, db, err);
}

/* Makes a database in an empty file.  `name` stands for it in messages. */
static bool make_database(struct request *request, struct allo_profile *profile, int fd,
			  const char *name, uint64_t *rows, struct allo_error *err)
{
	ALLO_DEFER(allo_database_drop) struct allo_database db = { 0 };

	if (!allo_database_create(&db, fd, name, err) ||
	    (request->stamp &&
	     !allo_database_add_meta(&db, stamp_key, allo_text_of(request->stamp), err)) ||
	    !add_files(request, profile, &db, err) || !allo_database_finish(&db, err))
		return false;
	*rows = db.rows;
	return true;
}

/* Converting. */

static bool copy_file(int fd, struct allo_output *out, struct allo_error *err)
{
	enum { AT_ONCE = 64 << 10 };
	uint64_t offset = 0;

	for (;;) {
		char *room = allo_output_room(out, AT_ONCE);
		ssize_t got = pread(fd, room, AT_ONCE, (off_t)offset);

		if (got < 0)
			return allo_fail_errno(err, "a temporary file", "read");
		if (got == 0)
			return true;
		allo_output_wrote(out, room + got);
		offset += (uint64_t)got;
	}
}

/* SQLite needs a file: the output's, or a temporary one that is copied to a pipe. */
bool allo_write_database(struct allo_conversion *conversion, struct allo_output *out,
			 struct allo_profile *profile, struct allo_error *err)
{
	struct request request = { .source = conversion->source,
				   .files = conversion->files,
				   .conversion = conversion,
				   .attribution = conversion->attribution };
	ALLO_DEFER(allo_close_fd) int temporary = -1;
	int fd = allo_output_lend(out);

	if (fd < 0)
		fd = temporary = allo_temporary_open();
	if (fd < 0)
		return allo_fail_errno(err, "a temporary file", "create");
	if (!make_database(&request, profile, fd, conversion->output, &conversion->rows, err))
		return false;
	conversion->has_rows = request.has_rows;
	return temporary < 0 || copy_file(temporary, out, err);
}

/* The cache. */

void allo_cached_database_done(struct allo_cached_database *cached)
{
	allo_sql_session_close(&cached->session);
	allo_close_fd(&cached->fd);
	free(cached->path);
}

static bool is_sqlite(const char *file)
{
	static const char magic[] = "SQLite format 3";
	ALLO_DEFER(allo_close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC);
	char head[sizeof(magic)];

	return fd >= 0 && pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	       memcmp(head, magic, sizeof(head)) == 0;
}

/* A hash of the settings that sites depend on. */
static uint64_t hash_settings(const struct allo_attribution *attribution)
{
	uint64_t hash = attribution->wrappers;

	for (size_t i = 0; i < attribution->name_count; i++) {
		const char *name = attribution->names[i];

		hash = allo_hash_bytes(name, strlen(name) + 1, hash);
	}
	return hash;
}

/* Describes a packed recording, so that it can be told from a later one in the same file; false for
 * other files.  The program of a raw one may still write to it, through a mapping, and change
 * neither its size nor its times. */
static bool stamp_recording(const char *file, const struct allo_attribution *attribution,
			    struct stamp *stamp)
{
	ALLO_DEFER(allo_close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[HEAD_SIZE];
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	got = pread(fd, head, sizeof(head), 0);
	snprintf(stamp->name, sizeof(stamp->name), "%llx-%llx.db", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	snprintf(stamp->text, sizeof(stamp->text),
		 "%lld bytes, head %016llx, written at %lld.%09ld, changed at %lld.%09ld, "
		 "sites %016llx, by %s",
		 (long long)st.st_size,
		 (unsigned long long)allo_hash_bytes(head, got > 0 ? (size_t)got : 0, 0),
		 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
		 st.st_ctim.tv_nsec, (unsigned long long)hash_settings(attribution), ALLO_VERSION);
	return got > 0 && allo_is_packed((struct allo_text){ head, (size_t)got });
}

/* Anyone can write a file with the right stamp, so only our own regular files are trusted.  Opening
 * a pipe would wait for a writer. */
static int open_own(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Opens the kept database if it is of this recording. */
static bool open_kept(struct allo_cached_database *cached, const struct stamp *stamp)
{
	struct allo_error ignored = { 0 };
	char found[STAMP_SIZE];

	cached->fd = open_own(cached->path);
	if (cached->fd < 0)
		return false;
	if (allo_sql_session_open_fd(&cached->session, cached->fd, &ignored) &&
	    allo_sql_session_meta(&cached->session, stamp_key, found, sizeof(found)) &&
	    strcmp(found, stamp->text) == 0) {
		futimens(cached->fd, NULL); /* the files that were not used for long go first */
		return true;
	}
	sqlite3_close(cached->session.db);
	cached->session.db = NULL;
	allo_close_fd(&cached->fd);
	return false;
}

static bool make(struct allo_cached_database *cached, const char *file, const char *stamp, int fd,
		 struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	char *files[] = { (char *)file, NULL };
	struct request request = { .source = cached->source,
				   .files = files,
				   .attribution = cached->attribution,
				   .stamp = stamp };
	uint64_t rows;

	if (!make_database(&request, &profile, fd, "the database", &rows, err))
		return false;
	allo_notes_add(&cached->notes, &profile.notes);
	return true;
}

/* Into a new file of the cache.  False without a failure if there can be none. */
static bool make_kept(struct allo_cached_database *cached, const char *file,
		      const struct stamp *stamp, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .replace = true };
	struct allo_error ignored = { 0 };
	int fd;

	allo_cache_make_folders(cached->path);
	unlink(cached->path); /* the output would take over its permissions */
	if (!allo_output_open(&out, cached->path, &options, &ignored))
		return false;
	fd = allo_output_lend(&out);
	if (fd < 0 || fchmod(fd, 0600) != 0 || !make(cached, file, stamp->text, fd, err) ||
	    !allo_output_finish(&out, err))
		return false;
	cached->fd = open_own(cached->path);
	if (cached->fd < 0)
		return allo_fail_errno(err, cached->path, "open it");
	allo_cache_trim(kept_kind, kept_most);
	return allo_sql_session_open_fd(&cached->session, cached->fd, err);
}

static bool make_unnamed(struct allo_cached_database *cached, const char *file,
			 struct allo_error *err)
{
	cached->session.name = file;
	cached->fd = allo_temporary_open();
	if (cached->fd < 0)
		return allo_fail_errno(err, "a temporary file", "create");
	return make(cached, file, NULL, cached->fd, err) &&
	       allo_sql_session_open_fd(&cached->session, cached->fd, err);
}

static bool open_recording(struct allo_cached_database *cached, const char *file,
			   const struct stamp *stamp, struct allo_error *err)
{
	cached->session.name = file;
	cached->path = allo_cache_path(kept_kind, stamp->name);
	if (!cached->path)
		return make_unnamed(cached, file, err);
	if (open_kept(cached, stamp) || make_kept(cached, file, stamp, err) || allo_failed(err))
		return !allo_failed(err);
	allo_host_note(cached->source->host, "%s cannot be written: the database is not kept",
		       cached->path);
	return make_unnamed(cached, file, err);
}

/* Whether the options ask for the same database as everyone else's. */
static bool may_keep(const struct allo_source_options *source)
{
	return !source->no_cache && !source->is_strict && !source->format && !source->no_symbols &&
	       !source->symbols.places.root && source->symbols.places.folder_count == 0 &&
	       !allo_view_is_partial(&source->view);
}

bool allo_cached_database_open(struct allo_cached_database *cached, const char *file,
			       struct allo_error *err)
{
	struct stamp stamp;

	if (strcmp(file, "-") != 0 && is_sqlite(file))
		return allo_sql_session_open(&cached->session, file, err);
	if (cached->session.may_write) {
		allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = file },
			  "is not a database, and a database made from it is read-only");
		return allo_hint(err,
				 "'allo convert FILE -o FILE.db' makes one that you can change");
	}
	if (may_keep(cached->source) && stamp_recording(file, cached->attribution, &stamp))
		return open_recording(cached, file, &stamp, err);
	return make_unnamed(cached, file, err);
}
