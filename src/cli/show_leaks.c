/* show_leaks.c - see show_leaks.h. */
#include "cli/show_leaks.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdio.h>

static const char *const kind_texts[ALLO_LEAK_KINDS] = { "at start", "growing", "later" };

/* Calls of a stack, from the innermost on. */
struct walk {
	const struct allo_profile *profile;
	allo_stack_id stack;
	uint32_t call;
};

/* The next call; NULL at the end. */
static const struct allo_frame *next_call(struct walk *walk, uint32_t *call)
{
	const struct allo_frame *frame;

	if (walk->stack == 0)
		return NULL;
	frame = &walk->profile->frames.at[walk->profile->stacks.at[walk->stack].frame];
	*call = walk->call++;
	if (walk->call >= allo_frame_call_count(frame)) {
		walk->stack = walk->profile->stacks.at[walk->stack].parent;
		walk->call = 0;
	}
	return frame;
}

/* Text. */

static void put_call(const struct allo_show_leaks *show, struct allo_output *out,
		     const struct allo_frame *frame, uint32_t call)
{
	const struct allo_profile *profile = show->figures.profile;
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_text file = allo_basename(allo_line_file(profile, line));
	size_t width = allo_common_width(show->common), room = 0;
	char scratch[ALLO_NAME_SCRATCH], number[16] = "";

	if (line.line > 0)
		snprintf(number, sizeof(number), ":%u", line.line);
	/* The place stays whole, names are cut. */
	if (width > 0)
		room = width > 34 + file.len ? width - 14 - file.len : 20;
	allo_output_string(out, "    ");
	allo_show_cut(out, allo_call_name(profile, frame, call, scratch), room, false);
	if (file.len > 0) {
		allo_output_string(out, "  ");
		allo_output_printable(out, file);
		allo_output_string(out, number);
	}
	allo_output_byte(out, '\n');
}

static void put_stack(const struct allo_show_leaks *show, struct allo_output *out,
		      allo_stack_id stack)
{
	struct walk walk = { show->figures.profile, stack, 0 };
	const struct allo_frame *frame;
	size_t shown = 0, more = 0;
	uint32_t call;

	if (stack == 0)
		allo_output_string(out, "    [no stack]\n");
	while ((frame = next_call(&walk, &call)) != NULL) {
		if (show->depth == 0 || shown < show->depth) {
			put_call(show, out, frame, call);
			shown++;
		} else {
			more++;
		}
	}
	if (more > 0)
		allo_output_printf(out, "    + %zu more: --depth 0 shows all\n", more);
}

static const char *format_ns(uint64_t ns, bool is_plain, char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ ns, false }, ALLO_UNIT_NS, is_plain, out);
}

static void put_births(const struct allo_show_leaks *show, struct allo_output *out,
		       const struct allo_leak *leak)
{
	bool is_plain = show->figures.is_plain;
	char first[ALLO_NUMBER_SIZE], last[ALLO_NUMBER_SIZE];

	if (!leak->has_births)
		return;
	allo_output_printf(out, ", %s: ", kind_texts[leak->kind]);
	format_ns(leak->births.first_ns, is_plain, first);
	format_ns(leak->births.last_ns, is_plain, last);
	if (strcmp(first, last) == 0)
		allo_output_printf(out, "at %s", first);
	else
		allo_output_printf(out, "from %s to %s", first, last);
}

static void put_leak(const struct allo_show_leaks *show, struct allo_output *out,
		     const struct allo_leak *leak)
{
	const struct allo_figures *figures = &show->figures;
	struct allo_style style = allo_common_style(show->common);
	char value[ALLO_NUMBER_SIZE], blocks[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];

	allo_output_printf(out, "\n%s%s", style.bold,
			   allo_figures_value(figures, leak->values.value, value));
	if (figures->columns.has_blocks)
		allo_output_printf(out, " in %s block%s",
				   allo_figures_blocks(figures, leak->values.blocks, blocks),
				   leak->values.blocks == 1 ? "" : "s");
	allo_output_printf(out, "%s (%s)", style.reset,
			   allo_format_share((double)leak->values.value,
					     (double)show->leaks->sum.value, share));
	put_births(show, out, leak);
	allo_output_byte(out, '\n');
	put_stack(show, out, leak->stack);
}

/* What came when, in a line. */
static void put_kinds(const struct allo_show_leaks *show, struct allo_output *out)
{
	struct allo_values sums[ALLO_LEAK_KINDS] = { 0 };
	size_t counts[ALLO_LEAK_KINDS] = { 0 };
	const char *between = "";
	char value[ALLO_NUMBER_SIZE], count[ALLO_NUMBER_SIZE];

	for (size_t i = 0; i < show->leaks->list.len; i++) {
		const struct allo_leak *leak = &show->leaks->list.at[i];

		if (!leak->has_births)
			continue;
		allo_values_add(&sums[leak->kind], &leak->values);
		counts[leak->kind]++;
	}
	for (int kind = 0; kind < ALLO_LEAK_KINDS; kind++) {
		if (counts[kind] == 0)
			continue;
		allo_output_printf(out, "%s%s %s in %s stack%s", between, kind_texts[kind],
				   allo_figures_value(&show->figures, sums[kind].value, value),
				   allo_format_count(counts[kind], count),
				   counts[kind] == 1 ? "" : "s");
		between = "; ";
	}
	if (between[0] != '\0')
		allo_output_byte(out, '\n');
}

