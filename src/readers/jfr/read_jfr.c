/*
 * read_jfr.c - allocations in recordings of the JDK's Flight Recorder.
 *
 * A file is a list of chunks, each complete in itself.  The JVM samples allocations in one of two
 * ways: ObjectAllocationSample has a weight, the bytes since the thread's last sample.  The older
 * events are of each new buffer of a thread (TLAB), with its size, and of each object that was
 * allocated outside of one.
 */
#include "base/defer.h"
#include "readers/jfr/jfr_chunk.h"
#include "readers/reader.h"

/* An event of an allocation, and the field with the bytes that it stands for. */
struct allocation_event {
	struct allo_text name, bytes;
};

static const struct allocation_event allocation_events[] = {
	{ ALLO_TEXT("jdk.ObjectAllocationSample"), ALLO_TEXT("weight") },
	{ ALLO_TEXT("jdk.ObjectAllocationInNewTLAB"), ALLO_TEXT("tlabSize") },
	{ ALLO_TEXT("jdk.ObjectAllocationOutsideTLAB"), ALLO_TEXT("allocationSize") },
};

/* The fields of an event that are of interest. */
struct allocation {
	uint64_t bytes;
	uint64_t stack, stack_class;   /* constants; class 0: the event has none */
	uint64_t object, object_class; /* the same, of the object's class */
};

/* A constant that was translated. */
struct translated {
	uint64_t class, key;
	uint32_t id;
};

struct jfr {
	struct allo_input *in;
	struct allo_profile *profile;
	struct allo_stack_builder builder;
	uint64_t start;  /* of the chunk in the file */
	uint64_t end_ns; /* since 1970 */
	/* Of the current chunk. */
	struct allo_jfr_chunk chunk;
	ALLO_VEC(struct translated) stacks, functions, labels;
	struct allo_map stack_map, function_map, label_map;
	ALLO_VEC(allo_frame_id) frames; /* of a stack, leaf first */
};

static void chunk_done(struct jfr *jfr)
{
	allo_jfr_chunk_close(&jfr->chunk);
	jfr->chunk = (struct allo_jfr_chunk){ 0 };
	jfr->stacks.len = jfr->functions.len = jfr->labels.len = 0;
	allo_map_clear(&jfr->stack_map);
	allo_map_clear(&jfr->function_map);
	allo_map_clear(&jfr->label_map);
}

static void jfr_done(struct jfr *jfr)
{
	chunk_done(jfr);
	allo_vec_done(&jfr->stacks);
	allo_vec_done(&jfr->functions);
	allo_vec_done(&jfr->labels);
	allo_vec_done(&jfr->frames);
	allo_map_done(&jfr->stack_map);
	allo_map_done(&jfr->function_map);
	allo_map_done(&jfr->label_map);
	allo_stack_builder_done(&jfr->builder);
}

/* Names. */

/* The constant of a field of an object, whose reader moves on to the next field. */
static bool take_key(struct allo_jfr_reader *reader, const struct allo_jfr_field *field,
		     uint64_t *key)
{
	return field->is_constant && !field->is_array ? allo_jfr_number(reader, key)
						      : allo_jfr_skip(reader, field);
}

/* Follows a constant to a field of its object; false, without a failure, if there is none. */
static bool find_field(struct jfr *jfr, struct allo_jfr_reader *reader, uint64_t class,
		       uint64_t key, struct allo_text name, const struct allo_jfr_field **found)
{
	const struct allo_jfr_class *of = allo_jfr_class(&jfr->chunk, class);

	if (!of || !allo_jfr_constant(reader, class, key))
		return false;
	for (size_t i = 0; i < of->field_count; i++) {
		*found = &jfr->chunk.fields.at[of->first_field + i];
		if (allo_text_equal((*found)->name, name))
			return true;
		if (!allo_jfr_skip(reader, *found))
			return false;
	}
	return false;
}

