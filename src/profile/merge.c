/* merge.c - adds one profile to another. */
#include "base/assert.h"
#include "base/defer.h"
#include "profile/profile.h"

#include <stdlib.h>

/* Maps each id of the source to the id of the equal entry of the target. */
struct merger {
	struct allo_profile *into;
	const struct allo_profile *from;
	uint32_t *strings, *modules, *functions, *frames, *stacks, *label_sets, *threads;
	size_t *metrics;
	uint32_t *all;           /* one allocation for the id tables above */
	bool is_first;           /* the target was empty before */
	struct allo_label label; /* for all samples; key 0 is none */
};

static void merger_done(struct merger *m)
{
	free(m->all);
	free(m->metrics);
}

static bool merger_init(struct merger *m, struct allo_error *err)
{
	const struct allo_profile *from = m->from;
	size_t counts[] = { from->strings.len, from->modules.len, from->functions.len,
			    from->frames.len,  from->stacks.len,  from->label_sets.len,
			    from->threads.len };
	uint32_t **tables[] = { &m->strings, &m->modules,    &m->functions, &m->frames,
				&m->stacks,  &m->label_sets, &m->threads };
	size_t total = 0, n = sizeof(counts) / sizeof(*counts);

	for (size_t i = 0; i < n; i++)
		total += counts[i] + 1; /* + 1: id 0 is valid even with an empty table */
	m->all = calloc(total, sizeof(*m->all));
	m->metrics = calloc(from->metrics.len + 1, sizeof(*m->metrics));
	if (!m->all || !m->metrics)
		return allo_fail_memory(err);
	total = 0;
	for (size_t i = 0; i < n; i++) {
		*tables[i] = m->all + total;
		total += counts[i] + 1;
	}
	return true;
}

static bool move_strings(struct merger *m, struct allo_error *err)
{
	for (size_t i = 1; i < m->from->strings.len; i++)
		m->strings[i] = allo_profile_add_string(m->into, m->from->strings.at[i], err);
	return !allo_failed(err);
}

static bool move_modules(struct merger *m, struct allo_error *err)
{
	for (size_t i = 1; i < m->from->modules.len; i++) {
		struct allo_module module = m->from->modules.at[i];

		module.path = m->strings[module.path];
		module.build_id = m->strings[module.build_id];
		m->modules[i] = allo_profile_add_module(m->into, &module, err);
	}
	return !allo_failed(err);
}

static bool move_functions(struct merger *m, struct allo_error *err)
{
	for (size_t i = 1; i < m->from->functions.len; i++) {
		struct allo_function function = m->from->functions.at[i];

		function.name = m->strings[function.name];
		function.system_name = m->strings[function.system_name];
		function.file = m->strings[function.file];
		m->functions[i] = allo_profile_add_function(m->into, &function, err);
	}
	return !allo_failed(err);
}

static bool move_frames(struct merger *m, struct allo_error *err)
{
	ALLO_VEC(struct allo_line) lines = { 0 };

	for (size_t i = 1; i < m->from->frames.len && !allo_failed(err); i++) {
		struct allo_frame frame = m->from->frames.at[i];

		lines.len = 0;
		if (frame.line_count > 0)
			allo_vec_add_all(&lines, m->from->lines.at + frame.first_line,
					 frame.line_count, err);
		for (size_t k = 0; k < lines.len; k++)
			lines.at[k].function = m->functions[lines.at[k].function];
		frame.module = m->modules[frame.module];
		m->frames[i] = allo_profile_add_frame(m->into, &frame, lines.at, lines.len, err);
	}
	allo_vec_done(&lines);
	return !allo_failed(err);
}

static bool move_stacks(struct merger *m, struct allo_error *err)
{
	for (size_t i = 1; i < m->from->stacks.len && !allo_failed(err); i++) {
		struct allo_stack stack = m->from->stacks.at[i];

		ALLO_ASSERT(stack.parent < i);
		m->stacks[i] = allo_profile_add_stack(m->into, m->stacks[stack.parent],
						      m->frames[stack.frame], err);
	}
	return !allo_failed(err);
}

static bool move_label_set(struct merger *m, size_t id, struct allo_label_set set,
			   struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	struct allo_label *labels = malloc((set.count + 1) * sizeof(*labels));
	size_t count = 0;

	if (!labels)
		return allo_fail_memory(err);
	for (; count < set.count; count++) {
		labels[count] = m->from->labels.at[set.first + count];
		labels[count].key = m->strings[labels[count].key];
		labels[count].text = m->strings[labels[count].text];
		labels[count].unit = m->strings[labels[count].unit];
	}
	if (m->label.key)
		labels[count++] = m->label;
	m->label_sets[id] = allo_profile_add_labels(m->into, labels, count, err);
	return !allo_failed(err);
}

