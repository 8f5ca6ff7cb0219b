/*
 * scrape.h - the memory of the processes that are served, as text.
 */
#ifndef ALLO_SERVE_SCRAPE_H
#define ALLO_SERVE_SCRAPE_H

#include "serve/roster.h"

/* Both make a text, to be freed.  `served` NULL is all that there are, each with its number and its
 * name; else what is told is of this one alone. */

bool allo_scrape_metrics(const struct allo_roster *roster, struct allo_served *served,
			 enum allo_metrics_format form, char **text, size_t *len,
			 struct allo_error *err);

bool allo_scrape_json(const struct allo_roster *roster, struct allo_served *served, char **text,
		      size_t *len, struct allo_error *err);

#endif
