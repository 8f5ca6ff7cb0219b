/* lib_meta.c - facts about a profile as a whole; see allotrope.h. */
#include "lib/lib_common.h"

static enum allotrope_clock public_clock(const struct allo_meta *meta)
{
	if (meta->clock == ALLO_CLOCK_INSTRUCTIONS)
		return ALLOTROPE_CLOCK_INSTRUCTIONS;
	/* A profile that knows no times has no clock to name either. */
	if (meta->clock == ALLO_CLOCK_NONE && (meta->duration > 0 || meta->peak_time > 0))
		return ALLOTROPE_CLOCK_OTHER;
	return ALLOTROPE_CLOCK_NS;
}

bool allotrope_get_meta(const struct allotrope_profile *profile, struct allotrope_meta *meta)
{
	const struct allo_meta *from;

	if (!profile || !meta)
		return false;
	from = &profile->data.meta;
	*meta = (struct allotrope_meta){
		.format = from->format ? from->format : "",
		.command = allo_lib_string(&profile->data, from->command),
		.producer = allo_lib_string(&profile->data, from->producer),
		.period_type = allo_lib_string(&profile->data, from->period_type),
		.period_unit = allo_lib_string(&profile->data, from->period_unit),
		.drop_frames = allo_lib_string(&profile->data, from->drop_frames),
		.keep_frames = allo_lib_string(&profile->data, from->keep_frames),
		.doc_url = allo_lib_string(&profile->data, from->doc_url),
		.pid = from->pid,
		.start_ns = from->start_ns,
		.duration = from->duration,
		.peak_time = from->peak_time,
		.period = from->period,
		.clock = public_clock(from),
		.default_metric = (uint32_t)from->default_metric,
	};
	return true;
}

static enum allo_clock clock_of(const struct allotrope_meta *meta)
{
	switch (meta->clock) {
	case ALLOTROPE_CLOCK_NS:
		return ALLO_CLOCK_NS;
	case ALLOTROPE_CLOCK_INSTRUCTIONS:
		return ALLO_CLOCK_INSTRUCTIONS;
	default:
		return ALLO_CLOCK_NONE;
	}
}

/* Sets *id, unless memory is short. */
static void set_string(struct allo_profile *profile, allo_string_id *id, const char *string,
		       struct allo_error *err)
{
	allo_string_id added = allo_profile_add_string(profile, allo_lib_text(string), err);

	if (!allo_failed(err))
		*id = added;
}

bool allotrope_set_meta(struct allotrope_profile *profile, const struct allotrope_meta *meta,
			struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	struct allo_meta *to;

	if (!allo_lib_begin(profile, err))
		return false;
	if (!meta)
		return allo_lib_misuse(err, "no metadata is given");
	if (!allo_lib_is_clear(meta, err))
		return false;
	if ((unsigned)meta->clock > ALLOTROPE_CLOCK_OTHER)
		return allo_lib_misuse(err, "there is no clock %d", (int)meta->clock);
	if (meta->default_metric > profile->data.metrics.len)
		return allo_lib_misuse(err, "there is no metric %lu to be the default",
				       (unsigned long)meta->default_metric - 1);
	to = &profile->data.meta;
	set_string(&profile->data, &to->command, meta->command, &failure);
	set_string(&profile->data, &to->producer, meta->producer, &failure);
	set_string(&profile->data, &to->period_type, meta->period_type, &failure);
	set_string(&profile->data, &to->period_unit, meta->period_unit, &failure);
	set_string(&profile->data, &to->drop_frames, meta->drop_frames, &failure);
	set_string(&profile->data, &to->keep_frames, meta->keep_frames, &failure);
	set_string(&profile->data, &to->doc_url, meta->doc_url, &failure);
	to->pid = meta->pid;
	to->start_ns = meta->start_ns;
	to->duration = meta->duration;
	to->peak_time = meta->peak_time;
	to->period = meta->period;
	to->clock = clock_of(meta);
	to->default_metric = meta->default_metric;
	return !allo_failed(&failure) || allo_lib_fail(err, &failure);
}

size_t allotrope_comment_count(const struct allotrope_profile *profile)
{
	return profile ? profile->data.comments.len : 0;
}

const char *allotrope_get_comment(const struct allotrope_profile *profile, size_t index)
{
	if (!profile || index >= profile->data.comments.len)
		return NULL;
	return allo_lib_string(&profile->data, profile->data.comments.at[index]);
}

bool allotrope_add_comment(struct allotrope_profile *profile, const char *text,
			   struct allotrope_error *err)
{
	struct allo_error failure = { 0 };

	if (!allo_lib_begin(profile, err))
		return false;
	if (!text)
		return allo_lib_misuse(err, "no comment is given");
	return allo_profile_add_comment(&profile->data, allo_text_of(text), &failure) ||
	       allo_lib_fail(err, &failure);
}

void allotrope_clear_comments(struct allotrope_profile *profile)
{
	if (profile)
		profile->data.comments.len = 0;
}
