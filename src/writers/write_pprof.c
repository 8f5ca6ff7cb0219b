/*
 * write_pprof.c - pprof's profile.proto.
 *
 * Ids are 1, 2, 3, ... in the order of the tables, and only entries that samples refer to are
 * written: all readers of pprof accept that.  Samples are written as they come; the tables follow.
 */
#include "base/assert.h"
#include "base/encoding/protobuf.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "profile/pprof_fields.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>

/* Fields of a sample. */
enum {
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
};

/* New ids for the entries of a table of the profile, in the order of their first use. */
struct id_table {
	ALLO_VEC(uint32_t) number; /* by old id; 0: not used yet */
	ALLO_VEC(uint32_t) used;   /* old ids; new id n is used.at[n - 1] */
};

static void id_table_done(struct id_table *table)
{
	allo_vec_done(&table->number);
	allo_vec_done(&table->used);
}

/* Returns 0 when memory is short. */
static uint32_t number_new(struct id_table *table, uint32_t id)
{
	if (!allo_vec_cover(&table->number, (size_t)id + 1))
		return 0;
	if (!allo_vec_append(&table->used, &id, 1))
		return 0;
	return table->number.at[id] = (uint32_t)table->used.len;
}

static inline uint32_t number_of(struct id_table *table, uint32_t id)
{
	uint32_t number = id < table->number.len ? table->number.at[id] : 0;

	return number ? number : number_new(table, id);
}

struct pprof {
	struct id_table frames, functions;
	struct allo_map
		string_map; /* by text: names such as "alloc_space" are not in the profile */
	ALLO_VEC(struct allo_text) strings; /* index 0 is the empty string */
	struct allo_arena made;             /* of strings that are not in the profile */
	ALLO_VEC(char) message, part;
	bool has_types;
	bool is_full; /* memory is short; checked at the end of `add` and `end` */
};

static void drop_pprof(struct allo_write_job *w)
{
	struct pprof *pprof = w->state;

	if (!pprof)
		return;
	id_table_done(&pprof->frames);
	id_table_done(&pprof->functions);
	allo_map_done(&pprof->string_map);
	allo_vec_done(&pprof->strings);
	allo_arena_done(&pprof->made);
	allo_vec_done(&pprof->message);
	allo_vec_done(&pprof->part);
	free(pprof);
	w->state = NULL;
}

static bool begin_pprof(struct allo_write_job *w, struct allo_error *err)
{
	w->state = calloc(1, sizeof(struct pprof));
	return w->state || allo_fail_memory(err);
}

/* The index of a text in the string table.  The text must stay valid until the end. */
static uint64_t string_index(struct pprof *pprof, struct allo_text text)
{
	uint64_t hash = allo_hash_bytes(text.data, text.len, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&pprof->string_map, hash);
	uint32_t index;

	if (text.len == 0)
		return 0;
	while ((index = allo_map_next(&pprof->string_map, &probe)) != 0) {
		if (allo_text_equal(pprof->strings.at[index], text))
			return index;
	}
	if (!allo_vec_reserve(&pprof->strings, 2)) {
		pprof->is_full = true;
		return 0;
	}
	if (pprof->strings.len == 0)
		pprof->strings.at[pprof->strings.len++] = (struct allo_text){ "", 0 };
	pprof->is_full |= !allo_map_put(&pprof->string_map, hash, (uint32_t)pprof->strings.len);
	ALLO_ASSERT(pprof->strings.len > 0 && pprof->strings.len < pprof->strings.cap);
	pprof->strings.at[pprof->strings.len] = text;
	return pprof->strings.len++;
}

static uint64_t index_of(struct pprof *pprof, const struct allo_profile *profile, allo_string_id id)
{
	return string_index(pprof, allo_profile_text(profile, id));
}

