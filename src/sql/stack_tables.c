/*
 * stack_tables.c - writes stacks.
 *
 * As for frames, each inlined call is a stack.  SQLite gets all stacks, each with its caller's: a
 * view finds the frames of a stack by the numbers of a depth-first walk.  Other engines get the
 * stacks that samples and allocations refer to, and their frames as rows.  These pack better than
 * callers, whose ids are random, and no query needs recursion.
 */
#include "sql/tables.h"

#include "analysis/sites/allocator.h"
#include "base/assert.h"
#include "base/defer.h"
#include "base/vec.h"
#include "profile/naming.h"

#include <stdlib.h>

enum {
	IS_SAMPLED = 1, /* samples or allocations refer to it */
	IS_SITE = 2,    /* the responsible call of a sampled stack is one of its innermost calls */

	ROWS_AT_ONCE = 1 << 20, /* to sort */
};

/* A call on the path from the outermost one to the current one. */
struct call {
	int64_t frame;
	int64_t leaf; /* of the stack up to here: in SQLite the stack's id, elsewhere the frame's
		       */
};

/* A stack with its innermost call. */
struct node {
	int64_t leaf, site;
	uint32_t depth, number;
};

/* Only the first of equal stacks is linked, and has flags. */
struct stacks {
	struct allo_store *store;
	const struct allo_profile *profile;
	bool *is_allocator; /* by function */

	/* By stack. */
	uint8_t *flags;
	allo_stack_id *first_inside, *next_beside;
	struct node *nodes; /* SQLite only */

	ALLO_VEC(struct call) path;
	uint32_t number;
	ALLO_VEC(struct allo_keyed_row) rows;
};

static void stacks_done(struct stacks *stacks)
{
	free(stacks->is_allocator);
	free(stacks->flags);
	free(stacks->first_inside);
	free(stacks->next_beside);
	free(stacks->nodes);
	allo_vec_done(&stacks->path);
	allo_vec_done(&stacks->rows);
}

static bool is_sqlite(const struct stacks *stacks)
{
	return stacks->store->kind->place == ALLO_IN_SQLITE;
}

static bool stacks_init(struct stacks *stacks, struct allo_error *err)
{
	const struct allo_profile *profile = stacks->profile;
	size_t count = profile->stacks.len + 1;

	stacks->is_allocator = calloc(profile->functions.len + 1, sizeof(*stacks->is_allocator));
	stacks->flags = calloc(count, sizeof(*stacks->flags));
	stacks->first_inside = calloc(count, sizeof(*stacks->first_inside));
	stacks->next_beside = calloc(count, sizeof(*stacks->next_beside));
	if (is_sqlite(stacks))
		stacks->nodes = calloc(count, sizeof(*stacks->nodes));
	if (!stacks->is_allocator || !stacks->flags || !stacks->first_inside ||
	    !stacks->next_beside || (is_sqlite(stacks) && !stacks->nodes))
		return allo_fail_memory(err);
	for (size_t i = 1; i < profile->functions.len; i++) {
		const struct allo_function *function = &profile->functions.at[i];

		stacks->is_allocator[i] = allo_is_allocator(
			allo_profile_text(profile, function->name),
			allo_profile_text(profile, function->file));
	}
	return true;
}

static allo_stack_id first_of(const struct stacks *stacks, allo_stack_id id)
{
	return stacks->store->ids.first_stacks[id];
}

static const struct allo_frame *frame_of(const struct stacks *stacks, allo_stack_id id)
{
	return &stacks->profile->frames.at[stacks->profile->stacks.at[id].frame];
}

static uint32_t call_count(const struct stacks *stacks, allo_stack_id id)
{
	return allo_frame_call_count(frame_of(stacks, id));
}

static int64_t call_id(const struct stacks *stacks, allo_stack_id id, uint32_t call)
{
	return allo_content_call_id(stacks->store->ids.stacks[id], call);
}

static int64_t call_frame(const struct stacks *stacks, allo_stack_id id, uint32_t call)
{
	allo_frame_id frame = stacks->profile->stacks.at[id].frame;

	return allo_content_call_id(stacks->store->ids.frames[frame], call);
}

/* Sites. */

struct site {
	allo_stack_id stack;
	uint32_t call;
};

static struct site site_of(const struct stacks *stacks, allo_stack_id id)
{
	struct allo_attribution *attribution = stacks->store->attribution;
	struct site site = { .stack = allo_attribution_site(attribution, stacks->profile, id) };

	site.call = allo_attribution_site_call(attribution, stacks->profile, site.stack);
	return site;
}

/* The id of the site of a stack that ends with one of `id`'s calls: calls outside of the
 * responsible one are their own sites. */
static int64_t site_id(const struct stacks *stacks, struct site site, allo_stack_id id,
		       uint32_t call)
{
	return site.stack == id && call > site.call ? call_id(stacks, id, call)
						    : call_id(stacks, site.stack, site.call);
}

