/*
 * scrape.h - memory metrics of the served processes, as text for monitoring systems.
 */
#ifndef ALLO_SERVE_SCRAPE_H
#define ALLO_SERVE_SCRAPE_H

#include "serve/process_list.h"

/* Both make a text that the caller frees.  `process` NULL: all processes, each with its pid and
 * name. */

bool allo_scrape_metrics(const struct allo_process_list *processes,
			 struct allo_served_process *process, enum allo_metrics_format form,
			 char **text, size_t *len, struct allo_error *err);

bool allo_scrape_json(const struct allo_process_list *processes,
		      struct allo_served_process *process, char **text, size_t *len,
		      struct allo_error *err);

#endif
