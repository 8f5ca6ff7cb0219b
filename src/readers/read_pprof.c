/*
 * read_pprof.c - profiles in pprof's format, profile.proto.
 *
 * Messages refer to each other by id and to strings by index, and come in any order: the first
 * pass records the position of each one, then they are resolved from the bottom up.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/jobs.h"
#include "profile/pprof_fields.h"
#include "readers/pprof_samples.h"
#include "readers/reader.h"

enum {
	BATCH_SAMPLES = 1 << 10,
	BATCHES_MAX = 4, /* parsed at the same time */
};

/* Larger than in any honest file: work grows with their products. */
enum { TYPES_MAX = 1000, LINES_MAX = 4096 };

typedef ALLO_VEC(struct allo_text) texts;

struct pprof {
	struct allo_input *in;
	const struct allo_read_options *options;
	struct allo_profile *profile;
	struct allo_text all;
	/* Found by the first pass. */
	texts types, samples, mappings, locations, functions, strings;
	texts comments;                     /* from each comment field to the end of the file */
	uint64_t number[ALLO_PPROF_FIELDS]; /* of fields with a single number, */
	struct allo_text where[ALLO_PPROF_FIELDS]; /* and the rest of the file from each */
	struct allo_text period_type;
	/* Made by the second pass. */
	ALLO_VEC(uint32_t) string_ids; /* by index: our id + 1; 0: not used yet */
	struct allo_pprof_ids modules, function_ids, frame_ids;
	struct allo_stack_builder builder;
	/* Of the current message. */
	ALLO_VEC(struct allo_label) labels;
	ALLO_VEC(struct allo_line) lines;
	allo_numbers indices;
};

static void pprof_done(struct pprof *pprof)
{
	allo_vec_done(&pprof->types);
	allo_vec_done(&pprof->samples);
	allo_vec_done(&pprof->mappings);
	allo_vec_done(&pprof->locations);
	allo_vec_done(&pprof->functions);
	allo_vec_done(&pprof->strings);
	allo_vec_done(&pprof->comments);
	allo_vec_done(&pprof->string_ids);
	allo_pprof_ids_done(&pprof->modules);
	allo_pprof_ids_done(&pprof->function_ids);
	allo_pprof_ids_done(&pprof->frame_ids);
	allo_stack_builder_done(&pprof->builder);
	allo_vec_done(&pprof->labels);
	allo_vec_done(&pprof->lines);
	allo_vec_done(&pprof->indices);
}

/* The position of a part of the file. */
static struct allo_pos pos_of(const struct pprof *pprof, struct allo_text part)
{
	return allo_input_pos_at(pprof->in, part.data);
}

static bool damaged(const struct pprof *pprof, struct allo_text part, const char *what,
		    struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, pos_of(pprof, part), "damaged %s", what);
	return allo_hint(err, "the file was cut off, or is not a pprof profile");
}

/* The first pass. */

static bool note_message(struct pprof *pprof, const struct allo_field *field)
{
	const struct allo_text *bytes = &field->bytes;

	switch (field->number) {
	case ALLO_PPROF_SAMPLE_TYPE:
		return allo_vec_append(&pprof->types, bytes, 1);
	case ALLO_PPROF_SAMPLE:
		return allo_vec_append(&pprof->samples, bytes, 1);
	case ALLO_PPROF_MAPPING:
		return allo_vec_append(&pprof->mappings, bytes, 1);
	case ALLO_PPROF_LOCATION:
		return allo_vec_append(&pprof->locations, bytes, 1);
	case ALLO_PPROF_FUNCTION:
		return allo_vec_append(&pprof->functions, bytes, 1);
	case ALLO_PPROF_STRING:
		return allo_vec_append(&pprof->strings, bytes, 1);
	case ALLO_PPROF_PERIOD_TYPE:
		pprof->period_type = *bytes;
		return true;
	default:
		return true;
	}
}

/* Sets the position of a failure that has none. */
static bool fail_at(const struct pprof *pprof, struct allo_text part, struct allo_error *err)
{
	if (!err->pos.file && err->code != ALLO_NOMEM)
		err->pos = pos_of(pprof, part);
	return false;
}

