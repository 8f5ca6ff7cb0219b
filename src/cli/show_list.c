/* show_list.c - see show_list.h. */
#include "cli/show_list.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdio.h>
#include <stdlib.h>

void allo_show_list_done(struct allo_show_list *p)
{
	for (size_t i = 0; i < p->files.len; i++)
		allo_source_file_done(&p->files.at[i]);
	allo_vec_done(&p->files);
	allo_vec_done(&p->text);
	free(p->file_of);
}

/* Sources. */

/* The source of a function, which may not be there; NULL when memory is short. */
static const struct allo_source_file *source_of(struct allo_show_list *p, allo_string_id id,
						struct allo_error *err)
{
	struct allo_text path = allo_profile_text(p->profile, id);
	struct allo_source_file file = { 0 };

	if (p->file_of[id] == 0) {
		if (!allo_source_file_find(&file, &p->places, path, err) ||
		    !allo_vec_append(&p->files, &file, 1)) {
			allo_source_file_done(&file);
			allo_fail_memory(err);
			return NULL;
		}
		p->file_of[id] = (uint32_t)p->files.len;
		p->large += file.is_too_large;
		p->changed += file.path && p->recorded_ns && file.changed_ns > p->recorded_ns;
		if (!file.path && p->missing++ == 0)
			p->example = path;
	}
	return &p->files.at[p->file_of[id] - 1];
}

/* A line of source with spaces in place of tabs. */
static bool expand(struct allo_show_list *p, struct allo_text line)
{
	p->text.len = 0;
	for (size_t i = 0; i < line.len; i++) {
		bool is_tab = line.data[i] == '\t';
		size_t spaces = is_tab ? 8 - p->text.len % 8 : 0;

		if (!allo_vec_append(&p->text, is_tab ? "        " : &line.data[i],
				     is_tab ? spaces : 1))
			return false;
	}
	return true;
}

/* Text. */

static bool add_titles(struct allo_table *table, const struct allo_show_list *p,
		       struct allo_error *err)
{
	bool csv = p->common->csv;

	return (!csv || (allo_table_string(table, "function", err) &&
			 allo_table_string(table, "file", err))) &&
	       allo_table_string(table, "self", err) && allo_table_string(table, "total", err) &&
	       (!p->figures.columns.has_blocks || allo_table_string(table, "blocks", err)) &&
	       allo_table_string(table, "line", err) && allo_table_string(table, "source", err);
}

/* What only people need to see is empty in the other columns. */
static bool add_source(struct allo_table *table, struct allo_show_list *p,
		       const struct allo_source_file *source, uint64_t number,
		       const struct allo_listed_line *line, struct allo_error *err)
{
	bool is_there;
	struct allo_text text = allo_source_file_line(source, number, &is_there);
	char digits[24] = "?";

	if (number > 0)
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	p->short_of += line && number > 0 && !is_there && source->lines.len > 0;
	if (!expand(p, text))
		return allo_fail_memory(err);
	if (!line && !(allo_table_string(table, "", err) && allo_table_string(table, "", err) &&
		       (!p->figures.columns.has_blocks || allo_table_string(table, "", err))))
		return false;
	if (line && !(allo_figures_cell(&p->figures, table, line->self.value, err) &&
		      allo_figures_cell(&p->figures, table, line->total.value, err) &&
		      allo_figures_blocks_cell(&p->figures, table, line->total.blocks, err)))
		return false;
	return allo_table_string(table, digits, err) &&
	       allo_table_cell(table, (struct allo_text){ p->text.at, p->text.len }, err);
}

static bool add_gap(struct allo_table *table, const struct allo_show_list *p,
		    struct allo_error *err)
{
	size_t empty = 2u + p->figures.columns.has_blocks;

	for (size_t i = 0; i < empty; i++) {
		if (!allo_table_string(table, "", err))
			return false;
	}
	return allo_table_string(table, "...", err) && allo_table_string(table, "", err);
}

/* The lines in front of one that holds something, behind the last one that was shown. */
static bool add_context(struct allo_table *table, struct allo_show_list *p,
			const struct allo_source_file *source, uint64_t *shown, uint64_t to,
			struct allo_error *err)
{
	uint64_t from = to > p->context ? to - p->context : 1;