/* The text of a symbol: a constant with a string. */
static struct allo_text symbol_text(struct jfr *jfr, uint64_t class, uint64_t key,
				    struct allo_error *err)
{
	struct allo_jfr_reader reader = allo_jfr_read_at(&jfr->chunk, 0, err);
	const struct allo_jfr_field *field;
	struct allo_text text = { "", 0 };

	if (find_field(jfr, &reader, class, key, ALLO_TEXT("string"), &field))
		allo_jfr_string(&reader, &text);
	return text;
}

/* The text of the symbol that a field of a constant refers to. */
static struct allo_text name_of(struct jfr *jfr, uint64_t class, uint64_t key,
				struct allo_text field_name, struct allo_error *err)
{
	struct allo_jfr_reader reader = allo_jfr_read_at(&jfr->chunk, 0, err);
	const struct allo_jfr_field *field;
	uint64_t symbol = 0;

	if (!find_field(jfr, &reader, class, key, field_name, &field) ||
	    !take_key(&reader, field, &symbol))
		return (struct allo_text){ "", 0 };
	return symbol_text(jfr, field->class, symbol, err);
}

/* A name in the source language, built piece by piece; longer ones are cut. */
struct java_name {
	char text[512];
	size_t len;
};

static void put(struct java_name *name, struct allo_text text)
{
	for (size_t i = 0; i < text.len && name->len < sizeof(name->text); i++)
		name->text[name->len++] = text.data[i] == '/' ? '.' : text.data[i];
}

/* "java/util/Map" is java.util.Map; "[[B" is byte[][]; "[Ljava/lang/String;" is
 * java.lang.String[]. */
static void put_class(struct java_name *name, struct allo_text class)
{
	static const struct {
		char code;
		struct allo_text name;
	} basics[] = {
		{ 'B', ALLO_TEXT("byte") },   { 'C', ALLO_TEXT("char") },
		{ 'D', ALLO_TEXT("double") }, { 'F', ALLO_TEXT("float") },
		{ 'I', ALLO_TEXT("int") },    { 'J', ALLO_TEXT("long") },
		{ 'S', ALLO_TEXT("short") },  { 'Z', ALLO_TEXT("boolean") },
	};
	size_t dimensions = 0;

	while (dimensions < class.len && class.data[dimensions] == '[')
		dimensions++;
	class = allo_text_from(class, dimensions);
	if (dimensions > 0 && class.len > 2 && class.data[0] == 'L') {
		put(name, (struct allo_text){ class.data + 1, class.len - 2 });
	} else if (dimensions > 0 && class.len == 1) {
		for (size_t i = 0; i < sizeof(basics) / sizeof(*basics); i++) {
			if (basics[i].code == class.data[0])
				put(name, basics[i].name);
		}
	} else {
		put(name, class);
	}
	for (; dimensions > 0; dimensions--)
		put(name, ALLO_TEXT("[]"));
}

/* Constants that were translated. */

#define FIND(jfr, table, map, of_class, of_key)                                                    \
	find_translated((jfr), (table).at, &(map), (of_class), (of_key))

static uint64_t hash_of(const struct jfr *jfr, uint64_t class, uint64_t key)
{
	return allo_hash_pair(class, key, allo_profile_seed(jfr->profile));
}

static const struct translated *find_translated(const struct jfr *jfr,
						const struct translated *table,
						const struct allo_map *map, uint64_t class,
						uint64_t key)
{
	struct allo_probe probe = allo_map_probe(map, hash_of(jfr, class, key));
	uint32_t number;

	while ((number = allo_map_next(map, &probe)) != 0) {
		if (table[number - 1].class == class && table[number - 1].key == key)
			return &table[number - 1];
	}
	return NULL;
}

/* Stacks. */

/* The class and the name of a method. */
static allo_function_id add_function(struct jfr *jfr, uint64_t class, uint64_t key,
				     struct allo_error *err)
{
	struct allo_jfr_reader reader = allo_jfr_read_at(&jfr->chunk, 0, err);
	const struct allo_jfr_field *field;
	struct java_name name = { .len = 0 };
	uint64_t owner = 0;