/* A field that is a message or a string. */
static void put_bytes(struct allo_output *out, unsigned field, const void *data, size_t len)
{
	char *room = allo_output_room(out, 2 * ALLO_VARINT_MAX);

	room = allo_put_varint(allo_put_key(room, field, ALLO_WIRE_BYTES), len);
	allo_output_wrote(out, room);
	allo_output_bytes(out, data, len);
}

static void put_top_number(struct allo_output *out, unsigned field, uint64_t value)
{
	char *room = allo_output_room(out, 2 * ALLO_VARINT_MAX);

	allo_output_wrote(out, allo_put_number(room, field, value));
}

static void put_value_type(struct allo_write_job *w, unsigned field, struct allo_text type,
			   struct allo_text unit)
{
	struct pprof *pprof = w->state;
	char message[2 * (ALLO_VARINT_MAX + 5)], *end = message;

	end = allo_put_number(end, 1, string_index(pprof, type));
	end = allo_put_number(end, 2, string_index(pprof, unit));
	put_bytes(w->out, field, message, (size_t)(end - message));
}

/* inuse_* is live memory, or the maxima of call sites in conversions of DHAT files.  Beside a peak
 * it would be read as the latter: see allo_meaning_of_pprof(). */
static bool is_inuse_taken(const struct allo_profile *profile, enum allo_meaning meaning)
{
	size_t other;

	if (meaning == ALLO_MAX_BYTES || meaning == ALLO_MAX_BLOCKS)
		return !profile->meta.max_is_inuse;
	return (meaning == ALLO_LIVE_BYTES || meaning == ALLO_LIVE_BLOCKS) &&
	       (allo_profile_find_metric(profile, ALLO_PEAK_BYTES, &other) ||
		(profile->meta.max_is_inuse &&
		 allo_profile_find_metric(profile, ALLO_MAX_BYTES, &other)));
}

/* The name of a metric in pprof: the conventional one, ours or the producer's. */
static struct allo_text type_of(const struct allo_profile *profile, size_t metric)
{
	const struct allo_metric *m = &profile->metrics.at[metric];
	const char *conventional = allo_metric_kinds[m->meaning].pprof;

	if (!conventional || is_inuse_taken(profile, m->meaning))
		return allo_profile_text(profile, m->name);
	return allo_text_of(conventional);
}

static void put_sample_types(struct allo_write_job *w, const struct allo_profile *profile)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		if (!profile->metrics.at[i].is_before)
			put_value_type(w, ALLO_PPROF_SAMPLE_TYPE, type_of(profile, i),
				       allo_profile_text(profile, profile->metrics.at[i].unit));
	}
}

/* Samples. */

static uint64_t signed_value(struct allo_write_job *w, const struct allo_metric *metric,
			     uint64_t value)
{
	if (metric->is_signed || value <= INT64_MAX)
		return value;
	allo_note(&w->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return INT64_MAX;
}

/* The change since the base of a comparison, saturated to int64. */
static uint64_t difference(uint64_t before, uint64_t after)
{
	int64_t result;

	if (!__builtin_sub_overflow(after, before, &result))
		return (uint64_t)result;
	return after > before ? (uint64_t)INT64_MAX : (uint64_t)INT64_MIN;
}

static char *put_values(struct allo_write_job *w, const struct allo_profile *profile,
			const uint64_t *row, char *out)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		const struct allo_metric *metric = &profile->metrics.at[i];

		if (metric->is_before) {
			out = allo_put_varint(out, difference(row[i], row[i + 1]));
			i++;
		} else {
			out = allo_put_varint(out, signed_value(w, metric, row[i]));
		}
	}
	return out;
}

/* Fills pprof->part; false when memory is short. */
static bool put_locations(struct pprof *pprof, const struct allo_profile *profile,
			  allo_stack_id stack)
{
	pprof->part.len = 0;
	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		uint32_t number = number_of(&pprof->frames, profile->stacks.at[stack].frame);
		char *end;

		if (number == 0 || !allo_vec_reserve(&pprof->part, ALLO_VARINT_MAX))
			return false;
		end = allo_put_varint(pprof->part.at + pprof->part.len, number);
		pprof->part.len = (size_t)(end - pprof->part.at);
	}
	return true;
}

