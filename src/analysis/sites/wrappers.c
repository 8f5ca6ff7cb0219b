/* wrappers.c - counts stacks, callers, places and sizes of the functions that call allocators. */
#include "analysis/sites/wrappers.h"

#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

enum {
	ROUNDS = 4,
	DEPTH_MAX = 256, /* calls of a stack that are examined */
	DIRECT_TENTHS = 9,
	CALLERS = 8,
	CALLERS_NAMELESS = 16,
	PLACES_MAX = 4,
	SIZES = 4,
	SET_MAX = 16,
	LAYERS = 4,        /* calls around a candidate that are examined */
	LAYER_MAX = 7,     /* functions of a thin layer */
	LAYER_CALLERS = 6, /* functions that call the outermost thin layer */
};

/* A set of at most SET_MAX numbers; more are not told apart from that many. */
struct small_set {
	uint64_t items[SET_MAX];
	uint32_t count;
};

static void add_item(struct small_set *set, uint64_t item)
{
	for (uint32_t i = 0; i < set->count; i++) {
		if (set->items[i] == item)
			return;
	}
	if (set->count < SET_MAX)
		set->items[set->count++] = item;
}

/* A function that calls an allocator or a wrapper. */
struct candidate {
	allo_string_id name; /* 0: it has none */
	allo_frame_id frame; /* an example */
	uint32_t direct;     /* stacks that allocate right there */
	struct small_set callers, places, sizes;
	bool is_inner;                   /* only callers are missing */
	uint32_t open_layer;             /* the first one that also has code of other roles */
	struct small_set layers[LAYERS]; /* callers, their callers, ... by key */
};

/* A function is known by its name or, without one, by the frame's number behind all names. */
struct function_count {
	uint32_t through;   /* stacks through it */
	uint32_t last;      /* number of the sample that was counted last */
	uint32_t candidate; /* index + 1; 0: none */
	uint32_t around;    /* stacks through it that reach an inner candidate */
	uint32_t last_around;
};

/* A position in a stack: one of the calls of its innermost frame. */
struct position {
	allo_stack_id stack;
	uint32_t call;
};

struct search {
	struct allo_attribution *attribution;
	const struct allo_profile *profile;
	size_t bytes, blocks; /* metrics of all allocations */
	struct function_count *functions;
	struct position *direct; /* by sample: of its candidate; .stack is 0 if it has none */
	ALLO_VEC(struct candidate) candidates;
};

static void search_done(struct search *search)
{
	free(search->functions);
	free(search->direct);
	allo_vec_done(&search->candidates);
}

static allo_frame_id frame_at(const struct search *search, struct position at)
{
	return search->profile->stacks.at[at.stack].frame;
}

/* The caller; .stack is 0 at the end. */
static struct position caller_of(const struct search *search, struct position at)
{
	const struct allo_frame *frame = &search->profile->frames.at[frame_at(search, at)];

	if (at.call + 1 < allo_frame_call_count(frame))
		return (struct position){ at.stack, at.call + 1 };
	return (struct position){ search->profile->stacks.at[at.stack].parent, 0 };
}

static allo_string_id name_at(const struct search *search, struct position at)
{
	const struct allo_frame *frame = &search->profile->frames.at[frame_at(search, at)];
	allo_function_id function = allo_call_line(search->profile, frame, at.call).function;

	return function ? search->profile->functions.at[function].name : 0;
}

static size_t key_of(const struct search *search, allo_string_id name, allo_frame_id frame)
{
	return name ? name : search->profile->strings.len + frame;
}

static size_t key_at(const struct search *search, struct position at)
{
	return key_of(search, name_at(search, at), frame_at(search, at));
}

static enum allo_role role_at(const struct search *search, struct position at)
{
	return allo_attribution_call(search->attribution, search->profile, frame_at(search, at),
				     at.call);
}

/* The line or address of a call in its function. */
static uint64_t place_at(const struct search *search, struct position at)
{
	const struct allo_frame *frame = &search->profile->frames.at[frame_at(search, at)];
	uint32_t line = allo_call_line(search->profile, frame, at.call).line;

	return line ? line : frame->address;
}

/* Skips allocators and wrappers at the inner end; .stack is 0 if another function is there. */
static struct position find_direct(const struct search *search, allo_stack_id stack)
{
	struct position at = { stack, 0 };

	for (unsigned i = 0; i < DEPTH_MAX && at.stack != 0; i++) {
		enum allo_role role = role_at(search, at);

		if (role == ALLO_ROLE_CODE || role == ALLO_ROLE_NAMELESS)
			return at;
		if (role != ALLO_ROLE_ALLOCATOR && role != ALLO_ROLE_WRAPPER)
			break;
		at = caller_of(search, at);
	}
	return (struct position){ 0 };
}