static bool move_labels(struct merger *m, struct allo_error *err)
{
	const struct allo_label_set none = { 0 };

	if (!move_label_set(m, 0, none, err))
		return false;
	for (size_t i = 1; i < m->from->label_sets.len; i++) {
		if (!move_label_set(m, i, m->from->label_sets.at[i], err))
			return false;
	}
	return true;
}

static bool move_threads(struct merger *m, struct allo_error *err)
{
	for (size_t i = 1; i < m->from->threads.len; i++) {
		struct allo_thread thread = m->from->threads.at[i];

		thread.name = m->strings[thread.name];
		thread.process_name = m->strings[thread.process_name];
		m->threads[i] = allo_profile_add_thread(m->into, &thread, err);
	}
	return !allo_failed(err);
}

/* Compares a metric of `p` with one of `q`. */
static bool same_metric(const struct allo_profile *p, const struct allo_metric *a,
			const struct allo_profile *q, const struct allo_metric *b)
{
	if (a->is_before != b->is_before ||
	    !allo_text_equal(allo_profile_text(p, a->unit), allo_profile_text(q, b->unit)))
		return false;
	return (a->meaning == b->meaning && a->meaning != ALLO_MEANS_OTHER) ||
	       allo_text_equal(allo_profile_text(p, a->name), allo_profile_text(q, b->name));
}

static bool is_after(const struct allo_profile *profile, size_t metric)
{
	return metric > 0 && profile->metrics.at[metric - 1].is_before;
}

/* The same; of a pair of before and after, both must be equal. */
static bool same_pair(const struct allo_profile *p, size_t a, const struct allo_profile *q,
		      size_t b)
{
	return same_metric(p, &p->metrics.at[a], q, &q->metrics.at[b]) &&
	       (!p->metrics.at[a].is_before ||
		same_metric(p, &p->metrics.at[a + 1], q, &q->metrics.at[b + 1]));
}

size_t allo_profile_find_like(const struct allo_profile *profile, const struct allo_profile *from,
			      size_t metric)
{
	size_t first = is_after(from, metric) ? metric - 1 : metric, k;

	for (k = 0; k < profile->metrics.len; k++) {
		if (!is_after(profile, k) && same_pair(profile, k, from, first))
			return k + (metric - first);
	}
	return k;
}

static bool move_metrics(struct merger *m, struct allo_error *err)
{
	for (size_t i = 0; i < m->from->metrics.len; i++) {
		struct allo_metric metric = m->from->metrics.at[i];

		metric.name = m->strings[metric.name];
		metric.unit = m->strings[metric.unit];
		m->metrics[i] = is_after(m->from, i) ? m->metrics[i - 1] + 1
						     : allo_profile_find_like(m->into, m->from, i);
		if (m->metrics[i] == m->into->metrics.len &&
		    !allo_profile_add_metric_like(m->into, &metric, err))
			return false;
		if (metric.is_signed && !m->into->metrics.at[m->metrics[i]].is_signed)
			allo_profile_make_signed(m->into, m->metrics[i]);
	}
	return true;
}

/* Adds a sample's values to a row of the target. */
static bool move_values(struct merger *m, size_t sample, uint64_t *row, struct allo_error *err)
{
	const uint64_t *values = allo_profile_row(m->from, sample);

	for (size_t i = 0; i < m->from->metrics.len; i++) {
		size_t k = m->metrics[i];

		allo_profile_add_value(
			m->into, k, &row[k],
			allo_profile_fit_value(m->into, k, &m->from->metrics.at[i], values[i]));
		if (m->from->variances.len > 0 &&
		    !allo_profile_add_variance(m->into, &row[k],
					       allo_profile_variance(m->from, sample, i), err))
			return false;
	}
	return true;
}

static uint64_t *move_sample(struct merger *m, size_t sample, bool *is_new, struct allo_error *err)
{
	allo_stack_id stack = m->stacks[m->from->sample_stacks.at[sample]];
	allo_labels_id labels = m->label_sets[allo_profile_labels_of(m->from, sample)];
	struct allo_when when;

	if (m->from->sample_times.len == 0)
		return allo_profile_add_sample(m->into, stack, labels, is_new, err);
	*is_new = true;
	when = m->from->sample_times.at[sample];
	when.thread = m->threads[when.thread];
	return allo_profile_add_timed_sample(m->into, stack, labels, &when, err);
}

static bool move_samples(struct merger *m, struct allo_error *err)
{
	for (size_t i = 0; i < allo_profile_sample_count(m->from); i++) {
		struct allo_accesses runs = allo_profile_accesses_of(m->from, i);
		bool is_new;
		uint64_t *row = move_sample(m, i, &is_new, err);

		if (!row || !move_values(m, i, row, err))
			return false;
		/* Access counts of blocks of different types do not add up, so the first stay. */
		if (is_new && runs.count > 0 &&
		    !allo_profile_set_accesses(m->into, m->from->access_runs.at + runs.first,
					       runs.count, err))
			return false;
	}
	return true;
}

