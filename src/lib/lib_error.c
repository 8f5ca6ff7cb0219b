/* lib_error.c - failures, on their way to the caller; see allotrope.h. */
#include "lib/lib_common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(sizeof(struct allotrope_error) == 1024, "programs have it on their stacks");

const char *allotrope_version(void)
{
	return ALLO_VERSION;
}

void allotrope_free(void *memory)
{
	free(memory);
}

static int public_code(enum allo_code code)
{
	switch (code) {
	case ALLO_OK:
		return ALLOTROPE_OK;
	case ALLO_IO:
		return ALLOTROPE_IO;
	case ALLO_FORMAT:
	case ALLO_ORDER:
		return ALLOTROPE_FORMAT;
	case ALLO_LIMIT:
		return ALLOTROPE_LIMIT;
	case ALLO_NOMEM:
		return ALLOTROPE_NOMEM;
	default:
		return ALLOTROPE_USAGE;
	}
}

/* The end of a path says more than its beginning. */
static void copy_path(char *out, size_t room, const char *path)
{
	size_t len = strlen(path);

	if (len < room)
		snprintf(out, room, "%s", path);
	else
		snprintf(out, room, "...%s", path + len - (room - 4));
}

static void copy_place(char *out, size_t room, const struct allo_pos *pos)
{
	size_t part = pos->part[0] ? strlen(pos->part) + 1 : 0;

	copy_path(out, room - part, pos->file);
	if (part > 0)
		snprintf(out + strlen(out), part + 1, "/%s", pos->part);
}

bool allo_lib_fail(struct allotrope_error *err, const struct allo_error *failure)
{
	if (!err || err->code != ALLOTROPE_OK)
		return false;
	ALLO_ASSERT(failure->code != ALLO_OK);
	*err = (struct allotrope_error){
		.code = public_code(failure->code),
		.line = failure->pos.line,
		.byte = failure->pos.byte,
	};
	if (failure->pos.file)
		copy_place(err->file, sizeof(err->file), &failure->pos);
	snprintf(err->message, sizeof(err->message), "%s", failure->message);
	snprintf(err->hint, sizeof(err->hint), "%s", failure->hint);
	return false;
}

bool allo_lib_misuse(struct allotrope_error *err, const char *fmt, ...)
{
	va_list args;

	if (!err || err->code != ALLOTROPE_OK)
		return false;
	*err = (struct allotrope_error){ .code = ALLOTROPE_USAGE };
	va_start(args, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, args);
	va_end(args);
	return false;
}

bool allo_lib_begin(const void *profile, struct allotrope_error *err)
{
	if (err && err->code != ALLOTROPE_OK)
		return false;
	return profile || allo_lib_misuse(err, "no profile is given");
}

bool allo_lib_check_clear(const void *reserved, size_t size, struct allotrope_error *err)
{
	const unsigned char *bytes = reserved;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != 0)
			return allo_lib_misuse(err, "a reserved field of a struct is not 0, which "
						    "means nothing to version " ALLO_VERSION);
	}
	return true;
}

size_t allotrope_error_text(const struct allotrope_error *err, char *out, size_t room)
{
	char place[48] = "";
	int len;

	if (room > 0)
		out[0] = '\0';
	if (!err || err->code == ALLOTROPE_OK)
		return 0;
	if (err->line > 0)
		snprintf(place, sizeof(place), ":%llu:%llu", (unsigned long long)err->line,
			 (unsigned long long)err->byte);
	else if (err->byte > 0)
		snprintf(place, sizeof(place), ": byte %llu", (unsigned long long)err->byte);
	len = snprintf(out, room, "%s%s%s%s%s%s%s", err->file, place,
		       err->file[0] || place[0] ? ": " : "", err->message, err->hint[0] ? " (" : "",
		       err->hint, err->hint[0] ? ")" : "");
	return len > 0 ? (size_t)len : 0;
}
