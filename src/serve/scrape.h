/*
 * scrape.h - memory metrics of the served processes, as text for monitoring systems.
 */
#ifndef ALLO_SERVE_SCRAPE_H
#define ALLO_SERVE_SCRAPE_H

#include "serve/process_list.h"

struct allo_scrape_request {
	const struct allo_process_list *processes;
	struct allo_served_process *process; /* NULL: all, each with its pid and name */
	enum allo_metrics_format format;
	bool walks; /* through glibc's blocks: half a second per GiB */
};

/* Makes a text that the caller frees. */
bool allo_scrape(const struct allo_scrape_request *request, char **text, size_t *len,
		 struct allo_error *err);

#endif