	if (find_field(jfr, &reader, class, key, ALLO_TEXT("type"), &field) &&
	    take_key(&reader, field, &owner)) {
		put_class(&name, name_of(jfr, field->class, owner, ALLO_TEXT("name"), err));
		put(&name, ALLO_TEXT("."));
	}
	put(&name, name_of(jfr, class, key, ALLO_TEXT("name"), err));
	if (name.len == 0)
		put(&name, ALLO_TEXT("(unknown method)"));
	return allo_profile_add_function(
		jfr->profile,
		&(struct allo_function){
			.name = allo_profile_add_string(
				jfr->profile, (struct allo_text){ name.text, name.len }, err) },
		err);
}

static allo_function_id function_of(struct jfr *jfr, uint64_t class, uint64_t key,
				    struct allo_error *err)
{
	const struct translated *found = FIND(jfr, jfr->functions, jfr->function_map, class, key);
	struct translated function = { class, key, 0 };

	if (found)
		return found->id;
	function.id = add_function(jfr, class, key, err);
	if (allo_failed(err) || !allo_vec_add(&jfr->functions, function, err) ||
	    !allo_map_add(&jfr->function_map, hash_of(jfr, class, key),
			  (uint32_t)jfr->functions.len, err))
		return 0;
	return function.id;
}

/* Takes one frame of a stack. */
static bool take_frame(struct jfr *jfr, struct allo_jfr_reader *reader,
		       const struct allo_jfr_class *class)
{
	struct allo_line line = { 0 };
	uint64_t method = 0, number;

	for (size_t i = 0; i < class->field_count; i++) {
		const struct allo_jfr_field *field = &jfr->chunk.fields.at[class->first_field + i];

		if (allo_text_equal(field->name, ALLO_TEXT("method"))) {
			if (!take_key(reader, field, &method))
				return false;
			line.function = function_of(jfr, field->class, method, reader->err);
		} else if (allo_text_equal(field->name, ALLO_TEXT("lineNumber")) &&
			   !field->is_constant && !field->is_array) {
			if (!allo_jfr_number(reader, &number))
				return false;
			line.line = number < INT32_MAX ? (uint32_t)number : 0;
		} else if (!allo_jfr_skip(reader, field)) {
			return false;
		}
	}
	return !allo_failed(reader->err) &&
	       allo_vec_add(&jfr->frames,
			    allo_profile_add_frame(jfr->profile, &(struct allo_frame){ 0 }, &line,
						   1, reader->err),
			    reader->err);
}

static allo_stack_id add_stack(struct jfr *jfr, uint64_t class, uint64_t key,
			       struct allo_error *err)
{
	struct allo_jfr_reader reader = allo_jfr_read_at(&jfr->chunk, 0, err);
	const struct allo_jfr_class *of_frame;
	const struct allo_jfr_field *field;
	uint64_t count = 0;

	jfr->frames.len = 0;
	if (!find_field(jfr, &reader, class, key, ALLO_TEXT("frames"), &field))
		return 0;
	of_frame = allo_jfr_class(&jfr->chunk, field->class);
	if (!of_frame || !field->is_array || field->is_constant)
		return 0;
	if (!allo_jfr_number(&reader, &count))
		return 0;
	if (count > (uint64_t)(reader.end - reader.next)) {
		allo_jfr_fail(&reader, "a stack does not fit its pool");
		return 0;
	}
	for (; count > 0; count--) {
		if (!take_frame(jfr, &reader, of_frame))
			return 0;
	}
	return allo_stack_build(&jfr->builder, jfr->profile, jfr->frames.at, jfr->frames.len, err);
}

static allo_stack_id stack_of(struct jfr *jfr, uint64_t class, uint64_t key, struct allo_error *err)
{
	const struct translated *found = FIND(jfr, jfr->stacks, jfr->stack_map, class, key);
	struct translated stack = { class, key, 0 };

	if (found)
		return found->id;
	stack.id = add_stack(jfr, class, key, err);
	if (allo_failed(err) || !allo_vec_add(&jfr->stacks, stack, err) ||
	    !allo_map_add(&jfr->stack_map, hash_of(jfr, class, key), (uint32_t)jfr->stacks.len,
			  err))
		return 0;
	return stack.id;
}

