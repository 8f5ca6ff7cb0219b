/* recording_tables.c - reads the stacks, modules, texts and label sets of a recording. */
#include "replay/recording/recording_internal.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/hash.h"
#include "base/map.h"
#include "wire/stacks.h"
#include "wire/varint.h"

#include <stdlib.h>

enum {
	/* Numbers without a record, because pages are missing: more than a real recording loses,
	 * and few enough to fit memory. */
	MISSING_NODES_MAX = 4 << 20,
	MISSING_TEXTS_MAX = 1 << 20, /* the same of texts and of label sets */
	GENERATION_MAX = (1 << 24) - 1,
	/* Labels of one set, and of all different sets: limits memory for a hostile file. */
	SET_LABELS_MAX = 32,
	LABELS_MAX = 16 << 20,
	INTERPRETERS_MAX = 16, /* a process has one */
	ALLOCATORS_MAX = 64,
	RATE_CHANGES_MAX = 4 << 20, /* ten a second for five days */
};

/* Stacks. */

struct node_reader {
	struct allo_recording *recording;
	uint64_t pc;
	uint32_t generation;
	uint8_t flags;    /* of the next node */
	uint64_t missing; /* numbers without a node so far */
};

static bool read_stack_escape(struct node_reader *reader, const uint8_t **at, const uint8_t *end)
{
	uint64_t generation;

	if (*at == end)
		return false;
	switch (*(*at)++) {
	case ALLO_STACK_GENERATION:
		if (!allo_varint_take(at, end, &generation) || generation > GENERATION_MAX)
			return false;
		reader->generation = (uint32_t)generation;
		return true;
	case ALLO_STACK_GUESSED:
		reader->flags |= ALLO_NODE_GUESSED;
		return true;
	case ALLO_STACK_CUT:
		reader->flags |= ALLO_NODE_CUT;
		return true;
	case ALLO_STACK_EXACT_PC:
		reader->flags |= ALLO_NODE_EXACT_PC;
		return true;
	case ALLO_STACK_FUNCTION:
		reader->flags |= ALLO_NODE_FUNCTION;
		return true;
	default:
		return false;
	}
}

/* Grows the table up to a number.  False if too many numbers would have no node, or when memory is
 * short. */
static bool cover_number(struct node_reader *reader, uint64_t number, struct allo_error *err)
{
	struct allo_recording *recording = reader->recording;

	if (number < recording->nodes.len)
		return true;
	reader->missing += number - recording->nodes.len;
	if (number > UINT32_MAX - 1 || reader->missing > MISSING_NODES_MAX)
		return false;
	return allo_vec_cover(&recording->nodes, (size_t)number + 1) || allo_fail_memory(err);
}

/* Reads a node's function and line, or its pc. */
static bool take_place(struct node_reader *reader, const uint8_t **at, const uint8_t *end,
		       uint64_t *place)
{
	uint64_t number, line;

	if (reader->flags & ALLO_NODE_FUNCTION) {
		if (!allo_varint_take(at, end, &number) || number > UINT32_MAX ||
		    !allo_varint_take(at, end, &line) || line > UINT32_MAX)
			return false;
		*place = number << 32 | line;
		return true;
	}
	if (!allo_varint_take(at, end, &number))
		return false;
	reader->pc += allo_unzigzag(number);
	*place = reader->pc;
	return true;
}

/* Reads the nodes of a page, numbered from `number`.  False if it is damaged. */
static bool read_nodes(struct node_reader *reader, uint64_t number, const uint8_t *at,
		       const uint8_t *end, struct allo_error *err)
{
	uint64_t up, place;

	while (at < end) {
		if (!allo_varint_take(&at, end, &up))
			return false;
		if (up == 0) {
			if (!read_stack_escape(reader, &at, end))
				return false;
			continue;
		}
		if (up > number || !take_place(reader, &at, end, &place) ||
		    !cover_number(reader, number, err))
			return false;
		ALLO_ASSERT(at <= end && number < reader->recording->nodes.len);
		reader->recording->nodes.at[number] = (struct allo_recorded_node){
			.pc = place,
			.parent = (uint32_t)(number - up),
			.generation = reader->generation & GENERATION_MAX,
			.flags = (uint8_t)(reader->flags | ALLO_NODE_KNOWN),
		};
		reader->flags = 0;
		number++;
	}
	return true;
}