static char *put_label(struct pprof *pprof, const struct allo_profile *profile,
		       const struct allo_label *label, char *out)
{
	char message[4 * (ALLO_VARINT_MAX + 5)], *end = message;

	end = allo_put_number(end, 1, index_of(pprof, profile, label->key));
	end = allo_put_number(end, 2, index_of(pprof, profile, label->text));
	end = allo_put_number(end, 3, (uint64_t)label->number);
	end = allo_put_number(end, 4, index_of(pprof, profile, label->unit));
	out = allo_put_varint(allo_put_key(out, SAMPLE_LABEL, ALLO_WIRE_BYTES),
			      (uint64_t)(end - message));
	return (char *)memcpy(out, message, (size_t)(end - message)) + (end - message);
}

static bool put_sample(struct allo_write_job *w, const struct allo_profile *profile, size_t sample)
{
	struct pprof *pprof = w->state;
	struct allo_label_set labels = { 0 };
	size_t values_most = profile->metrics.len * ALLO_VARINT_MAX;
	char *start, *end, *values;

	if (profile->label_sets.len > 0)
		labels = profile->label_sets.at[allo_profile_labels_of(profile, sample)];
	if (!put_locations(pprof, profile, profile->sample_stacks.at[sample]))
		return false;
	pprof->message.len = 0;
	if (!allo_vec_reserve(&pprof->message,
			      pprof->part.len + 2 * values_most + labels.count * (size_t)64 + 64))
		return false;
	start = end = pprof->message.at;
	if (pprof->part.len > 0) {
		end = allo_put_varint(allo_put_key(end, SAMPLE_LOCATION, ALLO_WIRE_BYTES),
				      pprof->part.len);
		end = (char *)memcpy(end, pprof->part.at, pprof->part.len) + pprof->part.len;
	}
	/* Values are encoded further back, then moved to follow their length. */
	values = end + 2 * ALLO_VARINT_MAX;
	values_most = (size_t)(put_values(w, profile, allo_profile_row(profile, sample), values) -
			       values);
	end = allo_put_varint(allo_put_key(end, SAMPLE_VALUE, ALLO_WIRE_BYTES), values_most);
	ALLO_ASSERT(end <= values);
	end = (char *)memmove(end, values, values_most) + values_most;
	for (uint32_t i = 0; i < labels.count; i++)
		end = put_label(pprof, profile, &profile->labels.at[labels.first + i], end);
	ALLO_ASSERT((size_t)(end - start) <= pprof->message.cap);
	put_bytes(w->out, ALLO_PPROF_SAMPLE, start, (size_t)(end - start));
	return true;
}

static bool add_pprof(struct allo_write_job *w, const struct allo_profile *portion,
		      struct allo_error *err)
{
	struct pprof *pprof = w->state;

	if (!pprof->has_types)
		put_sample_types(w, portion);
	pprof->has_types = true;
	for (size_t i = 0; i < allo_profile_sample_count(portion); i++) {
		if (!put_sample(w, portion, i))
			return allo_fail_memory(err);
	}
	return !pprof->is_full || allo_fail_memory(err);
}

/* Tables. */

static void put_mappings(struct allo_write_job *w, const struct allo_profile *profile)
{
	struct pprof *pprof = w->state;

	for (size_t i = 1; i < profile->modules.len; i++) {
		const struct allo_module *module = &profile->modules.at[i];
		char message[10 * (ALLO_VARINT_MAX + 5)], *end = message;

		end = allo_put_number(end, 1, i);
		end = allo_put_number(end, 2, module->start);
		end = allo_put_number(end, 3, module->limit);
		end = allo_put_number(end, 4, module->offset);
		end = allo_put_number(end, 5, index_of(pprof, profile, module->path));
		end = allo_put_number(end, 6, index_of(pprof, profile, module->build_id));
		end = allo_put_number(end, 7, module->has_functions);
		end = allo_put_number(end, 8, module->has_files);
		end = allo_put_number(end, 9, module->has_lines);
		end = allo_put_number(end, 10, module->has_inlines);
		put_bytes(w->out, ALLO_PPROF_MAPPING, message, (size_t)(end - message));
	}
}

