/* answer_leaks.c - the ask "leaks": memory that is live at the end of the range, by stack. */
#include "analysis/leaks.h"
#include "base/defer.h"
#include "profile/naming.h"
#include "view/answers.h"

#include <string.h>

enum { USUAL_LEAKS = 100, UNKNOWN_KIND = ALLO_LEAK_KINDS };

/* Birth times of the blocks that are live at the end, by stack of the lens. */
static bool find_births(struct allo_dataset *dataset, const struct allo_request *request,
			struct allo_birth_table *births, struct allo_error *err)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	ALLO_DEFER(allo_timeline_done) struct allo_timeline timeline = { .most = ALLO_PAGE_STEPS };
	struct allo_heap_options options = {
		.window = { request->range.from, request->range.to, dataset->threads },
		.wants_births = true,
		.timeline = &timeline,
	};
	uint64_t end_ns;
	size_t next = 0;

	if (!allo_change_log_heap(&dataset->log, &options, &heap, NULL, err))
		return false;
	end_ns = allo_window_end(&options.window, dataset->recording, heap.blocks.last_ns);
	births->from_ns = request->range.from;
	births->duration_ns = allo_timeline_active_ns(
		&timeline, end_ns > births->from_ns ? end_ns - births->from_ns : 0);
	for (size_t site = 0; site < heap.blocks.stack_count; site++) {
		size_t count = heap.sites[site].live_blocks;
		size_t number = allo_dataset_site_of_heap(dataset, &heap, site, err);
		allo_stack_id stack;
		bool is_shown = allo_dataset_shows_site(dataset, number, &stack);

		for (size_t i = 0; i < count && is_shown; i++) {
			if (!allo_birth_table_add(births, stack, heap.births.at[next + i], err))
				return false;
		}
		next += count;
	}
	return true;
}

static bool choose_kinds(const struct allo_request *request, struct allo_leaks *leaks,
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
		allo_leaks_keep(leaks, kinds);
	return true;
}

struct leak_columns {
	ALLO_VEC(uint32_t) stack, site;
	struct allo_text_column place;
	ALLO_VEC(double) bytes, blocks, first_ns, last_ns, births;
	ALLO_VEC(uint8_t) kind;
};

static void leak_columns_done(struct leak_columns *columns)
{
	allo_vec_done(&columns->stack);
	allo_vec_done(&columns->site);
	allo_text_column_done(&columns->place);
	allo_vec_done(&columns->bytes);
	allo_vec_done(&columns->blocks);
	allo_vec_done(&columns->first_ns);
	allo_vec_done(&columns->last_ns);
	allo_vec_done(&columns->births);
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
		     const struct allo_leak *leak, struct allo_reply *reply, struct allo_error *err)
{
	const struct allo_births *births = &leak->births;

	allo_vec_add(&columns->stack, leak->stack, err);
	add_site(columns, dataset, leak->stack, err);
	allo_vec_add(&columns->bytes, allo_reply_value(reply, leak->values.value), err);
	allo_vec_add(&columns->blocks, allo_reply_value(reply, leak->values.blocks), err);
	allo_vec_add(&columns->first_ns, leak->has_births ? (double)births->first_ns : -1, err);
	allo_vec_add(&columns->last_ns, leak->has_births ? (double)births->last_ns : -1, err);
	allo_vec_add(&columns->kind, leak->has_births ? (uint8_t)leak->kind : UNKNOWN_KIND, err);
	for (size_t i = 0; i < ALLO_TENTHS; i++)
		allo_vec_add(&columns->births, (double)births->blocks[i], err);
}

static bool put_leaks(const struct allo_dataset *dataset, const struct allo_request *request,
		      const struct allo_leaks *leaks, struct allo_reply *reply,
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
	allo_reply_f64(reply, "first_ns", columns.first_ns.at, columns.first_ns.len);
	allo_reply_f64(reply, "last_ns", columns.last_ns.at, columns.last_ns.len);
	allo_reply_u8(reply, "kind", columns.kind.at, columns.kind.len);
	allo_reply_f64(reply, "births", columns.births.at, columns.births.len);
	return !allo_failed(err);
}

bool allo_answer_leaks(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_leaks_done) struct allo_leaks leaks = { 0 };
	ALLO_DEFER(allo_birth_table_done) struct allo_birth_table births = { 0 };
	struct allo_metric_columns columns;
	size_t metric;

	if (!allo_dataset_show(dataset, request, err) ||
	    !allo_find_leak_metric(&dataset->profile, &metric, err))
		return false;
	columns = allo_metric_columns_of(&dataset->profile, metric | 1);
	columns.has_before = false;
	if ((dataset->recording && !find_births(dataset, request, &births, err)) ||
	    !allo_leaks_of(&leaks, &dataset->profile, &columns, dataset->recording ? &births : NULL,
			   err) ||
	    !choose_kinds(request, &leaks, err))
		return false;
	allo_json_out_member_u64(&reply->head, "rows", leaks.list.len);
	allo_json_out_key(&reply->head, "bytes");
	allo_json_out_exact_double(&reply->head, allo_reply_value(reply, leaks.sum.value));
	allo_json_out_key(&reply->head, "blocks");
	allo_json_out_exact_double(&reply->head, allo_reply_value(reply, leaks.sum.blocks));
	return put_leaks(dataset, request, &leaks, reply, err);
}
