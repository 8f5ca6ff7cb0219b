/* massif_tree.c - see massif_tree.h. */
#include "readers/massif_tree.h"

#include "base/defer.h"
#include "base/utf8.h"
#include "readers/valgrind_frame.h"

/* Nodes whose callers are being read, the root first. */
struct level {
	uint32_t node;
	uint64_t missing; /* callers that are still to come */
};

typedef ALLO_VEC(struct level) levels;

struct reading {
	struct allo_massif_tree *tree;
	struct allo_input *in;
	struct allo_profile *labels;
	struct allo_notes *notes;
	levels levels;
};

static void reading_done(struct reading *reading)
{
	allo_vec_done(&reading->levels);
}

void allo_massif_tree_done(struct allo_massif_tree *tree)
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

static void note(struct reading *reading, enum allo_note kind, struct allo_text label)
{
	bool is_first = reading->notes->of[kind].count == 0;

	allo_note(reading->notes, kind,
		  is_first ? allo_input_pos_at(reading->in, label.data) : ALLO_NOWHERE);
}

static allo_string_id add_label(struct reading *reading, struct allo_text label, bool is_root,
				struct allo_error *err)
{
	size_t known = reading->labels->strings.len;
	struct allo_valgrind_frame frame;
	allo_string_id id;

	if (is_rest(label))
		return allo_profile_add_string(reading->labels, ALLO_TEXT(ALLO_MASSIF_REST), err);
	id = allo_profile_add_string(reading->labels, label, err);
	if (is_root || reading->labels->strings.len == known)
		return id;
	if (!allo_valgrind_frame_parse(label, &frame))
		note(reading, ALLO_NOTE_ODD_FRAME, label);
	if (!allo_utf8_is_valid(label))
		note(reading, ALLO_NOTE_BAD_UTF8, label);
	return id;
}

static bool fail_node(const struct reading *reading, struct allo_text line, struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(reading->in, line.data),
			 "expected \"nCALLERS: BYTES NAME\", indented by %zu, found \"%.*s\"",
			 reading->levels.len, ALLO_TEXT_ARG(line));
}

/* Counts a node among the callers of the one that is open. */
static bool add_to_parent(struct reading *reading, struct allo_massif_node *node,
			  struct allo_text line, struct allo_error *err)
{
	struct allo_massif_node *parent;
	struct level *level;

	if (reading->levels.len == 0)
		return true;
	level = &reading->levels.at[reading->levels.len - 1];
	level->missing--;
	node->parent = level->node;
	parent = &reading->tree->nodes.at[node->parent];
	if (node->bytes > allo_massif_node_rest(parent))
		return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(reading->in, line.data),
				 "the callers of a function have more bytes than itself");
	parent->named += node->bytes;
	return true;
}

static bool read_node(struct reading *reading, struct allo_text line, struct allo_error *err)
{
	struct allo_massif_node node = { .depth = (uint32_t)reading->levels.len };
	struct level level = { .node = (uint32_t)reading->tree->nodes.len };
	struct allo_text rest = line;

	for (size_t i = 0; i < reading->levels.len; i++) {
		if (!allo_text_skip(&rest, ALLO_TEXT(" ")))
			return fail_node(reading, line, err);
	}
	if (!allo_text_skip(&rest, ALLO_TEXT("n")) || !allo_text_take_u64(&rest, &level.missing) ||
	    !allo_text_skip(&rest, ALLO_TEXT(": ")) || !allo_text_take_u64(&rest, &node.bytes) ||
	    !allo_text_skip(&rest, ALLO_TEXT(" ")) || reading->tree->nodes.len >= UINT32_MAX)
		return fail_node(reading, line, err);
	node.is_last = level.missing == 0;
	node.label = add_label(reading, allo_text_trim(rest), node.depth == 0, err);
	if (allo_failed(err) || !add_to_parent(reading, &node, line, err))
		return false;
	if (!allo_vec_append(&reading->tree->nodes, &node, 1) ||
	    (!node.is_last && !allo_vec_append(&reading->levels, &level, 1)))
		return allo_fail_memory(err);
	while (reading->levels.len > 0 && reading->levels.at[reading->levels.len - 1].missing == 0)
		reading->levels.len--;
	return true;
}

bool allo_massif_tree_read(struct allo_massif_tree *tree, struct allo_input *in,
			   struct allo_profile *labels, struct allo_notes *notes,
			   struct allo_error *err)
{
	ALLO_DEFER(reading_done)
	struct reading reading = { .tree = tree, .in = in, .labels = labels, .notes = notes };
	struct allo_text line;

	tree->nodes.len = 0;
	do {
		if (!allo_input_line(in, &line, err))
			return allo_fail(err, ALLO_FORMAT, allo_input_pos(in),
					 "the file ends within a tree");
		if (!read_node(&reading, line, err))
			return false;
	} while (reading.levels.len > 0);
	return true;
}
