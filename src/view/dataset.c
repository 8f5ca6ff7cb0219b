/* dataset.c - keeps the samples of all ranges and lenses apart from those that a request shows. */
#include "view/dataset.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/heap_samples.h"
#include "replay/recording_profile.h"
#include "replay/site_labels.h"

#include <stdlib.h>
#include <string.h>

/* Moves the samples that `profile` shows back to their lens. */
static void put_back(struct allo_dataset *dataset)
{
	if (dataset->lens)
		allo_profile_move_samples(&dataset->profile, &dataset->lens->samples);
	else
		allo_profile_clear_samples(&dataset->profile);
	dataset->lens = NULL;
}

const struct allo_profile *allo_dataset_take_samples(struct allo_dataset *dataset)
{
	const struct allo_lens *lens = dataset->lens;

	ALLO_ASSERT(lens);
	put_back(dataset);
	return &lens->samples;
}

size_t allo_dataset_site_of(struct allo_dataset *dataset, uint32_t node, uint32_t labels,
			    struct allo_error *err)
{
	struct allo_site_key key = { .stack = node, .labels = labels };

	return dataset->log.keys.at.len ? allo_site_keys_add(&dataset->log.keys, &key, err) : node;
}

size_t allo_dataset_site_of_heap(struct allo_dataset *dataset, const struct allo_heap *heap,
				 size_t site, struct allo_error *err)
{
	const struct allo_site_keys *known = &dataset->log.keys;
	const struct allo_site_key *key;

	if (!heap->ids)
		return site;
	if (site >= heap->ids->keys.at.len)
		return SIZE_MAX; /* room for sites to come */
	key = &heap->ids->keys.at.at[site];
	/* Most heaps have the numbers of the log. */
	if (site < known->at.len && known->at.at[site].stack == key->stack &&
	    known->at.at[site].labels == key->labels)
		return site;
	return allo_dataset_site_of(dataset, key->stack, key->labels, err);
}

struct allo_dataset *allo_dataset_recorded(struct allo_dataset *dataset, enum allo_side side)
{
	return dataset->recording ? dataset : dataset->compared[side].dataset;
}

bool allo_dataset_has_before(const struct allo_dataset *dataset, const struct allo_request *request)
{
	return dataset->recording ? request->has_base : dataset->is_comparison;
}

bool allo_dataset_part(struct allo_dataset *dataset, const struct allo_request *request,
		       enum allo_side side, struct allo_log_part *part)
{
	bool is_base = side == ALLO_BEFORE && request->has_base;

	*part = (struct allo_log_part){
		.file = allo_dataset_recorded(dataset, side),
		.range = is_base ? request->base : request->range,
		.shown = dataset,
		.compared = dataset->recording ? NULL : &dataset->compared[side],
	};
	return part->file && (side == ALLO_NOW || allo_dataset_has_before(dataset, request));
}

uint64_t allo_log_part_exact_from(const struct allo_log_part *part)
{
	uint64_t exact_ns = allo_recording_exact_ns(part->file->recording);

	return part->range.from > exact_ns ? part->range.from : exact_ns;
}

bool allo_log_part_shows_site(const struct allo_log_part *part, size_t site, allo_stack_id *stack)
{
	const struct allo_dataset *file = part->file, *shown = part->shown;
	uint32_t sample = site < file->sample_of.len ? file->sample_of.at[site] : 0;

	if (sample && part->compared)
		sample = sample <= part->compared->samples.len
				 ? part->compared->samples.at[sample - 1]
				 : 0;
	if (sample)
		sample = shown->lens->sample_of.at[sample - 1];
	*stack = sample ? shown->profile.sample_stacks.at[sample - 1] : 0;
	return sample != 0;
}

