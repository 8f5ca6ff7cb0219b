/* error.c - formats the first failure; later ones change nothing. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool allo_fail(struct allo_error *err, enum allo_code code, struct allo_pos pos, const char *fmt,
	       ...)
{
	va_list args;

	if (allo_failed(err))
		return false;
	err->code = code;
	err->pos = pos;
	va_start(args, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, args);
	va_end(args);
	return false;
}

bool allo_hint(struct allo_error *err, const char *fmt, ...)
{
	va_list args;

	if (!allo_failed(err) || err->hint[0])
		return false;
	va_start(args, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, args);
	va_end(args);
	return false;
}

bool allo_fail_memory(struct allo_error *err)
{
	return allo_fail(err, ALLO_NOMEM, ALLO_NOWHERE, "out of memory");
}

bool allo_fail_errno(struct allo_error *err, const char *file, const char *doing)
{
	enum allo_code code = errno == ENOMEM ? ALLO_NOMEM : ALLO_IO;

	return allo_fail(err, code, (struct allo_pos){ .file = file }, "cannot %s: %s", doing,
			 strerror(errno));
}
