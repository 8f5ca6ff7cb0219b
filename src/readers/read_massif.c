/*
 * read_massif.c - Massif's snapshots of the heap.
 *
 *     desc: --detailed-freq=2
 *     cmd: ./demo
 *     time_unit: i
 *     #-----------
 *     snapshot=0
 *     #-----------
 *     time=369751
 *     mem_heap_B=1178112
 *     mem_heap_extra_B=8016
 *     mem_stacks_B=0
 *     heap_tree=peak            or: detailed, both with a tree; or: empty
 *
 * Valgrind's other tools write their trees (--xtree-memory=full) in the same format: then
 * every snapshot is of the same moment and holds another metric, which its root names.
 *
 * A tree lists callers: each line has the number of its callers, its bytes and a frame, and is
 * indented by one more space than its callee.
 *
 *     n2: 1112576 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *      n0: 1048576 0x1093F7: main (demo.c:92)
 *      n1: 64000 0x1091BE: make_node (demo.c:14)
 *       n0: 64000 0x1091E8: build_list (demo.c:24)
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/io/input.h"
#include "base/utf8.h"
#include "profile/profile.h"
#include "readers/reader.h"
#include "readers/valgrind_stacks.h"

#include <stdio.h>

/* The name of callers that Massif left out. */
#define REST_NAME "[below massif's threshold]"

struct node {
	uint64_t bytes;
	uint64_t named;       /* sum of its callers' bytes */
	uint32_t parent;      /* index of its callee; the root is its own parent, 0 */
	uint32_t depth;       /* number of frames: 0 for the root */
	allo_string_id label; /* string in massif.labels */
	bool is_last;         /* it has no callers */
};

/* All zeros is empty. */
struct tree {
	ALLO_VEC(struct node) nodes; /* parents come first; the root is nodes.at[0] */
};

/* Bytes of a node that none of its listed callers has. */
static inline uint64_t rest_of(const struct node *node)
{
	ALLO_ASSERT(node->named <= node->bytes);
	return node->bytes - node->named;
}

/* Nodes whose callers are being read, the root first. */
struct level {
	uint32_t node;
	uint64_t missing; /* callers that are still to come */
};

typedef ALLO_VEC(struct level) levels;

struct tree_reader {
	struct tree *tree;
	struct allo_input *in;
	struct allo_profile *labels;
	struct allo_notes *notes;
	levels levels;
};

static void tree_reader_done(struct tree_reader *reader)
{
	allo_vec_done(&reader->levels);
}

static void tree_done(struct tree *tree)
{
	allo_vec_done(&tree->nodes);
}

/* "in 4 places, all below massif's threshold (1.00%)" */
static bool is_rest(struct allo_text label)
{
	uint64_t places;

	return allo_text_skip(&label, ALLO_TEXT("in ")) && allo_text_take_u64(&label, &places) &&
	       allo_text_starts(label, ALLO_TEXT(" place"));
}

static void note(struct tree_reader *reader, enum allo_note kind, struct allo_text label)
{
	bool is_first = reader->notes->of[kind].count == 0;

	allo_note(reader->notes, kind,
		  is_first ? allo_input_pos_at(reader->in, label.data) : ALLO_NOWHERE);
}

static allo_string_id add_label(struct tree_reader *reader, struct allo_text label, bool is_root,
				struct allo_error *err)
{
	size_t known = reader->labels->strings.len;
	struct allo_valgrind_frame frame;
	allo_string_id id;

	if (is_rest(label))
		return allo_profile_add_string(reader->labels, ALLO_TEXT(REST_NAME), err);
	id = allo_profile_add_string(reader->labels, label, err);
	if (is_root || reader->labels->strings.len == known)
		return id;
	if (!allo_valgrind_frame_parse(label, &frame))
		note(reader, ALLO_NOTE_ODD_FRAME, label);
	if (!allo_utf8_is_valid(label))
		note(reader, ALLO_NOTE_BAD_UTF8, label);
	return id;
}

static bool fail_node(const struct tree_reader *reader, struct allo_text line,
		      struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(reader->in, line.data),
			 "expected \"nCALLERS: BYTES NAME\", indented by %zu, found \"%.*s\"",
			 reader->levels.len, ALLO_TEXT_ARG(line));
}

