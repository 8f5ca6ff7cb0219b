/* error_text.c - the table of texts. */
#include "telemetry/error_text.h"

#include <errno.h>
#include <stddef.h>

static const struct {
	int number;
	const char *text;
} errors[] = {
	{ EPERM, "Operation not permitted" },
	{ ENOENT, "No such file or directory" },
	{ ESRCH, "No such process" },
	{ EINTR, "Interrupted system call" },
	{ EIO, "Input/output error" },
	{ ENXIO, "No such device or address" },
	{ EBADF, "Bad file descriptor" },
	{ EAGAIN, "Resource temporarily unavailable" },
	{ ENOMEM, "Cannot allocate memory" },
	{ EACCES, "Permission denied" },
	{ EFAULT, "Bad address" },
	{ EBUSY, "Device or resource busy" },
	{ EEXIST, "File exists" },
	{ ENODEV, "No such device" },
	{ ENOTDIR, "Not a directory" },
	{ EISDIR, "Is a directory" },
	{ EINVAL, "Invalid argument" },
	{ ENFILE, "Too many open files in system" },
	{ EMFILE, "Too many open files" },
	{ ETXTBSY, "Text file busy" },
	{ EFBIG, "File too large" },
	{ ENOSPC, "No space left on device" },
	{ EROFS, "Read-only file system" },
	{ ENAMETOOLONG, "File name too long" },
	{ ENOSYS, "Function not implemented" },
	{ ELOOP, "Too many levels of symbolic links" },
	{ EOPNOTSUPP, "Operation not supported" },
	{ ETIMEDOUT, "Connection timed out" },
	{ ESTALE, "Stale file handle" },
	{ EDQUOT, "Disk quota exceeded" },
	{ ECANCELED, "Operation canceled" },
};

const char *allo_error_text(int number)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (errors[i].number == number)
			return errors[i].text;
	}
	return "an unexpected error of the system";
}