bool allo_log_part_shows_change(const struct allo_log_part *part, const struct allo_change *change)
{
	bool is_end = change->flags & ALLO_CHANGE_ENDED;
	uint32_t maker = is_end ? change->maker : change->stream;
	allo_stack_id stack;

	return (!part->file->threads || part->file->threads[maker]) &&
	       allo_log_part_shows_site(part, change->site, &stack);
}

uint32_t allo_dataset_site_call(const struct allo_dataset *dataset, allo_stack_id stack,
				struct allo_line *line)
{
	const struct allo_profile *profile = &dataset->profile;
	allo_stack_id site = allo_attribution_site(dataset->attribution, profile, stack);
	allo_frame_id frame = site ? profile->stacks.at[site].frame : 0;
	uint32_t call;

	if (!frame)
		return 0;
	call = allo_attribution_site_call(dataset->attribution, profile, site);
	if (line)
		*line = allo_call_line(profile, &profile->frames.at[frame], call);
	return allo_call_number(&dataset->calls, frame, call);
}

uint32_t allo_dataset_thread_number(const struct allo_dataset *dataset, uint32_t stream)
{
	const struct allo_recording *recording = dataset->recording;
	uint32_t number = 0;

	if (stream >= recording->streams.len)
		return 0;
	for (uint32_t i = 0; i <= stream; i++)
		number += recording->streams.at[i].kind == ALLO_STREAM_EVENTS;
	return number;
}

allo_sum allo_dataset_whole(const struct allo_dataset *dataset, size_t metric)
{
	const struct allo_metric *it = &dataset->profile.metrics.at[metric];
	size_t width = dataset->profile.metrics.len;
	allo_sum sum = 0;

	for (size_t i = metric; i < dataset->all.values.len; i += width)
		sum += allo_value_of(it, dataset->all.values.at[i]);
	return sum;
}

void allo_dataset_done(struct allo_dataset *dataset)
{
	put_back(dataset);
	for (size_t i = 0; i < ALLO_LENSES; i++)
		allo_lens_done(&dataset->lenses[i]);
	for (size_t i = 0; i < 2; i++)
		allo_vec_done(&dataset->thread_names[i]);
	allo_vec_done(&dataset->found_threads);
	allo_call_numbers_done(&dataset->calls);
	for (size_t i = 0; i <= ALLO_WRAPPERS_NONE; i++)
		allo_attribution_done(&dataset->attributions[i]);
	allo_ownership_done(&dataset->ownership);
	allo_profile_done(&dataset->all);
	allo_profile_done(&dataset->profile);
	allo_vec_done(&dataset->sample_of);
	for (size_t i = 0; i < 2; i++) {
		allo_vec_done(&dataset->compared[i].samples);
		allo_vec_done(&dataset->compared[i].metrics);
	}
	if (dataset->recording) {
		allo_change_log_done(&dataset->log);
		allo_heap_done(&dataset->heap);
	}
	free(dataset->stacks);
	*dataset = (struct allo_dataset){ 0 };
}

/* Metrics in pairs. */

static bool is_paired(const struct allo_profile *profile)
{
	return profile->metrics.len > 0 && profile->metrics.at[0].is_before;
}

static bool pair_metrics(struct allo_profile *profile, struct allo_error *err)
{
	ALLO_VEC(struct allo_metric) pairs = { 0 };

	for (size_t i = 0; i < profile->metrics.len; i++) {
		struct allo_metric metric = profile->metrics.at[i];

		metric.is_before = true;
		allo_vec_add(&pairs, metric, err);
		allo_vec_add(&pairs, profile->metrics.at[i], err);
	}
	if (allo_failed(err)) {
		allo_vec_done(&pairs);
		return false;
	}
	allo_vec_done(&profile->metrics);
	profile->metrics.at = pairs.at;
	profile->metrics.len = pairs.len;
	profile->metrics.cap = pairs.cap;
	profile->meta.default_metric *= 2;
	return true;
}

