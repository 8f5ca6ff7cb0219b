/* validate.c - checks the invariants that profile.h states. */
#include "profile/profile.h"

static bool broken(struct allo_error *err, const char *part, size_t index)
{
	return allo_fail(err, ALLO_FORMAT, ALLO_NOWHERE, "the profile is inconsistent: %s %zu",
			 part, index);
}

/* Whether an id is in a table; 0 is always valid. */
#define IS_ID(table, id) ((id) == 0 || (id) < (table).len)

static bool check_code(const struct allo_profile *p, struct allo_error *err)
{
	for (size_t i = 1; i < p->modules.len; i++) {
		if (!IS_ID(p->strings, p->modules.at[i].path) ||
		    !IS_ID(p->strings, p->modules.at[i].build_id))
			return broken(err, "module", i);
	}
	for (size_t i = 1; i < p->functions.len; i++) {
		const struct allo_function *function = &p->functions.at[i];

		if (!IS_ID(p->strings, function->name) || !IS_ID(p->strings, function->file) ||
		    !IS_ID(p->strings, function->system_name))
			return broken(err, "function", i);
	}
	for (size_t i = 0; i < p->lines.len; i++) {
		if (p->lines.at[i].function == 0 || p->lines.at[i].function >= p->functions.len)
			return broken(err, "line", i);
	}
	for (size_t i = 1; i < p->frames.len; i++) {
		const struct allo_frame *frame = &p->frames.at[i];

		if (!IS_ID(p->modules, frame->module) || frame->first_line > p->lines.len ||
		    frame->line_count > p->lines.len - frame->first_line)
			return broken(err, "frame", i);
	}
	return true;
}

static bool check_stacks(const struct allo_profile *p, struct allo_error *err)
{
	for (size_t i = 1; i < p->stacks.len; i++) {
		if (p->stacks.at[i].parent >= i || p->stacks.at[i].frame == 0 ||
		    p->stacks.at[i].frame >= p->frames.len)
			return broken(err, "stack", i);
	}
	return true;
}

static bool check_labels(const struct allo_profile *p, struct allo_error *err)
{
	for (size_t i = 0; i < p->labels.len; i++) {
		const struct allo_label *label = &p->labels.at[i];

		if (!IS_ID(p->strings, label->key) || !IS_ID(p->strings, label->text) ||
		    !IS_ID(p->strings, label->unit))
			return broken(err, "label", i);
	}
	for (size_t i = 1; i < p->label_sets.len; i++) {
		struct allo_label_set set = p->label_sets.at[i];

		if (set.first > p->labels.len || set.count > p->labels.len - set.first)
			return broken(err, "label set", i);
	}
	return true;
}

static bool check_samples(const struct allo_profile *p, struct allo_error *err)
{
	size_t count = allo_profile_sample_count(p);

	if (p->values.len != count * p->metrics.len)
		return broken(err, "values", p->values.len);
	if (p->variances.len > p->values.len)
		return broken(err, "variances", p->variances.len);
	if (p->sample_labels.len != 0 && p->sample_labels.len != count)
		return broken(err, "labels", p->sample_labels.len);
	if (p->sample_times.len != 0 && p->sample_times.len != count)
		return broken(err, "times", p->sample_times.len);
	if (p->sample_accesses.len > count)
		return broken(err, "access counts", p->sample_accesses.len);
	for (size_t i = 0; i < count; i++) {
		struct allo_accesses runs = allo_profile_accesses_of(p, i);

		if (!IS_ID(p->stacks, p->sample_stacks.at[i]) ||
		    !IS_ID(p->label_sets, allo_profile_labels_of(p, i)) ||
		    runs.first > p->access_runs.len || runs.count > p->access_runs.len - runs.first)
			return broken(err, "sample", i);
	}
	for (size_t i = 0; i < p->sample_times.len; i++) {
		if (!IS_ID(p->threads, p->sample_times.at[i].thread))
			return broken(err, "time", i);
	}
	return true;
}

static bool check_metrics(const struct allo_profile *p, struct allo_error *err)
{
	for (size_t i = 0; i < p->metrics.len; i++) {
		const struct allo_metric *metric = &p->metrics.at[i];

		if (!IS_ID(p->strings, metric->name) || !IS_ID(p->strings, metric->unit) ||
		    metric->meaning >= ALLO_MEANINGS)
			return broken(err, "metric", i);
		/* A metric of the base is followed by its partner. */
		if (metric->is_before &&
		    (i + 1 == p->metrics.len || p->metrics.at[i + 1].is_before))
			return broken(err, "metric", i);
	}
	return true;
}

static bool check_meta(const struct allo_profile *p, struct allo_error *err)
{
	const struct allo_meta *meta = &p->meta;
	const allo_string_id strings[] = { meta->dialect,     meta->command, meta->producer,
					   meta->mode,        meta->verb,    meta->drop_frames,
					   meta->keep_frames, meta->doc_url, meta->period_type,
					   meta->period_unit };

	if (meta->default_metric > p->metrics.len)
		return broken(err, "default metric", meta->default_metric);
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		if (!IS_ID(p->strings, strings[i]))
			return broken(err, "metadata string", i);
	}
	for (size_t i = 0; i < p->comments.len; i++) {
		if (!IS_ID(p->strings, p->comments.at[i]))
			return broken(err, "comment", i);
	}
	for (size_t i = 1; i < p->threads.len; i++) {
		if (!IS_ID(p->strings, p->threads.at[i].name) ||
		    !IS_ID(p->strings, p->threads.at[i].process_name))
			return broken(err, "thread", i);
	}
	return true;
}

static bool check_history(const struct allo_profile *p, struct allo_error *err)
{
	for (size_t i = 1; i < p->history.len; i++) {
		if (p->history.at[i].time < p->history.at[i - 1].time)
			return broken(err, "history entry", i);
	}
	for (size_t i = 0; i < p->changes.len; i++) {
		const struct allo_block_change *change = &p->changes.at[i];

		if (change->block == 0 || !IS_ID(p->stacks, change->stack) ||
		    (i > 0 && change->time < p->changes.at[i - 1].time))
			return broken(err, "change", i);
	}
	return true;
}

bool allo_profile_validate(const struct allo_profile *profile, struct allo_error *err)
{
	return check_meta(profile, err) && check_metrics(profile, err) &&
	       check_code(profile, err) && check_stacks(profile, err) &&
	       check_labels(profile, err) && check_samples(profile, err) &&
	       check_history(profile, err);
}