static bool is_message(unsigned field)
{
	return field <= ALLO_PPROF_STRING || field == ALLO_PPROF_PERIOD_TYPE;
}

static bool note_field(struct pprof *pprof, const struct allo_field *field, struct allo_text at,
		       struct allo_error *err)
{
	bool is_known = field->number < ALLO_PPROF_FIELDS;

	if (!is_known)
		return true;
	if (field->number == ALLO_PPROF_COMMENT)
		return allo_vec_append(&pprof->comments, &at, 1) || allo_fail_memory(err);
	if (field->wire != (is_message(field->number) ? ALLO_WIRE_BYTES : ALLO_WIRE_VARINT))
		return damaged(pprof, at, "field", err);
	if (field->number == ALLO_PPROF_TIME && pprof->where[ALLO_PPROF_TIME].data) {
		allo_fail(err, ALLO_FORMAT, pos_of(pprof, at),
			  "a second profile follows in the same file");
		return allo_hint(err, "split the file and pass both parts: allo merges them");
	}
	pprof->where[field->number] = at;
	if (!is_message(field->number))
		pprof->number[field->number] = field->value;
	else if (!note_message(pprof, field))
		return allo_fail_memory(err);
	return true;
}

/* Checks the first field before reading the whole input, which may be endless. */
static bool check_start(const struct pprof *pprof, struct allo_error *err)
{
	struct allo_text head = { pprof->in->next, allo_input_unread(pprof->in) }, rest = head;
	uint64_t key;

	if (!allo_take_varint(&rest, &key) || key >> 3 == 0 || key >> 32 != 0)
		return damaged(pprof, head, "field", err);
	return true;
}

static bool note_fields(struct pprof *pprof, struct allo_error *err)
{
	struct allo_text rest = pprof->all;

	while (rest.len > 0) {
		struct allo_text at = rest;
		struct allo_field field = { 0 };

		if (!allo_take_field(&rest, &field))
			return damaged(pprof, at, "field", err);
		if (!note_field(pprof, &field, at, err))
			return false;
	}
	if (pprof->strings.len > 0 && pprof->strings.at[0].len == 0)
		return true;
	allo_fail(err, ALLO_FORMAT,
		  pprof->strings.len ? pos_of(pprof, pprof->strings.at[0])
				     : (struct allo_pos){ .file = pprof->in->name },
		  pprof->strings.len ? "the string table does not start with an empty string"
				     : "has no string table");
	return allo_hint(err, "the file was cut off, or is not a pprof profile");
}

/* Strings. */

/* `part` holds the index, for messages. */
static bool string_at(const struct pprof *pprof, uint64_t index, struct allo_text part,
		      struct allo_text *text, struct allo_error *err)
{
	if (index >= pprof->strings.len)
		return allo_fail(err, ALLO_FORMAT, pos_of(pprof, part),
				 "string %llu does not exist, the table has %zu",
				 (unsigned long long)index, pprof->strings.len);
	*text = pprof->strings.at[index];
	return true;
}

static allo_string_id string_id(struct pprof *pprof, uint64_t index, struct allo_text part,
				struct allo_error *err)
{
	struct allo_text text;

	if (!string_at(pprof, index, part, &text, err))
		return 0;
	ALLO_ASSERT(pprof->string_ids.len == pprof->strings.len);
	if (pprof->string_ids.at[index] == 0)
		pprof->string_ids.at[index] = allo_profile_add_string(pprof->profile, text, err) +
					      1;
	return pprof->string_ids.at[index] - 1;
}

/* The number fields of a message of at most `most` fields, by field number; others are skipped. */
static bool take_numbers(const struct pprof *pprof, struct allo_text message, const char *what,
			 uint64_t *number, unsigned most, struct allo_error *err)
{
	struct allo_text rest = message;

	while (rest.len > 0) {
		struct allo_field field = { 0 };

		if (!allo_take_field(&rest, &field) ||
		    (field.number <= most && field.wire != ALLO_WIRE_VARINT))
			return damaged(pprof, message, what, err);
		if (field.number <= most)
			number[field.number] = field.value;
	}
	return true;
}