static struct candidate *candidate_at(struct search *search, struct position at)
{
	uint32_t *number = &search->functions[key_at(search, at)].candidate;
	struct candidate added = { .name = name_at(search, at), .frame = frame_at(search, at) };

	if (*number == 0) {
		if (!allo_vec_append(&search->candidates, &added, 1))
			return NULL;
		*number = (uint32_t)search->candidates.len;
	}
	return &search->candidates.at[*number - 1];
}

static bool examine(struct search *search, size_t sample)
{
	const uint64_t *values = allo_profile_row(search->profile, sample);
	struct position at = find_direct(search, search->profile->sample_stacks.at[sample]), caller;
	struct candidate *candidate;

	search->direct[sample].stack = 0;
	if (at.stack == 0 || values[search->blocks] == 0)
		return true;
	caller = caller_of(search, at);
	if (caller.stack == 0 || role_at(search, caller) == ALLO_ROLE_STARTUP)
		return true;
	candidate = candidate_at(search, at);
	if (!candidate)
		return false;
	search->direct[sample] = at;
	candidate->direct++;
	add_item(&candidate->callers, key_at(search, caller));
	add_item(&candidate->places, place_at(search, at));
	add_item(&candidate->sizes, values[search->bytes] / values[search->blocks]);
	return true;
}

/* Counts the stacks through each function. */
static void count_through(struct search *search, size_t sample)
{
	struct position at = { search->profile->sample_stacks.at[sample], 0 };

	for (unsigned i = 0; i < DEPTH_MAX && at.stack != 0; i++) {
		struct function_count *function = &search->functions[key_at(search, at)];

		if (function->last != sample + 1)
			function->through++;
		function->last = (uint32_t)sample + 1;
		at = caller_of(search, at);
	}
}

static bool is_nearly_all(uint32_t part, uint32_t through)
{
	return 10ull * part >= (uint64_t)DIRECT_TENTHS * through;
}

static bool is_main(const struct search *search, allo_string_id name)
{
	return allo_text_equal(allo_profile_text(search->profile, name), ALLO_TEXT("main"));
}

/* All but the number of callers. */
static bool has_shape(const struct search *search, const struct candidate *candidate)
{
	size_t key = key_of(search, candidate->name, candidate->frame);

	ALLO_ASSERT(candidate->direct > 0);
	return candidate->places.count <= PLACES_MAX && candidate->sizes.count >= SIZES &&
	       is_nearly_all(candidate->direct, search->functions[key].through) &&
	       !is_main(search, candidate->name);
}

/* Layers: few functions may call a wrapper, if they are wrappers themselves. */

static void count_around(struct search *search, size_t key, size_t sample)
{
	struct function_count *function = &search->functions[key];

	if (function->last_around != sample + 1)
		function->around++;
	function->last_around = (uint32_t)sample + 1;
}

static bool is_code(const struct search *search, struct position at)
{
	enum allo_role role = at.stack != 0 ? role_at(search, at) : ALLO_ROLE_NONE;

	return role == ALLO_ROLE_CODE || role == ALLO_ROLE_NAMELESS;
}

/* Counts the functions around an inner candidate. */
static void examine_layers(struct search *search, size_t sample)
{
	struct position at = search->direct[sample];
	struct candidate *candidate;

	if (at.stack == 0)
		return;
	candidate = &search->candidates.at[search->functions[key_at(search, at)].candidate - 1];
	if (!candidate->is_inner)
		return;
	for (uint32_t i = 0; i < LAYERS; i++) {
		at = caller_of(search, at);
		if (!is_code(search, at)) {
			if (candidate->open_layer > i)
				candidate->open_layer = i;
			return;
		}
		count_around(search, key_at(search, at), sample);
		add_item(&candidate->layers[i], key_at(search, at));
		if (candidate->layers[i].count > LAYER_MAX)
			return;
	}
}

/* Whether the functions of a layer do nearly nothing but call inner candidates. */
static bool is_thin(const struct search *search, const struct small_set *layer)
{
	for (uint32_t i = 0; i < layer->count; i++) {
		const struct function_count *function = &search->functions[layer->items[i]];

		if (!is_nearly_all(function->around, function->through))
			return false;
	}
	return true;
}

