/* sqlite_calls.c - errors, statements, and a VFS for open files. */
#include "sql/sqlite_calls.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/io/output.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool allo_sqlite_fail(sqlite3 *db, const char *name, struct allo_error *err)
{
	struct allo_pos pos = { .file = name };

	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_NOMEM:
		return allo_fail_memory(err);
	case SQLITE_FULL:
		allo_fail(err, ALLO_IO, pos, "write: No space left on device");
		return allo_hint(err, "free some space, or write elsewhere");
	default:
		return allo_fail(err, ALLO_IO, pos, "SQLite: %s", sqlite3_errmsg(db));
	}
}

bool allo_sqlite_exec(sqlite3 *db, const char *name, const char *sql, struct allo_error *err)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       allo_sqlite_fail(db, name, err);
}

sqlite3_stmt *allo_sqlite_prepare(sqlite3 *db, const char *name, const char *sql,
				  struct allo_error *err)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
	    SQLITE_OK)
		allo_sqlite_fail(db, name, err);
	return statement;
}

void allo_sqlite_finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
	*statement = NULL;
}

bool allo_sqlite_bind_text(sqlite3_stmt *statement, int parameter, struct allo_text text)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options plain = { 0 };
	struct allo_error err = { 0 };
	struct allo_text valid;

	if (allo_utf8_is_valid(text) && (text.len == 0 || !memchr(text.data, '\0', text.len)))
		return sqlite3_bind_text64(statement, parameter, text.len ? text.data : "",
					   text.len, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK;
	if (!allo_output_open_memory(&out, &plain, &err))
		return false;
	/* Many programs take a NUL for the end. */
	for (size_t i = 0; i < text.len;) {
		size_t part = strnlen(text.data + i, text.len - i);

		allo_output_utf8(&out, (struct allo_text){ text.data + i, part });
		i += part;
		if (i++ < text.len)
			allo_output_string(&out, ALLO_UTF8_REPLACEMENT);
	}
	if (!allo_output_finish(&out, &err))
		return false;
	valid = allo_output_memory(&out);
	return sqlite3_bind_text64(statement, parameter, valid.data, valid.len, SQLITE_TRANSIENT,
				   SQLITE_UTF8) == SQLITE_OK;
}

/* A file system (VFS) for SQLite with one file: a descriptor that is open already. */

static const char vfs_name[] = "allo-file";

/* Prefix of a database name; the descriptor follows.  Other names are files. */
static const char prefix[] = "allo-file:";

static bool is_descriptor(const char *name)
{
	return name && strncmp(name, prefix, sizeof(prefix) - 1) == 0;
}

struct open_file {
	sqlite3_file base;
	int fd;
};

static int fd_of(sqlite3_file *file)
{
	return ((struct open_file *)file)->fd;
}

/* The caller closes the descriptor. */
static int file_close(sqlite3_file *file)
{
	(void)file;
	return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *buffer, int count, sqlite3_int64 offset)
{
	char *to = buffer;

	while (count > 0) {
		ssize_t got = pread(fd_of(file), to, (size_t)count, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SQLITE_IOERR_READ;
		if (got == 0) {
			/* SQLite requires zeros after the end. */
			memset(to, 0, (size_t)count);
			return SQLITE_IOERR_SHORT_READ;
		}
		to += got;
		offset += got;
		count -= (int)got;
	}
	return SQLITE_OK;
}

static int file_write(sqlite3_file *file, const void *data, int count, sqlite3_int64 offset)
{
	const char *from = data;

	while (count > 0) {
		ssize_t done = pwrite(fd_of(file), from, (size_t)count, offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno == ENOSPC || errno == EDQUOT || errno == EFBIG
				       ? SQLITE_FULL
				       : SQLITE_IOERR_WRITE;
		from += done;
		offset += done;
		count -= (int)done;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return ftruncate(fd_of(file), size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

/* After a power failure the database is built again. */
static int file_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	struct stat st;

	if (fstat(fd_of(file), &st) != 0)
		return SQLITE_IOERR_FSTAT;
	*size = st.st_size;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int kind)
{
	(void)file;
	(void)kind;
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *is_reserved)
{
	(void)file;
	*is_reserved = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
	(void)file;
	(void)operation;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int file_traits(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
};

/* The system's VFS, for other databases, temporary files and everything but files. */
static sqlite3_vfs *system_vfs(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		    int *flags_out)
{
	struct open_file *open_file = (struct open_file *)file;

	ALLO_ASSERT(vfs->szOsFile >= (int)sizeof(*open_file));
	if (!is_descriptor(name))
		return system_vfs(vfs)->xOpen(system_vfs(vfs), name, file, flags, flags_out);
	/* A journal would overwrite the database. */
	open_file->base.pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	open_file->base.pMethods = &methods;
	open_file->fd = atoi(name + sizeof(prefix) - 1);
	if (flags_out)
		*flags_out = flags;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *full)
{
	if (!is_descriptor(name))
		return system_vfs(vfs)->xFullPathname(system_vfs(vfs), name, room, full);
	return snprintf(full, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* There is never a journal. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
	*result = 0;
	return is_descriptor(name) ? SQLITE_OK
				   : system_vfs(vfs)->xAccess(system_vfs(vfs), name, flags, result);
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int is_synced)
{
	return is_descriptor(name) ? SQLITE_OK
				   : system_vfs(vfs)->xDelete(system_vfs(vfs), name, is_synced);
}

static bool register_vfs(void)
{
	static sqlite3_vfs vfs;
	sqlite3_vfs *system;

	if (vfs.zName)
		return true;
	/* No connection is shared by threads, and no one reads memory statistics.  Both calls fail
	 * harmlessly if SQLite is in use already. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	system = sqlite3_vfs_find(NULL);
	if (!system)
		return false;
	vfs = *system;
	vfs.zName = vfs_name;
	vfs.pNext = NULL;
	vfs.pAppData = system;
	if (vfs.szOsFile < (int)sizeof(struct open_file))
		vfs.szOsFile = (int)sizeof(struct open_file);
	vfs.xOpen = vfs_open;
	vfs.xFullPathname = vfs_full_name;
	vfs.xAccess = vfs_access;
	vfs.xDelete = vfs_delete;
	return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
}

bool allo_sqlite_open_fd(sqlite3 **db, int fd, bool may_write, struct allo_error *err)
{
	char name[32];
	int flags = SQLITE_OPEN_NOMUTEX |
		    (may_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);

	snprintf(name, sizeof(name), "%s%d", prefix, fd);
	if (register_vfs() && sqlite3_open_v2(name, db, flags, vfs_name) == SQLITE_OK &&
	    sqlite3_exec(*db, "pragma journal_mode = off", NULL, NULL, NULL) == SQLITE_OK)
		return true;
	return allo_fail_memory(err);
}
