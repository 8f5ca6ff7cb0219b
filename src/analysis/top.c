#include "analysis/top.h"

#include "base/assert.h"
#include "base/defer.h"

#include "analysis/deep_sums.h"
#include "analysis/sites/runtime_memory.h"
#include "analysis/sites/script_package.h"
#include "profile/naming.h"
#include "profile/stack_walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const allo_by_names[] = { "function", "site", "file", "module", "address", NULL };
const char *const allo_by_plurals[] = {
	"functions", "sites", "files", "modules", "addresses", NULL
};

void allo_top_done(struct allo_top *top)
{
	allo_vec_done(&top->rows);
	allo_vec_done(&top->lines);
	allo_vec_done(&top->frames);
	allo_map_done(&top->map);
}

static struct allo_top_key key_of(const struct allo_top *top, const struct allo_profile *profile,
				  const struct allo_frame *frame, struct allo_line line)
{
	const struct allo_function none = { 0 };
	const struct allo_function *function = line.function ? &profile->functions.at[line.function]
							     : &none;
	allo_string_id module = frame->module ? profile->modules.at[frame->module].path : 0;

	switch (top->by) {
	case ALLO_BY_FILE:
		/* Without a file, the module distinguishes functions. */
		return (struct allo_top_key){ .file = function->file,
					      .module = function->file ? 0 : module };
	case ALLO_BY_MODULE:
		if (!module && allo_script_package(profile, line.function).len > 0)
			return (struct allo_top_key){ .script = line.function };
		return (struct allo_top_key){ .module = module };
	case ALLO_BY_ADDRESS:
		return (struct allo_top_key){ function->name, function->file, module,
					      allo_frame_file_address(profile, frame) };
	case ALLO_BY_SITE:
		if (line.function)
			return (struct allo_top_key){ function->name, function->file, 0,
						      line.line };
		return (struct allo_top_key){ .module = module,
					      .number = allo_frame_file_address(profile, frame) };
	default:
		if (line.function)
			return (struct allo_top_key){ .function = function->name,
						      .file = function->file };
		return (struct allo_top_key){ .module = module,
					      .number = module ? 0 : frame->address };
	}
}

static bool same_key(const struct allo_profile *profile, const struct allo_top_key *a,
		     const struct allo_top_key *b)
{
	if (a->script && b->script)
		return allo_text_equal(allo_script_package(profile, a->script),
				       allo_script_package(profile, b->script));
	return a->function == b->function && a->file == b->file && a->module == b->module &&
	       a->script == b->script && a->number == b->number;
}

static uint64_t hash_key(const struct allo_profile *profile, const struct allo_top_key *key)
{
	if (key->script) {
		struct allo_text package = allo_script_package(profile, key->script);

		return allo_hash_bytes(package.data, package.len, allo_hash_seed());
	}
	return allo_hash_pair((uint64_t)key->function << 32 | key->file,
			      key->number ^ (uint64_t)key->module << 40, allo_hash_seed());
}

/* Index + 1; 0 when out of memory. */
static uint32_t add_row(struct allo_top *top, const struct allo_profile *profile,
			const struct allo_top_key *key)
{
	uint64_t hash = hash_key(profile, key);
	struct allo_probe probe = allo_map_probe(&top->map, hash);
	struct allo_top_row row = { .key = *key };
	uint32_t number;

	while ((number = allo_map_next(&top->map, &probe)) != 0) {
		if (same_key(profile, &top->rows.at[number - 1].key, key))
			return number;
	}
	if (!allo_vec_append(&top->rows, &row, 1) ||
	    !allo_map_put(&top->map, hash, (uint32_t)top->rows.len))
		return 0;
	return (uint32_t)top->rows.len;
}

static bool look_up(struct allo_top *top, const struct allo_profile *profile, allo_frame_id id,
		    uint32_t call, struct allo_top_call *found)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_top_key key = key_of(top, profile, frame, line);
	struct allo_top_row *row;

	found->row = add_row(top, profile, &key);
	if (found->row == 0)
		return false;
	row = &top->rows.at[found->row - 1];
	if (row->frame == 0) {
		row->frame = id;
		row->call = call;
	}
	return true;
}

const struct allo_top_call *allo_top_look_up(struct allo_top *top,
					     const struct allo_profile *profile, allo_frame_id id,
					     uint32_t call)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	struct allo_top_call *found = frame->line_count <= 1
					      ? &top->frames.at[id]
					      : &top->lines.at[frame->first_line + call];

	return found->row != 0 || look_up(top, profile, id, call, found) ? found : NULL;
}

