/* firefox_tables.c - builds the shared tables, then writes them column by column. */
#include "writers/firefox_tables.h"
#include "base/assert.h"

#include "base/encoding/json_write.h"
#include "profile/naming.h"

#include <stdlib.h>

enum { NONE = ALLO_FIREFOX_NONE };

void allo_firefox_tables_done(struct allo_firefox_tables *t)
{
	allo_arena_done(&t->made);
	allo_vec_done(&t->strings);
	allo_vec_done(&t->sources);
	allo_vec_done(&t->funcs);
	allo_map_done(&t->func_map);
	allo_vec_done(&t->rows);
	allo_vec_done(&t->nodes);
	free(t->string_of);
	free(t->source_of);
	free(t->first_row);
	free(t->last_node);
}

/* Building.  NONE or false means that memory is short. */

static uint32_t add_text(struct allo_firefox_tables *t, struct allo_text text)
{
	if (t->strings.len >= NONE || !allo_vec_append(&t->strings, &text, 1))
		return NONE;
	return (uint32_t)t->strings.len - 1;
}

static uint32_t add_string(struct allo_firefox_tables *t, allo_string_id id)
{
	if (t->string_of[id] == 0)
		t->string_of[id] = add_text(t, allo_profile_text(t->profile, id)) + 1;
	return t->string_of[id] - 1;
}

static uint32_t add_source(struct allo_firefox_tables *t, allo_string_id file)
{
	if (t->source_of[file] == 0) {
		uint32_t name = add_string(t, file);

		if (name == NONE || !allo_vec_append(&t->sources, &name, 1))
			return NONE;
		t->source_of[file] = (uint32_t)t->sources.len;
	}
	return t->source_of[file] - 1;
}

/* Fills in a function's name and file. */
static bool name_func(struct allo_firefox_tables *t, struct allo_firefox_func *func)
{
	const struct allo_profile *profile = t->profile;
	const struct allo_function unknown = { 0 };
	const struct allo_function *function = &unknown;
	char scratch[ALLO_NAME_SCRATCH], *copy;
	struct allo_text name;

	func->source = NONE;
	if (func->function)
		function = &profile->functions.at[func->function];
	if (function->file) {
		func->source = add_source(t, function->file);
		if (func->source == NONE)
			return false;
	}
	if (func->frame == 0) {
		func->name = add_string(t, function->name);
		return func->name != NONE;
	}
	name = allo_call_name(profile, &profile->frames.at[func->frame], 0, scratch);
	copy = allo_arena_copy(&t->made, name.data, name.len);
	func->name = copy ? add_text(t, (struct allo_text){ copy, name.len }) : NONE;
	return func->name != NONE;
}

static uint32_t add_func(struct allo_firefox_tables *t, struct allo_firefox_func func)
{
	uint64_t hash = allo_hash_pair((uint64_t)func.function << 32 | func.module, func.frame, 0);
	struct allo_probe probe = allo_map_probe(&t->func_map, hash);
	uint32_t number;

	while ((number = allo_map_next(&t->func_map, &probe)) != 0) {
		const struct allo_firefox_func *old = &t->funcs.at[number - 1];

		if (old->function == func.function && old->module == func.module &&
		    old->frame == func.frame)
			return number - 1;
	}
	if (!name_func(t, &func) || !allo_vec_append(&t->funcs, &func, 1) ||
	    !allo_map_put(&t->func_map, hash, (uint32_t)t->funcs.len))
		return NONE;
	return (uint32_t)t->funcs.len - 1;
}

static bool add_row(struct allo_firefox_tables *t, allo_frame_id id, uint32_t call)
{
	const struct allo_profile *profile = t->profile;
	const struct allo_frame *frame = &profile->frames.at[id];
	allo_function_id function = allo_call_line(profile, frame, call).function;
	bool is_named = function && profile->functions.at[function].name;
	struct allo_firefox_row row = { id, call,
					add_func(t, (struct allo_firefox_func){
							    .function = function,
							    .module = frame->module,
							    .frame = is_named ? 0 : id }) };

	ALLO_ASSERT(call < allo_frame_call_count(frame));
	return row.func != NONE && t->rows.len < NONE && allo_vec_append(&t->rows, &row, 1);
}

/* Adds the outermost call of a frame first, unlike in our lists. */
static bool add_frames(struct allo_firefox_tables *t)
{
	for (size_t i = 1; i < t->profile->frames.len; i++) {
		uint32_t call = allo_frame_call_count(&t->profile->frames.at[i]);

		t->first_row[i] = (uint32_t)t->rows.len;
		while (call-- > 0) {
			if (!add_row(t, (allo_frame_id)i, call))
				return false;
		}
	}
	return true;
}

