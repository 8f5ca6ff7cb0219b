/*
 * no_system.c - refuses the system calls of wasi-libc.
 *
 * wasi-libc imports them from JavaScript under these names.  With definitions here, every file
 * fails to open, and the engine has no imports but those of imports.h.
 */
#include <stdint.h>
#include <wasi/api.h>

#pragma clang diagnostic ignored "-Wunused-parameter"

/* wasi-libc looks for open directories at the start: BADF tells it that there is none. */
#define REFUSE(call, ...)                                                                          \
	int32_t __imported_wasi_snapshot_preview1_##call(__VA_ARGS__);                             \
	int32_t __imported_wasi_snapshot_preview1_##call(__VA_ARGS__)                              \
	{                                                                                          \
		return __WASI_ERRNO_BADF;                                                          \
	}

REFUSE(fd_close, int32_t fd)
REFUSE(fd_fdstat_get, int32_t fd, int32_t status)
REFUSE(fd_filestat_get, int32_t fd, int32_t status)
REFUSE(fd_pread, int32_t fd, int32_t parts, int32_t count, int64_t offset, int32_t got)
REFUSE(fd_prestat_get, int32_t fd, int32_t status)
REFUSE(fd_prestat_dir_name, int32_t fd, int32_t path, int32_t len)
REFUSE(fd_read, int32_t fd, int32_t parts, int32_t count, int32_t got)
REFUSE(fd_readdir, int32_t fd, int32_t buffer, int32_t room, int64_t cookie, int32_t got)
REFUSE(fd_seek, int32_t fd, int64_t offset, int32_t whence, int32_t at)
REFUSE(fd_tell, int32_t fd, int32_t at)
REFUSE(fd_write, int32_t fd, int32_t parts, int32_t count, int32_t done)
REFUSE(path_link, int32_t fd, int32_t flags, int32_t path, int32_t len, int32_t to_fd,
       int32_t to_path, int32_t to_len)
REFUSE(path_remove_directory, int32_t fd, int32_t path, int32_t len)
REFUSE(path_rename, int32_t fd, int32_t path, int32_t len, int32_t to_fd, int32_t to_path,
       int32_t to_len)
REFUSE(path_unlink_file, int32_t fd, int32_t path, int32_t len)
REFUSE(path_filestat_get, int32_t fd, int32_t flags, int32_t path, int32_t len, int32_t status)
REFUSE(path_open, int32_t fd, int32_t lookup, int32_t path, int32_t len, int32_t how,
       int64_t rights, int64_t inherited, int32_t flags, int32_t opened)

_Noreturn void __imported_wasi_snapshot_preview1_proc_exit(int32_t status);
_Noreturn void __imported_wasi_snapshot_preview1_proc_exit(int32_t status)
{
	__builtin_trap();
}