static void put_rest(const struct allo_show_leaks *show, struct allo_output *out)
{
	size_t more = show->leaks->list.len - show->count;
	char count[ALLO_NUMBER_SIZE], value[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];
	allo_sum rest = 0;

	if (more == 0)
		return;
	for (size_t i = show->count; i < show->leaks->list.len; i++)
		rest += show->leaks->list.at[i].values.value;
	allo_output_printf(out, "\n%s more stack%s, %s (%s): -n 0 shows all\n",
			   allo_format_count(more, count), more == 1 ? "" : "s",
			   allo_figures_value(&show->figures, rest, value),
			   allo_format_share((double)rest, (double)show->leaks->sum.value, share));
}

static bool put_suppressions(const struct allo_show_leaks *show, struct allo_output *out,
			     struct allo_error *err)
{
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 3u + show->figures.columns.has_blocks,
				    .max_width = allo_common_width(show->common) };
	const struct allo_figures *figures = &show->figures;
	char count[ALLO_NUMBER_SIZE];
	bool is_any = false;

	table.is_left[table.columns - 1] = true;
	if (!allo_table_string(&table, "hidden", err) ||
	    (figures->columns.has_blocks && !allo_table_string(&table, "blocks", err)) ||
	    !allo_table_string(&table, "stacks", err) ||
	    !allo_table_string(&table, "suppression", err))
		return false;
	for (size_t i = 0; i < show->files->suppressions.list.len; i++) {
		const struct allo_suppression *hidden = &show->files->suppressions.list.at[i];

		if (hidden->stacks == 0)
			continue;
		is_any = true;
		if (!allo_figures_cell(figures, &table, hidden->hidden.value, err) ||
		    !allo_figures_blocks_cell(figures, &table, hidden->hidden.blocks, err) ||
		    !allo_table_string(&table, allo_format_count(hidden->stacks, count), err) ||
		    !allo_table_join(&table,
				     (struct allo_text[]){ ALLO_TEXT("leak:"), hidden->pattern }, 2,
				     err))
			return false;
	}
	if (is_any) {
		allo_output_byte(out, '\n');
		allo_table_print(&table, out);
	}
	return true;
}

bool allo_show_leaks_text(const struct allo_show_leaks *show, struct allo_output *out,
			  struct allo_error *err)
{
	allo_figures_heading(&show->figures, &show->leaks->sum, out);
	put_kinds(show, out);
	for (size_t i = 0; i < show->count; i++)
		put_leak(show, out, &show->leaks->list.at[i]);
	put_rest(show, out);
	return put_suppressions(show, out, err);
}

/* Comma-separated values. */

/* The names of all calls, the outermost first, as folded stacks have them. */
static bool add_stack_cell(struct allo_table *table, const struct allo_profile *profile,
			   allo_stack_id stack, struct allo_error *err)
{
	struct walk walk = { profile, stack, 0 };
	const struct allo_frame *frame;
	char scratch[ALLO_NAME_SCRATCH];
	ALLO_VEC(struct allo_text) names = { 0 };
	struct allo_arena arena = { 0 };
	uint32_t call;
	bool ok = true;

	while (ok && (frame = next_call(&walk, &call)) != NULL) {
		struct allo_text name = allo_call_name(profile, frame, call, scratch);
		struct allo_text pieces[] = {
			ALLO_TEXT(";"), { allo_arena_copy(&arena, name.data, name.len), name.len }
		};

		ok = pieces[1].data && allo_vec_append(&names, pieces, 2);
	}
	for (size_t i = 0; i < names.len / 2; i++) {
		struct allo_text swapped = names.at[i];

		names.at[i] = names.at[names.len - 1 - i];
		names.at[names.len - 1 - i] = swapped;
	}
	/* The innermost call's separator has come to stand behind it. */
	ok = ok ? allo_table_join(table, names.at, names.len ? names.len - 1 : 0, err)
		: allo_fail_memory(err);
	allo_vec_done(&names);
	allo_arena_done(&arena);
	return ok;
}

static bool add_time_cells(struct allo_table *table, const struct allo_leak *leak,
			   struct allo_error *err)
{
	char first[ALLO_NUMBER_SIZE], last[ALLO_NUMBER_SIZE];

	if (!leak->has_births)
		return allo_table_string(table, "", err) && allo_table_string(table, "", err) &&
		       allo_table_string(table, "", err);
	return allo_table_string(table, allo_leak_kind_names[leak->kind], err) &&
	       allo_table_string(table, format_ns(leak->births.first_ns, true, first), err) &&
	       allo_table_string(table, format_ns(leak->births.last_ns, true, last), err);
}