static bool add_stacks(struct allo_firefox_tables *t)
{
	const struct allo_profile *profile = t->profile;

	t->last_node[0] = NONE;
	for (size_t i = 1; i < profile->stacks.len; i++) {
		struct allo_stack stack = profile->stacks.at[i];
		uint32_t calls = allo_frame_call_count(&profile->frames.at[stack.frame]);
		struct allo_firefox_node node = { t->first_row[stack.frame],
						  t->last_node[stack.parent] };

		for (; calls > 0; calls--, node.row++) {
			if (t->nodes.len >= NONE || !allo_vec_append(&t->nodes, &node, 1))
				return false;
			node.prefix = (uint32_t)t->nodes.len - 1;
		}
		ALLO_ASSERT(stack.parent < i);
		t->last_node[i] = node.prefix;
	}
	return true;
}

bool allo_firefox_tables_init(struct allo_firefox_tables *t, const struct allo_profile *profile,
			      struct allo_error *err)
{
	t->profile = profile;
	t->string_of = calloc(profile->strings.len + 1, sizeof(*t->string_of));
	t->source_of = calloc(profile->strings.len + 1, sizeof(*t->source_of));
	t->first_row = calloc(profile->frames.len + 1, sizeof(*t->first_row));
	t->last_node = calloc(profile->stacks.len + 1, sizeof(*t->last_node));
	return (t->string_of && t->source_of && t->first_row && t->last_node && add_frames(t) &&
		add_stacks(t)) ||
	       allo_fail_memory(err);
}

/* Writing, column by column. */

struct table_writer {
	const struct allo_firefox_tables *tables;
	struct allo_output *out;
};

/* The name of a column, and the function that writes its value in a row. */
struct column {
	const char *name;
	void (*put)(const struct table_writer *w, size_t row);
};

static void put_table(const struct table_writer *w, const char *name, const struct column *columns,
		      size_t length)
{
	allo_output_printf(w->out, "\"%s\":{\"length\":", name);
	allo_output_u64(w->out, length);
	for (; columns->name; columns++) {
		allo_output_printf(w->out, ",\n\"%s\":[", columns->name);
		for (size_t i = 0; i < length; i++) {
			if (i > 0)
				allo_output_byte(w->out, ',');
			columns->put(w, i);
		}
		allo_output_byte(w->out, ']');
	}
	allo_output_string(w->out, "},\n");
}

static void put_index(struct allo_output *out, uint32_t index)
{
	if (index == NONE)
		allo_output_string(out, "null");
	else
		allo_output_u64(out, index);
}

/* Lines and columns count from 1; 0 means unknown. */
static void put_position(const struct table_writer *w, uint32_t position)
{
	put_index(w->out, position ? position : NONE);
}

static void put_null(const struct table_writer *w, size_t row)
{
	(void)row;
	allo_output_string(w->out, "null");
}

static void put_zero(const struct table_writer *w, size_t row)
{
	(void)row;
	allo_output_byte(w->out, '0');
}

static void put_one(const struct table_writer *w, size_t row)
{
	(void)row;
	allo_output_byte(w->out, '1');
}

static void put_false(const struct table_writer *w, size_t row)
{
	(void)row;
	allo_output_string(w->out, "false");
}

static void put_row_number(const struct table_writer *w, size_t row)
{
	allo_output_u64(w->out, row);
}

/* Stacks. */

static void put_frame(const struct table_writer *w, size_t row)
{
	allo_output_u64(w->out, w->tables->nodes.at[row].row);
}

static void put_prefix(const struct table_writer *w, size_t row)
{
	put_index(w->out, w->tables->nodes.at[row].prefix);
}

static const struct column stack_columns[] = {
	{ "frame", put_frame },
	{ "prefix", put_prefix },
	{ NULL, NULL },
};

/* Frames. */

static const struct allo_frame *frame_of(const struct table_writer *w, size_t row)
{
	return &w->tables->profile->frames.at[w->tables->rows.at[row].frame];
}

static struct allo_line line_of(const struct table_writer *w, size_t row)
{
	return allo_call_line(w->tables->profile, frame_of(w, row), w->tables->rows.at[row].call);
}

/* Writes an address relative to its module, if the module's place is known; -1 for none. */
static void put_address(const struct table_writer *w, size_t row)
{
	const struct allo_frame *frame = frame_of(w, row);
	uint64_t address = frame->address;

	if (frame->module) {
		const struct allo_module *module = &w->tables->profile->modules.at[frame->module];

		if (address >= module->start && address < module->limit)
			address = address - module->start + module->offset;
	}
	if (frame->address == 0 || address > ALLO_JS_NUMBER_MAX)
		allo_output_string(w->out, "-1");
	else
		allo_output_u64(w->out, address);
}

