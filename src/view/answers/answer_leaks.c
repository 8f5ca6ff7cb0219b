/* answer_leaks.c - the ask "leaks": memory that is live at the end of the range, by stack. */
#include "analysis/leaks.h"
#include "base/defer.h"
#include "profile/naming.h"
#include "view/answers/answers.h"

#include <stdlib.h>

enum { USUAL_LEAKS = 100, UNKNOWN_KIND = ALLO_LEAK_KINDS };

/* Birth times of the blocks that are live at the end, by stack of the lens. */
static bool find_births(const struct allo_log_part *part, struct allo_birth_table *births,
			struct allo_error *err)
{
	struct allo_dataset *file = part->file;
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	ALLO_DEFER(allo_timeline_done) struct allo_timeline timeline = { .most = ALLO_PAGE_STEPS };
	struct allo_heap_options options = {
		.window = { part->range.from, part->range.to, file->threads },
		.wants_births = true,
		.timeline = &timeline,
	};
	uint64_t end_ns;
	size_t next = 0;

	if (!allo_change_log_heap(&file->log, &options, &heap, NULL, err))
		return false;
	end_ns = allo_window_end(&options.window, file->recording, heap.blocks.last_ns);
	births->from_ns = part->range.from;
	births->duration_ns = allo_timeline_active_ns(
		&timeline, end_ns > births->from_ns ? end_ns - births->from_ns : 0);
	for (unsigned i = 1; i < ALLO_TENTHS && births->duration_ns < ALLO_SHORT_RUN_NS; i++)
		births->part_ns[i - 1] = allo_timeline_part_ns(&timeline, i, ALLO_TENTHS);
	for (size_t site = 0; site < heap.blocks.stack_count; site++) {
		size_t count = heap.sites[site].live_blocks;
		size_t number = allo_dataset_site_of_heap(file, &heap, site, err);
		allo_stack_id stack;
		bool is_shown = allo_log_part_shows_site(part, number, &stack);

		for (size_t i = 0; i < count && is_shown; i++) {
			if (!allo_birth_table_add(births, stack, heap.births.at[next + i], err))
				return false;
		}
		next += count;
	}
	return true;
}

/* A row: the leak of a stack on both sides; NULL on a side that does not have it. */
struct leak_pair {
	const struct allo_leak *now, *before;
};

/* The leaks of both sides. */
struct compared_leaks {
	struct allo_leaks of[2]; /* by enum allo_side */
	bool has_before;
	ALLO_VEC(struct leak_pair) list;
};

static void compared_leaks_done(struct compared_leaks *leaks)
{
	allo_leaks_done(&leaks->of[ALLO_BEFORE]);
	allo_leaks_done(&leaks->of[ALLO_NOW]);
	allo_vec_done(&leaks->list);
}

/* Finds the leaks of a side in its own columns. */
static bool find_leaks(struct allo_leaks *leaks, struct allo_dataset *dataset,
		       const struct allo_request *request, size_t metric, enum allo_side side,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_birth_table_done) struct allo_birth_table births = { 0 };
	struct allo_metric_columns columns = allo_metric_columns_of(&dataset->profile, metric | 1);
	struct allo_log_part part;
	bool has_times = allo_dataset_part(dataset, request, side, &part);

	columns.has_before = false;
	if (side == ALLO_BEFORE) {
		columns.metric--;
		columns.blocks -= columns.has_blocks;
	}
	return (!has_times || find_births(&part, &births, err)) &&
	       allo_leaks_of(leaks, &dataset->profile, &columns, has_times ? &births : NULL, err);
}

/* The data of a row: of now, if it is not gone. */
static const struct allo_leak *leak_of(const struct leak_pair *pair)
{
	return pair->now ? pair->now : pair->before;
}

static allo_sum change_of(const struct leak_pair *pair)
{
	allo_sum now = pair->now ? pair->now->values.value : 0;
	allo_sum before = pair->before ? pair->before->values.value : 0;

	return now > before ? now - before : before - now;
}