static void add_to_row(struct allo_top *top, const struct allo_top_call *call, bool is_leaf,
		       const struct allo_values *values)
{
	struct allo_top_row *row = &top->rows.at[call->row - 1];

	ALLO_ASSERT(call->row > 0 && call->row <= top->rows.len);
	if (is_leaf)
		allo_values_add(&row->self, values);
	/* A recursive function counts once per sample. */
	if (row->last_sample != top->samples)
		allo_values_add(&row->total, values);
	row->last_sample = top->samples;
}

static bool take_call(struct allo_top *top, const struct allo_profile *profile, allo_frame_id id,
		      uint32_t call, bool is_leaf, const struct allo_values *values)
{
	const struct allo_top_call *found = allo_top_look_up(top, profile, id, call);

	if (!found)
		return false;
	add_to_row(top, found, is_leaf, values);
	return true;
}

/* Adds the calls of a frame, from one of them outwards. */
static bool take_calls(struct allo_top *top, const struct allo_profile *profile, allo_frame_id id,
		       uint32_t from, bool is_leaf, const struct allo_values *values)
{
	uint32_t count = allo_frame_call_count(&profile->frames.at[id]);

	for (uint32_t call = from; call < count; call++) {
		if (!take_call(top, profile, id, call, is_leaf && call == from, values))
			return false;
	}
	return true;
}

/* Whether calls without names separate a site from an allocation so far that the site alone says
 * little: a program may export one function that calls most others. */
static bool is_far(struct allo_top *top, const struct allo_profile *profile, allo_stack_id stack,
		   allo_stack_id site)
{
	enum { NEAR = 2 };
	unsigned count = 0;

	for (; stack != site && count <= NEAR; stack = profile->stacks.at[stack].parent) {
		allo_frame_id id = profile->stacks.at[stack].frame;

		count += allo_attribution_frame(top->attribution, profile, id).role ==
			 ALLO_ROLE_NAMELESS;
	}
	return count > NEAR;
}

/* The call that a site makes in `stack`, if it is a wrapper's, a library's, or has no name and the
 * allocation is far. */
static allo_string_id via_of(struct allo_top *top, const struct allo_profile *profile,
			     allo_stack_id stack, allo_stack_id site, uint32_t site_call)
{
	allo_stack_id called = stack;
	allo_function_id function;
	allo_frame_id id;
	uint32_t call;
	enum allo_role role;

	while (called != site && profile->stacks.at[called].parent != site)
		called = profile->stacks.at[called].parent;
	if (site_call == 0 && called == site)
		return 0;
	id = profile->stacks.at[site_call > 0 ? site : called].frame;
	call = (site_call > 0 ? site_call : allo_frame_call_count(&profile->frames.at[id])) - 1;
	role = allo_attribution_call(top->attribution, profile, id, call);
	if (!allo_role_is_passed(role) &&
	    (role != ALLO_ROLE_NAMELESS || !is_far(top, profile, stack, site)))
		return 0;
	function = allo_call_line(profile, &profile->frames.at[id], call).function;
	return function ? profile->functions.at[function].name : 0;
}

/* Counts the passed calls of a sample, and notes the outermost of them in its row. */
static void pass_calls(struct allo_top *top, const struct allo_profile *profile,
		       allo_stack_id stack, allo_stack_id site, const struct allo_values *values)
{
	allo_frame_id id = profile->stacks.at[site].frame;
	uint32_t call = allo_attribution_site_call(top->attribution, profile, site);
	struct allo_top_row *row = &top->rows.at[allo_top_call_of(top, profile, id, call)->row - 1];

	if (!row->has_via)
		row->via = via_of(top, profile, stack, site, call);
	else if (row->via != 0 && row->via != via_of(top, profile, stack, site, call))
		row->via = 0;
	/* A library is a site if nothing else called it. */
	if (!row->has_via || row->is_runtime)
		row->is_runtime = allo_attribution_frame(top->attribution, profile, id).role ==
					  ALLO_ROLE_LIBRARY &&
				  allo_is_runtime_memory(profile, stack);
	row->has_via = true;
	allo_attribution_pass(top->attribution, profile, stack, site, fabs((double)values->value));
}

