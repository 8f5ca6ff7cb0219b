/*
 * page_request.h - a request to the view engine, parsed (doc/reply.md).
 */
#ifndef ALLO_VIEW_PAGE_REQUEST_H
#define ALLO_VIEW_PAGE_REQUEST_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

enum { ALLO_REQUEST_MAX = 64 * 1024 };

/* The value of a number that the request does not have. */
#define ALLO_NOT_GIVEN UINT64_MAX

/* A range of time of one of the opened files. */
struct allo_request_range {
	uint64_t file;     /* its index */
	uint64_t from, to; /* nanoseconds; `to` 0: the end */
};

typedef ALLO_VEC(const char *) allo_request_texts;
typedef ALLO_VEC(uint32_t) allo_request_numbers;
typedef ALLO_VEC(uint64_t) allo_request_times;

/* A text that is not given is NULL, a list is empty, a number is ALLO_NOT_GIVEN unless it has a
 * default. */
struct allo_request {
	uint64_t v;
	const char *ask;
	struct allo_request_range range;
	bool has_base;
	struct allo_request_range base;
	const char *metric, *by, *sort, *search, *grain, *text, *severity, *preset, *path, *query;
	allo_request_texts filters, metrics, kinds;
	allo_request_numbers root, ids, open;
	allo_request_times marks;
	bool has_marks;
	bool invert, ascending, age;
	double least;          /* below 0: not given */
	uint64_t offset, most; /* `offset` is 0 by default */
	uint64_t since, steps, call, pivot, stack, site, chain, size_from, size_to, at;

	/* Private. */
	struct allo_arena arena; /* holds the texts */
};

void allo_request_done(struct allo_request *request);

/* Parses a request into `request`, which must be all zeros. */
bool allo_request_parse(struct allo_request *request, struct allo_text json,
			struct allo_error *err);

/* The index of a text in a list that NULL ends; 0 if the text is NULL.  The failure lists the
 * choices. */
bool allo_request_choose(const char *text, const char *const *choices, size_t *choice,
			 struct allo_error *err);

#endif
