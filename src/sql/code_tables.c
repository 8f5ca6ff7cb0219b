/*
 * code_tables.c - writes modules, functions, frames and stacks.
 *
 * In the database a frame is one call, and so is a stack: each inlined call is a separate row.  So
 * no join returns a row twice.
 */
#include "sql/tables.h"

#include "analysis/allocator.h"
#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdio.h>
#include <stdlib.h>

bool allo_sql_insert(const struct allo_sql_tables *tables, sqlite3_stmt *statement,
		     struct allo_error *err)
{
	bool ok = sqlite3_step(statement) == SQLITE_DONE;

	if (!ok)
		allo_sqlite_fail(tables->db, tables->name, err);
	sqlite3_reset(statement);
	return ok;
}

static bool write_modules(const struct allo_sql_tables *tables, struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(
		tables, "insert or ignore into module values(?, ?, ?)", err);
	const struct allo_profile *profile = tables->profile;

	for (size_t i = 1; insert && i < profile->modules.len; i++) {
		const struct allo_module *module = &profile->modules.at[i];

		sqlite3_bind_int64(insert, 1, tables->ids.modules[i]);
		if (!allo_sqlite_bind_text(insert, 2, allo_profile_text(profile, module->path)) ||
		    !allo_sqlite_bind_text(insert, 3, allo_profile_text(profile, module->build_id)))
			return allo_fail_memory(err);
		if (!allo_sql_insert(tables, insert, err))
			return false;
	}
	return insert;
}

/* The state of writing code. */
struct code {
	const struct allo_sql_tables *tables;
	sqlite3_stmt *function, *frame, *stack;
	bool *is_allocator; /* by function */

	/* By stack. */
	bool *is_sampled;
	allo_stack_id *first_inside, *next_beside;
	int64_t *leaves; /* of the innermost call, like `depths` */
	uint32_t *depths;
	int64_t number;

	/* The site of the stack that is written: for its innermost calls, up to one of them. */
	int64_t site;
	uint32_t site_call;
};

static void code_done(struct code *code)
{
	sqlite3_finalize(code->function);
	sqlite3_finalize(code->frame);
	sqlite3_finalize(code->stack);
	free(code->is_allocator);
	free(code->is_sampled);
	free(code->first_inside);
	free(code->next_beside);
	free(code->leaves);
	free(code->depths);
}

static bool code_init(struct code *code, struct allo_error *err)
{
	const struct allo_sql_tables *tables = code->tables;
	const struct allo_profile *profile = tables->profile;
	size_t stacks = profile->stacks.len + 1;

	code->function = allo_sql_prepare(
		tables, "insert or ignore into function values(?, ?, ?, ?, ?, ?)", err);
	code->frame = allo_sql_prepare(
		tables, "insert or ignore into frame values(?, ?, ?, ?, ?, ?, ?)", err);
	code->stack = allo_sql_prepare(
		tables, "insert or ignore into stack values(?, ?, ?, ?, ?, ?, ?, ?)", err);
	code->is_allocator = calloc(profile->functions.len + 1, sizeof(*code->is_allocator));
	code->is_sampled = calloc(stacks, sizeof(*code->is_sampled));
	code->first_inside = calloc(stacks, sizeof(*code->first_inside));
	code->next_beside = calloc(stacks, sizeof(*code->next_beside));
	code->leaves = calloc(stacks, sizeof(*code->leaves));
	code->depths = calloc(stacks, sizeof(*code->depths));
	if (!code->is_allocator || !code->is_sampled || !code->first_inside || !code->next_beside ||
	    !code->leaves || !code->depths)
		return allo_fail_memory(err);
	return !allo_failed(err);
}

/* Functions and frames. */

static bool write_function(struct code *code, int64_t id, struct allo_text name,
			   const struct allo_function *function, bool is_allocator,
			   struct allo_error *err)
{
	const struct allo_profile *profile = code->tables->profile;