/* The largest change first, those of the runtime last. */
static int compare_pairs(const void *a, const void *b)
{
	const struct leak_pair *x = a, *y = b;
	const struct allo_leak *left = leak_of(x), *right = leak_of(y);
	int order = (left->kind == ALLO_LEAK_RUNTIME) - (right->kind == ALLO_LEAK_RUNTIME);

	if (order == 0)
		order = (change_of(x) < change_of(y)) - (change_of(x) > change_of(y));
	return order ? order : (left->stack > right->stack) - (left->stack < right->stack);
}

/* Equal stacks have one number on both sides. */
static bool pair_leaks(struct compared_leaks *leaks, size_t stacks, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) uint32_t *rows = calloc(stacks + 1, sizeof(*rows));
	const struct allo_leaks *now = &leaks->of[ALLO_NOW], *before = &leaks->of[ALLO_BEFORE];

	if (!rows)
		return allo_fail_memory(err);
	for (size_t i = 0; i < now->list.len; i++) {
		const struct allo_leak *leak = &now->list.at[i];

		if (!allo_vec_add(&leaks->list, ((struct leak_pair){ .now = leak }), err))
			return false;
		rows[leak->stack] = (uint32_t)leaks->list.len;
	}
	for (size_t i = 0; i < before->list.len; i++) {
		const struct allo_leak *leak = &before->list.at[i];
		uint32_t row = rows[leak->stack];

		if (row)
			leaks->list.at[row - 1].before = leak;
		else if (!allo_vec_add(&leaks->list, ((struct leak_pair){ .before = leak }), err))
			return false;
	}
	if (leaks->has_before && leaks->list.len > 0)
		qsort(leaks->list.at, leaks->list.len, sizeof(*leaks->list.at), compare_pairs);
	return true;
}

/* Keeps the rows of some kinds, one bit each. */
static void keep_pairs(struct compared_leaks *leaks, unsigned kinds)
{
	size_t kept = 0;

	leaks->of[ALLO_NOW].sum = leaks->of[ALLO_BEFORE].sum = (struct allo_values){ 0 };
	for (size_t i = 0; i < leaks->list.len; i++) {
		struct leak_pair pair = leaks->list.at[i];
		const struct allo_leak *leak = leak_of(&pair);

		if (!leak->has_births || !(kinds >> leak->kind & 1))
			continue;
		if (pair.now)
			allo_values_add(&leaks->of[ALLO_NOW].sum, &pair.now->values);
		if (pair.before)
			allo_values_add(&leaks->of[ALLO_BEFORE].sum, &pair.before->values);
		leaks->list.at[kept++] = pair;
	}
	leaks->list.len = kept;
}

static bool choose_kinds(const struct allo_request *request, struct compared_leaks *leaks,
			 struct allo_error *err)
{
	unsigned kinds = 0;
	size_t kind;

	for (size_t i = 0; i < request->kinds.len; i++) {
		if (!allo_request_choose(request->kinds.at[i], allo_leak_kind_names, &kind, err))
			return false;
		kinds |= 1u << kind;
	}
	if (kinds)
		keep_pairs(leaks, kinds);
	return true;
}

struct leak_columns {
	ALLO_VEC(uint32_t) stack, site;
	struct allo_text_column place;
	ALLO_VEC(double)
	bytes, blocks, before_bytes, before_blocks, first_ns, last_ns, births, growth;
	ALLO_VEC(uint8_t) kind;
};

static void leak_columns_done(struct leak_columns *columns)
{
	allo_vec_done(&columns->stack);
	allo_vec_done(&columns->site);
	allo_text_column_done(&columns->place);
	allo_vec_done(&columns->bytes);
	allo_vec_done(&columns->blocks);
	allo_vec_done(&columns->before_bytes);
	allo_vec_done(&columns->before_blocks);
	allo_vec_done(&columns->first_ns);
	allo_vec_done(&columns->last_ns);
	allo_vec_done(&columns->births);
	allo_vec_done(&columns->growth);
	allo_vec_done(&columns->kind);
}

/* The responsible call of a stack, and its place: "file.c:12". */
static void add_site(struct leak_columns *columns, const struct allo_dataset *dataset,
		     allo_stack_id stack, struct allo_error *err)
{
	struct allo_line line = { 0 };

	allo_vec_add(&columns->site, allo_dataset_site_call(dataset, stack, &line), err);
	allo_text_column_add_place(&columns->place, allo_line_file(&dataset->profile, line),
				   line.line, err);
}