static bool add_leak_row(struct allo_table *table, const struct allo_show_leaks *show,
			 const struct allo_leak *leak, struct allo_error *err)
{
	const struct allo_profile *profile = show->figures.profile;
	struct walk walk = { profile, leak->stack, 0 };
	char share[ALLO_NUMBER_SIZE], scratch[ALLO_NAME_SCRATCH];
	struct allo_text none = { "", 0 };
	struct allo_line line = { 0 };
	uint32_t call = 0;
	const struct allo_frame *frame = next_call(&walk, &call);

	if (frame)
		line = allo_call_line(profile, frame, call);
	return allo_figures_cell(&show->figures, table, leak->values.value, err) &&
	       allo_table_string(table,
				 allo_show_share((double)leak->values.value,
						 (double)show->leaks->sum.value, true, share),
				 err) &&
	       allo_figures_blocks_cell(&show->figures, table, leak->values.blocks, err) &&
	       add_time_cells(table, leak, err) &&
	       allo_show_place(table, true,
			       frame ? allo_call_name(profile, frame, call, scratch) : none,
			       allo_line_file(profile, line), line.line, err) &&
	       add_stack_cell(table, profile, leak->stack, err);
}

bool allo_show_leaks_csv(const struct allo_show_leaks *show, struct allo_output *out,
			 struct allo_error *err)
{
	static const char *const titles[] = { "total",   "total%",   "blocks", "kind", "first_ns",
					      "last_ns", "function", "file",   "line", "stack" };
	bool has_blocks = show->figures.columns.has_blocks;
	ALLO_DEFER(allo_table_done) struct allo_table table = { .columns = 9u + has_blocks };

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
		if ((i != 2 || has_blocks) && !allo_table_string(&table, titles[i], err))
			return false;
	}
	for (size_t i = 0; i < show->count; i++) {
		if (!add_leak_row(&table, show, &show->leaks->list.at[i], err))
			return false;
	}
	allo_table_print_csv(&table, out);
	return true;
}

/* JSON. */

static void put_json_frames(struct allo_json_out *json, const struct allo_profile *profile,
			    allo_stack_id stack)
{
	struct walk walk = { profile, stack, 0 };
	const struct allo_frame *frame;
	char scratch[ALLO_NAME_SCRATCH];
	uint32_t call;

	allo_json_out_key(json, "frames");
	allo_json_out_begin(json, '[');
	while ((frame = next_call(&walk, &call)) != NULL) {
		struct allo_line line = allo_call_line(profile, frame, call);

		allo_json_out_begin(json, '{');
		allo_json_out_key(json, "name");
		allo_json_out_text(json, allo_call_name(profile, frame, call, scratch));
		allo_json_out_member_text(json, "file", allo_line_file(profile, line));
		if (line.line > 0)
			allo_json_out_member_u64(json, "line", line.line);
		if (frame->module)
			allo_json_out_member_text(
				json, "module",
				allo_profile_text(profile,
						  profile->modules.at[frame->module].path));
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_json_leak(struct allo_json_out *json, const struct allo_show_leaks *show,
			  const struct allo_leak *leak)
{
	allo_json_out_begin(json, '{');
	allo_figures_json(&show->figures, json, "total", &leak->values);
	if (leak->has_births) {
		allo_json_out_key(json, "kind");
		allo_json_out_string(json, allo_leak_kind_names[leak->kind]);
		allo_json_out_member_u64(json, "first_ns", leak->births.first_ns);
		allo_json_out_member_u64(json, "last_ns", leak->births.last_ns);
		allo_json_out_key(json, "births");
		allo_json_out_begin(json, '[');
		for (size_t i = 0; i < ALLO_TENTHS; i++)
			allo_json_out_u64(json, leak->births.blocks[i]);
		allo_json_out_end(json);
	}
	put_json_frames(json, show->figures.profile, leak->stack);
	allo_json_out_end(json);
}

static void put_json_suppressions(struct allo_json_out *json, const struct allo_show_leaks *show)
{
	allo_json_out_key(json, "suppressions");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < show->files->suppressions.list.len; i++) {
		const struct allo_suppression *hidden = &show->files->suppressions.list.at[i];

		allo_json_out_begin(json, '{');
		allo_json_out_key(json, "pattern");
		allo_json_out_text(json, hidden->pattern);
		if (hidden->file) {
			allo_json_out_member_text(json, "file", allo_text_of(hidden->file));
			allo_json_out_member_u64(json, "line", hidden->line);
		}
		allo_figures_json(&show->figures, json, "hidden", &hidden->hidden);
		allo_json_out_member_u64(json, "stacks", hidden->stacks);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

void allo_show_leaks_json(const struct allo_show_leaks *show, struct allo_output *out)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 3 };

	allo_show_json_begin_numbers(&json, show->figures.is_estimated);
	allo_json_out_key(&json, "metric");
	allo_show_json_metric(&json, show->figures.profile, show->figures.columns.metric);
	allo_figures_json(&show->figures, &json, "sum", &show->leaks->sum);
	allo_json_out_member_u64(&json, "leak_count", show->leaks->list.len);
	allo_json_out_key(&json, "leaks");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < show->count; i++)
		put_json_leak(&json, show, &show->leaks->list.at[i]);
	allo_json_out_end(&json);
	put_json_suppressions(&json, show);
	allo_json_out_end(&json);
}