	sqlite3_bind_int64(code->function, 1, id);
	sqlite3_bind_int64(code->function, 5, function->start_line);
	sqlite3_bind_int(code->function, 6, is_allocator);
	if (!allo_sqlite_bind_text(code->function, 2, name) ||
	    !allo_sqlite_bind_text(code->function, 3,
				   allo_profile_text(profile, function->system_name)) ||
	    !allo_sqlite_bind_text(code->function, 4, allo_profile_text(profile, function->file)))
		return allo_fail_memory(err);
	return allo_sql_insert(code->tables, code->function, err);
}

static bool write_functions(struct code *code, struct allo_error *err)
{
	const struct allo_profile *profile = code->tables->profile;

	for (size_t i = 1; i < profile->functions.len; i++) {
		const struct allo_function *function = &profile->functions.at[i];
		struct allo_text name = allo_profile_text(profile, function->name);

		code->is_allocator[i] = allo_is_allocator(
			name, allo_profile_text(profile, function->file));
		if (name.len > 0 && !write_function(code, code->tables->ids.functions[i], name,
						    function, code->is_allocator[i], err))
			return false;
	}
	return true;
}

/* Adds a function without a name, named by its place in the module, which is the same in each run.
 */
static int64_t name_place(struct code *code, const struct allo_frame *frame, struct allo_error *err)
{
	const struct allo_profile *profile = code->tables->profile;
	struct allo_frame in_module = *frame;
	struct allo_function function = { 0 };
	char scratch[ALLO_NAME_SCRATCH];
	struct allo_text name;
	int64_t id;

	if (frame->module && !profile->modules.at[frame->module].has_bias)
		in_module.address = allo_module_offset(profile, frame);
	in_module.line_count = 0;
	name = allo_call_name(profile, &in_module, 0, scratch);
	id = allo_content_name_id(name);
	return write_function(code, id, name, &function, false, err) ? id : 0;
}

static int64_t function_of(struct code *code, const struct allo_frame *frame, uint32_t call,
			   struct allo_error *err)
{
	const struct allo_profile *profile = code->tables->profile;
	allo_function_id function = allo_call_line(profile, frame, call).function;

	if (function && profile->functions.at[function].name)
		return code->tables->ids.functions[function];
	return name_place(code, frame, err);
}

static bool write_frame(struct code *code, allo_frame_id id, struct allo_error *err)
{
	const struct allo_sql_tables *tables = code->tables;
	const struct allo_profile *profile = tables->profile;
	const struct allo_frame *frame = &profile->frames.at[id];
	int64_t module = frame->module ? tables->ids.modules[frame->module] : 0;
	uint32_t calls = allo_frame_call_count(frame);

	for (uint32_t i = 0; i < calls; i++) {
		struct allo_line line = allo_call_line(profile, frame, i);
		int64_t function = function_of(code, frame, i, err);

		if (function == 0)
			return false;
		sqlite3_bind_int64(code->frame, 1, allo_content_call_id(tables->ids.frames[id], i));
		sqlite3_bind_int64(code->frame, 2, module);
		sqlite3_bind_int64(code->frame, 3, (int64_t)allo_module_offset(profile, frame));
		sqlite3_bind_int64(code->frame, 4, function);
		sqlite3_bind_int64(code->frame, 5, line.line);
		sqlite3_bind_int64(code->frame, 6, line.column);
		sqlite3_bind_int(code->frame, 7, i + 1 < calls);
		if (!allo_sql_insert(tables, code->frame, err))
			return false;
	}
	return true;
}

/* Stacks, depth first: each is followed by all stacks that extend it. */

static void link_stacks(struct code *code, const bool *has_rows)
{
	const struct allo_profile *profile = code->tables->profile;

	if (has_rows)
		memcpy(code->is_sampled, has_rows, profile->stacks.len * sizeof(*has_rows));
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		code->is_sampled[profile->sample_stacks.at[i]] = true;
	for (size_t i = profile->stacks.len; i-- > 1;) {
		allo_stack_id parent = profile->stacks.at[i].parent;

		code->next_beside[i] = code->first_inside[parent];
		code->first_inside[parent] = (allo_stack_id)i;
	}
}

