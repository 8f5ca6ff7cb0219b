/* holds.c - what profiles have and formats may lack; see writers.h. */
#include "writers/writers.h"

#include <stdio.h>

static unsigned holds_of_code(const struct allo_profile *profile)
{
	unsigned holds = 0;

	for (size_t i = 1; i < profile->modules.len; i++) {
		holds |= ALLO_HOLDS_MODULES;
		if (profile->modules.at[i].build_id)
			holds |= ALLO_HOLDS_BUILD_IDS;
	}
	for (size_t i = 1; i < profile->functions.len; i++) {
		if (profile->functions.at[i].file)
			holds |= ALLO_HOLDS_FILES;
	}
	for (size_t i = 0; i < profile->lines.len; i++) {
		if (profile->lines.at[i].line)
			holds |= ALLO_HOLDS_LINES;
		if (profile->lines.at[i].column)
			holds |= ALLO_HOLDS_COLUMNS;
	}
	for (size_t i = 1; i < profile->frames.len; i++) {
		if (profile->frames.at[i].address)
			holds |= ALLO_HOLDS_ADDRESSES;
		if (profile->frames.at[i].line_count > 1)
			holds |= ALLO_HOLDS_INLINES;
	}
	return holds;
}

unsigned allo_profile_holds(const struct allo_profile *profile)
{
	unsigned holds = holds_of_code(profile);

	if (profile->metrics.len > 1 && !profile->metrics.at[0].is_before)
		holds |= ALLO_HOLDS_METRICS;
	for (size_t i = 0; i < profile->metrics.len; i++) {
		if (profile->metrics.at[i].is_signed)
			holds |= ALLO_HOLDS_NEGATIVE;
	}
	if (profile->label_sets.len > 1)
		holds |= ALLO_HOLDS_LABELS;
	if (profile->sample_times.len > 0)
		holds |= ALLO_HOLDS_TIMES;
	if (profile->sample_accesses.len > 0 || profile->meta.has_unread_accesses)
		holds |= ALLO_HOLDS_ACCESSES;
	if (profile->meta.command)
		holds |= ALLO_HOLDS_COMMAND;
	if (profile->comments.len > 0)
		holds |= ALLO_HOLDS_COMMENTS;
	/* A period of 1 says that nothing was sampled, as does its absence. */
	if (profile->meta.period > 1)
		holds |= ALLO_HOLDS_PERIOD;
	if (profile->history.len > 0)
		holds |= ALLO_HOLDS_HISTORY;
	return holds;
}

void allo_holds_names(unsigned holds, char *out, size_t room)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ ALLO_HOLDS_METRICS, "several metrics" },
		{ ALLO_HOLDS_MODULES, "modules" },
		{ ALLO_HOLDS_BUILD_IDS, "build ids" },
		{ ALLO_HOLDS_ADDRESSES, "addresses" },
		{ ALLO_HOLDS_FILES, "files" },
		{ ALLO_HOLDS_LINES, "lines" },
		{ ALLO_HOLDS_COLUMNS, "columns" },
		{ ALLO_HOLDS_INLINES, "inlining" },
		{ ALLO_HOLDS_LABELS, "labels" },
		{ ALLO_HOLDS_TIMES, "times" },
		{ ALLO_HOLDS_ACCESSES, "access counts" },
		{ ALLO_HOLDS_COMMAND, "the command" },
		{ ALLO_HOLDS_COMMENTS, "comments" },
		{ ALLO_HOLDS_PERIOD, "the sampling period" },
		{ ALLO_HOLDS_NEGATIVE, "negative values" },
		{ ALLO_HOLDS_HISTORY, "the heap over time" },
	};
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if ((holds & names[i].bit) && used < room)
			used += (size_t)snprintf(out + used, room - used, "%s%s", used ? ", " : "",
						 names[i].name);
	}
}