static bool add_sample(struct allo_top *top, const struct allo_profile *profile,
		       allo_stack_id stack, const struct allo_values *values)
{
	allo_stack_id site, at;

	if (!allo_top_counts(top, stack))
		return true;
	/* Most stacks of a profile hold no memory at its peak. */
	if (values->value == 0 && values->before == 0 && values->blocks == 0 && !top->has_all_rows)
		return true;
	site = at = allo_attribution_site(top->attribution, profile, stack);
	allo_values_add(&top->sum, values);
	top->samples++;
	if (stack == 0) {
		allo_values_add(&top->frameless, values);
		return true;
	}
	if (!take_calls(top, profile, profile->stacks.at[site].frame,
			allo_attribution_site_call(top->attribution, profile, site), true, values))
		return false;
	if (top->attribution)
		pass_calls(top, profile, stack, site, values);
	for (top->steps++; (at = profile->stacks.at[at].parent) != 0; top->steps++) {
		allo_frame_id id = profile->stacks.at[at].frame;
		const struct allo_top_call *known = &top->frames.at[id];

		/* Fast path: a frame of one call that is known. */
		if (known->row != 0)
			add_to_row(top, known, false, values);
		else if (!take_calls(top, profile, id, 0, false, values))
			return false;
	}
	return true;
}

/* Deep stacks. */

/* Counts a call that the walk over all stacks has entered.  `on_path` has, by row, the number of
 * its calls among the entered ones. */
static void enter_call(struct allo_top *top, const struct allo_deep_sums *sums,
		       const struct allo_profile *profile, allo_stack_id stack, uint32_t call,
		       uint32_t *on_path)
{
	allo_frame_id id = profile->stacks.at[stack].frame;
	uint32_t leaf = allo_attribution_site_call(top->attribution, profile, stack);
	uint32_t row = allo_top_call_of(top, profile, id, call)->row - 1;
	struct allo_values values = allo_deep_values(sums, stack, call, leaf);

	if (on_path[row]++ == 0)
		allo_values_add(&top->rows.at[row].total, &values);
	if (call == leaf)
		allo_values_add(&top->rows.at[row].self, &sums->own[stack]);
}

static bool walk_stacks(struct allo_top *top, const struct allo_deep_sums *sums,
			const struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_stack_walk_done) struct allo_stack_walk walk = { 0 };
	ALLO_DEFER(allo_free_pointer)
	uint32_t *on_path = calloc(top->rows.len + 1, sizeof(*on_path));

	if (!on_path)
		return allo_fail_memory(err);
	if (!allo_stack_walk_init(&walk, profile, err))
		return false;
	for (allo_stack_id stack; (stack = allo_stack_walk_next(&walk)) != 0;) {
		allo_frame_id id = profile->stacks.at[stack].frame;

		if (!sums->is_used[stack])
			continue;
		for (uint32_t call = allo_frame_call_count(&profile->frames.at[id]); call-- > 0;) {
			if (walk.is_leaving)
				on_path[allo_top_call_of(top, profile, id, call)->row - 1]--;
			else
				enter_call(top, sums, profile, stack, call, on_path);
		}
	}
	return true;
}

/* Adds the samples from number `first` on. */
static bool add_deep(struct allo_top *top, const struct allo_profile *profile,
		     const struct allo_metric_columns *columns, size_t first,
		     struct allo_error *err)
{
	ALLO_DEFER(allo_deep_sums_done) struct allo_deep_sums sums = { 0 };

	if (!allo_deep_sums_init(&sums, top, profile, columns, first, err))
		return false;
	allo_values_add(&top->frameless, &sums.own[0]);
	allo_values_add(&top->sum, &sums.own[0]);
	allo_values_add(&top->sum, &sums.inner[0]);
	return walk_stacks(top, &sums, profile, err);
}

bool allo_top_cover(struct allo_top *top, const struct allo_profile *profile,
		    struct allo_error *err)
{
	return (!top->attribution || allo_attribution_learn(top->attribution, profile, err)) &&
	       allo_vec_extend(&top->lines, profile->lines.len, err) &&
	       allo_vec_extend(&top->frames, profile->frames.len, err);
}

bool allo_top_add(struct allo_top *top, const struct allo_profile *profile,
		  const struct allo_metric_columns *columns, struct allo_error *err)
{
	uint64_t most = top->steps + allo_stack_walk_budget(profile);

	if (!allo_top_cover(top, profile, err))
		return false;
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, columns, i);

		if (top->steps > most)
			return add_deep(top, profile, columns, i, err);
		if (!add_sample(top, profile, profile->sample_stacks.at[i], &values))
			return allo_fail_memory(err);
	}
	return true;
}