/* Links. */

static void flag_stacks(struct stacks *stacks, const bool *has_rows)
{
	const struct allo_profile *profile = stacks->profile;

	for (size_t i = 1; has_rows && i < profile->stacks.len; i++) {
		if (has_rows[i])
			stacks->flags[first_of(stacks, (allo_stack_id)i)] |= IS_SAMPLED;
	}
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		stacks->flags[first_of(stacks, profile->sample_stacks.at[i])] |= IS_SAMPLED;
	for (size_t i = 1; i < profile->stacks.len && !is_sqlite(stacks); i++) {
		if (stacks->flags[i] & IS_SAMPLED)
			stacks->flags[first_of(stacks, site_of(stacks, (allo_stack_id)i).stack)] |=
				IS_SITE;
	}
}

static void link_stacks(struct stacks *stacks)
{
	const struct allo_profile *profile = stacks->profile;

	for (size_t i = profile->stacks.len; i-- > 1;) {
		allo_stack_id parent = first_of(stacks, profile->stacks.at[i].parent);

		if (first_of(stacks, (allo_stack_id)i) != i)
			continue;
		stacks->next_beside[i] = stacks->first_inside[parent];
		stacks->first_inside[parent] = (allo_stack_id)i;
	}
}

/* The walk, depth first: each stack is followed by all stacks that extend it. */

/* The leaf is the caller of the allocator or, without one, the outermost call. */
static bool push_call(struct stacks *stacks, allo_stack_id id, uint32_t call,
		      struct allo_error *err)
{
	const struct allo_frame *frame = frame_of(stacks, id);
	allo_function_id function = allo_call_line(stacks->profile, frame, call).function;
	struct call own = { .frame = call_frame(stacks, id, call) };

	if (stacks->path.len > 0 && stacks->is_allocator[function])
		own.leaf = stacks->path.at[stacks->path.len - 1].leaf;
	else
		own.leaf = is_sqlite(stacks) ? call_id(stacks, id, call) : own.frame;
	return allo_vec_add(&stacks->path, own, err);
}

static bool write_stack_frames(const struct stacks *stacks, int64_t id, struct allo_error *err)
{
	size_t depth = stacks->path.len;

	for (size_t i = 0; i < depth; i++) {
		const struct allo_sql_cell cells[] = {
			ALLO_CELL_NUMBER(id),
			ALLO_CELL_NUMBER((int64_t)i),
			ALLO_CELL_NUMBER(stacks->path.at[depth - 1 - i].frame),
		};

		if (!allo_store_add_row(stacks->store, ALLO_TABLE_STACK_FRAME, cells, err))
			return false;
	}
	return true;
}

static bool write_flagged(const struct stacks *stacks, allo_stack_id id, uint32_t call,
			  struct allo_error *err)
{
	struct allo_attribution *attribution = stacks->store->attribution;
	bool is_sampled = call == 0 && (stacks->flags[id] & IS_SAMPLED);
	bool is_site = (stacks->flags[id] & IS_SITE) &&
		       call == allo_attribution_site_call(attribution, stacks->profile, id);
	const struct call *own = &stacks->path.at[stacks->path.len - 1];
	const struct allo_sql_cell cells[] = {
		ALLO_CELL_NUMBER(call_id(stacks, id, call)),
		ALLO_CELL_NUMBER(own->frame),
		ALLO_CELL_NUMBER(site_id(stacks, site_of(stacks, id), id, call)),
		ALLO_CELL_NUMBER(own->leaf),
		ALLO_CELL_NUMBER((int64_t)stacks->path.len),
	};

	if (!is_sampled && !is_site)
		return true;
	return allo_store_add_row(stacks->store, ALLO_TABLE_STACK, cells, err) &&
	       (!is_sampled || write_stack_frames(stacks, cells[0].number, err));
}

static void keep_node(struct stacks *stacks, allo_stack_id id)
{
	size_t depth = stacks->path.len;

	stacks->nodes[id] = (struct node){
		.leaf = stacks->path.at[depth - 1].leaf,
		.site = site_id(stacks, site_of(stacks, id), id, 0),
		.depth = (uint32_t)depth,
		.number = stacks->number,
	};
}

static bool visit(struct stacks *stacks, allo_stack_id id, struct allo_error *err)
{
	for (uint32_t call = call_count(stacks, id); call-- > 0;) {
		stacks->number++;
		if (!push_call(stacks, id, call, err) || (!is_sqlite(stacks) && stacks->flags[id] &&
							  !write_flagged(stacks, id, call, err)))
			return false;
	}
	if (is_sqlite(stacks))
		keep_node(stacks, id);
	return true;
}

static void leave(struct stacks *stacks, allo_stack_id id)
{
	stacks->path.len -= call_count(stacks, id);
}