	if (from > *shown + 1 && *shown > 0 && !add_gap(table, p, err))
		return false;
	if (from <= *shown)
		from = *shown + 1;
	for (; from < to && from <= source->lines.len; from++) {
		if (!add_source(table, p, source, from, NULL, err))
			return false;
	}
	*shown = to;
	return true;
}

/* The lines behind one, unless the next one's context begins there. */
static bool add_context_behind(struct allo_table *table, struct allo_show_list *p,
			       const struct allo_source_file *source, uint64_t *shown,
			       uint64_t next, struct allo_error *err)
{
	uint64_t room = source->lines.len > *shown ? source->lines.len - *shown : 0;
	uint64_t more = room < p->context ? room : p->context;

	for (; more > 0 && *shown + 1 < next; more--) {
		if (!add_source(table, p, source, ++*shown, NULL, err))
			return false;
	}
	return true;
}

static bool add_lines(struct allo_table *table, struct allo_show_list *p,
		      const struct allo_listed_function *function,
		      const struct allo_source_file *source, struct allo_error *err)
{
	const struct allo_listed_line *lines = &p->listing->lines.at[function->first];
	uint64_t shown = 0;

	for (size_t i = 0; i < function->count; i++) {
		uint64_t next = i + 1 < function->count ? lines[i + 1].line : UINT64_MAX;

		/* One without a number comes first, and has no neighbours. */
		if (lines[i].line > 0 && source->lines.len > 0 &&
		    !add_context(table, p, source, &shown, lines[i].line, err))
			return false;
		if (!add_source(table, p, source, lines[i].line, &lines[i], err))
			return false;
		if (lines[i].line > 0 && !add_context_behind(table, p, source, &shown, next, err))
			return false;
	}
	return true;
}

static void set_up_table(struct allo_table *table, const struct allo_show_list *p)
{
	bool csv = p->common->csv;

	table->columns = 4u + p->figures.columns.has_blocks + (csv ? 2 : 0);
	table->is_left[table->columns - 1] = true;
	table->max_width = allo_common_width(p->common);
}

static void print_function(struct allo_output *out, const struct allo_show_list *p,
			   const struct allo_listed_function *function,
			   const struct allo_source_file *source)
{
	struct allo_style style = allo_common_style(p->common);
	struct allo_text file = allo_profile_text(p->profile, function->file);
	char self[ALLO_NUMBER_SIZE], total[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];

	allo_output_printf(out, "\n%s", style.bold);
	allo_output_printable(out, allo_profile_text(p->profile, function->name));
	allo_output_string(out, style.reset);
	allo_output_string(out, "  ");
	allo_output_printable(out, source->path ? allo_text_of(source->path) : file);
	allo_output_printf(out, "%s%s\nself %s, total %s (%s)\n",
			   source->path || file.len == 0 ? "" : " (not found)",
			   file.len ? "" : "(no file)",
			   allo_figures_value(&p->figures, function->self.value, self),
			   allo_figures_value(&p->figures, function->total.value, total),
			   allo_format_share((double)function->total.value,
					     (double)p->listing->sum.value, share));
}

static bool print_functions(struct allo_output *out, struct allo_show_list *p, size_t shown,
			    struct allo_error *err)
{
	for (size_t i = 0; i < shown; i++) {
		const struct allo_listed_function *function = &p->listing->functions.at[i];
		const struct allo_source_file *source = source_of(p, function->file, err);
		ALLO_DEFER(allo_table_done) struct allo_table table = { 0 };

		set_up_table(&table, p);
		if (!source || !add_titles(&table, p, err) ||
		    !add_lines(&table, p, function, source, err))
			return false;
		print_function(out, p, function, source);
		allo_table_print(&table, out);
	}
	return true;
}

static bool print_text(struct allo_output *out, struct allo_show_list *p, size_t shown,
		       struct allo_error *err)
{
	size_t count = p->listing->functions.len;
	char number[ALLO_NUMBER_SIZE];