/* Makes room for the values of a comparison in front of each value, from the last one on. */
#define SPREAD(vec, err)                                                                           \
	do {                                                                                       \
		size_t spread_count_ = (vec)->len;                                                 \
		if (!allo_vec_extend((vec), 2 * spread_count_, (err)))                             \
			return false;                                                              \
		for (size_t i = spread_count_; i-- > 0;) {                                         \
			(vec)->at[2 * i + 1] = (vec)->at[i];                                       \
			(vec)->at[2 * i] = 0;                                                      \
		}                                                                                  \
	} while (0)

static bool pair_values(struct allo_profile *profile, struct allo_error *err)
{
	SPREAD(&profile->values, err);
	SPREAD(&profile->variances, err);
	return true;
}

/* Looks at the frames that the profile has gained. */
static bool learn(struct allo_dataset *dataset, struct allo_error *err)
{
	for (size_t i = 0; i <= ALLO_WRAPPERS_NONE; i++) {
		if (!allo_attribution_learn(&dataset->attributions[i], &dataset->profile, err))
			return false;
	}
	return allo_call_numbers_cover(&dataset->calls, &dataset->profile, err);
}

bool allo_dataset_from_profile(struct allo_dataset *dataset, struct allo_profile *profile,
			       struct allo_error *err)
{
	dataset->profile = *profile;
	memset(profile, 0, sizeof(*profile));
	dataset->is_comparison = is_paired(&dataset->profile);
	dataset->has_names = dataset->profile.functions.len > 1;
	if (!dataset->is_comparison &&
	    (!pair_metrics(&dataset->profile, err) || !pair_values(&dataset->profile, err)))
		return false;
	for (size_t i = 0; i <= ALLO_WRAPPERS_NONE; i++)
		dataset->attributions[i].wrappers = (enum allo_wrappers)i;
	dataset->attribution = &dataset->attributions[ALLO_WRAPPERS_AUTO];
	if (!learn(dataset, err))
		return false;
	dataset->call_count = dataset->calls.at.len;
	allo_profile_move_samples(&dataset->profile, &dataset->all);
	return true;
}

/* Sites of a recording. */

/* The values of the sample of a stack, while `profile` has the samples of the file. */
static uint64_t *sample_row(struct allo_dataset *dataset, uint32_t node,
			    const struct allo_site_key *key, struct allo_error *err)
{
	struct allo_profile *profile = &dataset->profile;
	allo_labels_id labels = 0;
	bool is_new;

	if (key)
		labels = allo_site_labels_add(profile, dataset->recording, key, false, err);
	return allo_profile_add_sample(profile, dataset->stacks[node], labels, &is_new, err);
}

/* The file's sample of each site: index + 1.  The heap of any range has the sites of the whole. */
static bool find_samples(struct allo_dataset *dataset, struct allo_error *err)
{
	struct allo_profile *profile = &dataset->profile;
	const struct allo_heap *heap = &dataset->heap;

	allo_profile_move_samples(&dataset->all, profile);
	allo_vec_extend(&dataset->sample_of, dataset->log.site_count, err);
	for (size_t site = 0; site < heap->blocks.stack_count && !allo_failed(err); site++) {
		size_t number = allo_dataset_site_of_heap(dataset, heap, site, err);
		const uint64_t *row;

		if (!allo_heap_has_site(heap, site) || number >= dataset->sample_of.len)
			continue;
		row = sample_row(dataset, allo_heap_stack(heap, site),
				 heap->ids ? &heap->ids->keys.at.at[site] : NULL, err);
		if (row)
			dataset->sample_of.at[number] = (uint32_t)((size_t)(row -
									    profile->values.at) /
								   profile->metrics.len) +
							1;
	}
	allo_profile_move_samples(profile, &dataset->all);
	return !allo_failed(err);
}

/* The log is complete already. */
static bool set_profile(struct allo_dataset *dataset, struct allo_profile *profile,
			struct allo_error *err)
{
	struct allo_heap_options whole = { 0 };