/* Adds a node to the callers of the innermost open node. */
static bool add_to_parent(struct tree_reader *reader, struct node *node, struct allo_text line,
			  struct allo_error *err)
{
	struct node *parent;
	struct level *level;

	if (reader->levels.len == 0)
		return true;
	level = &reader->levels.at[reader->levels.len - 1];
	ALLO_ASSERT(level->missing > 0 && level->node < reader->tree->nodes.len);
	level->missing--;
	node->parent = level->node;
	parent = &reader->tree->nodes.at[node->parent];
	if (node->bytes > rest_of(parent))
		return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(reader->in, line.data),
				 "the callers of a function have more bytes than the function");
	parent->named += node->bytes;
	return true;
}

static bool read_node(struct tree_reader *reader, struct allo_text line, struct allo_error *err)
{
	struct node node = { .depth = (uint32_t)reader->levels.len };
	struct level level = { .node = (uint32_t)reader->tree->nodes.len };
	struct allo_text rest = line;

	for (size_t i = 0; i < reader->levels.len; i++) {
		if (!allo_text_skip(&rest, ALLO_TEXT(" ")))
			return fail_node(reader, line, err);
	}
	if (!allo_text_skip(&rest, ALLO_TEXT("n")) || !allo_text_take_u64(&rest, &level.missing) ||
	    !allo_text_skip(&rest, ALLO_TEXT(": ")) || !allo_text_take_u64(&rest, &node.bytes) ||
	    !allo_text_skip(&rest, ALLO_TEXT(" ")) || reader->tree->nodes.len >= UINT32_MAX)
		return fail_node(reader, line, err);
	node.is_last = level.missing == 0;
	node.label = add_label(reader, allo_text_trim(rest), node.depth == 0, err);
	if (allo_failed(err) || !add_to_parent(reader, &node, line, err))
		return false;
	if (!allo_vec_append(&reader->tree->nodes, &node, 1) ||
	    (!node.is_last && !allo_vec_append(&reader->levels, &level, 1)))
		return allo_fail_memory(err);
	while (reader->levels.len > 0 && reader->levels.at[reader->levels.len - 1].missing == 0)
		reader->levels.len--;
	return true;
}

/* Reads the next tree, replacing the content of `tree`.  Labels become strings of `labels`; those
 * that are not frames are noted in `notes`. */
static bool read_nodes(struct tree *tree, struct allo_input *in, struct allo_profile *labels,
		       struct allo_notes *notes, struct allo_error *err)
{
	ALLO_DEFER(tree_reader_done)
	struct tree_reader reader = { .tree = tree, .in = in, .labels = labels, .notes = notes };
	struct allo_text line;

	tree->nodes.len = 0;
	do {
		if (!allo_input_line(in, &line, err))
			return allo_fail(err, ALLO_FORMAT, allo_input_pos(in),
					 "the file ends within a tree");
		if (!read_node(&reader, line, err))
			return false;
	} while (reader.levels.len > 0);
	return true;
}

enum {
	MOST_XTREES = 16, /* Valgrind has 6 */
	NS = 1000000000,
};

/* A time as the file has it, "1061" or "0.025". */
struct moment {
	uint64_t whole, billionths;
};

struct snapshot {
	struct moment time;
	uint64_t heap, extra, stacks; /* bytes */
	bool is_peak, is_detailed;
	struct tree tree;
};

/* The live bytes at a snapshot. */
struct live {
	struct moment time;
	uint64_t bytes;
};

struct massif {
	struct allo_input *in;
	struct allo_profile *profile;
	struct allo_profile labels; /* only its strings are used: labels of nodes */
	allo_string_id rest_label;  /* of REST_NAME */
	allo_string_id description, time_unit;

	/* Only three snapshots are kept: the peak, the last one, and the current one. */
	struct snapshot places[3];
	struct snapshot *peak, *last; /* in `places`; NULL: none with details */
	ALLO_VEC(struct snapshot) xtrees;
	uint64_t snapshot_count, largest;
	bool wants_history;
	ALLO_VEC(struct live) history; /* of all snapshots, if wanted */
	struct moment end;

