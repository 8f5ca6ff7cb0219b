/*
 * show.h - numbers and places as the commands print them.
 */
#ifndef ALLO_CLI_SHOW_H
#define ALLO_CLI_SHOW_H

#include "analysis/sum.h"
#include "base/json_write.h"

/* A sum as JSON: a number, exact. */
void allo_show_json_sum(struct allo_json_out *json, allo_sum sum);

/* "metric": {"name": ..., "unit": ..., "about": ...} */
void allo_show_json_metric(struct allo_json_out *json, const struct allo_profile *profile,
			   size_t metric);

/* "name  file.c:12" as far as known, into `out`, which is returned. */
enum { ALLO_PLACE_SIZE = 1024 };
struct allo_text allo_show_place(struct allo_text name, struct allo_text file, uint64_t line,
				 char out[ALLO_PLACE_SIZE]);

#endif
