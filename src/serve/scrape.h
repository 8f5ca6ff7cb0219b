/*
 * scrape.h - the memory of the processes that are process, as text.
 */
#ifndef ALLO_SERVE_SCRAPE_H
#define ALLO_SERVE_SCRAPE_H

#include "serve/process_list.h"

/* Both make a text, to be freed.  `process` NULL is all that there are, each with its number and
 * its name; else what is told is of this one alone. */

bool allo_scrape_metrics(const struct allo_process_list *processes,
			 struct allo_served_process *process, enum allo_metrics_format form,
			 char **text, size_t *len, struct allo_error *err);

bool allo_scrape_json(const struct allo_process_list *processes,
		      struct allo_served_process *process, char **text, size_t *len,
		      struct allo_error *err);

#endif