/* Mappings, functions, locations. */

/* Stores our id for a message's number, which must be new. */
static bool set_id(struct pprof *pprof, struct allo_pprof_ids *table, uint64_t number, uint32_t id,
		   struct allo_text part, const char *what, struct allo_error *err)
{
	if (allo_failed(err))
		return false;
	if (number == 0 || allo_pprof_ids_find(table, number) != 0)
		return allo_fail(err, ALLO_FORMAT, pos_of(pprof, part),
				 number ? "%s %llu appears twice" : "%s has the id %llu", what,
				 (unsigned long long)number);
	return allo_pprof_ids_put(table, number, id) || allo_fail_memory(err);
}

static bool read_mapping(struct pprof *pprof, struct allo_text message, struct allo_error *err)
{
	uint64_t n[11] = { 0 };
	struct allo_module module;

	if (!take_numbers(pprof, message, "mapping", n, 10, err))
		return false;
	module = (struct allo_module){
		.start = n[2],
		.limit = n[3],
		.offset = n[4],
		.path = string_id(pprof, n[5], message, err),
		.build_id = string_id(pprof, n[6], message, err),
		.has_functions = n[7],
		.has_files = n[8],
		.has_lines = n[9],
		.has_inlines = n[10],
	};
	return set_id(pprof, &pprof->modules, n[1],
		      allo_profile_add_module(pprof->profile, &module, err), message, "mapping",
		      err);
}

static uint32_t line_number(uint64_t number)
{
	return number > UINT32_MAX ? 0 : (uint32_t)number;
}

static bool read_function(struct pprof *pprof, struct allo_text message, struct allo_error *err)
{
	uint64_t n[6] = { 0 };
	struct allo_function function;

	if (!take_numbers(pprof, message, "function", n, 5, err))
		return false;
	function = (struct allo_function){
		.name = string_id(pprof, n[2], message, err),
		.system_name = string_id(pprof, n[3], message, err),
		.file = string_id(pprof, n[4], message, err),
		.start_line = line_number(n[5]),
	};
	return set_id(pprof, &pprof->function_ids, n[1],
		      allo_profile_add_function(pprof->profile, &function, err), message,
		      "function", err);
}

static bool read_line(struct pprof *pprof, struct allo_text message, struct allo_error *err)
{
	uint64_t n[4] = { 0 };
	struct allo_line line;

	if (!take_numbers(pprof, message, "line", n, 3, err))
		return false;
	line = (struct allo_line){
		.function = allo_pprof_ids_find(&pprof->function_ids, n[1]),
		.line = line_number(n[2]),
		.column = line_number(n[3]),
	};
	if (line.function == 0)
		return allo_fail(err, ALLO_FORMAT, pos_of(pprof, message),
				 "a line refers to function %llu, which does not exist",
				 (unsigned long long)n[1]);
	return allo_vec_append(&pprof->lines, &line, 1) || allo_fail_memory(err);
}

static bool read_location(struct pprof *pprof, struct allo_text message, struct allo_error *err)
{
	struct allo_text rest = message;
	struct allo_frame frame = { 0 };
	uint64_t number = 0;

	pprof->lines.len = 0;
	while (rest.len > 0) {
		struct allo_field field = { 0 };

		if (!allo_take_field(&rest, &field))
			return damaged(pprof, message, "location", err);
		if (field.number <= 5 &&
		    field.wire != (field.number == 4 ? ALLO_WIRE_BYTES : ALLO_WIRE_VARINT))
			return damaged(pprof, message, "location", err);
		switch (field.number) {
		case 1:
			number = field.value;
			break;
		case 2:
			/* Like pprof, treat a missing mapping as none. */
			frame.module = allo_pprof_ids_find(&pprof->modules, field.value);
			break;
		case 3:
			frame.address = field.value;
			break;
		case 4:
			if (pprof->lines.len == LINES_MAX)
				return allo_fail(err, ALLO_LIMIT, pos_of(pprof, message),
						 "a location has more than %d lines", LINES_MAX);
			if (!read_line(pprof, field.bytes, err))
				return false;
			break;
		case 5:
			frame.is_folded = field.value != 0;
			break;
		default:
			break;
		}
	}
	return set_id(pprof, &pprof->frame_ids, number,
		      allo_profile_add_frame(pprof->profile, &frame, pprof->lines.at,
					     pprof->lines.len, err),
		      message, "location", err);
}

