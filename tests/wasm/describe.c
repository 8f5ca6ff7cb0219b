#include "describe.h"

#include "analysis/sum.h"
#include "analysis/tree.h"
#include "base/defer.h"
#include "readers/readers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <xxhash.h>

__attribute__((format(printf, 2, 3))) static void say(description *text, const char *fmt, ...)
{
	char line[1024];
	va_list arguments;
	int len;

	va_start(arguments, fmt);
	len = vsnprintf(line, sizeof(line), fmt, arguments);
	va_end(arguments);
	allo_vec_append(text, line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
}

static void say_position(description *text, const struct allo_pos *pos)
{
	if (pos->file)
		say(text, " at %s %s %" PRIu64 ":%" PRIu64, pos->file, pos->part, pos->line,
		    pos->byte);
}

static void say_failure(description *text, const struct allo_error *err)
{
	say(text, "failure %d", (int)err->code);
	say_position(text, &err->pos);
	say(text, "\n%s\n%s\n", err->message, err->hint);
}

/* Ids follow the order of arrival, so that equal tables have equal bytes. */
static uint64_t hash_of(const void *items, size_t count, size_t size)
{
	return count > 0 ? XXH64(items, count * size, 0) : 0;
}

#define HASH(vec) hash_of((vec).at, (vec).len, sizeof(*(vec).at))

static void say_tables(description *text, const struct allo_profile *profile)
{
	uint64_t strings = 0;

	for (size_t i = 1; i < profile->strings.len; i++)
		strings = XXH64(profile->strings.at[i].data, profile->strings.at[i].len, strings);
	say(text, "%zu strings %016" PRIx64 "\n", profile->strings.len, strings);
	say(text, "%zu functions %016" PRIx64 "\n", profile->functions.len,
	    HASH(profile->functions));
	say(text, "%zu frames, %zu lines\n", profile->frames.len, profile->lines.len);
	say(text, "%zu stacks %016" PRIx64 "\n", profile->stacks.len, HASH(profile->stacks));
	say(text, "%zu labels %016" PRIx64 "\n", profile->labels.len, HASH(profile->labels));
	say(text, "%zu samples %016" PRIx64 " %016" PRIx64 "\n", allo_profile_sample_count(profile),
	    HASH(profile->sample_stacks), HASH(profile->sample_labels));
	say(text, "values %016" PRIx64 " variances %016" PRIx64 "\n", HASH(profile->values),
	    HASH(profile->variances));
}

static void say_sums(description *text, const struct allo_profile *profile)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		struct allo_text name = allo_profile_text(profile, profile->metrics.at[i].name);
		allo_sum sum = allo_metric_sum(profile, i);

		say(text, "sum of %.*s: %016" PRIx64 "%016" PRIx64 "\n", ALLO_TEXT_ARG(name),
		    (uint64_t)(sum >> 64), (uint64_t)sum);
	}
}

static void say_notes(description *text, const struct allo_notes *notes)
{
	char detail[ALLO_NOTE_DETAIL];

	for (int n = 0; n < ALLO_NOTES; n++) {
		if (notes->of[n].count == 0)
			continue;
		say(text, "%" PRIu64 " %s%s", notes->of[n].count, allo_note_text(notes, n),
		    allo_note_detail(notes, n, detail));
		say_position(text, &notes->of[n].first);
		say(text, "\n");
	}
}

void describe(description *text, const char *name, const void *data, size_t len)
{
	const struct allo_read_options options = { .keep_accesses = true, .wants_history = true };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	if (!allo_read_memory(name, data, len, &options, &profile, &err)) {
		say_failure(text, &err);
		return;
	}
	say(text, "format %s\n", profile.meta.format);
	say_tables(text, &profile);
	say(text, "%zu levels %016" PRIx64 "\n", profile.history.len, HASH(profile.history));
	say_sums(text, &profile);
	say_notes(text, &profile.notes);
}
