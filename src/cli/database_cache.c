/* database_cache.c - see database_cache.h. */
#include "cli/database_cache.h"

#include "base/defer.h"
#include "base/temporary.h"
#include "cli/make_database.h"
#include "replay/recording.h"
#include "report/messages.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAMP_SIZE = 96 };

/* By this a file is known to be the one that a database was made of. */
static const char stamp_key[] = "made of";

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

/* Whether the file is a recording that can be told from a later one of the same name. */
static bool stamp_recording(const char *file, char stamp[STAMP_SIZE])
{
	ALLO_DEFER(allo_close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[64];
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	got = pread(fd, head, sizeof(head), 0);
	snprintf(stamp, STAMP_SIZE, "%lld bytes, changed at %lld.%09ld, by %s",
		 (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		 ALLO_VERSION);
	return got > 0 && allo_recording_probe((struct allo_text){ head, (size_t)got });
}

/* Opens what was kept, if it is of this recording; `is_free` tells whether another one may take its
 * place. */
static bool open_kept(struct allo_cached_database *cached, const char *stamp, bool *is_free)
{
	struct allo_error unused = { 0 };
	char found[STAMP_SIZE];
	bool is_ours;

	*is_free = access(cached->path, F_OK) != 0;
	if (*is_free)
		return false;
	/* One that somebody has made by themselves has no stamp; one whose tables are of another
	 * version has. */
	is_ours = allo_sql_session_open(&cached->session, cached->path, &unused);
	*is_free = cached->session.db &&
		   allo_sql_session_meta(&cached->session, stamp_key, found, sizeof(found));
	if (is_ours && *is_free && strcmp(found, stamp) == 0)
		return true;
	sqlite3_close(cached->session.db);
	cached->session.db = NULL;
	return false;
}

static bool make(struct allo_cached_database *cached, const char *file, const char *stamp, int fd,
		 struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	char *files[] = { (char *)file, NULL };
	struct allo_making making = {
		.common = cached->common,
		.files = files,
		.meta_key = stamp ? stamp_key : NULL,
		.meta_value = stamp,
	};

	if (!allo_make_database(&making, &profile, fd, "the database", err))
		return false;
	allo_notes_add(&cached->notes, &profile.notes);
	return true;
}

/* Into a new file beside the recording; false, without failure, where there can be none. */
static bool make_kept(struct allo_cached_database *cached, const char *file, const char *stamp,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .replace = true };
	struct allo_error unused = { 0 };
	int fd;

	if (!allo_output_open(&out, cached->path, &options, &unused))
		return false;
	fd = allo_output_lend(&out);
	return fd >= 0 && make(cached, file, stamp, fd, err) && allo_output_finish(&out, err) &&
	       allo_sql_session_open(&cached->session, cached->path, err);
}

static bool make_unnamed(struct allo_cached_database *cached, const char *file,
			 struct allo_error *err)
{
	cached->fd = allo_temporary_open();
	if (cached->fd < 0)
		return allo_fail_errno(err, "a temporary file", "create");
	cached->session.name = file;
	return make(cached, file, NULL, cached->fd, err) &&
	       allo_sql_session_open_fd(&cached->session, cached->fd, err);
}

static bool open_recording(struct allo_cached_database *cached, const char *file, const char *stamp,
			   struct allo_error *err)
{
	bool is_free;

	if (asprintf(&cached->path, "%s.db", file) < 0) {
		cached->path = NULL;
		return allo_fail_memory(err);
	}
	if (open_kept(cached, stamp, &is_free))
		return true;
	if (!is_free) {
		if (!cached->common->quiet)
			allo_say_note("%s is something else: the database is not kept",
				      cached->path);
		return make_unnamed(cached, file, err);
	}
	if (make_kept(cached, file, stamp, err) || allo_failed(err))
		return !allo_failed(err);
	if (!cached->common->quiet)
		allo_say_note("%s cannot be written: the database is not kept", cached->path);
	return make_unnamed(cached, file, err);
}

/* Whether the options ask for what everybody else would get. */
static bool may_keep(const struct allo_common *common, const struct allo_view *view)
{
	return !common->no_cache && !common->from && !common->no_symbols && !common->sysroot &&
	       common->debug_dirs.count == 0 && !allo_view_is_partial(view);
}

bool allo_cached_database_open(struct allo_cached_database *cached, const char *file,
			       struct allo_error *err)
{
	char stamp[STAMP_SIZE];
	struct allo_view view;

	if (strcmp(file, "-") != 0 && is_sqlite(file))
		return allo_sql_session_open(&cached->session, file, err);
	if (cached->session.may_write) {
		allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = file },
			  "is no database, and what is made of it is only read");
		return allo_hint(err, "'allo convert FILE -o FILE.db' makes one to be changed");
	}
	if (!allo_common_view(cached->common, &view, err))
		return false;
	if (may_keep(cached->common, &view) && stamp_recording(file, stamp))
		return open_recording(cached, file, stamp, err);
	return make_unnamed(cached, file, err);
}