/* Metrics. */

static bool is_max(enum allo_meaning meaning)
{
	return meaning == ALLO_MAX_BYTES || meaning == ALLO_MAX_BLOCKS;
}

static bool read_type(struct pprof *pprof, struct allo_text message, bool has_peak,
		      struct allo_error *err)
{
	struct allo_metric metric = { 0 };
	struct allo_text type = { 0 }, unit = { 0 };
	uint64_t n[3] = { 0 };

	if (!take_numbers(pprof, message, "sample type", n, 2, err) ||
	    !string_at(pprof, n[1], message, &type, err) ||
	    !string_at(pprof, n[2], message, &unit, err))
		return false;
	metric.meaning = allo_meaning_of_pprof(type, has_peak);
	if (allo_metric_kinds[metric.meaning].unit &&
	    !allo_text_equal(unit, allo_text_of(allo_metric_kinds[metric.meaning].unit)))
		metric.meaning = ALLO_MEANS_OTHER;
	if (is_max(metric.meaning) &&
	    allo_text_equal(type, allo_text_of(allo_metric_kinds[metric.meaning].pprof)))
		pprof->profile->meta.max_is_inuse = true;
	if (metric.meaning != ALLO_MEANS_OTHER)
		type = allo_text_of(allo_metric_kinds[metric.meaning].name);
	metric.name = allo_profile_add_string(pprof->profile, type, err);
	metric.unit = allo_profile_add_string(pprof->profile, unit, err);
	return !allo_failed(err) && allo_profile_add_metric_like(pprof->profile, &metric, err);
}

static bool has_type(const struct pprof *pprof, struct allo_text type)
{
	struct allo_error ignored = { 0 };

	for (size_t i = 0; i < pprof->types.len; i++) {
		uint64_t n[3] = { 0 };

		if (take_numbers(pprof, pprof->types.at[i], "", n, 2, &ignored) &&
		    n[1] < pprof->strings.len && allo_text_equal(pprof->strings.at[n[1]], type))
			return true;
	}
	return false;
}

static bool read_types(struct pprof *pprof, struct allo_error *err)
{
	bool has_peak = has_type(pprof, ALLO_TEXT("peak_space"));

	if (pprof->types.len == 0 && pprof->samples.len > 0)
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = pprof->in->name },
				 "has samples, but no sample types");
	if (pprof->types.len > TYPES_MAX)
		return allo_fail(err, ALLO_LIMIT, pos_of(pprof, pprof->types.at[TYPES_MAX]),
				 "there are more than %d sample types", TYPES_MAX);
	for (size_t i = 0; i < pprof->types.len; i++) {
		if (!read_type(pprof, pprof->types.at[i], has_peak, err))
			return false;
	}
	return true;
}

/* Samples. */

static bool read_label(struct pprof *pprof, struct allo_text message, struct allo_error *err)
{
	uint64_t n[5] = { 0 };
	struct allo_label label;

	if (!take_numbers(pprof, message, "label", n, 4, err))
		return false;
	label = (struct allo_label){
		.key = string_id(pprof, n[1], message, err),
		.text = string_id(pprof, n[2], message, err),
		.number = (int64_t)n[3],
		.unit = string_id(pprof, n[4], message, err),
		.is_number = n[2] == 0,
	};
	if (allo_failed(err))
		return false;
	if (n[2] == 0 && n[3] == 0 && n[4] == 0) /* empty: pprof drops it, too */
		return true;
	return allo_vec_append(&pprof->labels, &label, 1) || allo_fail_memory(err);
}

static void set_values(struct allo_profile *profile, uint64_t *row, const uint64_t *values)
{
	uint64_t signs = 0;

	for (size_t i = 0; i < profile->metrics.len; i++) {
		row[i] = values[i];
		signs |= values[i];
	}
	if ((int64_t)signs >= 0)
		return;
	for (size_t i = 0; i < profile->metrics.len; i++)
		profile->metrics.at[i].is_signed |= (int64_t)values[i] < 0;
}

