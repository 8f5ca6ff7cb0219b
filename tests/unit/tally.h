/*
 * tally.h - sums by name, kept in the plainest way, to check faster ways against.
 */
#ifndef ALLO_TESTS_TALLY_H
#define ALLO_TESTS_TALLY_H

#include "check.h"

#include <stdlib.h>

struct tally {
	struct tally_row {
		char *name;
		int64_t self, total, before;
		uint64_t last; /* the number of the last thing that counted in `total` */
	} rows[4096];
	size_t count;
};

static inline struct tally_row *tally_row(struct tally *tally, const char *name)
{
	for (size_t i = 0; i < tally->count; i++) {
		if (strcmp(tally->rows[i].name, name) == 0)
			return &tally->rows[i];
	}
	assert_true(tally->count < sizeof(tally->rows) / sizeof(*tally->rows));
	tally->rows[tally->count] = (struct tally_row){ .name = strdup(name) };
	return &tally->rows[tally->count++];
}

static inline void tally_done(struct tally *tally)
{
	for (size_t i = 0; i < tally->count; i++)
		free(tally->rows[i].name);
	tally->count = 0;
}

#endif