static bool read_stack_page(struct node_reader *reader, const struct allo_wire_slot *slot,
			    const uint8_t *at, const uint8_t *end, struct allo_error *err)
{
	reader->pc = slot->from[1];
	reader->flags = 0;
	/* A page that the process has just begun has no first number yet. */
	return slot->used == 0 ||
	       (slot->from[0] != 0 && read_nodes(reader, slot->from[0], at, end, err));
}

/* Marks nodes whose stack is not known up to the outermost frame.  Parents come first. */
static void mark_partial(struct allo_recording *recording)
{
	for (size_t i = 1; i < recording->nodes.len; i++) {
		struct allo_recorded_node *node = &recording->nodes.at[i];
		const struct allo_recorded_node *parent = &recording->nodes.at[node->parent];

		ALLO_ASSERT(node->parent < i);
		if (!(node->flags & ALLO_NODE_KNOWN) || node->flags & ALLO_NODE_CUT ||
		    (node->parent != 0 && parent->flags & ALLO_NODE_PARTIAL))
			node->flags |= ALLO_NODE_PARTIAL;
	}
}

/* Facts. */

static bool note_change(struct allo_recording *recording, uint64_t start, uint32_t module,
			uint32_t generation, struct allo_error *err)
{
	struct allo_module_change change = { start, (uint32_t)recording->module_changes.len, module,
					     generation };

	return allo_vec_append(&recording->module_changes, &change, 1) || allo_fail_memory(err);
}

/* Adds a module.  A later fact may say that it was unloaded. */
static bool add_module(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
		       struct allo_error *err)
{
	struct allo_loaded_module module = { .gone = UINT32_MAX };
	uint64_t generation, id_bytes;
	size_t id_len;
	char *hex;

