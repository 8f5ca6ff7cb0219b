/*
 * index_page.h - the page that lists what there is.
 */
#ifndef ALLO_SERVE_INDEX_PAGE_H
#define ALLO_SERVE_INDEX_PAGE_H

#include "serve/process_list.h"

/* HTML, to be freed; NULL when memory is short. */
char *allo_index_page(const struct allo_process_list *processes, size_t *len,
		      struct allo_error *err);

#endif
