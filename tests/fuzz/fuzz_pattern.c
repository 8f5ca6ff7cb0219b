/*
 * fuzz_pattern.c - a pattern, and behind a newline a name for it to match.
 */
#include "analysis/filters/pattern.h"
#include "base/defer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const char *text, struct allo_text name)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	struct allo_error err = { 0 };
	allo_frame_id frame = allo_profile_add_named_frame(&profile, name, &err);

	if (!allo_pattern_init(&pattern, text, &err)) {
		if (err.code != ALLO_USAGE)
			abort();
		return;
	}
	allo_pattern_matches(&pattern, &profile, &profile.frames.at[frame], 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct allo_text all = { (const char *)data, size }, text, name;
	char pattern[64];

	/* Repetitions and references back are the C library's to deal with, and take their time. */
	if (size == 0 || !allo_text_cut(all, '\n', &text, &name) || text.len >= sizeof(pattern) ||
	    name.len > 1000 || memchr(text.data, '{', text.len) ||
	    memchr(text.data, '\\', text.len))
		return 0;
	memcpy(pattern, text.data, text.len);
	pattern[text.len] = '\0';
	match(pattern, name);
	return 0;
}
