/*
 * file_vfs.h - SQLite on an open file, which need not have a name.
 *
 * A database is built in a file that nobody sees until it is complete.  There is one connection and
 * no journal, so nothing is ever locked.
 */
#ifndef ALLO_SQL_FILE_VFS_H
#define ALLO_SQL_FILE_VFS_H

#include "base/error.h"

#include <sqlite3.h>

/* Opens the file; the descriptor stays the caller's, and open as long.  Without `may_write` other
 * files that are attached are only read, too. */
bool allo_sqlite_open_fd(sqlite3 **db, int fd, bool may_write, struct allo_error *err);

#endif