static allo_stack_id next_stack(struct stacks *stacks, allo_stack_id at)
{
	if (stacks->first_inside[at] != 0)
		return stacks->first_inside[at];
	while (at != 0) {
		leave(stacks, at);
		if (stacks->next_beside[at] != 0)
			return stacks->next_beside[at];
		at = first_of(stacks, stacks->profile->stacks.at[at].parent);
	}
	return 0;
}

static bool walk(struct stacks *stacks, struct allo_error *err)
{
	for (allo_stack_id at = stacks->first_inside[0]; at != 0; at = next_stack(stacks, at)) {
		if (!visit(stacks, at, err))
			return false;
	}
	ALLO_ASSERT(stacks->path.len == 0);
	return true;
}

/* SQLite's rows, in the order of their ids: in any other order they would be inserted all over a
 * tree that is larger than SQLite's cache. */

static int64_t leaf_of(const struct stacks *stacks, allo_stack_id id, uint32_t call)
{
	const struct allo_frame *frame = frame_of(stacks, id);
	allo_stack_id parent = first_of(stacks, stacks->profile->stacks.at[id].parent);
	uint32_t calls = allo_frame_call_count(frame);

	for (; call < calls; call++) {
		if (!stacks->is_allocator[allo_call_line(stacks->profile, frame, call).function])
			return call_id(stacks, id, call);
	}
	return parent ? stacks->nodes[parent].leaf : call_id(stacks, id, calls - 1);
}

static bool write_row(const struct stacks *stacks, const struct allo_keyed_row *row,
		      struct allo_error *err)
{
	allo_stack_id id = row->entry;
	const struct node *node = &stacks->nodes[id];
	int64_t parent = row->call + 1 < call_count(stacks, id)
				 ? call_id(stacks, id, row->call + 1)
				 : stacks->store->ids.stacks[stacks->profile->stacks.at[id].parent];
	int64_t site = row->call ? site_id(stacks, site_of(stacks, id), id, row->call) : node->site;

	ALLO_ASSERT(row->id != 0 && node->depth > row->call);
	return allo_store_add_row(
		stacks->store, ALLO_TABLE_STACK,
		(struct allo_sql_cell[]){
			ALLO_CELL_NUMBER(row->id),
			{ .number = parent, .is_null = parent == 0 },
			ALLO_CELL_NUMBER(call_frame(stacks, id, row->call)),
			ALLO_CELL_NUMBER(site),
			ALLO_CELL_NUMBER(leaf_of(stacks, id, row->call)),
			ALLO_CELL_NUMBER(node->depth - row->call),
			ALLO_CELL_NUMBER(node->number - row->call),
			ALLO_CELL_NUMBER(row->call == 0 && (stacks->flags[id] & IS_SAMPLED)),
		},
		err);
}

static bool list_rows(struct stacks *stacks, int64_t first, int64_t last, struct allo_error *err)
{
	stacks->rows.len = 0;
	for (size_t i = 1; i < stacks->profile->stacks.len; i++) {
		allo_stack_id stack = (allo_stack_id)i;

		for (uint32_t k = 0; first_of(stacks, stack) == i && k < call_count(stacks, stack);
		     k++) {
			int64_t id = call_id(stacks, stack, k);

			if (id >= first && id <= last)
				allo_vec_add(&stacks->rows,
					     ((struct allo_keyed_row){ id, stack, k }), err);
		}
	}
	allo_sql_sort_rows(stacks->rows.at, stacks->rows.len);
	return !allo_failed(err);
}

/* Ids are hashes, so a part of their range has that part of the rows. */
static bool write_rows(struct stacks *stacks, struct allo_error *err)
{
	int64_t parts = stacks->number / ROWS_AT_ONCE + 1, step = INT64_MAX / parts;

	for (int64_t part = 0; part < parts; part++) {
		int64_t first = part * step + 1;
		int64_t last = part + 1 < parts ? first + step - 1 : INT64_MAX;

		if (!list_rows(stacks, first, last, err))
			return false;
		for (size_t i = 0; i < stacks->rows.len; i++) {
			if (allo_sql_is_first(stacks->rows.at, i) &&
			    !write_row(stacks, &stacks->rows.at[i], err))
				return false;
		}
	}
	return true;
}

static bool write_unknown(struct allo_store *store, struct allo_error *err)
{
	struct allo_sql_cell cells[ALLO_SQL_COLUMNS] = { 0 };

	cells[1].is_null = store->kind->place == ALLO_IN_SQLITE; /* the caller's */
	return allo_store_add_row(store, ALLO_TABLE_STACK, cells, err);
}

bool allo_sql_write_stacks(struct allo_store *store, const bool *has_rows, struct allo_error *err)
{
	ALLO_DEFER(stacks_done)
	struct stacks stacks = { .store = store, .profile = store->profile };

	if (!write_unknown(store, err) || !stacks_init(&stacks, err))
		return false;
	flag_stacks(&stacks, has_rows);
	link_stacks(&stacks);
	return walk(&stacks, err) && (!is_sqlite(&stacks) || write_rows(&stacks, err));
}