	allo_figures_heading(&p->figures, &p->listing->sum, out);
	allo_output_printf(out, "%s function%s \"", allo_format_count(count, number),
			   count == 1 ? " matches" : "s match");
	allo_output_printable(out, allo_text_of(p->pattern));
	allo_output_byte(out, '"');
	if (shown < count)
		allo_output_printf(out, ", the %zu largest of them are here: -n 0 shows all",
				   shown);
	allo_output_byte(out, '\n');
	return print_functions(out, p, shown, err);
}

static bool print_csv(struct allo_output *out, struct allo_show_list *p, size_t shown,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_table_done) struct allo_table table = { 0 };

	set_up_table(&table, p);
	if (!add_titles(&table, p, err))
		return false;
	for (size_t i = 0; i < shown; i++) {
		const struct allo_listed_function *function = &p->listing->functions.at[i];
		const struct allo_source_file *source = source_of(p, function->file, err);

		for (size_t k = 0; source && k < function->count; k++) {
			const struct allo_listed_line *line =
				&p->listing->lines.at[function->first + k];

			if (!allo_table_cell(&table, allo_profile_text(p->profile, function->name),
					     err) ||
			    !allo_table_cell(&table, allo_profile_text(p->profile, function->file),
					     err) ||
			    !add_source(&table, p, source, line->line, line, err))
				return false;
		}
	}
	if (allo_failed(err))
		return false;
	allo_table_print_csv(&table, out);
	return true;
}

/* JSON. */

static void put_json_line(struct allo_json_out *json, struct allo_show_list *p,
			  const struct allo_source_file *source,
			  const struct allo_listed_line *line)
{
	bool is_there;
	struct allo_text text = allo_source_file_line(source, line->line, &is_there);

	p->short_of += line->line > 0 && !is_there && source->lines.len > 0;
	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "line", line->line);
	allo_figures_json(&p->figures, json, "self", &line->self);
	allo_figures_json(&p->figures, json, "total", &line->total);
	if (is_there) {
		allo_json_out_key(json, "source");
		allo_json_out_text(json, text);
	}
	allo_json_out_end(json);
}

static bool put_json_function(struct allo_json_out *json, struct allo_show_list *p,
			      const struct allo_listed_function *function, struct allo_error *err)
{
	const struct allo_source_file *source = source_of(p, function->file, err);

	if (!source)
		return false;
	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_text(json, allo_profile_text(p->profile, function->name));
	allo_json_out_member_text(json, "file", allo_profile_text(p->profile, function->file));
	if (source->path)
		allo_json_out_member_text(json, "found", allo_text_of(source->path));
	allo_figures_json(&p->figures, json, "self", &function->self);
	allo_figures_json(&p->figures, json, "total", &function->total);
	allo_json_out_key(json, "lines");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < function->count; i++)
		put_json_line(json, p, source, &p->listing->lines.at[function->first + i]);
	allo_json_out_end(json);
	allo_json_out_end(json);
	return true;
}

static bool print_json(struct allo_output *out, struct allo_show_list *p, size_t shown,
		       struct allo_error *err)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 4 };

	allo_show_json_begin_numbers(&json, p->figures.is_estimated);
	allo_json_out_key(&json, "metric");
	allo_show_json_metric(&json, p->profile, p->figures.columns.metric);
	allo_figures_json(&p->figures, &json, "sum", &p->listing->sum);
	allo_json_out_member_u64(&json, "function_count", p->listing->functions.len);
	allo_json_out_key(&json, "functions");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < shown; i++) {
		if (!put_json_function(&json, p, &p->listing->functions.at[i], err))
			return false;
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
	return true;
}

bool allo_show_list(struct allo_show_list *p, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	size_t count = p->listing->functions.len;
	size_t shown = p->count > 0 && p->count < count ? p->count : count;

	p->file_of = calloc(p->profile->strings.len + 1, sizeof(*p->file_of));
	if (!p->file_of)
		return allo_fail_memory(err);
	return allo_common_begin(p->common, &out, err) &&
	       (p->common->json  ? print_json(&out, p, shown, err)
		: p->common->csv ? print_csv(&out, p, shown, err)
				 : print_text(&out, p, shown, err)) &&
	       allo_common_end(p->common, &out, &p->profile->notes, err);
}