static char *put_line(struct pprof *pprof, const struct allo_line *line, char *out)
{
	char message[3 * (ALLO_VARINT_MAX + 5)], *end = message;
	uint32_t function = number_of(&pprof->functions, line->function);

	pprof->is_full |= function == 0;
	end = allo_put_number(end, 1, function);
	end = allo_put_number(end, 2, line->line);
	end = allo_put_number(end, 3, line->column);
	out = allo_put_varint(allo_put_key(out, 4, ALLO_WIRE_BYTES), (uint64_t)(end - message));
	return (char *)memcpy(out, message, (size_t)(end - message)) + (end - message);
}

/*
 * Collectors tell the samples of two snapshots apart by the addresses of their locations.  A frame
 * of a recording that has none, such as one of an interpreter, gets one from its name: the same in
 * each snapshot, and in the half of the address space that belongs to the kernel.
 */
static uint64_t address_of(const struct allo_profile *profile, const struct allo_frame *frame)
{
	uint64_t address = frame->address;

	if (address != 0 || !profile->meta.has_addresses)
		return address;
	for (uint32_t k = 0; k < frame->line_count; k++) {
		const struct allo_line *line = &profile->lines.at[frame->first_line + k];
		const struct allo_function *function = &profile->functions.at[line->function];
		struct allo_text name = allo_profile_text(profile, function->name),
				 file = allo_profile_text(profile, function->file);

		address = allo_hash_bytes(name.data, name.len, address + line->line);
		address = allo_hash_bytes(file.data, file.len, address);
	}
	return address | (uint64_t)1 << 63;
}

static bool put_location_table(struct allo_write_job *w, const struct allo_profile *profile)
{
	struct pprof *pprof = w->state;

	for (size_t i = 0; i < pprof->frames.used.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[pprof->frames.used.at[i]];
		char *end;

		pprof->message.len = 0;
		if (!allo_vec_reserve(&pprof->message, 64 + frame->line_count * (size_t)64))
			return false;
		end = allo_put_number(pprof->message.at, 1, i + 1);
		end = allo_put_number(end, 2, frame->module);
		end = allo_put_number(end, 3, address_of(profile, frame));
		for (uint32_t k = 0; k < frame->line_count; k++)
			end = put_line(pprof, &profile->lines.at[frame->first_line + k], end);
		end = allo_put_number(end, 5, frame->is_folded);
		ALLO_ASSERT((size_t)(end - pprof->message.at) <= pprof->message.cap);
		put_bytes(w->out, ALLO_PPROF_LOCATION, pprof->message.at,
			  (size_t)(end - pprof->message.at));
	}
	return true;
}

static void put_function_table(struct allo_write_job *w, const struct allo_profile *profile)
{
	struct pprof *pprof = w->state;

	for (size_t i = 0; i < pprof->functions.used.len; i++) {
		const struct allo_function *function =
			&profile->functions.at[pprof->functions.used.at[i]];
		char message[5 * (ALLO_VARINT_MAX + 5)], *end = message;

		end = allo_put_number(end, 1, i + 1);
		end = allo_put_number(end, 2, index_of(pprof, profile, function->name));
		end = allo_put_number(end, 3, index_of(pprof, profile, function->system_name));
		end = allo_put_number(end, 4, index_of(pprof, profile, function->file));
		end = allo_put_number(end, 5, function->start_line);
		put_bytes(w->out, ALLO_PPROF_FUNCTION, message, (size_t)(end - message));
	}
}

