/*
 * read_v8.c - sampling heap profiles of V8: Node.js, Chrome, Deno.
 *
 *     {"head": {"callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1, ...},
 *               "selfSize": 0, "id": 1, "children": [...]},
 *      "samples": [...]}
 *
 * The tree of calls is as deep as the program's stacks, so nodes are kept in a list, parents first,
 * instead of being read by recursion.
 */
#include "base/defer.h"
#include "base/encoding/json_read.h"
#include "base/utf8.h"
#include "readers/reader.h"

/* A call in the tree. */
struct node {
	uint32_t parent; /* index + 1 in nodes[]; 0: the root */
	allo_frame_id frame;
	allo_stack_id stack; /* of its calls, once that is known */
	uint64_t bytes;
};

struct v8 {
	struct allo_profile *profile;
	struct allo_json json;
	ALLO_VEC(struct node) nodes;
	ALLO_VEC(uint32_t) open; /* indices of the nodes whose objects are being read */
	bool has_head;
};

static void v8_done(struct v8 *v8)
{
	allo_json_done(&v8->json);
	allo_vec_done(&v8->nodes);
	allo_vec_done(&v8->open);
}

/* Frames. */

/* Lines and columns count from 0, -1 means unknown. */
static bool read_place(struct v8 *v8, uint32_t *place, struct allo_error *err)
{
	struct allo_text number;
	uint64_t value;

	if (!allo_json_number(&v8->json, &number, err))
		return false;
	*place = allo_json_text_u64(number, &value) && value < UINT32_MAX ? (uint32_t)value + 1 : 0;
	return true;
}

static bool read_name(struct v8 *v8, allo_string_id *name, struct allo_error *err)
{
	struct allo_text text;

	if (!allo_json_string(&v8->json, &text, err))
		return false;
	if (!allo_utf8_is_valid(text))
		allo_note(&v8->profile->notes, ALLO_NOTE_BAD_UTF8, allo_input_pos(v8->json.in));
	*name = allo_profile_add_string(v8->profile, text, err);
	return !allo_failed(err);
}

static bool read_frame_member(struct v8 *v8, struct allo_text key, struct allo_function *function,
			      struct allo_line *line, struct allo_error *err)
{
	if (allo_text_equal(key, ALLO_TEXT("functionName")))
		return read_name(v8, &function->name, err);
	if (allo_text_equal(key, ALLO_TEXT("url")))
		return read_name(v8, &function->file, err);
	if (allo_text_equal(key, ALLO_TEXT("lineNumber")))
		return read_place(v8, &line->line, err);
	if (allo_text_equal(key, ALLO_TEXT("columnNumber")))
		return read_place(v8, &line->column, err);
	return allo_json_skip(&v8->json, err);
}

static bool read_frame(struct v8 *v8, allo_frame_id *frame, struct allo_error *err)
{
	struct allo_function function = { 0 };
	struct allo_line line = { 0 };
	struct allo_text key;

	if (!allo_json_begin(&v8->json, '{', err))
		return false;
	while (allo_json_key(&v8->json, &key, err)) {
		if (!read_frame_member(v8, key, &function, &line, err))
			return false;
	}
	if (allo_failed(err))
		return false;
	if (function.name == 0)
		function.name = allo_profile_add_string(v8->profile, ALLO_TEXT("(anonymous)"), err);
	function.start_line = line.line;
	line.function = allo_profile_add_function(v8->profile, &function, err);
	if (line.line == 0)
		line.column = 0;
	*frame = allo_profile_add_frame(v8->profile, &(struct allo_frame){ 0 }, &line, 1, err);
	return !allo_failed(err);
}

/* The tree. */

static bool begin_node(struct v8 *v8, struct allo_error *err)
{
	struct node node = { .parent = v8->open.len ? v8->open.at[v8->open.len - 1] + 1 : 0 };
	uint32_t index = (uint32_t)v8->nodes.len;

	if (v8->nodes.len >= UINT32_MAX - 1)
		return allo_fail_memory(err);
	return allo_json_begin(&v8->json, '{', err) && allo_vec_add(&v8->nodes, node, err) &&
	       allo_vec_add(&v8->open, index, err);
}

/* Reads a member of the innermost open node; its children begin after this. */
static bool read_node_member(struct v8 *v8, struct allo_text key, bool *has_child,
			     struct allo_error *err)
{
	uint32_t index = v8->open.at[v8->open.len - 1];

