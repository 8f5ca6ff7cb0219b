/* code_tables.c - writes modules, functions and frames. */
#include "sql/tables.h"

#include "analysis/sites/allocator.h"
#include "base/defer.h"
#include "base/vec.h"
#include "profile/naming.h"

#include <stdlib.h>

static int compare_rows(const void *one, const void *other)
{
	const struct allo_keyed_row *a = one, *b = other;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->entry != b->entry)
		return a->entry < b->entry ? -1 : 1;
	return a->call < b->call ? -1 : a->call > b->call;
}

void allo_sql_sort_rows(struct allo_keyed_row *rows, size_t count)
{
	if (count > 0)
		qsort(rows, count, sizeof(*rows), compare_rows);
}

typedef ALLO_VEC(struct allo_keyed_row) keyed_rows;

static void keyed_rows_done(keyed_rows *rows)
{
	allo_vec_done(rows);
}

static bool write_modules(struct allo_store *store, struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;
	ALLO_DEFER(keyed_rows_done) keyed_rows rows = { 0 };

	for (size_t i = 0; i < profile->modules.len || i == 0; i++)
		allo_vec_add(
			&rows,
			((struct allo_keyed_row){ i ? store->ids.modules[i] : 0, (uint32_t)i, 0 }),
			err);
	allo_sql_sort_rows(rows.at, rows.len);
	for (size_t i = 0; i < rows.len && !allo_failed(err); i++) {
		static const struct allo_module unknown;
		const struct allo_module *module = rows.at[i].entry
							   ? &profile->modules.at[rows.at[i].entry]
							   : &unknown;
		const struct allo_sql_cell cells[] = {
			ALLO_CELL_NUMBER(rows.at[i].id),
			ALLO_CELL_TEXT(allo_profile_text(profile, module->path)),
			ALLO_CELL_TEXT(allo_profile_text(profile, module->build_id)),
		};

		if (allo_sql_is_first(rows.at, i))
			allo_store_add_row(store, ALLO_TABLE_MODULE, cells, err);
	}
	return !allo_failed(err);
}

/* Functions.  Those without a name are named by their place in the module, which is the same in
 * each run; `call` is 1 for them, and `entry` their frame. */

/* `scratch` has ALLO_NAME_SCRATCH bytes. */
static struct allo_text place_name(const struct allo_profile *profile, allo_frame_id id,
				   char *scratch)
{
	struct allo_frame in_module = profile->frames.at[id];

	if (in_module.module && !profile->modules.at[in_module.module].has_bias)
		in_module.address = allo_module_offset(profile, &in_module);
	in_module.line_count = 0;
	return allo_call_name(profile, &in_module, 0, scratch);
}

/* The named function of a call; 0 if it has none. */
static allo_function_id named_function(const struct allo_profile *profile,
				       const struct allo_frame *frame, uint32_t call)
{
	allo_function_id function = allo_call_line(profile, frame, call).function;

	return function && profile->functions.at[function].name ? function : 0;
}

static int64_t function_id(const struct allo_store *store, allo_frame_id id, uint32_t call)
{
	const struct allo_profile *profile = store->profile;
	allo_function_id function = named_function(profile, &profile->frames.at[id], call);
	char scratch[ALLO_NAME_SCRATCH];

	return function ? store->ids.functions[function]
			: allo_content_name_id(place_name(profile, id, scratch));
}

static bool has_nameless_call(const struct allo_profile *profile, const struct allo_frame *frame)
{
	for (uint32_t i = 0; i < allo_frame_call_count(frame); i++) {
		if (!named_function(profile, frame, i))
			return true;
	}
	return false;
}

static bool list_functions(const struct allo_store *store, keyed_rows *rows, struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;
	char scratch[ALLO_NAME_SCRATCH];

	allo_vec_add(rows, ((struct allo_keyed_row){ 0 }), err);
	for (size_t i = 1; i < profile->functions.len; i++) {
		if (profile->functions.at[i].name)
			allo_vec_add(rows,
				     ((struct allo_keyed_row){ store->ids.functions[i], (uint32_t)i,
							       0 }),
				     err);
	}
	for (size_t i = 1; i < profile->frames.len; i++) {
		allo_frame_id frame = (allo_frame_id)i;

		if (!has_nameless_call(profile, &profile->frames.at[i]))
			continue;
		allo_vec_add(rows,
			     ((struct allo_keyed_row){
				     allo_content_name_id(place_name(profile, frame, scratch)),
				     frame, 1 }),
			     err);
	}
	allo_sql_sort_rows(rows->at, rows->len);
	return !allo_failed(err);
}