/* pprof's numbers are signed: sums of equal stacks are clamped to that range. */
static void add_values(struct allo_profile *profile, uint64_t *row, const uint64_t *values)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		int64_t more = (int64_t)values[i], sum;

		if (__builtin_add_overflow((int64_t)row[i], more, &sum)) {
			sum = more < 0 ? INT64_MIN : INT64_MAX;
			allo_note(&profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
		}
		row[i] = (uint64_t)sum;
		profile->metrics.at[i].is_signed |= more < 0;
	}
}

/* The parts of the next sample of a batch. */
struct cursor {
	const allo_frame_id *frames;
	const uint64_t *values;
	const struct allo_text *labels;
};

static allo_labels_id read_labels(struct pprof *pprof, const struct allo_text *messages,
				  size_t count, struct allo_error *err)
{
	pprof->labels.len = 0;
	for (size_t i = 0; i < count; i++) {
		if (!read_label(pprof, messages[i], err))
			return 0;
	}
	return allo_profile_add_labels(pprof->profile, pprof->labels.at, pprof->labels.len, err);
}

static bool add_sample(struct pprof *pprof, const struct allo_pprof_sample *sample,
		       struct cursor *cursor, struct allo_error *err)
{
	struct allo_profile *profile = pprof->profile;
	allo_labels_id labels = read_labels(pprof, cursor->labels, sample->label_count, err);
	allo_stack_id stack;
	bool is_new;
	uint64_t *row;

	if (sample->value_count != profile->metrics.len)
		return allo_fail(err, ALLO_FORMAT, pos_of(pprof, sample->message),
				 "a sample has %lu values, but there are %zu sample types",
				 (unsigned long)sample->value_count, profile->metrics.len);
	stack = allo_stack_build(&pprof->builder, profile, cursor->frames, sample->frame_count,
				 err);
	row = allo_profile_add_sample(profile, stack, labels, &is_new, err);
	if (!row)
		return false;
	if (is_new)
		set_values(profile, row, cursor->values);
	else
		add_values(profile, row, cursor->values);
	cursor->frames += sample->frame_count;
	cursor->values += sample->value_count;
	cursor->labels += sample->label_count;
	return allo_reader_drain(pprof->options, profile, &pprof->builder, err);
}

static bool add_batch(struct pprof *pprof, const struct allo_pprof_batch *batch,
		      struct allo_error *err)
{
	struct cursor cursor = { batch->frames.at, batch->values.at, batch->labels.at };

	for (size_t i = 0; i < batch->samples.len; i++) {
		if (!add_sample(pprof, &batch->samples.at[i], &cursor, err))
			return false;
	}
	ALLO_ASSERT(allo_failed(&batch->failure) || batch->frames.len == 0 ||
		    cursor.frames == batch->frames.at + batch->frames.len);
	if (!allo_failed(&batch->failure))
		return true;
	ALLO_ASSERT(batch->samples.len < batch->count);
	*err = batch->failure;
	return fail_at(pprof, batch->messages[batch->samples.len], err);
}

struct batches {
	struct allo_jobs jobs;
	struct allo_pprof_batch batch[BATCHES_MAX];
};

static void batches_done(struct batches *batches)
{
	while (allo_jobs_take(&batches->jobs))
		;
	allo_jobs_close(&batches->jobs);
	for (size_t i = 0; i < BATCHES_MAX; i++)
		allo_pprof_batch_done(&batches->batch[i]);
}