	return allo_dataset_from_profile(dataset, profile, err) &&
	       allo_change_log_heap(&dataset->log, &whole, &dataset->heap, NULL, err) &&
	       find_samples(dataset, err);
}

bool allo_dataset_from_recording(struct allo_dataset *dataset, struct allo_profile *profile,
				 struct allo_recording *recording, allo_stack_id *stacks,
				 const struct allo_progress *progress, struct allo_error *err)
{
	dataset->recording = recording;
	dataset->stacks = stacks;
	return (allo_change_log_load(&dataset->log, recording, err) ||
		(!allo_failed(err) &&
		 allo_change_log_build(&dataset->log, recording, progress, err))) &&
	       set_profile(dataset, profile, err);
}

/* A log that was stored has its keys without their hash table. */
static bool number_keys(struct allo_change_log *log, struct allo_error *err)
{
	struct allo_site_keys keys = { 0 };

	for (size_t i = 1; i < log->keys.at.len && !allo_failed(err); i++)
		allo_site_keys_add(&keys, &log->keys.at.at[i], err);
	allo_site_keys_done(&log->keys);
	log->keys = keys;
	return !allo_failed(err);
}

bool allo_dataset_from_log(struct allo_dataset *dataset, struct allo_profile *profile,
			   struct allo_recording *recording, allo_stack_id *stacks,
			   struct allo_change_log *log, struct allo_error *err)
{
	dataset->recording = recording;
	dataset->stacks = stacks;
	dataset->log = *log;
	*log = (struct allo_change_log){ 0 };
	return number_keys(&dataset->log, err) && set_profile(dataset, profile, err);
}

/* Growing recordings. */

void allo_dataset_forget_ranges(struct allo_dataset *dataset)
{
	put_back(dataset);
	dataset->ranges[ALLO_BEFORE].is_set = dataset->ranges[ALLO_NOW].is_set = false;
}

bool allo_dataset_renew(struct allo_dataset *dataset, struct allo_profile *profile,
			struct allo_recording *recording, allo_stack_id *stacks,
			struct allo_error *err)
{
	struct allo_dataset renewed = { .name = dataset->name,
					.recording = recording,
					.log = dataset->log,
					.summary = dataset->summary,
					.stacks = stacks,
					.growth = dataset->growth };

	dataset->log = (struct allo_change_log){ 0 };
	allo_dataset_done(dataset);
	*dataset = renewed;
	return set_profile(dataset, profile, err);
}

/* Ranges. */

static void clear_column(struct allo_profile *all, size_t width, size_t side)
{
	for (size_t i = side; i < all->values.len; i += 2)
		all->values.at[i] = 0;
	for (size_t i = side; i < all->variances.len; i += 2)
		all->variances.at[i] = 0;
	ALLO_ASSERT(width % 2 == 0);
}

static bool add_site(struct allo_dataset *dataset, size_t site, size_t side,
		     struct allo_heap_sums *sums, struct allo_error *err)
{
	size_t width = dataset->profile.metrics.len, first;
	struct allo_profile *all = &dataset->all;
	struct allo_site_values row;

	if (!allo_heap_site_values(&dataset->heap, site, ALLO_AT_NONE, sums, &row))
		return true;
	site = allo_dataset_site_of_heap(dataset, &dataset->heap, site, err);
	if (site >= dataset->sample_of.len || dataset->sample_of.at[site] == 0)
		return !allo_failed(err);
	first = ((size_t)dataset->sample_of.at[site] - 1) * width + side;
	if (row.are_estimates && !allo_vec_extend(&all->variances, all->values.len, err))
		return false;
	for (size_t i = 0; i < row.count; i++) {
		ALLO_ASSERT(first + 2 * i < all->values.len);
		allo_profile_add_value(&dataset->profile, 2 * i, &all->values.at[first + 2 * i],
				       row.values[i]);
		if (row.are_estimates)
			all->variances.at[first + 2 * i] += row.variances[i];
	}
	return true;
}

