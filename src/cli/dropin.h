/*
 * dropin.h - `allo` under the names of programs that it stands in for.
 */
#ifndef ALLO_CLI_DROPIN_H
#define ALLO_CLI_DROPIN_H

#include "base/error.h"
#include "base/text.h"

struct allo_dropin {
	const char *name; /* NULL ends the table */
	/* `arguments` are those behind the name, and end with NULL. */
	bool (*run)(char **arguments, struct allo_error *err);
};

/* What the program does under this name; NULL when that is nothing special. */
const struct allo_dropin *allo_dropin_find(struct allo_text name);

#endif
