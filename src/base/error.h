/*
 * error.h - what went wrong, where, and what to do about it.
 *
 * One object on the caller's stack: it needs no allocation and no freeing.  The first failure stays
 * and later ones change nothing, so code can make several calls and look once.
 */
#ifndef ALLO_BASE_ERROR_H
#define ALLO_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum allo_code {
	ALLO_OK,
	ALLO_USAGE,  /* the caller asked for something that makes no sense */
	ALLO_IO,     /* the operating system said no */
	ALLO_FORMAT, /* the input is not what it claims to be */
	ALLO_LIMIT,  /* the input is larger than we are willing to hold */
	ALLO_ORDER,  /* the input has to be seen as a whole before any of it can be passed on */
	ALLO_UNMET,  /* nothing went wrong, but what was to be checked does not hold */
	ALLO_NOMEM,
};

/* A place in an input.  `line` and `byte` count from 1; `line` is 0 in a binary format, `file` is
 * NULL when there is no place to name. */
struct allo_pos {
	const char *file;
	uint64_t line;
	uint64_t byte; /* of the line in a text, of the file in a binary format */
	char part[64]; /* which file of a directory or an archive; empty for all others */
};

struct allo_error {
	enum allo_code code;
	struct allo_pos pos;
	char message[256];
	char hint[192]; /* what to do next; may be empty */
};

/* No place in particular. */
#define ALLO_NOWHERE ((struct allo_pos){ 0 })

/* Records a failure.  Returns false, so that `return allo_fail(...)` is one thought. */
bool allo_fail(struct allo_error *err, enum allo_code code, struct allo_pos pos, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5)));

/* Adds advice to the failure just recorded (it keeps what it has).  Returns false. */
bool allo_hint(struct allo_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Out of memory.  Returns false. */
bool allo_fail_memory(struct allo_error *err);

/* The operating system's reason in errno, for something done to `file`.  Returns false. */
bool allo_fail_errno(struct allo_error *err, const char *file, const char *doing);

static inline bool allo_failed(const struct allo_error *err)
{
	return err->code != ALLO_OK;
}

#endif