/* Whether thin layers are between a candidate and many functions. */
static bool is_layered(const struct search *search, const struct candidate *candidate)
{
	for (uint32_t i = 0; candidate->is_inner && i < LAYERS; i++) {
		const struct small_set *layer = &candidate->layers[i];

		if (i >= candidate->open_layer || layer->count > LAYER_MAX ||
		    !is_thin(search, layer))
			return i > 0 && layer->count >= LAYER_CALLERS;
	}
	return false;
}

/* Finds the layers around candidates whose callers are few. */
static void find_layers(struct search *search, size_t count)
{
	bool has_inner = false;

	for (size_t i = 0; i < search->candidates.len; i++) {
		struct candidate *candidate = &search->candidates.at[i];

		candidate->is_inner = candidate->callers.count <= LAYER_MAX &&
				      has_shape(search, candidate);
		candidate->open_layer = LAYERS;
		has_inner |= candidate->is_inner;
	}
	for (size_t i = 0; has_inner && i < count; i++)
		examine_layers(search, i);
}

static bool is_wrapper(const struct search *search, const struct candidate *candidate)
{
	uint32_t least = candidate->name ? CALLERS : CALLERS_NAMELESS;

	return (candidate->callers.count >= least && has_shape(search, candidate)) ||
	       is_layered(search, candidate);
}

static bool mark(struct search *search, const struct candidate *candidate, struct allo_error *err)
{
	struct allo_attribution *attribution = search->attribution;

	if (!allo_vec_extend(&attribution->detected, search->profile->strings.len, err) ||
	    !allo_vec_extend(&attribution->detected_frames, search->profile->frames.len, err))
		return false;
	if (candidate->name)
		attribution->detected.at[candidate->name] = true;
	else
		attribution->detected_frames.at[candidate->frame] = true;
	return true;
}

static void forget_layer(struct function_count *function)
{
	function->around = function->last_around = 0;
}

static void forget(struct search *search)
{
	for (size_t i = 0; i < search->candidates.len; i++) {
		const struct candidate *candidate = &search->candidates.at[i];

		search->functions[key_of(search, candidate->name, candidate->frame)].candidate = 0;
		for (uint32_t layer = 0; layer < LAYERS; layer++) {
			for (uint32_t k = 0; k < candidate->layers[layer].count; k++)
				forget_layer(&search->functions[candidate->layers[layer].items[k]]);
		}
	}
	search->candidates.len = 0;
}

/* Marks the wrappers among the candidates, and forgets these. */
static bool judge(struct search *search, bool *has_found, struct allo_error *err)
{
	struct allo_attribution *attribution = search->attribution;

	for (size_t i = 0; i < search->candidates.len; i++) {
		const struct candidate *candidate = &search->candidates.at[i];

		if (!is_wrapper(search, candidate))
			continue;
		*has_found = true;
		if (!mark(search, candidate, err))
			return false;
	}
	forget(search);
	for (size_t i = 1; *has_found && i < search->profile->functions.len; i++) {
		if (allo_attribution_detects(attribution, search->profile->functions.at[i].name))
			attribution->functions.at[i] = ALLO_ROLE_WRAPPER;
	}
	return true;
}

static bool find_metrics(struct search *search)
{
	return (allo_profile_find_metric(search->profile, ALLO_ALLOC_BYTES, &search->bytes) &&
		allo_profile_find_metric(search->profile, ALLO_ALLOC_BLOCKS, &search->blocks)) ||
	       (allo_profile_find_metric(search->profile, ALLO_LIVE_BYTES, &search->bytes) &&
		allo_profile_find_metric(search->profile, ALLO_LIVE_BLOCKS, &search->blocks));
}

bool allo_wrappers_find(struct allo_attribution *attribution, const struct allo_profile *profile,
			struct allo_error *err)
{
	ALLO_DEFER(search_done)
	struct search search = { .attribution = attribution, .profile = profile };
	size_t count = allo_profile_sample_count(profile);
	bool has_found = count > 0;

	if (!find_metrics(&search))
		return true;
	if (count > ALLO_WRAPPERS_SAMPLES)
		count = ALLO_WRAPPERS_SAMPLES;
	search.functions = calloc(profile->strings.len + profile->frames.len + 1,
				  sizeof(*search.functions));
	search.direct = calloc(count + 1, sizeof(*search.direct));
	if (!search.functions || !search.direct)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		count_through(&search, i);
	for (unsigned round = 0; round < ROUNDS && has_found; round++) {
		for (size_t i = 0; i < count; i++) {
			if (!examine(&search, i))
				return allo_fail_memory(err);
		}
		find_layers(&search, count);
		has_found = false;
		if (!judge(&search, &has_found, err))
			return false;
	}
	return true;
}