static bool read_samples(struct pprof *pprof, struct allo_error *err)
{
	ALLO_DEFER(batches_done) struct batches batches = { 0 };
	size_t given = 0, count = 0;

	allo_jobs_open(&batches.jobs, allo_pprof_batch_parse, allo_cpu_count() - 1);
	while (count < pprof->samples.len || allo_jobs_under_way(&batches.jobs) > 0) {
		while (count < pprof->samples.len &&
		       allo_jobs_under_way(&batches.jobs) < BATCHES_MAX) {
			struct allo_pprof_batch *batch = &batches.batch[given++ % BATCHES_MAX];
			size_t left = pprof->samples.len - count;

			batch->messages = pprof->samples.at + count;
			batch->count = left < BATCH_SAMPLES ? left : BATCH_SAMPLES;
			batch->frame_ids = &pprof->frame_ids;
			count += batch->count;
			allo_jobs_give(&batches.jobs, batch);
		}
		if (!add_batch(pprof, allo_jobs_take(&batches.jobs), err))
			return false;
	}
	return true;
}

/* Metadata. */

/* "208370949 instructions" */
static bool read_time(struct allo_meta *meta, struct allo_text text, uint64_t *time)
{
	struct allo_text number, unit;
	enum allo_clock clock;

	if (!allo_text_cut(text, ' ', &number, &unit))
		return false;
	clock = allo_text_equal(unit, ALLO_TEXT("ns"))             ? ALLO_CLOCK_NS
		: allo_text_equal(unit, ALLO_TEXT("instructions")) ? ALLO_CLOCK_INSTRUCTIONS
								   : ALLO_CLOCK_NONE;
	if (clock == ALLO_CLOCK_NONE || (meta->clock != ALLO_CLOCK_NONE && meta->clock != clock) ||
	    !allo_text_u64(number, time))
		return false;
	meta->clock = clock;
	return true;
}

/* Restores metadata that our own writer stores in comments. */
static bool read_fact(struct pprof *pprof, struct allo_text comment, struct allo_error *err)
{
	struct allo_meta *meta = &pprof->profile->meta;
	const struct {
		struct allo_text name;
		allo_string_id *to;
	} facts[] = {
		{ ALLO_TEXT("command: "), &meta->command },
		{ ALLO_TEXT("producer: "), &meta->producer },
		{ ALLO_TEXT("mode: "), &meta->mode },
	};

	if (allo_text_skip(&comment, ALLO_TEXT("pid: ")))
		return meta->pid == 0 && allo_text_u64(comment, &meta->pid);
	if (allo_text_skip(&comment, ALLO_TEXT("duration: ")))
		return meta->duration == 0 && read_time(meta, comment, &meta->duration);
	if (allo_text_skip(&comment, ALLO_TEXT("peak after: ")))
		return meta->peak_time == 0 && read_time(meta, comment, &meta->peak_time);
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (*facts[i].to == 0 && allo_text_skip(&comment, facts[i].name)) {
			*facts[i].to = allo_profile_add_string(pprof->profile, comment, err);
			return true;
		}
	}
	return false;
}

/* A field of comments, at the front of `at`. */
static bool read_comments(struct pprof *pprof, struct allo_text at, struct allo_error *err)
{
	struct allo_text rest = at, comment;
	struct allo_field field = { 0 };

	pprof->indices.len = 0;
	if (!allo_take_field(&rest, &field) || !allo_field_numbers(&field, &pprof->indices, err))
		return fail_at(pprof, at, err);
	for (size_t i = 0; i < pprof->indices.len; i++) {
		if (!string_at(pprof, pprof->indices.at[i], at, &comment, err))
			return false;
		if (!read_fact(pprof, comment, err) &&
		    !allo_profile_add_comment(pprof->profile, comment, err))
			return false;
	}
	return !allo_failed(err);
}

static bool read_default_type(struct pprof *pprof, struct allo_error *err)
{
	struct allo_text wanted = { 0 }, type = { 0 };
	uint64_t index = pprof->number[ALLO_PPROF_DEFAULT_TYPE];

	if (index == 0)
		return true;
	if (!string_at(pprof, index, pprof->where[ALLO_PPROF_DEFAULT_TYPE], &wanted, err))
		return false;
	for (size_t i = 0; i < pprof->types.len; i++) {
		uint64_t n[3] = { 0 };

		if (!take_numbers(pprof, pprof->types.at[i], "sample type", n, 2, err) ||
		    !string_at(pprof, n[1], pprof->types.at[i], &type, err))
			return false;
		if (allo_text_equal(type, wanted))
			pprof->profile->meta.default_metric = i + 1;
	}
	return true;
}