static bool write_function(struct allo_store *store, const struct allo_keyed_row *row,
			   struct allo_error *err)
{
	static const struct allo_function unknown;
	const struct allo_profile *profile = store->profile;
	const struct allo_function *function = row->call || !row->entry
						       ? &unknown
						       : &profile->functions.at[row->entry];
	struct allo_text file = allo_profile_text(profile, function->file), name;
	char scratch[ALLO_NAME_SCRATCH];

	name = row->call    ? place_name(profile, row->entry, scratch)
	       : row->entry ? allo_profile_text(profile, function->name)
			    : ALLO_TEXT("???");
	return allo_store_add_row(
		store, ALLO_TABLE_FUNCTION,
		(struct allo_sql_cell[]){
			ALLO_CELL_NUMBER(row->id),
			ALLO_CELL_TEXT(name),
			ALLO_CELL_TEXT(allo_profile_text(profile, function->system_name)),
			ALLO_CELL_TEXT(file),
			ALLO_CELL_NUMBER(function->start_line),
			ALLO_CELL_NUMBER(function != &unknown && allo_is_allocator(name, file)),
		},
		err);
}

static bool write_functions(struct allo_store *store, struct allo_error *err)
{
	ALLO_DEFER(keyed_rows_done) keyed_rows rows = { 0 };

	if (!list_functions(store, &rows, err))
		return false;
	for (size_t i = 0; i < rows.len; i++) {
		if (allo_sql_is_first(rows.at, i) && !write_function(store, &rows.at[i], err))
			return false;
	}
	return true;
}

/* A frame is one call: each inlined call is a separate row.  So no join returns a row twice. */

static bool list_frames(const struct allo_store *store, keyed_rows *rows, struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;

	allo_vec_add(rows, ((struct allo_keyed_row){ 0 }), err);
	for (size_t i = 1; i < profile->frames.len; i++) {
		for (uint32_t k = 0; k < allo_frame_call_count(&profile->frames.at[i]); k++)
			allo_vec_add(rows,
				     ((struct allo_keyed_row){
					     allo_content_call_id(store->ids.frames[i], k),
					     (uint32_t)i, k }),
				     err);
	}
	allo_sql_sort_rows(rows->at, rows->len);
	return !allo_failed(err);
}

static bool write_frame(struct allo_store *store, const struct allo_keyed_row *row,
			struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;
	const struct allo_frame *frame = &profile->frames.at[row->entry];
	struct allo_line line = allo_call_line(profile, frame, row->call);
	int64_t module = frame->module ? store->ids.modules[frame->module] : 0;
	bool is_inlined = row->call + 1 < allo_frame_call_count(frame);

	return allo_store_add_row(
		store, ALLO_TABLE_FRAME,
		(struct allo_sql_cell[]){
			ALLO_CELL_NUMBER(row->id),
			ALLO_CELL_NUMBER(module),
			ALLO_CELL_NUMBER((int64_t)allo_module_offset(profile, frame)),
			ALLO_CELL_NUMBER(function_id(store, row->entry, row->call)),
			ALLO_CELL_NUMBER(line.line),
			ALLO_CELL_NUMBER(line.column),
			ALLO_CELL_NUMBER(is_inlined),
		},
		err);
}

static bool write_frames(struct allo_store *store, struct allo_error *err)
{
	ALLO_DEFER(keyed_rows_done) keyed_rows rows = { 0 };

	if (!list_frames(store, &rows, err) ||
	    !allo_store_add_row(store, ALLO_TABLE_FRAME,
				(struct allo_sql_cell[ALLO_SQL_COLUMNS]){ 0 }, err))
		return false;
	for (size_t i = 1; i < rows.len; i++) {
		if (allo_sql_is_first(rows.at, i) && !write_frame(store, &rows.at[i], err))
			return false;
	}
	return true;
}

bool allo_sql_write_code(struct allo_store *store, struct allo_error *err)
{
	return write_modules(store, err) && write_functions(store, err) && write_frames(store, err);
}