	if (allo_text_equal(key, ALLO_TEXT("callFrame")))
		return read_frame(v8, &v8->nodes.at[index].frame, err);
	if (allo_text_equal(key, ALLO_TEXT("selfSize")))
		return allo_json_u64(&v8->json, &v8->nodes.at[index].bytes, err);
	if (!allo_text_equal(key, ALLO_TEXT("children")))
		return allo_json_skip(&v8->json, err);
	if (!allo_json_begin(&v8->json, '[', err))
		return false;
	*has_child = allo_json_item(&v8->json, err);
	return !allo_failed(err);
}

static bool read_tree(struct v8 *v8, struct allo_error *err)
{
	struct allo_text key;

	if (v8->has_head)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(v8->json.in),
				 "the file has two heads");
	v8->has_head = true;
	if (!begin_node(v8, err))
		return false;
	while (v8->open.len > 0) {
		bool has_child = false;

		if (allo_json_key(&v8->json, &key, err)) {
			if (!read_node_member(v8, key, &has_child, err))
				return false;
		} else {
			if (allo_failed(err))
				return false;
			v8->open.len--;
			has_child = v8->open.len > 0 && allo_json_item(&v8->json, err);
		}
		if (allo_failed(err) || (has_child && !begin_node(v8, err)))
			return false;
	}
	return true;
}

/* Parents come before their children.  The frame of the root stands for the program. */
static bool add_samples(struct v8 *v8, struct allo_error *err)
{
	for (size_t i = 0; i < v8->nodes.len; i++) {
		struct node *node = &v8->nodes.at[i];
		uint64_t *row;

		if (node->parent != 0) {
			node->stack = v8->nodes.at[node->parent - 1].stack;
			if (node->frame != 0)
				node->stack = allo_profile_add_stack(v8->profile, node->stack,
								     node->frame, err);
		}
		if (allo_failed(err))
			return false;
		if (node->bytes == 0)
			continue;
		row = allo_profile_add_sample(v8->profile, node->stack, 0, NULL, err);
		if (!row)
			return false;
		allo_profile_add_value(v8->profile, 0, &row[0], node->bytes);
	}
	return true;
}

static bool set_meta(struct v8 *v8, struct allo_error *err)
{
	v8->profile->meta.producer = allo_profile_add_string(v8->profile, ALLO_TEXT("V8"), err);
	return !allo_failed(err) &&
	       allo_profile_add_metric(v8->profile, ALLO_LIVE_BYTES, NULL, err);
}

static bool read_v8(struct allo_input *in, const struct allo_read_options *options,
		    struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(v8_done) struct v8 v8 = { .profile = profile, .json = { .in = in } };
	struct allo_text key;

	(void)options;
	if (!set_meta(&v8, err) || !allo_json_begin(&v8.json, '{', err))
		return false;
	while (allo_json_key(&v8.json, &key, err)) {
		bool is_head = allo_text_equal(key, ALLO_TEXT("head"));

		if (!(is_head ? read_tree(&v8, err) : allo_json_skip(&v8.json, err)))
			return false;
	}
	if (allo_failed(err) || !allo_json_end(&v8.json, err))
		return false;
	if (!v8.has_head)
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = in->name },
				 "has no \"head\", which every heap profile of V8 has");
	return add_samples(&v8, err);
}

static bool has_key(struct allo_text head, struct allo_text key)
{
	return allo_text_find(head, key) != (size_t)-1;
}

static enum allo_guess probe_v8(struct allo_text head)
{
	struct allo_text text = allo_text_trim(head);

	return allo_text_starts(text, ALLO_TEXT("{")) && has_key(text, ALLO_TEXT("\"head\"")) &&
			       has_key(text, ALLO_TEXT("\"callFrame\"")) &&
			       has_key(text, ALLO_TEXT("\"selfSize\""))
		       ? ALLO_SURE
		       : ALLO_NO;
}

const struct allo_reader allo_read_v8 = {
	.name = "v8",
	.title = "heap profiles of V8: Node.js, Chrome (.heapprofile)",
	.about =
		"The sampling heap profile that 'node --heap-prof' and the memory panel of Chrome's "
		"developer tools write. live_bytes is V8's estimate of the memory that each "
		"function allocated and that was live at the end. Functions have their script, "
		"line and column; one without a name is \"(anonymous)\". The order of the samples "
		"is dropped.",
	.probe = probe_v8,
	.read = read_v8,
};