/* Adds the sums of the program's own events in the range. */
static bool add_own_events(struct allo_dataset *dataset, size_t side, struct allo_error *err)
{
	const struct allo_own_events *own = &dataset->heap.own;
	struct allo_profile *profile = &dataset->profile;
	size_t metric;

	if (own->sums.len == 0 || !allo_profile_find_metric(profile, ALLO_EVENTS, &metric))
		return true;
	metric = (metric & ~(size_t)1) + side;
	allo_profile_move_samples(&dataset->all, profile);
	for (size_t i = 1; i < own->sums.len && !allo_failed(err); i++) {
		const struct allo_site_key *key = &own->keys.at.at[i];
		uint64_t *row = sample_row(dataset, key->stack, key, err);

		if (row) {
			allo_profile_add_value(profile, metric, &row[metric],
					       own->sums.at[i].events);
			allo_profile_add_value(profile, metric + 2, &row[metric + 2],
					       own->sums.at[i].units);
		}
	}
	allo_profile_move_samples(profile, &dataset->all);
	return !allo_failed(err);
}

static bool select_threads(struct allo_dataset *dataset, const char *thread, struct allo_error *err)
{
	dataset->threads = NULL;
	if (!thread)
		return true;
	if (!allo_vec_extend(&dataset->found_threads, dataset->recording->streams.len + 1, err) ||
	    !allo_view_find_threads(thread, dataset->recording, dataset->found_threads.at, err))
		return false;
	dataset->threads = dataset->found_threads.at;
	return true;
}

/* A thread may be in one of the two recordings only. */
static bool select_compared_threads(struct allo_dataset *dataset, const char *thread,
				    struct allo_error *err)
{
	struct allo_dataset *now = dataset->compared[ALLO_NOW].dataset;
	struct allo_dataset *before = dataset->compared[ALLO_BEFORE].dataset;
	struct allo_error missing = { 0 }, missing_before = { 0 };

	if (select_threads(now, thread, &missing) &&
	    select_threads(before, thread, &missing_before))
		return true;
	if (!allo_failed(&missing))
		before->threads = before->found_threads.at;
	else if (select_threads(before, thread, &missing_before))
		now->threads = now->found_threads.at;
	else
		*err = missing;
	return !allo_failed(err);
}

static bool select_all_threads(struct allo_dataset *dataset, const char *thread,
			       struct allo_error *err)
{
	if (dataset->recording)
		return select_threads(dataset, thread, err);
	return !dataset->compared[ALLO_NOW].dataset ||
	       select_compared_threads(dataset, thread, err);
}

static bool is_range(const struct allo_shown_range *range, const struct allo_request_range *wanted,
		     const char *thread)
{
	return range->is_set && range->from == wanted->from && range->to == wanted->to &&
	       !range->thread == !thread && (!thread || strcmp(range->thread, thread) == 0);
}

static bool remember_range(struct allo_dataset *dataset, const struct allo_request_range *wanted,
			   const char *thread, size_t side, struct allo_error *err)
{
	dataset->thread_names[side].len = 0;
	if (!allo_vec_add_all(&dataset->thread_names[side], thread ? thread : "",
			      thread ? strlen(thread) + 1 : 1, err))
		return false;
	dataset->ranges[side] = (struct allo_shown_range){
		wanted->from, wanted->to, thread ? dataset->thread_names[side].at : NULL, true
	};
	return true;
}