/* The class of the objects, as a label. */

static allo_labels_id add_label(struct jfr *jfr, uint64_t class, uint64_t key,
				struct allo_error *err)
{
	struct java_name name = { .len = 0 };
	struct allo_label label = { .key = allo_profile_add_string(jfr->profile, ALLO_TEXT("class"),
								   err) };

	put_class(&name, name_of(jfr, class, key, ALLO_TEXT("name"), err));
	if (name.len == 0 || allo_failed(err))
		return 0;
	label.text = allo_profile_add_string(jfr->profile,
					     (struct allo_text){ name.text, name.len }, err);
	return allo_profile_add_labels(jfr->profile, &label, 1, err);
}

static allo_labels_id label_of(struct jfr *jfr, uint64_t class, uint64_t key,
			       struct allo_error *err)
{
	const struct translated *found = FIND(jfr, jfr->labels, jfr->label_map, class, key);
	struct translated label = { class, key, 0 };

	if (found)
		return found->id;
	label.id = add_label(jfr, class, key, err);
	if (allo_failed(err) || !allo_vec_add(&jfr->labels, label, err) ||
	    !allo_map_add(&jfr->label_map, hash_of(jfr, class, key), (uint32_t)jfr->labels.len,
			  err))
		return 0;
	return label.id;
}

/* Events. */

static const struct allocation_event *allocation_event(const struct allo_jfr_class *class)
{
	for (size_t i = 0; i < sizeof(allocation_events) / sizeof(*allocation_events); i++) {
		if (allo_text_equal(class->name, allocation_events[i].name))
			return &allocation_events[i];
	}
	return NULL;
}

static bool take_fields(struct jfr *jfr, struct allo_jfr_event *event,
			const struct allo_jfr_class *class, struct allo_text bytes,
			struct allocation *allocation)
{
	struct allo_jfr_reader *reader = &event->reader;

	for (size_t i = 0; i < class->field_count; i++) {
		const struct allo_jfr_field *field = &jfr->chunk.fields.at[class->first_field + i];
		bool ok;

		if (allo_text_equal(field->name, bytes) && !field->is_constant &&
		    !field->is_array) {
			ok = allo_jfr_number(reader, &allocation->bytes);
		} else if (allo_text_equal(field->name, ALLO_TEXT("stackTrace"))) {
			allocation->stack_class = field->class;
			ok = take_key(reader, field, &allocation->stack);
		} else if (allo_text_equal(field->name, ALLO_TEXT("objectClass"))) {
			allocation->object_class = field->class;
			ok = take_key(reader, field, &allocation->object);
		} else {
			ok = allo_jfr_skip(reader, field);
		}
		if (!ok)
			return false;
	}
	return true;
}

static bool add_allocation(struct jfr *jfr, const struct allocation *allocation,
			   struct allo_error *err)
{
	const uint64_t values[] = { 1, allocation->bytes };
	allo_stack_id stack = 0;
	allo_labels_id label = 0;

	if (allocation->stack_class)
		stack = stack_of(jfr, allocation->stack_class, allocation->stack, err);
	if (allocation->object_class && !allo_failed(err))
		label = label_of(jfr, allocation->object_class, allocation->object, err);
	return !allo_failed(err) &&
	       allo_profile_add_values(jfr->profile, stack, label, values, err);
}

static bool take_events(struct jfr *jfr, struct allo_error *err)
{
	struct allo_jfr_reader reader = allo_jfr_read_at(&jfr->chunk, ALLO_JFR_HEAD, err);
	struct allo_jfr_event event;

	while (allo_jfr_next(&reader, &event)) {
		const struct allo_jfr_class *class = allo_jfr_class(&jfr->chunk, event.class);
		const struct allocation_event *kind = class ? allocation_event(class) : NULL;
		struct allocation allocation = { 0 };

		if (kind && (!take_fields(jfr, &event, class, kind->bytes, &allocation) ||
			     !add_allocation(jfr, &allocation, err)))
			return false;
	}
	return !allo_failed(err);
}

