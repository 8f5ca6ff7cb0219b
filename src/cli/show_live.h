/*
 * show_live.h - what a look at a process has found, as text and as JSON.
 */
#ifndef ALLO_CLI_SHOW_LIVE_H
#define ALLO_CLI_SHOW_LIVE_H

#include "base/json_write.h"
#include "cli/common.h"
#include "engine/live_heap.h"

enum allo_live_sort { ALLO_LIVE_BY_BYTES, ALLO_LIVE_BY_BLOCKS, ALLO_LIVE_BY_RATE };

struct allo_live_form {
	const struct allo_common *common;
	enum allo_live_sort sort;
	size_t most; /* sites */
};

bool allo_show_live(const struct allo_live_heap *heap, const struct allo_live_form *form,
		    struct allo_output *out, struct allo_error *err);

/* One object in one line. */
bool allo_show_live_json(const struct allo_live_heap *heap, const struct allo_live_form *form,
			 struct allo_output *out, struct allo_error *err);

/* Members of an object. */
void allo_show_heap_counts(struct allo_json_out *json, const struct allo_heap_counts *counts);

#endif