static bool is_allocator(const struct code *code, const struct allo_frame *frame, uint32_t call)
{
	return code->is_allocator[allo_call_line(code->tables->profile, frame, call).function];
}

static bool write_call(struct code *code, allo_stack_id id, uint32_t call, int64_t *parent,
		       struct allo_error *err)
{
	const struct allo_sql_tables *tables = code->tables;
	allo_frame_id frame = tables->profile->stacks.at[id].frame;
	int64_t own = allo_content_call_id(tables->ids.stacks[id], call);

	/* The leaf is the caller of the allocator or, without one, the outermost call. */
	if (*parent == 0 || !is_allocator(code, &tables->profile->frames.at[frame], call))
		code->leaves[id] = own;
	code->depths[id]++;
	sqlite3_bind_int64(code->stack, 1, own);
	if (*parent == 0)
		sqlite3_bind_null(code->stack, 2);
	else
		sqlite3_bind_int64(code->stack, 2, *parent);
	sqlite3_bind_int64(code->stack, 3, allo_content_call_id(tables->ids.frames[frame], call));
	sqlite3_bind_int64(code->stack, 4, call <= code->site_call ? code->site : own);
	sqlite3_bind_int64(code->stack, 5, code->leaves[id]);
	sqlite3_bind_int64(code->stack, 6, code->depths[id]);
	sqlite3_bind_int64(code->stack, 7, ++code->number);
	sqlite3_bind_int(code->stack, 8, call == 0 && code->is_sampled[id]);
	ALLO_ASSERT(own != 0 && code->depths[id] > 0);
	*parent = own;
	return allo_sql_insert(tables, code->stack, err);
}

static void find_site(struct code *code, allo_stack_id id)
{
	const struct allo_sql_tables *tables = code->tables;
	struct allo_attribution *attribution = tables->attribution;
	allo_stack_id site = allo_attribution_site(attribution, tables->profile, id);
	uint32_t call = allo_attribution_site_call(attribution, tables->profile, site);

	code->site = allo_content_call_id(tables->ids.stacks[site], call);
	code->site_call = site == id ? call : UINT32_MAX;
}

static bool write_stack(struct code *code, allo_stack_id id, struct allo_error *err)
{
	const struct allo_profile *profile = code->tables->profile;
	const struct allo_stack *stack = &profile->stacks.at[id];
	int64_t parent = code->tables->ids.stacks[stack->parent];

	ALLO_ASSERT(stack->parent < id);
	code->depths[id] = code->depths[stack->parent];
	code->leaves[id] = code->leaves[stack->parent];
	find_site(code, id);
	for (uint32_t i = allo_frame_call_count(&profile->frames.at[stack->frame]); i-- > 0;) {
		if (!write_call(code, id, i, &parent, err))
			return false;
	}
	return true;
}

static bool write_stacks(struct code *code, struct allo_error *err)
{
	const struct allo_profile *profile = code->tables->profile;
	allo_stack_id at = code->first_inside[0];

	while (at != 0) {
		if (!write_stack(code, at, err))
			return false;
		if (code->first_inside[at] != 0) {
			at = code->first_inside[at];
			continue;
		}
		while (at != 0 && code->next_beside[at] == 0)
			at = profile->stacks.at[at].parent;
		at = code->next_beside[at];
	}
	return true;
}

bool allo_sql_write_code(const struct allo_sql_tables *tables, const bool *has_rows,
			 struct allo_error *err)
{
	ALLO_DEFER(code_done) struct code code = { .tables = tables };

	if (!write_modules(tables, err) || !code_init(&code, err) || !write_functions(&code, err))
		return false;
	for (size_t i = 1; i < tables->profile->frames.len; i++) {
		if (!write_frame(&code, (allo_frame_id)i, err))
			return false;
	}
	link_stacks(&code, has_rows);
	return write_stacks(&code, err);
}