static void add_leak(struct leak_columns *columns, const struct allo_dataset *dataset,
		     const struct leak_pair *pair, struct allo_reply *reply, struct allo_error *err)
{
	static const struct allo_leak none;
	const struct allo_leak *leak = leak_of(pair), *now = pair->now ? pair->now : &none;
	const struct allo_leak *before = pair->before ? pair->before : &none;
	const struct allo_births *births = &leak->births;

	allo_vec_add(&columns->stack, leak->stack, err);
	add_site(columns, dataset, leak->stack, err);
	allo_vec_add(&columns->bytes, allo_reply_value(reply, now->values.value), err);
	allo_vec_add(&columns->blocks, allo_reply_value(reply, now->values.blocks), err);
	allo_vec_add(&columns->before_bytes, allo_reply_value(reply, before->values.value), err);
	allo_vec_add(&columns->before_blocks, allo_reply_value(reply, before->values.blocks), err);
	allo_vec_add(&columns->first_ns, leak->has_births ? (double)births->first_ns : -1, err);
	allo_vec_add(&columns->last_ns, leak->has_births ? (double)births->last_ns : -1, err);
	allo_vec_add(&columns->kind, leak->has_births ? (uint8_t)leak->kind : UNKNOWN_KIND, err);
	allo_vec_add(&columns->growth, leak->growth, err);
	for (size_t i = 0; i < ALLO_TENTHS; i++)
		allo_vec_add(&columns->births, (double)births->blocks[i], err);
}

static bool put_leaks(const struct allo_dataset *dataset, const struct allo_request *request,
		      const struct compared_leaks *leaks, struct allo_reply *reply,
		      struct allo_error *err)
{
	ALLO_DEFER(leak_columns_done) struct leak_columns columns = { 0 };
	size_t count = allo_page_rows(request, leaks->list.len, USUAL_LEAKS);

	for (size_t i = 0; i < count && !allo_failed(err); i++)
		add_leak(&columns, dataset, &leaks->list.at[request->offset + i], reply, err);
	allo_reply_u32(reply, "stack", columns.stack.at, columns.stack.len);
	allo_reply_u32(reply, "site", columns.site.at, columns.site.len);
	allo_reply_texts(reply, "place", &columns.place);
	allo_reply_f64(reply, "bytes", columns.bytes.at, columns.bytes.len);
	allo_reply_f64(reply, "blocks", columns.blocks.at, columns.blocks.len);
	if (leaks->has_before) {
		allo_reply_f64(reply, "before_bytes", columns.before_bytes.at,
			       columns.before_bytes.len);
		allo_reply_f64(reply, "before_blocks", columns.before_blocks.at,
			       columns.before_blocks.len);
	}
	allo_reply_f64(reply, "first_ns", columns.first_ns.at, columns.first_ns.len);
	allo_reply_f64(reply, "last_ns", columns.last_ns.at, columns.last_ns.len);
	allo_reply_u8(reply, "kind", columns.kind.at, columns.kind.len);
	allo_reply_f64(reply, "births", columns.births.at, columns.births.len);
	allo_reply_f64(reply, "growth", columns.growth.at, columns.growth.len);
	return !allo_failed(err);
}

/* Suppressions. */

struct hidden_columns {
	struct allo_text_column pattern;
	ALLO_VEC(double) bytes, blocks, stacks;
};

static void hidden_columns_done(struct hidden_columns *columns)
{
	allo_text_column_done(&columns->pattern);
	allo_vec_done(&columns->bytes);
	allo_vec_done(&columns->blocks);
	allo_vec_done(&columns->stacks);
}

/* What the suppressions hide of the file's samples in the range, whatever other filters there are.
 */