	if (!allo_varint_take(&at, end, &generation) || generation > GENERATION_MAX ||
	    !allo_varint_take(&at, end, &module.bias) ||
	    !allo_varint_take(&at, end, &module.start) ||
	    !allo_varint_take(&at, end, &module.end) || !allo_varint_take(&at, end, &id_bytes) ||
	    id_bytes > (uint64_t)(end - at) || module.start >= module.end)
		return false;
	module.generation = (uint32_t)generation;
	id_len = (size_t)id_bytes;
	hex = ALLO_ARENA_NEW(&recording->table_arena, 2 * id_len + 1, char);
	module.path.data = allo_arena_copy(&recording->table_arena, at + id_len,
					   (size_t)(end - at) - id_len);
	module.path.len = (size_t)(end - at) - id_len;
	if (!hex || !module.path.data)
		return allo_fail_memory(err);
	for (size_t i = 0; i < id_len; i++) {
		hex[2 * i] = "0123456789abcdef"[at[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[at[i] & 15];
	}
	module.build_id = (struct allo_text){ hex, 2 * id_len };
	return (allo_vec_append(&recording->modules, &module, 1) || allo_fail_memory(err)) &&
	       note_change(recording, module.start, (uint32_t)recording->modules.len, 0, err);
}

static bool remove_module(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
			  struct allo_error *err)
{
	uint64_t generation, start;

	return allo_varint_take(&at, end, &generation) && generation <= GENERATION_MAX &&
	       allo_varint_take(&at, end, &start) &&
	       note_change(recording, start, 0, (uint32_t)generation, err);
}

/* Texts and sets of labels: records may be missing, come twice or in any order.  The first record
 * of a number counts. */

/* Takes the number of an entry.  The table has `count` entries so far. */
static bool take_index(const uint8_t **at, const uint8_t *end, size_t count, uint64_t *number)
{
	return allo_varint_take(at, end, number) && *number > 0 &&
	       *number <= (uint64_t)count + MISSING_TEXTS_MAX && *number < UINT32_MAX;
}

static bool add_text(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
		     struct allo_error *err)
{
	struct allo_noted_text *text;
	uint64_t number;

	if (!take_index(&at, end, recording->text_count, &number))
		return false;
	if (!allo_vec_cover(&recording->texts, (size_t)number + 1))
		return allo_fail_memory(err);
	text = &recording->texts.at[number];
	if (text->same != 0)
		return true;
	text->text.data = allo_arena_copy(&recording->table_arena, at, (size_t)(end - at));
	text->text.len = (size_t)(end - at);
	text->same = (uint32_t)number;
	recording->text_count++;
	return text->text.data || allo_fail_memory(err);
}

static bool add_label_set(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
			  struct allo_error *err)
{
	uint64_t number, parent, key, value;
	struct allo_noted_set *set;

	if (!take_index(&at, end, recording->set_count, &number) ||
	    !allo_varint_take(&at, end, &parent) || parent >= number ||
	    !allo_varint_take(&at, end, &key) || key > UINT32_MAX ||
	    !allo_varint_take(&at, end, &value) || value > UINT32_MAX)
		return false;
	if (!allo_vec_cover(&recording->label_sets, (size_t)number + 1))
		return allo_fail_memory(err);
	set = &recording->label_sets.at[number];
	if (set->is_known)
		return true;
	*set = (struct allo_noted_set){ .parent = (uint32_t)parent,
					.added = { (uint32_t)key, (uint32_t)value },
					.is_known = true };
	recording->set_count++;
	return true;
}

/* Interpreters. */

/* Copies the bytes up to `end`. */
static bool copy_text(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
		      struct allo_text *text, struct allo_error *err)
{
	text->data = allo_arena_copy(&recording->table_arena, at, (size_t)(end - at));
	text->len = (size_t)(end - at);
	return text->data || allo_fail_memory(err);
}

static bool add_function(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
			 struct allo_error *err)
{
	uint64_t number, language, first_line, file_len;
	struct allo_recorded_function *function;

	if (!take_index(&at, end, recording->function_count, &number) ||
	    !allo_varint_take(&at, end, &language) || language == 0 || language > UINT32_MAX ||
	    !allo_varint_take(&at, end, &first_line) || first_line > UINT32_MAX ||
	    !allo_varint_take(&at, end, &file_len) || file_len > (uint64_t)(end - at))
		return false;
	if (!allo_vec_cover(&recording->functions, (size_t)number + 1))
		return allo_fail_memory(err);
	function = &recording->functions.at[number];
	if (function->language != 0)
		return true;
	function->language = (uint32_t)language;
	function->first_line = (uint32_t)first_line;
	recording->function_count++;
	return copy_text(recording, at, at + file_len, &function->file, err) &&
	       copy_text(recording, at + file_len, end, &function->name, err);
}

static bool add_interpreter(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
			    struct allo_error *err)
{
	struct allo_recorded_interpreter added = { 0 };
	uint64_t language, state, has_objects;

	if (!allo_varint_take(&at, end, &language) || language > UINT32_MAX ||
	    !allo_varint_take(&at, end, &state) || state > UINT32_MAX ||
	    !allo_varint_take(&at, end, &has_objects) ||
	    !allo_varint_take(&at, end, &added.address))
		return false;
	added.language = (uint32_t)language;
	added.state = (uint32_t)state;
	added.has_objects = has_objects != 0;
	if (recording->interpreters.len == INTERPRETERS_MAX)
		return true;
	return copy_text(recording, at, end, &added.version, err) &&
	       (allo_vec_append(&recording->interpreters, &added, 1) || allo_fail_memory(err));
}

/* The allocator of a module; NULL: it is new. */
static struct allo_recorded_allocator *find_allocator(const struct allo_recording *recording,
						      struct allo_text name, struct allo_text path)
{
	for (size_t i = 0; i < recording->allocators.len; i++) {
		struct allo_recorded_allocator *allocator = &recording->allocators.at[i];

		if (allo_text_equal(allocator->name, name) &&
		    allo_text_equal(allocator->path, path))
			return allocator;
	}
	return NULL;
}

static bool add_allocator(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
			  struct allo_error *err)
{
	struct allo_recorded_allocator added = { 0 }, *known;
	struct allo_text name, path;
	uint64_t state, name_len;

	if (!allo_varint_take(&at, end, &state) || state == 0 || state > UINT32_MAX ||
	    !allo_varint_take(&at, end, &name_len) || name_len > (uint64_t)(end - at))
		return false;
	name = (struct allo_text){ (const char *)at, (size_t)name_len };
	path = (struct allo_text){ name.data + name.len, (size_t)(end - at) - name.len };
	known = find_allocator(recording, name, path);
	if (known) {
		known->state = (uint32_t)state;
		return true;
	}
	if (recording->allocators.len == ALLOCATORS_MAX)
		return true;
	added.state = (uint32_t)state;
	return copy_text(recording, at, at + name_len, &added.name, err) &&
	       copy_text(recording, at + name_len, end, &added.path, err) &&
	       (allo_vec_append(&recording->allocators, &added, 1) || allo_fail_memory(err));
}

/* Changes out of order are of a damaged file. */
static bool add_rate(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
		     struct allo_error *err)
{
	size_t count = recording->rate_changes.len;
	struct allo_rate_change change;
	uint64_t ticks;

	if (!allo_varint_take(&at, end, &ticks) || !allo_varint_take(&at, end, &change.rate) ||
	    change.rate == 0 || count == RATE_CHANGES_MAX)
		return false;
	if (recording->rate_scale.factor == 0)
		recording->rate_scale = allo_recording_scale(recording);
	change.ns = allo_ticks_to_ns(recording->rate_scale, recording->rate_scale.first + ticks);
	if (count > 0 && recording->rate_changes.at[count - 1].ns > change.ns)
		return false;
	return allo_vec_append(&recording->rate_changes, &change, 1) || allo_fail_memory(err);
}

static bool read_fact(struct allo_recording *recording, uint8_t kind, const uint8_t *at,
		      const uint8_t *end, struct allo_error *err)
{
	switch (kind) {
	case ALLO_FACT_MODULE:
		return add_module(recording, at, end, err);
	case ALLO_FACT_MODULE_GONE:
		return remove_module(recording, at, end, err);
	case ALLO_FACT_TEXT:
		return add_text(recording, at, end, err);
	case ALLO_FACT_LABELS:
		return add_label_set(recording, at, end, err);
	case ALLO_FACT_FUNCTION:
		return add_function(recording, at, end, err);
	case ALLO_FACT_INTERPRETER:
		return add_interpreter(recording, at, end, err);
	case ALLO_FACT_ALLOCATOR:
		return add_allocator(recording, at, end, err);
	case ALLO_FACT_RATE:
		return add_rate(recording, at, end, err);
	default:
		return true; /* a kind of a later version */
	}
}

static bool read_fact_page(struct allo_recording *recording, const uint8_t *at, const uint8_t *end,
			   struct allo_error *err)
{
	while (at < end) {
		uint8_t kind = *at++;
		uint64_t len;

		if (!allo_varint_take(&at, end, &len) || len > (uint64_t)(end - at) ||
		    !read_fact(recording, kind, at, at + len, err))
			return false;
		at += len;
		ALLO_ASSERT(at <= end);
	}
	return true;
}

static int compare_modules(const void *a, const void *b)
{
	const struct allo_loaded_module *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->generation < y->generation ? -1 : x->generation > y->generation;
}

static int compare_changes(const void *a, const void *b)
{
	const struct allo_module_change *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Finds the modules that were unloaded: of several at an address, the last one that is left. */
static bool settle_modules(struct allo_recording *recording, struct allo_error *err)
{
	const struct allo_module_change *changes = recording->module_changes.at;
	ALLO_VEC(uint32_t) loaded = { 0 };
	bool ok = true;

	if (recording->module_changes.len > 1)
		qsort(recording->module_changes.at, recording->module_changes.len, sizeof(*changes),
		      compare_changes);
	for (size_t i = 0; i < recording->module_changes.len && ok; i++) {
		if (i > 0 && changes[i - 1].start != changes[i].start)
			loaded.len = 0;
		if (changes[i].module != 0)
			ok = allo_vec_append(&loaded, &changes[i].module, 1);
		else if (loaded.len > 0)
			recording->modules.at[loaded.at[--loaded.len] - 1].gone =
				changes[i].generation;
	}
	allo_vec_done(&loaded);
	allo_vec_done(&recording->module_changes);
	if (recording->modules.len > 1)
		qsort(recording->modules.at, recording->modules.len, sizeof(*recording->modules.at),
		      compare_modules);
	return ok || allo_fail_memory(err);
}

/* Equal texts and label sets. */

/* Finds texts that are equal to an earlier one. */
static bool find_equal_texts(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_map_done) struct allo_map map = { 0 };

	for (size_t i = 1; i < recording->texts.len; i++) {
		struct allo_noted_text *text = &recording->texts.at[i];
		struct allo_probe probe;
		uint64_t hash;
		uint32_t same;

		if (text->same == 0)
			continue;
		hash = allo_hash_bytes(text->text.data, text->text.len, allo_hash_seed());
		probe = allo_map_probe(&map, hash);
		while ((same = allo_map_next(&map, &probe)) != 0 &&
		       !allo_text_equal(recording->texts.at[same].text, text->text))
			;
		if (same != 0)
			text->same = same;
		else if (!allo_map_put(&map, hash, (uint32_t)i))
			return allo_fail_memory(err);
	}
	return true;
}

/* Marks of other processes. */

static bool add_outside_mark(struct allo_recording *recording, const struct allo_wire_mark *mark,
			     const char *text, struct allo_error *err)
{
	uint64_t ns = mark->monotonic_ns - recording->head.first.monotonic_ns;
	uint32_t number = (uint32_t)recording->texts.len;
	struct allo_noted_text name = { .text = { text, mark->len }, .same = number };
	struct allo_outside_mark added = { (int64_t)ns > 0 ? ns : 0, number };

	return (allo_vec_append(&recording->texts, &name, 1) &&
		allo_vec_append(&recording->outside_marks, &added, 1)) ||
	       allo_fail_memory(err);
}

static int compare_outside_marks(const void *a, const void *b)
{
	const struct allo_outside_mark *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->text < y->text ? -1 : x->text > y->text;
}

/* Their names follow those of the program.  Stops at the first mark that is not whole. */
static bool read_outside_marks(struct allo_recording *recording, struct allo_error *err)
{
	struct allo_text slot = recording->head_bytes;
	uint64_t at = recording->head.marks.at, end = at + recording->head.marks.used;
	struct allo_wire_mark mark;

	if (end > slot.len) /* the slot ends before the zeros behind the last mark */
		end = slot.len;
	if (at < end && !allo_vec_cover(&recording->texts, 1))
		return allo_fail_memory(err);
	for (; at + sizeof(mark) < end; at += allo_wire_mark_size(mark.len)) {
		memcpy(&mark, slot.data + at, sizeof(mark));
		if (mark.len == 0 || mark.len > end - at - sizeof(mark))
			break;
		if (!add_outside_mark(recording, &mark, slot.data + at + sizeof(mark), err))
			return false;
	}
	if (recording->outside_marks.len > 1)
		qsort(recording->outside_marks.at, recording->outside_marks.len,
		      sizeof(*recording->outside_marks.at), compare_outside_marks);
	return true;
}

/* The labels of a set, sorted by the numbers of their keys. */
struct labels {
	struct allo_noted_label at[SET_LABELS_MAX];
	uint32_t count;
};

/* Copies the labels of the parent and inserts the added one. */
static void gather(const struct allo_recording *recording, const struct allo_noted_set *set,
		   struct labels *labels)
{
	const struct allo_noted_set *parent = &recording->label_sets.at[set->parent];
	struct allo_noted_label added = { allo_recording_same_text(recording, set->added.key),
					  allo_recording_same_text(recording, set->added.value) };
	uint32_t at = 0;

	ALLO_ASSERT(parent < set && parent->count <= SET_LABELS_MAX);
	labels->count = parent->count;
	for (uint32_t i = 0; i < parent->count; i++)
		labels->at[i] = recording->labels.at[parent->first + i];
	if (added.key == 0 || added.value == 0)
		return;
	while (at < labels->count && labels->at[at].key < added.key)
		at++;
	if (at == labels->count || labels->at[at].key != added.key) {
		if (labels->count == SET_LABELS_MAX)
			return;
		memmove(&labels->at[at + 1], &labels->at[at],
			(labels->count - at) * sizeof(*labels->at));
		labels->count++;
	}
	ALLO_ASSERT(at < labels->count && labels->count <= SET_LABELS_MAX);
	labels->at[at] = added;
}

static bool has_labels(const struct allo_recording *recording, uint32_t number,
		       const struct labels *labels)
{
	const struct allo_noted_set *set = &recording->label_sets.at[number];

	return set->count == labels->count && memcmp(&recording->labels.at[set->first], labels->at,
						     labels->count * sizeof(*labels->at)) == 0;
}

/* Stores the labels of a set, unless an earlier set has equal ones. */
static bool settle(struct allo_recording *recording, struct allo_map *map, uint32_t number,
		   const struct labels *labels, struct allo_error *err)
{
	struct allo_noted_set *set = &recording->label_sets.at[number];
	uint64_t hash = allo_hash_bytes(labels->at, labels->count * sizeof(*labels->at),
					allo_hash_seed());
	struct allo_probe probe = allo_map_probe(map, hash);
	uint32_t same;

	if (labels->count == 0 || recording->labels.len + labels->count > LABELS_MAX)
		return true;
	while ((same = allo_map_next(map, &probe)) != 0 && !has_labels(recording, same, labels))
		;
	if (same != 0) {
		set->first = recording->label_sets.at[same].first;
	} else {
		same = number;
		set->first = (uint32_t)recording->labels.len;
		if (!allo_vec_append(&recording->labels, labels->at, labels->count) ||
		    !allo_map_put(map, hash, number))
			return allo_fail_memory(err);
	}
	set->count = labels->count;
	set->same = same;
	ALLO_ASSERT(set->first + (size_t)set->count <= recording->labels.len && same <= number);
	return true;
}

static bool settle_labels(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_map_done) struct allo_map map = { 0 };
	struct labels labels;

	if (!find_equal_texts(recording, err))
		return false;
	for (size_t i = 1; i < recording->label_sets.len; i++) {
		const struct allo_noted_set *set = &recording->label_sets.at[i];

		if (!set->is_known)
			continue;
		gather(recording, set, &labels);
		if (!settle(recording, &map, (uint32_t)i, &labels, err))
			return false;
	}
	return true;
}

/* Reading the streams. */

static bool read_stream(struct allo_recording *recording, struct node_reader *reader,
			const struct allo_stream *stream, struct allo_piece_bytes *bytes,
			struct allo_error *err)
{
	for (size_t i = 0; i < stream->piece_count; i++) {
		const struct allo_piece *piece = &recording->pieces.at[stream->first_piece + i];
		struct allo_wire_slot slot;
		const uint8_t *at, *end;

		if (!allo_recording_load(recording, piece, bytes, err))
			return false;
		while (allo_piece_next(bytes, &slot, &at, &end)) {
			bool ok = stream->kind == ALLO_STREAM_STACKS
					  ? read_stack_page(reader, &slot, at, end, err)
					  : read_fact_page(recording, at, end, err);

			if (allo_failed(err))
				return false;
			if (!ok && !slot.is_cut)
				allo_recording_damage(recording, piece->offset, 1);
		}
	}
	return true;
}

void allo_recording_drop_tables(struct allo_recording *recording)
{
	recording->nodes.len = 0;
	recording->modules.len = 0;
	recording->module_changes.len = 0;
	recording->functions.len = recording->interpreters.len = recording->allocators.len = 0;
	recording->rate_changes.len = 0;
	recording->texts.len = 0;
	recording->label_sets.len = 0;
	recording->labels.len = 0;
	recording->outside_marks.len = 0;
	recording->text_count = recording->set_count = recording->function_count = 0;
	allo_arena_done(&recording->table_arena);
}

bool allo_recording_read_tables(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_piece_bytes_done) struct allo_piece_bytes bytes = { 0 };
	struct node_reader reader = { .recording = recording };

	if (!allo_vec_cover(&recording->nodes, 1))
		return allo_fail_memory(err);
	for (size_t i = 0; i < recording->streams.len; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];

		if (stream->kind != ALLO_STREAM_EVENTS &&
		    !read_stream(recording, &reader, stream, &bytes, err))
			return false;
	}
	mark_partial(recording);
	return settle_modules(recording, err) && read_outside_marks(recording, err) &&
	       settle_labels(recording, err);
}
