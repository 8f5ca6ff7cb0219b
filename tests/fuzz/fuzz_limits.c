/*
 * fuzz_limits.c - files that people write: limits and suppressions.  Behind a NUL, a name for the
 * suppressions to match.
 */
#include "analysis/budget.h"
#include "base/defer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_limits(struct allo_text text)
{
	ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	struct allo_error err = { 0 };

	if (allo_input_open_memory(&in, "limits", text.data, text.len, &err) &&
	    allo_limits_read(&limits, &in, &err) && allo_limits_need_baseline(&limits) &&
	    limits.list.len == 0)
		abort();
}

static void match(struct allo_text text, struct allo_text name)
{
	ALLO_DEFER(allo_suppressions_done) struct allo_suppressions suppressions = { 0 };
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	struct allo_error err = { 0 };

	if (!allo_input_open_memory(&in, "suppressions", text.data, text.len, &err) ||
	    !allo_suppressions_read(&suppressions, &in, &err))
		return;
	for (size_t i = 0; i < suppressions.list.len; i++)
		allo_suppression_matches(suppressions.list.at[i].pattern, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct allo_text text = { (const char *)data, size }, name = { "", 0 };

	allo_text_cut(text, '\0', &text, &name);
	read_limits(text);
	match(text, name);
	return 0;
}