	ALLO_VEC(uint32_t) entries; /* by label: number in `stacks` + 1 */
	struct allo_valgrind_stacks stacks;
	ALLO_VEC(uint32_t) frames; /* of the current stack, leaf first */
};

static void massif_done(struct massif *massif)
{
	allo_profile_done(&massif->labels);
	for (size_t i = 0; i < 3; i++)
		tree_done(&massif->places[i].tree);
	for (size_t i = 0; i < massif->xtrees.len; i++)
		tree_done(&massif->xtrees.at[i].tree);
	allo_vec_done(&massif->xtrees);
	allo_vec_done(&massif->entries);
	allo_valgrind_stacks_done(&massif->stacks);
	allo_vec_done(&massif->frames);
	allo_vec_done(&massif->history);
}

/* Snapshots. */

static bool fail_line(const struct massif *massif, struct allo_text line, const char *expected,
		      struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(massif->in, line.data),
			 "expected \"%s\", found \"%.*s\"", expected, ALLO_TEXT_ARG(line));
}

/* The next line that is not a rule (#---) must be "name=value". */
static bool read_field(struct massif *massif, const char *name, struct allo_text *value,
		       struct allo_text *line, struct allo_error *err)
{
	do {
		if (!allo_input_line(massif->in, line, err))
			return allo_fail(err, ALLO_FORMAT, allo_input_pos(massif->in),
					 "the file ends within a snapshot, before \"%s\"", name);
	} while (allo_text_starts(*line, ALLO_TEXT("#")));
	*value = *line;
	return allo_text_skip(value, allo_text_of(name)) || fail_line(massif, *line, name, err);
}

static bool read_number(struct massif *massif, const char *name, uint64_t *number,
			struct allo_error *err)
{
	struct allo_text value, line;

	return read_field(massif, name, &value, &line, err) &&
	       (allo_text_u64(value, number) || fail_line(massif, line, name, err));
}

static bool read_time(struct massif *massif, struct moment *time, struct allo_error *err)
{
	struct allo_text value, line;
	uint64_t power = NS;

	if (!read_field(massif, "time=", &value, &line, err))
		return false;
	if (!allo_text_take_u64(&value, &time->whole))
		return fail_line(massif, line, "time=NUMBER", err);
	time->billionths = 0;
	allo_text_skip(&value, ALLO_TEXT("."));
	for (; value.len > 0 && allo_is_digit(value.data[0]); value = allo_text_from(value, 1)) {
		power /= 10;
		time->billionths += power * (uint64_t)(value.data[0] - '0');
	}
	return true;
}

static bool read_tree(struct massif *massif, struct snapshot *snapshot, struct allo_error *err)
{
	struct allo_text kind, line;

	if (!read_field(massif, "heap_tree=", &kind, &line, err))
		return false;
	snapshot->is_peak = allo_text_equal(kind, ALLO_TEXT("peak"));
	snapshot->is_detailed = snapshot->is_peak || allo_text_equal(kind, ALLO_TEXT("detailed"));
	if (!snapshot->is_detailed)
		return allo_text_equal(kind, ALLO_TEXT("empty")) ||
		       fail_line(massif, line, "heap_tree=empty, detailed or peak", err);
	if (!read_nodes(&snapshot->tree, massif->in, &massif->labels, &massif->profile->notes, err))
		return false;
	if (snapshot->tree.nodes.at[0].bytes != snapshot->heap)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(massif->in),
				 "the tree above holds %llu bytes, but its snapshot %llu",
				 (unsigned long long)snapshot->tree.nodes.at[0].bytes,
				 (unsigned long long)snapshot->heap);
	return true;
}

/* "curB : currently allocated Bytes" is the root of an xtree. */
static bool is_xtree(const struct massif *massif, const struct snapshot *snapshot)
{
	struct allo_text root = allo_profile_text(&massif->labels,
						  snapshot->tree.nodes.at[0].label);

	return allo_text_find(root, ALLO_TEXT(" : ")) != (size_t)-1 && root.data[0] != '(';
}