static void put_inline_depth(const struct table_writer *w, size_t row)
{
	allo_output_u64(w->out, row - w->tables->first_row[w->tables->rows.at[row].frame]);
}

static void put_func(const struct table_writer *w, size_t row)
{
	allo_output_u64(w->out, w->tables->rows.at[row].func);
}

static void put_line(const struct table_writer *w, size_t row)
{
	put_position(w, line_of(w, row).line);
}

static void put_column(const struct table_writer *w, size_t row)
{
	put_position(w, line_of(w, row).column);
}

static const struct column frame_columns[] = {
	{ "address", put_address },    { "inlineDepth", put_inline_depth },
	{ "category", put_zero },      { "subcategory", put_zero },
	{ "func", put_func },          { "nativeSymbol", put_null },
	{ "innerWindowID", put_zero }, { "line", put_line },
	{ "column", put_column },      { NULL, NULL },
};

/* Functions. */

static void put_func_name(const struct table_writer *w, size_t row)
{
	allo_output_u64(w->out, w->tables->funcs.at[row].name);
}

/* Resources are the profile's modules, counted from 0, or -1. */
static void put_func_resource(const struct table_writer *w, size_t row)
{
	allo_output_i64(w->out, (int64_t)w->tables->funcs.at[row].module - 1);
}

static void put_func_source(const struct table_writer *w, size_t row)
{
	put_index(w->out, w->tables->funcs.at[row].source);
}

static void put_func_line(const struct table_writer *w, size_t row)
{
	allo_function_id function = w->tables->funcs.at[row].function;

	put_position(w, function ? w->tables->profile->functions.at[function].start_line : 0);
}

static const struct column func_columns[] = {
	{ "name", put_func_name },      { "isJS", put_false },
	{ "relevantForJS", put_false }, { "resource", put_func_resource },
	{ "source", put_func_source },  { "lineNumber", put_func_line },
	{ "columnNumber", put_null },   { NULL, NULL },
};

/* Files and modules. */

static void put_source_name(const struct table_writer *w, size_t row)
{
	allo_output_u64(w->out, w->tables->sources.at[row]);
}

static const struct column source_columns[] = {
	{ "uuid", put_null },
	{ "filename", put_source_name },
	{ NULL, NULL },
};

/* The names of modules follow all other strings. */
static void put_resource_name(const struct table_writer *w, size_t row)
{
	allo_output_u64(w->out, w->tables->strings.len + row);
}

static const struct column resource_columns[] = {
	{ "lib", put_row_number },
	{ "name", put_resource_name },
	{ "host", put_null },
	{ "type", put_one }, /* a library */
	{ NULL, NULL },
};

/* Native symbols are for unresolved frames, which we do not have. */
static const struct column native_symbol_columns[] = {
	{ "libIndex", put_zero },     { "address", put_zero }, { "name", put_zero },
	{ "functionSize", put_null }, { NULL, NULL },
};

static void put_strings(const struct table_writer *w)
{
	const struct allo_profile *profile = w->tables->profile;
	const char *separator = "";

	allo_output_string(w->out, "\"stringArray\":[");
	for (size_t i = 0; i < w->tables->strings.len; i++) {
		allo_output_string(w->out, separator);
		allo_json_out_quoted(w->out, w->tables->strings.at[i]);
		separator = ",\n";
	}
	for (size_t i = 1; i < profile->modules.len; i++) {
		allo_output_string(w->out, separator);
		allo_json_out_quoted(w->out, allo_basename(allo_profile_text(
						     profile, profile->modules.at[i].path)));
		separator = ",\n";
	}
	allo_output_byte(w->out, ']');
}

void allo_firefox_put_tables(const struct allo_firefox_tables *tables, struct allo_output *out)
{
	struct table_writer w = { tables, out };
	size_t modules = tables->profile->modules.len;

	allo_output_byte(out, '{');
	put_table(&w, "stackTable", stack_columns, tables->nodes.len);
	put_table(&w, "frameTable", frame_columns, tables->rows.len);
	put_table(&w, "funcTable", func_columns, tables->funcs.len);
	put_table(&w, "resourceTable", resource_columns, modules ? modules - 1 : 0);
	put_table(&w, "nativeSymbols", native_symbol_columns, 0);
	put_table(&w, "sources", source_columns, tables->sources.len);
	put_strings(&w);
	allo_output_byte(out, '}');
}
