/* file_vfs.c - see file_vfs.h. */
#include "sql/file_vfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char vfs_name[] = "allo-file";

/* The descriptor follows; everything else is a name in the file system. */
static const char prefix[] = "allo-file:";

static bool is_ours(const char *name)
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

/* The descriptor is the caller's. */
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
			/* Behind the end are zeros, as SQLite wants it. */
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

/* Whoever loses power builds the database again. */
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

/* The system's: for other databases, for temporary files of large sorts, and for all that has
 * nothing to do with files. */
static sqlite3_vfs *usual(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		    int *flags_out)
{
	struct open_file *open_file = (struct open_file *)file;

	if (!is_ours(name))
		return usual(vfs)->xOpen(usual(vfs), name, file, flags, flags_out);
	/* A journal would be written into the same file. */
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
	if (!is_ours(name))
		return usual(vfs)->xFullPathname(usual(vfs), name, room, full);
	return snprintf(full, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* No journal is ever there. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
	*result = 0;
	return is_ours(name) ? SQLITE_OK : usual(vfs)->xAccess(usual(vfs), name, flags, result);
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int is_synced)
{
	return is_ours(name) ? SQLITE_OK : usual(vfs)->xDelete(usual(vfs), name, is_synced);
}

static bool register_vfs(void)
{
	static sqlite3_vfs vfs;
	sqlite3_vfs *system;

	if (vfs.zName)
		return true;
	/* Nothing here is shared by threads, and nobody asks how much memory there is.  Where
	 * SQLite is in use already it stays as it is. */
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
