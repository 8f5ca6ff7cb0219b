/*
 * page_view.h - answers requests of the page about a running process.
 *
 * The ask "live" brings the recording up to date; all others are about the moment of the last one.
 * So a page that does not ask "live" is frozen.
 */
#ifndef ALLO_SERVE_PAGE_VIEW_H
#define ALLO_SERVE_PAGE_VIEW_H

#include "engine/live/live_dataset.h"
#include "serve/heap_profile.h"

/* Writes the reply of the page's request to `out`; failures are replies too.  `live` is all zeros
 * at first. */
unsigned allo_page_view_answer(struct allo_live_dataset *live,
			       const struct allo_heap_request *request, int out,
			       struct allo_error *err);

#endif