static void keep_first(allo_string_id *into, const struct merger *m, allo_string_id from)
{
	if (*into == 0)
		*into = m->strings[from];
}

static size_t profiles_in(const struct allo_part *part)
{
	return part->sum_of > 1 ? part->sum_of : 1;
}

/* The sum of two parts is a part of the same kind only if both are. */
static void move_part(const struct merger *m)
{
	const struct allo_part *from = &m->from->meta.part;
	struct allo_part *into = &m->into->meta.part;

	if (m->is_first) {
		*into = *from;
		return;
	}
	into->sum_of = profiles_in(into) + profiles_in(from);
	into->of_thread &= from->of_thread;
	into->of_range &= from->of_range;
	into->is_attached |= from->is_attached;
	if (into->instant != from->instant || into->instant_ns != from->instant_ns)
		into->instant = ALLO_INSTANT_UNKNOWN;
}

static bool move_meta(struct merger *m, struct allo_error *err)
{
	const struct allo_meta *from = &m->from->meta;
	struct allo_meta *into = &m->into->meta;

	keep_first(&into->command, m, from->command);
	keep_first(&into->producer, m, from->producer);
	keep_first(&into->mode, m, from->mode);
	keep_first(&into->verb, m, from->verb);
	keep_first(&into->drop_frames, m, from->drop_frames);
	keep_first(&into->keep_frames, m, from->keep_frames);
	keep_first(&into->doc_url, m, from->doc_url);
	keep_first(&into->period_unit, m, from->period_unit);
	keep_first(&into->period_type, m, from->period_type);
	if (m->is_first) {
		into->pid = from->pid;
		into->peak_time = from->peak_time;
		into->short_lived = from->short_lived;
		into->has_short_lived |= from->has_short_lived;
	} else { /* a merged profile has no single process or peak */
		if (into->pid != from->pid)
			into->pid = 0;
		into->peak_time = 0;
	}
	into->has_unread_accesses |= from->has_unread_accesses;
	into->max_is_inuse |= from->max_is_inuse;
	move_part(m);
	if (into->clock == ALLO_CLOCK_NONE)
		into->clock = from->clock;
	/* Estimates plus exact values are estimates. */
	if (into->period < from->period) {
		into->period = from->period;
		into->period_type = m->strings[from->period_type];
		into->period_unit = m->strings[from->period_unit];
	}
	if (from->start_ns != 0 && (into->start_ns == 0 || from->start_ns < into->start_ns))
		into->start_ns = from->start_ns;
	if (into->clock == from->clock &&
	    __builtin_add_overflow(into->duration, from->duration, &into->duration))
		into->duration = UINT64_MAX;
	if (into->default_metric == 0 && from->default_metric != 0)
		into->default_metric = m->metrics[from->default_metric - 1] + 1;
	for (size_t i = 0; i < m->from->comments.len; i++)
		allo_profile_add_comment(m->into,
					 allo_profile_text(m->from, m->from->comments.at[i]), err);
	allo_notes_add(&m->into->notes, &m->from->notes);
	return !allo_failed(err);
}

/* A merged profile has no history: two runs have no common time, so their sums are unknown. */
static bool move_history(struct merger *m, struct allo_error *err)
{
	m->into->history.len = m->into->changes.len = 0;
	return !m->is_first ||
	       allo_vec_add_all(&m->into->history, m->from->history.at, m->from->history.len, err);
}

static bool merge(struct merger *m, struct allo_error *err)
{
	return merger_init(m, err) && move_strings(m, err) && move_modules(m, err) &&
	       move_functions(m, err) && move_frames(m, err) && move_stacks(m, err) &&
	       move_labels(m, err) && move_threads(m, err) && move_metrics(m, err) &&
	       move_samples(m, err) && move_meta(m, err) && move_history(m, err);
}

bool allo_profile_merge(struct allo_profile *into, const struct allo_profile *from,
			struct allo_error *err)
{
	ALLO_DEFER(merger_done)
	struct merger m = { .into = into, .from = from, .is_first = into->metrics.len == 0 };

	return merge(&m, err);
}

bool allo_profile_merge_labelled(struct allo_profile *into, const struct allo_profile *from,
				 struct allo_text key, struct allo_text value,
				 struct allo_error *err)
{
	ALLO_DEFER(merger_done)
	struct merger m = { .into = into, .from = from, .is_first = into->metrics.len == 0 };

	memset(&m.label, 0, sizeof(m.label)); /* labels are compared by memcmp() */
	m.label.key = allo_profile_add_string(into, key, err);
	m.label.text = allo_profile_add_string(into, value, err);
	return !allo_failed(err) && merge(&m, err);
}