/* Sets the values of a range of time.  They stay for the next request. */
static bool set_range(struct allo_dataset *dataset, const struct allo_request_range *wanted,
		      const char *thread, size_t side, struct allo_error *err)
{
	struct allo_heap_options options = { .window = { wanted->from, wanted->to,
							 dataset->threads } };
	struct allo_heap_sums sums = { 0 };

	if (is_range(&dataset->ranges[side], wanted, thread))
		return true;
	dataset->ranges[side].is_set = false;
	if (!allo_change_log_heap(&dataset->log, &options, &dataset->heap, NULL, err))
		return false;
	clear_column(&dataset->all, dataset->profile.metrics.len, side);
	for (size_t site = 0; site < dataset->heap.blocks.stack_count; site++) {
		/* Most sites have no blocks in a short range. */
		if (allo_heap_has_site(&dataset->heap, site) &&
		    !add_site(dataset, site, side, &sums, err))
			return false;
	}
	return add_own_events(dataset, side, err) &&
	       remember_range(dataset, wanted, thread, side, err);
}

/* Adds the values of a compared file to those of the comparison. */
static void add_compared(struct allo_dataset *dataset, const struct allo_compared_file *compared)
{
	const struct allo_dataset *file = compared->dataset;
	size_t width = dataset->profile.metrics.len, own_width = file->profile.metrics.len;

	for (size_t i = 0; i < compared->samples.len; i++) {
		size_t sample = compared->samples.at[i];
		uint64_t *row = sample ? &dataset->all.values.at[(sample - 1) * width] : NULL;

		for (size_t m = 0; row && m < own_width; m++) {
			size_t metric = compared->metrics.at[m];

			if (metric == (size_t)-1)
				continue;
			allo_profile_add_value(
				&dataset->profile, metric, &row[metric],
				allo_profile_fit_value(&dataset->profile, metric,
						       &file->profile.metrics.at[m],
						       file->all.values.at[i * own_width + m]));
		}
	}
}

/* Sets one side of a comparison to a range of its file. */
static bool set_compared(struct allo_dataset *dataset, const struct allo_request_range *wanted,
			 const char *thread, size_t side, struct allo_error *err)
{
	struct allo_compared_file *compared = &dataset->compared[side];

	if (is_range(&dataset->ranges[side], wanted, thread))
		return true;
	dataset->ranges[side].is_set = false;
	put_back(compared->dataset);
	if (!set_range(compared->dataset, wanted, thread, ALLO_NOW, err))
		return false;
	clear_column(&dataset->all, dataset->profile.metrics.len, side);
	add_compared(dataset, compared);
	return remember_range(dataset, wanted, thread, side, err);
}

static bool set_ranges(struct allo_dataset *dataset, const struct allo_request *request,
		       const struct allo_lens_options *options, struct allo_error *err)
{
	const struct allo_request_range *base = request->has_base ? &request->base
								  : &request->range;

	if (dataset->compared[ALLO_NOW].dataset)
		return set_compared(dataset, &request->range, options->thread, ALLO_NOW, err) &&
		       set_compared(dataset, base, options->thread, ALLO_BEFORE, err);
	if (!dataset->recording) {
		if (request->range.from || request->range.to || options->thread ||
		    (request->has_base && !dataset->is_comparison)) {
			allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s has no time axis",
				  dataset->name);
			return allo_hint(err, "recordings of 'allo run' have one");
		}
		return true;
	}
	return set_range(dataset, &request->range, options->thread, ALLO_NOW, err) &&
	       (!request->has_base ||
		set_range(dataset, &request->base, options->thread, ALLO_BEFORE, err));
}

/* Lenses. */

/* The filters of a request as one text; the caller frees it. */
static char *key_of(const struct allo_request *request, struct allo_error *err)
{
	ALLO_VEC(char) key = { 0 };

	for (size_t i = 0; i < request->filters.len; i++) {
		/* A thread selects events, not samples. */
		if (strncmp(request->filters.at[i], "thread:", 7) != 0)
			allo_vec_add_all(&key, request->filters.at[i],
					 strlen(request->filters.at[i]) + 1, err);
	}
	allo_vec_add(&key, '\0', err);
	allo_vec_add(&key, '\0', err);
	if (!allo_failed(err))
		return key.at;
	allo_vec_done(&key);
	return NULL;
}