static bool keep_xtree(struct massif *massif, struct snapshot *snapshot, struct allo_error *err)
{
	if (massif->xtrees.len == MOST_XTREES)
		return allo_fail(err, ALLO_LIMIT, allo_input_pos(massif->in),
				 "more than %d trees of different metrics", MOST_XTREES);
	if (!allo_vec_append(&massif->xtrees, snapshot, 1))
		return allo_fail_memory(err);
	snapshot->tree = (struct tree){ 0 };
	return true;
}

/* The peak is the largest snapshot, but one that Massif marked as the peak wins. */
static bool is_higher(const struct snapshot *snapshot, const struct snapshot *peak)
{
	if (!peak || snapshot->is_peak != peak->is_peak)
		return !peak || snapshot->is_peak;
	return snapshot->heap > peak->heap;
}

static bool keep_moment(struct massif *massif, const struct snapshot *snapshot,
			struct allo_error *err)
{
	struct live live = { snapshot->time, snapshot->heap };

	return !massif->wants_history || allo_vec_append(&massif->history, &live, 1) ||
	       allo_fail_memory(err);
}

static bool read_snapshot(struct massif *massif, struct allo_error *err)
{
	struct snapshot *snapshot = massif->places;

	while (snapshot == massif->peak || snapshot == massif->last)
		snapshot++;
	ALLO_ASSERT(snapshot < massif->places + 3);
	if (!read_time(massif, &snapshot->time, err) ||
	    !read_number(massif, "mem_heap_B=", &snapshot->heap, err) ||
	    !read_number(massif, "mem_heap_extra_B=", &snapshot->extra, err) ||
	    !read_number(massif, "mem_stacks_B=", &snapshot->stacks, err) ||
	    !read_tree(massif, snapshot, err) || !keep_moment(massif, snapshot, err))
		return false;
	massif->snapshot_count++;
	massif->end = snapshot->time;
	if (snapshot->heap > massif->largest)
		massif->largest = snapshot->heap;
	massif->last = NULL;
	if (!snapshot->is_detailed)
		return true;
	if (is_xtree(massif, snapshot))
		return keep_xtree(massif, snapshot, err);
	massif->last = snapshot;
	if (is_higher(snapshot, massif->peak))
		massif->peak = snapshot;
	return true;
}

static bool read_line(struct massif *massif, struct allo_text line, struct allo_error *err)
{
	struct allo_profile *profile = massif->profile;
	const struct {
		struct allo_text name;
		allo_string_id *to;
	} facts[] = {
		{ ALLO_TEXT("desc:"), &massif->description },
		{ ALLO_TEXT("cmd:"), &profile->meta.command },
		{ ALLO_TEXT("time_unit:"), &massif->time_unit },
	};

	if (line.len == 0 || line.data[0] == '#')
		return true;
	if (allo_text_starts(line, ALLO_TEXT("snapshot=")))
		return read_snapshot(massif, err);
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		struct allo_text value = line;

		if (allo_text_skip(&value, facts[i].name)) {
			*facts[i].to = allo_profile_add_string(profile, allo_text_trim(value), err);
			return !allo_failed(err);
		}
	}
	return fail_line(massif, line, "snapshot=NUMBER", err);
}

/* Trees to samples. */

/* Adds a frame for a label, once. */
static bool add_entry(struct massif *massif, allo_string_id label, struct allo_error *err)
{
	uint32_t *entry = &massif->entries.at[label];
	struct allo_valgrind_frame frame;

	if (*entry != 0)
		return true;
	allo_valgrind_frame_parse(allo_profile_text(&massif->labels, label), &frame);
	if (!allo_valgrind_stacks_add(&massif->stacks, &frame, massif->profile, err))
		return false;
	*entry = (uint32_t)massif->stacks.entries.len;
	return true;
}

/* Whether some of a node's bytes belong to callers that are not listed. */
static bool lacks_callers(const struct node *node)
{
	return rest_of(node) > 0 && (!node->is_last || node->depth == 0);
}