static bool count_hidden(const struct allo_dataset *dataset, struct allo_suppressions *suppressions,
			 const struct allo_metric_columns *columns, struct allo_error *err)
{
	const struct allo_profile *profile = &dataset->profile, *all = &dataset->all;
	ALLO_DEFER(allo_free_pointer)
	uint32_t *found = calloc(all->stacks.len + 1, sizeof(*found));

	if (!found)
		return allo_fail_memory(err);
	if (!allo_suppressions_judge(suppressions, profile, all, found, err))
		return false;
	for (size_t i = 0; i < all->sample_stacks.len; i++) {
		uint32_t number = found[all->sample_stacks.at[i]];
		const uint64_t *row = all->values.at + i * profile->metrics.len;
		uint64_t blocks = columns->has_blocks ? row[columns->blocks] : 0;
		struct allo_suppression *it;

		if (number == 0 || (row[columns->metric] == 0 && blocks == 0))
			continue;
		it = &suppressions->list.at[number - 1];
		it->hidden.value += allo_value_of(&profile->metrics.at[columns->metric],
						  row[columns->metric]);
		it->hidden.blocks += blocks;
		it->stacks++;
	}
	return true;
}

static bool put_hidden(const struct allo_dataset *dataset, const struct allo_request *request,
		       const struct allo_metric_columns *metric, struct allo_reply *reply,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_lens_options_done) struct allo_lens_options options = { 0 };
	ALLO_DEFER(hidden_columns_done) struct hidden_columns columns = { 0 };
	struct allo_suppressions *suppressions = &options.suppressions;

	if (!allo_lens_options_parse(&options, &request->filters, err) ||
	    !count_hidden(dataset, suppressions, metric, err))
		return false;
	for (size_t i = 0; i < suppressions->list.len; i++) {
		const struct allo_suppression *it = &suppressions->list.at[i];

		allo_text_column_add(&columns.pattern, it->pattern, err);
		allo_vec_add(&columns.bytes, allo_reply_value(reply, it->hidden.value), err);
		allo_vec_add(&columns.blocks, allo_reply_value(reply, it->hidden.blocks), err);
		allo_vec_add(&columns.stacks, (double)it->stacks, err);
	}
	allo_reply_texts(reply, "suppressed", &columns.pattern);
	allo_reply_f64(reply, "suppressed_bytes", columns.bytes.at, columns.bytes.len);
	allo_reply_f64(reply, "suppressed_blocks", columns.blocks.at, columns.blocks.len);
	allo_reply_f64(reply, "suppressed_stacks", columns.stacks.at, columns.stacks.len);
	return !allo_failed(err);
}

static void put_sum(struct allo_reply *reply, const char *key, allo_sum sum)
{
	allo_json_out_key(&reply->head, key);
	allo_json_out_exact_double(&reply->head, allo_reply_value(reply, sum));
}

bool allo_answer_leaks(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(compared_leaks_done) struct compared_leaks leaks = { 0 };
	const struct allo_values *now = &leaks.of[ALLO_NOW].sum;
	const struct allo_values *before = &leaks.of[ALLO_BEFORE].sum;
	struct allo_metric_columns columns;
	size_t metric;

	leaks.has_before = allo_dataset_has_before(dataset, request);
	if (!allo_dataset_show(dataset, request, err) ||
	    !allo_find_leak_metric(&dataset->profile, &metric, err))
		return false;
	for (int side = leaks.has_before ? ALLO_BEFORE : ALLO_NOW; side <= ALLO_NOW; side++) {
		if (!find_leaks(&leaks.of[side], dataset, request, metric, (enum allo_side)side,
				err))
			return false;
	}
	if (!pair_leaks(&leaks, dataset->profile.stacks.len, err) ||
	    !choose_kinds(request, &leaks, err))
		return false;
	columns = allo_metric_columns_of(&dataset->profile, metric | 1);
	columns.has_before = false;
	allo_json_out_member_u64(&reply->head, "rows", leaks.list.len);
	put_sum(reply, "bytes", now->value);
	put_sum(reply, "blocks", now->blocks);
	if (leaks.has_before) {
		put_sum(reply, "before_bytes", before->value);
		put_sum(reply, "before_blocks", before->blocks);
	}
	return put_leaks(dataset, request, &leaks, reply, err) &&
	       put_hidden(dataset, request, &columns, reply, err);
}
