/*
 * index_page.h - the page that lists what there is.
 */
#ifndef ALLO_SERVE_INDEX_PAGE_H
#define ALLO_SERVE_INDEX_PAGE_H

#include "serve/roster.h"

/* HTML, to be freed; NULL when memory is short. */
char *allo_index_page(const struct allo_roster *roster, size_t *len, struct allo_error *err);

#endif