static bool add_entries(struct massif *massif, const struct tree *tree, struct allo_error *err)
{
	for (size_t i = 0; i < tree->nodes.len; i++) {
		const struct node *node = &tree->nodes.at[i];

		if (node->depth > 0 && node->bytes > 0 && !add_entry(massif, node->label, err))
			return false;
		if (lacks_callers(node) && !add_entry(massif, massif->rest_label, err))
			return false;
	}
	return true;
}

/* Deeper in Massif's tree is further out in the stack. */
static allo_stack_id stack_of(struct massif *massif, const struct tree *tree,
			      const struct node *node, struct allo_error *err)
{
	size_t depth = node->depth, count = depth + lacks_callers(node);

	if (!allo_vec_cover(&massif->frames, count)) {
		allo_fail_memory(err);
		return 0;
	}
	ALLO_ASSERT(count == depth || massif->entries.at[massif->rest_label] > 0);
	if (count > depth)
		massif->frames.at[depth] = massif->entries.at[massif->rest_label] - 1;
	for (; node->depth > 0; node = &tree->nodes.at[node->parent])
		massif->frames.at[node->depth - 1] = massif->entries.at[node->label] - 1;
	return allo_valgrind_stacks_build(&massif->stacks, massif->frames.at, count,
					  massif->profile, err);
}

static bool add_samples(struct massif *massif, const struct tree *tree, size_t metric,
			struct allo_error *err)
{
	for (size_t i = 0; i < tree->nodes.len; i++) {
		const struct node *node = &tree->nodes.at[i];
		uint64_t bytes = rest_of(node), *row;
		allo_stack_id stack;

		if (bytes == 0)
			continue;
		stack = stack_of(massif, tree, node, err);
		row = allo_profile_add_sample(massif->profile, stack, 0, NULL, err);
		if (!row)
			return false;
		allo_profile_add_value(massif->profile, metric, &row[metric], bytes);
	}
	return true;
}

/* One metric per tree. */
static bool add_trees(struct massif *massif, const struct snapshot *const *snapshots, size_t count,
		      struct allo_error *err)
{
	struct allo_text command = allo_profile_text(massif->profile,
						     massif->profile->meta.command);

	if (!allo_vec_cover(&massif->entries, massif->labels.strings.len))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		if (!add_entries(massif, &snapshots[i]->tree, err))
			return false;
	}
	if (!allo_valgrind_stacks_find_modules(&massif->stacks, massif->profile, command, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!add_samples(massif, &snapshots[i]->tree, i, err))
			return false;
	}
	return true;
}

/* Metrics. */

/* "curB : currently allocated Bytes" */
static bool add_xtree_metric(struct massif *massif, struct allo_text root, struct allo_error *err)
{
	static const struct {
		struct allo_text name;
		enum allo_meaning meaning;
	} known[] = {
		{ ALLO_TEXT_INIT("curB"), ALLO_LIVE_BYTES },
		{ ALLO_TEXT_INIT("curBk"), ALLO_LIVE_BLOCKS },
		{ ALLO_TEXT_INIT("totB"), ALLO_ALLOC_BYTES },
		{ ALLO_TEXT_INIT("totBk"), ALLO_ALLOC_BLOCKS },
		{ ALLO_TEXT_INIT("totFdB"), ALLO_FREED_BYTES },
		{ ALLO_TEXT_INIT("totFdBk"), ALLO_FREED_BLOCKS },
	};
	struct allo_text name = root, rest, unit;
	struct allo_metric metric = { 0 };

	allo_text_cut(root, ' ', &name, &rest);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (allo_text_equal(name, known[i].name))
			return allo_profile_add_metric(massif->profile, known[i].meaning, NULL,
						       err);
	}
	unit = allo_text_ends(name, ALLO_TEXT("Bk")) ? ALLO_TEXT("count") : ALLO_TEXT("bytes");
	metric.name = allo_profile_add_string(massif->profile, name, err);
	metric.unit = allo_profile_add_string(massif->profile, unit, err);
	return !allo_failed(err) && allo_profile_add_metric_like(massif->profile, &metric, err);
}

