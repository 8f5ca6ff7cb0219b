#include "analysis/accesses.h"

/* The next number: a count, or a negative run length, which a count follows. */
static bool take_run(const struct allo_profile *profile, struct allo_accesses *runs,
		     struct allo_access_run *run)
{
	const int32_t *at;
	bool is_repeated;
	uint32_t used;

	if (runs->count == 0)
		return false;
	at = profile->access_runs.at + runs->first;
	is_repeated = at[0] < 0;
	used = is_repeated ? 2 : 1;
	if (runs->count < used)
		return false;
	run->length = is_repeated ? (uint64_t) - (int64_t)at[0] : 1;
	run->count = at[used - 1] < 0 ? 0 : (uint32_t)at[used - 1];
	runs->first += used;
	runs->count -= used;
	return true;
}

bool allo_access_run_next(const struct allo_profile *profile, struct allo_accesses *runs,
			  struct allo_access_run *run)
{
	struct allo_accesses ahead;
	struct allo_access_run more;

	if (!take_run(profile, runs, run))
		return false;
	for (ahead = *runs; take_run(profile, &ahead, &more) && more.count == run->count;
	     *runs = ahead)
		run->length += more.length;
	return true;
}
