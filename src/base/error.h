/*
 * error.h - a failure: its cause, its position, and a hint.
 *
 * The caller owns the object, usually on its stack; it needs no allocation.  It latches: the first
 * failure stays and later ones change nothing, so code can make several calls and check once.
 */
#ifndef ALLO_BASE_ERROR_H
#define ALLO_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum allo_code {
	ALLO_OK,
	ALLO_USAGE,  /* an invalid request */
	ALLO_IO,     /* a system call failed */
	ALLO_FORMAT, /* the input is damaged or in another format */
	ALLO_LIMIT,  /* the input exceeds a size limit */
	ALLO_ORDER,  /* the input cannot be converted in portions; read it as a whole */
	ALLO_UNMET,  /* a check (a budget, an assertion of the user) does not hold */
	ALLO_NOMEM,
};

/* A position in an input.  `line` and `byte` count from 1.  `line` is 0 in a binary format, `file`
 * is NULL when there is no position. */
struct allo_pos {
	const char *file;
	uint64_t line;
	uint64_t byte; /* in the line of a text, in the file of a binary format */
	char part[64]; /* name of the file in a directory or an archive; else empty */
};

struct allo_error {
	enum allo_code code;
	struct allo_pos pos;
	char message[256];
	char hint[192]; /* the next step for the user; may be empty */
};

/* No position. */
#define ALLO_NOWHERE ((struct allo_pos){ 0 })

/* Records a failure.  Returns false, for `return allo_fail(...)`. */
bool allo_fail(struct allo_error *err, enum allo_code code, struct allo_pos pos, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5)));

/* Adds a hint to the recorded failure, unless it has one.  Returns false. */
bool allo_hint(struct allo_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Records "out of memory".  Returns false. */
bool allo_fail_memory(struct allo_error *err);

/* Records "cannot DOING: " and the message of errno, with the position `file`.  Returns false. */
bool allo_fail_errno(struct allo_error *err, const char *file, const char *doing);

static inline bool allo_failed(const struct allo_error *err)
{
	return err->code != ALLO_OK;
}

/* Returns `ok`; records "out of memory" when it is false. */
static inline bool allo_or_fail_memory(bool ok, struct allo_error *err)
{
	return ok || allo_fail_memory(err);
}

#endif
