/* fuzz_suppressions.c - any bytes as a file of suppressions, applied to a few frames. */
#include "analysis/filters/suppressions.h"
#include "base/defer.h"
#include "readers/readers.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char stacks[] =
	"main;parse(int);operator new 64\nmain;std::vector<int>::push_back 32\n"
	"start;leak 16\n";

/* No suppression hides more than there is. */
static void apply(struct allo_suppressions *suppressions)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_read_options options = { .from = "folded" };
	struct allo_metric_columns columns;
	struct allo_error err = { 0 };

	if (!allo_read_memory("fuzz", stacks, sizeof(stacks) - 1, &options, &profile, &err))
		abort();
	columns = allo_metric_columns_of(&profile, 0);
	if (!allo_suppressions_apply(suppressions, &profile, &columns, &err))
		return;
	for (size_t i = 0; i < suppressions->list.len; i++) {
		if (suppressions->list.at[i].stacks > 3)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_suppressions_done) struct allo_suppressions suppressions = { 0 };
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };

	if (allo_input_open_memory(&in, "fuzz", data, size, &err) &&
	    allo_suppressions_read(&suppressions, &in, &err))
		apply(&suppressions);
	return 0;
}