static allo_string_id string_of_field(struct pprof *pprof, unsigned field, struct allo_error *err)
{
	return string_id(pprof, pprof->number[field], pprof->where[field], err);
}

static bool read_meta(struct pprof *pprof, struct allo_error *err)
{
	struct allo_meta *meta = &pprof->profile->meta;
	uint64_t *number = pprof->number, period[3] = { 0 };

	if (!take_numbers(pprof, pprof->period_type, "period type", period, 2, err))
		return false;
	meta->drop_frames = string_of_field(pprof, ALLO_PPROF_DROP_FRAMES, err);
	meta->keep_frames = string_of_field(pprof, ALLO_PPROF_KEEP_FRAMES, err);
	meta->doc_url = string_of_field(pprof, ALLO_PPROF_DOC_URL, err);
	meta->period_type = string_id(pprof, period[1], pprof->period_type, err);
	meta->period_unit = string_id(pprof, period[2], pprof->period_type, err);
	meta->period = (int64_t)number[ALLO_PPROF_PERIOD];
	meta->start_ns = (int64_t)number[ALLO_PPROF_TIME];
	if ((int64_t)number[ALLO_PPROF_DURATION] > 0) {
		meta->clock = ALLO_CLOCK_NS;
		meta->duration = number[ALLO_PPROF_DURATION];
	}
	return !allo_failed(err) && read_default_type(pprof, err);
}

typedef bool (*read_message)(struct pprof *pprof, struct allo_text message, struct allo_error *err);

static bool read_each(struct pprof *pprof, const texts *messages, read_message read,
		      struct allo_error *err)
{
	for (size_t i = 0; i < messages->len; i++) {
		if (!read(pprof, messages->at[i], err))
			return false;
	}
	return true;
}

static bool read_pprof(struct allo_input *in, const struct allo_read_options *options,
		       struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(pprof_done)
	struct pprof pprof = { .in = in, .options = options, .profile = profile };

	/* Samples come last: a consumer of portions needs everything else first. */
	return check_start(&pprof, err) && allo_input_all(in, &pprof.all, err) &&
	       note_fields(&pprof, err) &&
	       (allo_vec_cover(&pprof.string_ids, pprof.strings.len) || allo_fail_memory(err)) &&
	       read_types(&pprof, err) && read_meta(&pprof, err) &&
	       read_each(&pprof, &pprof.comments, read_comments, err) &&
	       read_each(&pprof, &pprof.mappings, read_mapping, err) &&
	       read_each(&pprof, &pprof.functions, read_function, err) &&
	       read_each(&pprof, &pprof.locations, read_location, err) && read_samples(&pprof, err);
}

/* There is no magic number: all fields in the head must match profile.proto. */
static enum allo_guess probe_pprof(struct allo_text head)
{
	struct allo_text rest = head;
	bool has_content = false;

	while (rest.len > 0) {
		struct allo_field field = { 0 };
		struct allo_text at = rest;
		uint64_t key;

		if (!allo_take_varint(&at, &key) || key >> 3 == 0 || key >> 3 >= ALLO_PPROF_FIELDS)
			return ALLO_NO;
		if ((key & 7) != (is_message((unsigned)(key >> 3)) ? ALLO_WIRE_BYTES
								   : ALLO_WIRE_VARINT) &&
		    key >> 3 != ALLO_PPROF_COMMENT)
			return ALLO_NO;
		if (!allo_take_field(&rest,
				     &field)) /* cut off by the end of the head or of the file */
			return has_content ? ALLO_SURE : ALLO_NO;
		has_content |= is_message(field.number);
	}
	return has_content ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_pprof = {
	.name = "pprof",
	.title = "pprof profile.proto, by Go, gperftools, tcmalloc and many others",
	.about = "Everything that profile.proto holds: sample types, labels, mappings with "
		 "build ids, inlined lines, comments, period and times. The conventional "
		 "types alloc_objects, alloc_space, inuse_objects and inuse_space get "
		 "their usual meaning; other types keep their names.",
	.probe = probe_pprof,
	.read = read_pprof,
	.is_binary = true,
};