static bool add_xtrees(struct massif *massif, struct allo_error *err)
{
	const struct snapshot *snapshots[MOST_XTREES];

	for (size_t i = 0; i < massif->xtrees.len; i++) {
		const struct tree *tree = &massif->xtrees.at[i].tree;
		struct allo_text root = allo_profile_text(&massif->labels, tree->nodes.at[0].label);

		snapshots[i] = &massif->xtrees.at[i];
		if (!add_xtree_metric(massif, root, err))
			return false;
	}
	return add_trees(massif, snapshots, massif->xtrees.len, err);
}

static bool add_peak_and_end(struct massif *massif, struct allo_error *err)
{
	const struct snapshot *snapshots[] = { massif->peak, massif->last };

	if (!allo_profile_add_metric(massif->profile, ALLO_PEAK_BYTES, NULL, err) ||
	    (massif->last && !allo_profile_add_metric(massif->profile, ALLO_END_BYTES, NULL, err)))
		return false;
	return add_trees(massif, snapshots, massif->last ? 2 : 1, err);
}

/* Everything else. */

static uint64_t in_ns(struct massif *massif, struct moment time, uint64_t unit_ns)
{
	uint64_t ns;

	if (!__builtin_mul_overflow(time.whole, unit_ns, &ns) &&
	    !__builtin_add_overflow(ns, time.billionths / (NS / unit_ns), &ns))
		return ns;
	allo_note(&massif->profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return UINT64_MAX;
}

/* A time by the profile's clock; `unit_ns` is 0 for instructions. */
static uint64_t by_clock(struct massif *massif, struct moment time, uint64_t unit_ns)
{
	return unit_ns > 0 ? in_ns(massif, time, unit_ns) : time.whole;
}

/* Snapshots are in time order; one that is not counts as taken together with the one before. */
static bool set_history(struct massif *massif, uint64_t unit_ns, struct allo_error *err)
{
	struct allo_profile *profile = massif->profile;
	uint64_t last = 0;

	/* All trees of an xtree file are of the same moment. */
	if (massif->xtrees.len > 0)
		return true;
	if (!allo_vec_reserve(&profile->history, massif->history.len))
		return allo_fail_memory(err);
	for (size_t i = 0; i < massif->history.len; i++) {
		uint64_t time = by_clock(massif, massif->history.at[i].time, unit_ns);

		last = time > last ? time : last;
		profile->history.at[profile->history.len++] = (struct allo_level){
			.time = last, .live_bytes = massif->history.at[i].bytes
		};
	}
	return true;
}

static bool set_times(struct massif *massif, struct allo_error *err)
{
	struct allo_meta *meta = &massif->profile->meta;
	struct allo_text unit = allo_profile_text(massif->profile, massif->time_unit);
	struct moment peak = massif->peak ? massif->peak->time : (struct moment){ 0 };
	uint64_t unit_ns = 0;

	if (allo_text_equal(unit, ALLO_TEXT("ms")))
		unit_ns = NS / 1000;
	else if (allo_text_equal(unit, ALLO_TEXT("s"))) /* heaptrack_print -M */
		unit_ns = NS;
	else if (!allo_text_equal(unit, ALLO_TEXT("i")))
		return true;
	meta->clock = unit_ns > 0 ? ALLO_CLOCK_NS : ALLO_CLOCK_INSTRUCTIONS;
	meta->duration = by_clock(massif, massif->end, unit_ns);
	meta->peak_time = by_clock(massif, peak, unit_ns);
	return set_history(massif, unit_ns, err);
}

static bool add_comment(struct massif *massif, const char *before, uint64_t bytes,
			const char *after, struct allo_error *err)
{
	char text[128];

	snprintf(text, sizeof(text), "%s%llu%s", before, (unsigned long long)bytes, after);
	return allo_profile_add_comment(massif->profile, allo_text_of(text), err);
}

static bool add_comments(struct massif *massif, struct allo_error *err)
{
	const struct snapshot *peak = massif->peak;

	if (peak->extra > 0 && !add_comment(massif, "at the peak: ", peak->extra,
					    " bytes of the allocator's own", err))
		return false;
	if (peak->stacks > 0 &&
	    !add_comment(massif, "at the peak: ", peak->stacks, " bytes of stacks", err))
		return false;
	return peak->is_peak || peak->heap == massif->largest ||
	       add_comment(massif, "the largest snapshot, of ", massif->largest,
			   " bytes, has no details; peak_bytes is of the largest that has", err);
}

static bool set_meta(struct massif *massif, struct allo_error *err)
{
	struct allo_profile *profile = massif->profile;
	struct allo_meta *meta = &profile->meta;
	struct allo_text producer = ALLO_TEXT("Valgrind Massif");
	struct allo_text description = allo_profile_text(profile, massif->description);

	if (allo_text_equal(description, ALLO_TEXT("heaptrack")))
		producer = ALLO_TEXT("heaptrack");
	else if (allo_text_starts(description, ALLO_TEXT("allo ")))
		producer = ALLO_TEXT("Allotrope");
	if (massif->xtrees.len > 0) {
		producer = ALLO_TEXT("Valgrind");
		meta->dialect = allo_profile_add_string(profile, ALLO_TEXT("xtree"), err);
	}
	meta->producer = allo_profile_add_string(profile, producer, err);
	meta->period_type = allo_profile_add_string(profile, ALLO_TEXT("space"), err);
	meta->period_unit = allo_profile_add_string(profile, ALLO_TEXT("bytes"), err);
	meta->period = 1; /* nothing is sampled */
	meta->default_metric = 1;
	return !allo_failed(err) && set_times(massif, err);
}

/* A program that never allocates needs no tree. */
static bool check_details(const struct massif *massif, struct allo_error *err)
{
	struct allo_pos file = { .file = massif->in->name };

	if (massif->snapshot_count == 0)
		return allo_fail(err, ALLO_FORMAT, file, "has no snapshot");
	if (massif->peak || massif->xtrees.len > 0 || massif->largest == 0)
		return true;
	allo_fail(err, ALLO_FORMAT, file, "has no detailed snapshot: it has totals, but no stacks");
	return allo_hint(err, "record again with valgrind --tool=massif --detailed-freq=1");
}

static bool make_profile(struct massif *massif, struct allo_error *err)
{
	if (!check_details(massif, err) || !set_meta(massif, err))
		return false;
	if (massif->xtrees.len > 0)
		return add_xtrees(massif, err);
	if (!massif->peak)
		return allo_profile_add_metric(massif->profile, ALLO_PEAK_BYTES, NULL, err);
	return add_peak_and_end(massif, err) && add_comments(massif, err);
}

static bool read_massif(struct allo_input *in, const struct allo_read_options *options,
			struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(massif_done)
	struct massif massif = { .in = in,
				 .profile = profile,
				 .wants_history = options->wants_history };
	struct allo_text line;

	massif.rest_label = allo_profile_add_string(&massif.labels, ALLO_TEXT(REST_NAME), err);
	while (!allo_failed(err) && allo_input_line(in, &line, err)) {
		if (!read_line(&massif, line, err))
			return false;
	}
	return !allo_failed(err) && make_profile(&massif, err);
}

static enum allo_guess probe_massif(struct allo_text head)
{
	bool has_header = allo_text_starts(head, ALLO_TEXT("desc:")) &&
			  allo_text_find(head, ALLO_TEXT("\ntime_unit:")) != (size_t)-1;
	/* heaptrack_print -M writes its header last. */
	bool has_snapshot = allo_text_starts(head, ALLO_TEXT("#-----------\nsnapshot=")) &&
			    allo_text_find(head, ALLO_TEXT("\nmem_heap_B=")) != (size_t)-1;

	return has_header || has_snapshot ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_massif = {
	.name = "massif",
	.title = "Massif snapshots, and xtrees of other Valgrind tools",
	.about = "The snapshot that Massif marked as the peak, or else the largest "
		 "detailed one, becomes peak_bytes; the last snapshot, if it is detailed, "
		 "becomes end_bytes. Callers that Massif left out appear as [below "
		 "massif's threshold], so that sums are exact. In files of "
		 "--xtree-memory=full every snapshot is a metric: live_bytes, live_blocks, "
		 "alloc_bytes, alloc_blocks, freed_bytes, freed_blocks. Of the other "
		 "snapshots only the live bytes are kept, for output formats that hold the "
		 "heap over time.",
	.probe = probe_massif,
	.read = read_massif,
};