/* Replaces bytes that are not UTF-8: protobuf requires UTF-8, though not every reader checks. */
static bool put_repaired(struct allo_write_job *w, struct allo_text text)
{
	struct pprof *pprof = w->state;

	pprof->part.len = 0;
	for (;;) {
		size_t valid = allo_utf8_valid_prefix(text);

		if (!allo_vec_append(&pprof->part, text.data, valid))
			return false;
		if (valid == text.len)
			break;
		if (!allo_vec_append(&pprof->part, ALLO_UTF8_REPLACEMENT, 3))
			return false;
		text = allo_text_from(text, valid + 1);
	}
	put_bytes(w->out, ALLO_PPROF_STRING, pprof->part.at, pprof->part.len);
	return true;
}

static bool put_string_table(struct allo_write_job *w)
{
	struct pprof *pprof = w->state;

	if (pprof->strings.len == 0) /* index 0 must exist */
		put_bytes(w->out, ALLO_PPROF_STRING, "", 0);
	for (size_t i = 0; i < pprof->strings.len; i++) {
		if (allo_utf8_is_valid(pprof->strings.at[i]))
			put_bytes(w->out, ALLO_PPROF_STRING, pprof->strings.at[i].data,
				  pprof->strings.at[i].len);
		else if (!put_repaired(w, pprof->strings.at[i]))
			return false;
	}
	return true;
}

static void put_comment(struct allo_write_job *w, struct allo_text text)
{
	put_top_number(w->out, ALLO_PPROF_COMMENT, string_index(w->state, text));
}

/* Writes a fact that pprof has no field for as a comment: "command: ./server --port 80". */
static void put_fact(struct allo_write_job *w, const char *name, struct allo_text value)
{
	struct pprof *pprof = w->state;
	size_t name_len = strlen(name);
	char *fact;

	if (value.len == 0)
		return;
	fact = ALLO_ARENA_NEW(&pprof->made, name_len + value.len, char);
	if (!fact) {
		pprof->is_full = true;
		return;
	}
	memcpy(fact, name, name_len);
	memcpy(fact + name_len, value.data, value.len);
	put_comment(w, (struct allo_text){ fact, name_len + value.len });
}

static void put_time(struct allo_write_job *w, const char *name, uint64_t time,
		     enum allo_clock clock)
{
	char text[48];

	snprintf(text, sizeof(text), "%llu %s", (unsigned long long)time,
		 clock == ALLO_CLOCK_NS ? "ns" : "instructions");
	if (time != 0)
		put_fact(w, name, allo_text_of(text));
}

static void put_comments(struct allo_write_job *w, const struct allo_profile *profile)
{
	const struct allo_meta *meta = &profile->meta;
	char pid[24] = "";

	if (meta->pid)
		snprintf(pid, sizeof(pid), "%llu", (unsigned long long)meta->pid);
	put_fact(w, "command: ", allo_profile_text(profile, meta->command));
	put_fact(w, "pid: ", allo_text_of(pid));
	put_fact(w, "producer: ", allo_profile_text(profile, meta->producer));
	put_fact(w, "mode: ", allo_profile_text(profile, meta->mode));
	/* pprof has a field for a duration in nanoseconds. */
	if (meta->clock == ALLO_CLOCK_INSTRUCTIONS)
		put_time(w, "duration: ", meta->duration, meta->clock);
	put_time(w, "peak after: ", meta->peak_time, meta->clock);
	for (size_t i = 0; i < profile->comments.len; i++)
		put_comment(w, allo_profile_text(profile, profile->comments.at[i]));
}

