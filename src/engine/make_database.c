/* make_database.c - see make_database.h. */
#include "engine/make_database.h"

#include "base/defer.h"
#include "base/io/cache_file.h"
#include "base/io/temporary.h"
#include "engine/fill_store.h"
#include "replay/packed/packed_file.h"
#include "sql/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* `stamp` may be NULL. */
static bool make(struct allo_cached_database *cached, const char *file, const char *stamp, int fd,
		 struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_store_drop) struct allo_store store = { 0 };
	char *files[] = { (char *)file, NULL };
	struct allo_store_request request = { .source = cached->source,
					      .files = files,
					      .attribution = cached->attribution };

	if (!allo_database_open(&store, fd, "the database", err) ||
	    (stamp && !allo_store_add_meta(&store, stamp_key, allo_text_of(stamp), err)) ||
	    !allo_store_fill(&store, &request, &profile, err) || !allo_store_finish(&store, err))
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