bool allo_top_take_runtime(struct allo_top *top, const struct allo_profile *profile,
			   const struct allo_metric_columns *columns, struct allo_values *taken,
			   struct allo_error *err)
{
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, columns, i), less = { 0 };
		allo_stack_id stack = profile->sample_stacks.at[i];

		if ((values.value == 0 && values.blocks == 0) ||
		    !allo_is_runtime_memory(profile, stack))
			continue;
		allo_values_add(taken, &values);
		allo_values_subtract(&less, &values);
		if (!add_sample(top, profile, stack, &less))
			return allo_fail_memory(err);
	}
	return true;
}

struct sorter {
	const struct allo_profile *profile;
	enum allo_top_order order;
};

static allo_sum magnitude(allo_sum sum)
{
	return sum < 0 ? -sum : sum;
}

static allo_sum weight(const struct allo_top_row *row, enum allo_top_order order)
{
	switch (order) {
	case ALLO_TOP_BY_TOTAL:
		return row->total.value;
	case ALLO_TOP_BY_CHANGE:
		return magnitude(row->self.value - row->self.before);
	default:
		return row->self.value;
	}
}

static int compare_strings(const struct allo_profile *profile, allo_string_id x, allo_string_id y)
{
	return allo_text_compare(allo_profile_text(profile, x), allo_profile_text(profile, y));
}

static int compare_keys(const struct allo_profile *profile, const struct allo_top_key *x,
			const struct allo_top_key *y)
{
	int order = compare_strings(profile, x->function, y->function);

	if (order == 0)
		order = compare_strings(profile, x->file, y->file);
	if (order == 0)
		order = compare_strings(profile, x->module, y->module);
	if (order == 0)
		order = allo_text_compare(allo_script_package(profile, x->script),
					  allo_script_package(profile, y->script));
	return order == 0 ? (x->number > y->number) - (x->number < y->number) : order;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct sorter *sorter = context;
	const struct allo_top_row *x = a, *y = b;
	allo_sum x_weight = weight(x, sorter->order), y_weight = weight(y, sorter->order);

	if (x_weight != y_weight)
		return x_weight < y_weight ? 1 : -1;
	if (x->total.value != y->total.value)
		return x->total.value < y->total.value ? 1 : -1;
	return compare_keys(sorter->profile, &x->key, &y->key);
}

void allo_top_sort(struct allo_top *top, const struct allo_profile *profile,
		   enum allo_top_order order)
{
	struct sorter sorter = { profile, order };
	size_t kept = 0;

	for (size_t i = 0; i < top->rows.len; i++) {
		const struct allo_values *total = &top->rows.at[i].total;

		if (total->value != 0 || total->before != 0)
			top->rows.at[kept++] = top->rows.at[i];
	}
	top->rows.len = kept;
	if (kept > 0)
		qsort_r(top->rows.at, top->rows.len, sizeof(*top->rows.at), compare_rows, &sorter);
}

static struct allo_text or_unknown(struct allo_text text)
{
	return text.len ? text : ALLO_TEXT("???");
}

struct allo_text allo_top_name(const struct allo_top *top, const struct allo_profile *profile,
			       const struct allo_top_row *row, char scratch[ALLO_TOP_SCRATCH])
{
	struct allo_text function = allo_profile_text(profile, row->key.function);
	struct allo_text file = allo_profile_text(profile, row->key.file);
	struct allo_text module = allo_profile_text(profile, row->key.module);
	int len;

	if (top->by == ALLO_BY_FILE && file.len > 0)
		return file;
	if (row->key.script)
		return allo_script_package(profile, row->key.script);
	if (top->by == ALLO_BY_MODULE)
		return or_unknown(module);
	if (top->by != ALLO_BY_FILE && function.len > 0)
		return function;
	if (module.len == 0 && row->key.number == 0)
		return ALLO_TEXT("???");
	if (row->key.number == 0 || row->key.function || row->key.file)
		len = snprintf(scratch, ALLO_TOP_SCRATCH, "[%.*s]",
			       ALLO_TEXT_ARG(allo_basename(module)));
	else if (module.len == 0)
		len = snprintf(scratch, ALLO_TOP_SCRATCH, "0x%llx",
			       (unsigned long long)row->key.number);
	else
		len = snprintf(scratch, ALLO_TOP_SCRATCH, "0x%llx [%.*s]",
			       (unsigned long long)row->key.number,
			       ALLO_TEXT_ARG(allo_basename(module)));
	return (struct allo_text){ scratch, (size_t)len };
}