static void put_default_type(struct allo_write_job *w, const struct allo_profile *profile)
{
	size_t metric = profile->meta.default_metric - 1;

	/* Without a preference, a maximum named inuse_space is the default, as in dhat-pprof. */
	if (profile->meta.default_metric > 0 ||
	    (profile->meta.max_is_inuse &&
	     allo_profile_find_metric(profile, ALLO_MAX_BYTES, &metric)))
		put_top_number(w->out, ALLO_PPROF_DEFAULT_TYPE,
			       string_index(w->state, type_of(profile, metric)));
}

static void put_meta(struct allo_write_job *w, const struct allo_profile *profile)
{
	const struct allo_meta *meta = &profile->meta;
	struct pprof *pprof = w->state;
	bool is_moment;

	put_top_number(w->out, ALLO_PPROF_DROP_FRAMES, index_of(pprof, profile, meta->drop_frames));
	put_top_number(w->out, ALLO_PPROF_KEEP_FRAMES, index_of(pprof, profile, meta->keep_frames));
	/* Collectors sort snapshots by their time, and take one with a duration for a difference.
	 */
	is_moment = meta->taken_ns != 0 && !meta->part.of_range;
	put_top_number(w->out, ALLO_PPROF_TIME,
		       (uint64_t)(meta->taken_ns ? meta->taken_ns : meta->start_ns));
	if (meta->clock == ALLO_CLOCK_NS && !is_moment)
		put_top_number(w->out, ALLO_PPROF_DURATION,
			       meta->duration > INT64_MAX ? INT64_MAX : meta->duration);
	if (meta->period_type != 0 || meta->period_unit != 0)
		put_value_type(w, ALLO_PPROF_PERIOD_TYPE,
			       allo_profile_text(profile, meta->period_type),
			       allo_profile_text(profile, meta->period_unit));
	put_top_number(w->out, ALLO_PPROF_PERIOD, (uint64_t)meta->period);
	put_comments(w, profile);
	put_default_type(w, profile);
	/* Perfetto refuses files with this field, so it is written only if the input has it. */
	put_top_number(w->out, ALLO_PPROF_DOC_URL, index_of(pprof, profile, meta->doc_url));
}

static bool end_pprof(struct allo_write_job *w, const struct allo_profile *profile,
		      struct allo_error *err)
{
	struct pprof *pprof = w->state;

	if (!pprof->has_types)
		put_sample_types(w, profile);
	put_mappings(w, profile);
	if (!put_location_table(w, profile))
		return allo_fail_memory(err);
	put_function_table(w, profile);
	put_meta(w, profile);
	if (!put_string_table(w) || pprof->is_full)
		return allo_fail_memory(err);
	return true;
}

const struct allo_writer allo_write_pprof = {
	.name = "pprof",
	.spells_stacks = true,
	.names_max_inuse = true,
	.shows_live = true,
	.title = "pprof, for go tool pprof, Parca, Pyroscope, Perfetto",
	.about =
		"A profile.proto packed with gzip; a file name that ends in .pb leaves it "
		"unpacked. Metrics have pprof's conventional names: alloc_objects, "
		"alloc_space, inuse_objects, inuse_space, then peak_*, end_*, lifetime, reads "
		"and writes if the profile has them. inuse_* is live memory; only from DHAT files, "
		"it is the maximum of each site, which does not add up. peak_* is live memory at "
		"the program's peak. Command, process id and producer become comments.",
	.endings = ".pb.gz .pprof .pb",
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_MODULES | ALLO_HOLDS_BUILD_IDS |
		 ALLO_HOLDS_ADDRESSES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES | ALLO_HOLDS_COLUMNS |
		 ALLO_HOLDS_INLINES | ALLO_HOLDS_LABELS | ALLO_HOLDS_COMMAND | ALLO_HOLDS_COMMENTS |
		 ALLO_HOLDS_PERIOD | ALLO_HOLDS_NEGATIVE,
	.is_binary = true,
	.is_packed = true,
	.begin = begin_pprof,
	.add = add_pprof,
	.end = end_pprof,
	.drop = drop_pprof,
};