/* Chunks. */

static void set_time(struct jfr *jfr)
{
	struct allo_meta *meta = &jfr->profile->meta;
	uint64_t end;

	if (jfr->chunk.start_ns > INT64_MAX ||
	    __builtin_add_overflow(jfr->chunk.start_ns, jfr->chunk.duration_ns, &end))
		return;
	if (meta->start_ns == 0)
		meta->start_ns = (int64_t)jfr->chunk.start_ns;
	if (end > jfr->end_ns)
		jfr->end_ns = end;
	meta->clock = ALLO_CLOCK_NS;
	meta->duration = jfr->end_ns > (uint64_t)meta->start_ns
				 ? jfr->end_ns - (uint64_t)meta->start_ns
				 : 0;
}

/* Reads a chunk; false, without a failure, at the end.  A recording that was not stopped ends with
 * a chunk that is not complete: its constants are missing. */
static bool take_chunk(struct jfr *jfr, struct allo_error *err)
{
	struct allo_input *in = jfr->in;
	uint64_t size;

	if (!allo_input_want(in, ALLO_JFR_HEAD, err) || allo_input_unread(in) == 0)
		return false;
	size = allo_jfr_chunk_size((struct allo_text){ in->next, allo_input_unread(in) });
	if (size == 0 && jfr->start == 0)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(in),
				 "is a recording of a JDK before 9, or was not stopped");
	if (size > 0 && size < SIZE_MAX / 2 && !allo_input_want(in, (size_t)size, err))
		return false;
	if (size == 0 || allo_input_unread(in) < size) {
		allo_note(&jfr->profile->notes, ALLO_NOTE_CUT, allo_input_pos(in));
		return false;
	}
	jfr->chunk.file = in->name;
	jfr->chunk.start = jfr->start;
	if (!allo_jfr_chunk_open(&jfr->chunk, (struct allo_text){ in->next, (size_t)size },
				 allo_profile_seed(jfr->profile), err))
		return false;
	set_time(jfr);
	if (!take_events(jfr, err))
		return false;
	chunk_done(jfr);
	in->next += size;
	jfr->start += size;
	return true;
}

static bool read_jfr(struct allo_input *in, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(jfr_done) struct jfr jfr = { .in = in, .profile = profile };

	(void)options;
	allo_input_set_binary(in);
	allo_profile_add_metric(profile, ALLO_SAMPLES, NULL, err);
	allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, err);
	profile->meta.default_metric = 2;
	profile->meta.producer = allo_profile_add_string(profile, ALLO_TEXT("Flight Recorder"),
							 err);
	while (!allo_failed(err) && take_chunk(&jfr, err))
		continue;
	return !allo_failed(err);
}

static enum allo_guess probe_jfr(struct allo_text head)
{
	return allo_text_starts(head, (struct allo_text){ "FLR", sizeof("FLR") }) ? ALLO_SURE
										  : ALLO_NO;
}

const struct allo_reader allo_read_jfr = {
	.name = "jfr",
	.title = "recordings of the JDK's Flight Recorder (.jfr)",
	.about =
		"The allocation events of Java programs: ObjectAllocationSample, or, from older "
		"settings, ObjectAllocationInNewTLAB and ObjectAllocationOutsideTLAB. They are "
		"samples. alloc_bytes is the JVM's estimate of all bytes that were allocated, with "
		"the weights of samples, or with the sizes of thread-local buffers; samples counts "
		"the events. Whether objects are still live is not known. The class of the "
		"allocated object is a label of its sample: 'allo top --by label:class'. Functions "
		"have lines, but no files. All chunks of a file are read; other events are skipped.",
	.probe = probe_jfr,
	.read = read_jfr,
	.is_binary = true,
};