/* Keys are lists of texts that an empty text ends. */
static bool same_key(const char *a, const char *b)
{
	for (; strcmp(a, b) == 0; a += strlen(a) + 1, b += strlen(b) + 1) {
		if (*a == '\0')
			return true;
	}
	return false;
}

static struct allo_lens *find_lens(struct allo_dataset *dataset, const char *key)
{
	for (size_t i = 0; i < ALLO_LENSES; i++) {
		if (dataset->lenses[i].key && same_key(dataset->lenses[i].key, key))
			return &dataset->lenses[i];
	}
	return NULL;
}

static struct allo_lens *oldest_lens(struct allo_dataset *dataset)
{
	struct allo_lens *oldest = &dataset->lenses[0];

	for (size_t i = 1; i < ALLO_LENSES; i++) {
		if (dataset->lenses[i].last_use < oldest->last_use)
			oldest = &dataset->lenses[i];
	}
	return oldest;
}

static struct allo_lens *make_lens(struct allo_dataset *dataset, struct allo_lens_options *options,
				   struct allo_error *err)
{
	struct allo_lens *lens = oldest_lens(dataset);

	allo_lens_done(lens);
	/* Filters may add frames: parts of others. */
	if (allo_lens_make(lens, options, &dataset->profile, &dataset->all, err) &&
	    learn(dataset, err))
		return lens;
	allo_profile_clear_samples(&dataset->profile);
	allo_lens_done(lens);
	return NULL;
}

static bool use_lens(struct allo_dataset *dataset, const struct allo_request *request,
		     struct allo_lens_options *options, struct allo_error *err)
{
	char *key = key_of(request, err);
	struct allo_lens *lens = key ? find_lens(dataset, key) : NULL;

	if (!lens && key)
		lens = make_lens(dataset, options, err);
	if (!lens) {
		free(key);
		return false;
	}
	free(lens->key);
	lens->key = key;
	lens->last_use = ++dataset->uses;
	if (!allo_lens_add_up(lens, &dataset->profile, &dataset->all, err))
		return false;
	allo_profile_move_samples(&lens->samples, &dataset->profile);
	dataset->lens = lens;
	return true;
}

bool allo_dataset_show(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_lens_options_done) struct allo_lens_options options = { 0 };

	put_back(dataset);
	if (!allo_lens_options_parse(&options, &request->filters, err) ||
	    !select_all_threads(dataset, options.thread, err) ||
	    !set_ranges(dataset, request, &options, err))
		return false;
	dataset->attribution = options.is_full ? NULL : &dataset->attributions[options.wrappers];
	return use_lens(dataset, request, &options, err);
}

bool allo_dataset_show_all(struct allo_dataset *dataset, struct allo_error *err)
{
	const struct allo_request whole = { 0 };
	const struct allo_lens_options everything = { 0 };

	put_back(dataset);
	if (!select_all_threads(dataset, NULL, err) ||
	    !set_ranges(dataset, &whole, &everything, err))
		return false;
	allo_profile_move_samples(&dataset->all, &dataset->profile);
	return true;
}

void allo_dataset_hide_all(struct allo_dataset *dataset)
{
	if (dataset->all.sample_stacks.len == 0)
		allo_profile_move_samples(&dataset->profile, &dataset->all);
}

bool allo_dataset_columns(const struct allo_dataset *dataset, const struct allo_request *request,
			  const char *name, struct allo_metric_columns *columns,
			  struct allo_error *err)
{
	size_t metric = allo_default_metric(&dataset->profile);

	if (name && !allo_find_metric(&dataset->profile, name, &metric, err))
		return false;
	/* A pair has one name. */
	metric |= 1;
	if (metric >= dataset->profile.metrics.len)
		return allo_fail(err, ALLO_FORMAT, ALLO_NOWHERE, "%s has no metrics",
				 dataset->name);
	*columns = allo_metric_columns_of(&dataset->profile, metric);
	columns->has_before = allo_dataset_has_before(dataset, request);
	return true;
}
