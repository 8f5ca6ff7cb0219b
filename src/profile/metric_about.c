#include "profile/metric_about.h"

#include "base/units.h"

#include <stdio.h>

static const char *about_peak(const struct allo_part *part)
{
	if (part->of_thread)
		return part->of_range ? "live at the thread's peak in the range"
				      : "live at the thread's peak";
	return part->of_range ? "live at the peak of the range" : "live at the program's peak";
}

static const char *about_live(const struct allo_part *part, const char *usual,
			      char scratch[ALLO_ABOUT_SIZE])
{
	const struct allo_number time = { .magnitude = part->instant_ns };
	char number[ALLO_NUMBER_SIZE];

	switch (part->instant) {
	case ALLO_INSTANT_PEAK:
		return about_peak(part);
	case ALLO_INSTANT_END:
		return "live when recording ended";
	case ALLO_INSTANT_TIME:
		snprintf(scratch, ALLO_ABOUT_SIZE, "live at %s",
			 allo_format(time, ALLO_UNIT_NS, false, number));
		return scratch;
	default:
		return usual;
	}
}

static const char *about_part(const struct allo_part *part, enum allo_meaning meaning,
			      char scratch[ALLO_ABOUT_SIZE])
{
	const char *usual = allo_metric_kinds[meaning].about;

	switch (meaning) {
	case ALLO_PEAK_BYTES:
	case ALLO_PEAK_BLOCKS:
		return about_peak(part);
	case ALLO_LIVE_BYTES:
	case ALLO_LIVE_BLOCKS:
		return about_live(part, usual, scratch);
	case ALLO_END_BYTES:
	case ALLO_END_BLOCKS:
		return part->of_range ? "live at the end of the range" : usual;
	case ALLO_ALLOC_BYTES:
	case ALLO_ALLOC_BLOCKS:
		return part->of_range ? "allocated in the range" : usual;
	default:
		return usual;
	}
}

/* The same for a program that had blocks before its recording began. */
static const char *about_since(const struct allo_part *part, enum allo_meaning meaning,
			       const char *about, char scratch[ALLO_ABOUT_SIZE])
{
	char whole[ALLO_ABOUT_SIZE];

	if (!part->is_attached)
		return about;
	if ((meaning == ALLO_END_BYTES || meaning == ALLO_END_BLOCKS) && !part->of_range)
		return "allocated since attach and not freed";
	snprintf(whole, sizeof(whole), "%s, since attach", about);
	return strcpy(scratch, whole);
}

const char *allo_metric_about(const struct allo_profile *profile, size_t metric,
			      char scratch[ALLO_ABOUT_SIZE])
{
	const struct allo_part *part = &profile->meta.part;
	enum allo_meaning meaning = profile->metrics.at[metric].meaning;
	bool is_peak = meaning == ALLO_PEAK_BYTES || meaning == ALLO_PEAK_BLOCKS ||
		       part->instant == ALLO_INSTANT_PEAK;
	const char *about = about_since(part, meaning, about_part(part, meaning, scratch), scratch);
	char whole[ALLO_ABOUT_SIZE];

	if (part->sum_of <= 1)
		return about;
	if (is_peak)
		snprintf(whole, sizeof(whole), "sum of %zu peaks%s", part->sum_of,
			 part->of_thread ? " of the thread" : "");
	else
		snprintf(whole, sizeof(whole), "%s, sum of %zu files", about, part->sum_of);
	return strcpy(scratch, whole);
}
