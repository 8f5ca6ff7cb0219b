/* bpftrace_maps.c - see bpftrace_maps.h. */
#include "readers/bpftrace_maps.h"

#include "base/utf8.h"
#include "readers/bpftrace_frame.h"
#include "readers/symbol_function.h"

#include <stdio.h>

enum {
	MAPS_MOST = 256,
	KEYS_MOST = 64,
	FIELD_SIZE = 32, /* "key12" */
};

void allo_bpftrace_maps_init(struct allo_bpftrace_maps *maps)
{
	allo_text_ids_init(&maps->frame_ids);
	/* Nothing is handed on before the end, so that equal stacks are found. */
	maps->profile->is_portion = false;
}

void allo_bpftrace_maps_done(struct allo_bpftrace_maps *maps)
{
	allo_stack_builder_done(&maps->builder);
	allo_text_ids_done(&maps->frame_ids);
	allo_vec_done(&maps->maps);
	allo_vec_done(&maps->frames);
	allo_vec_done(&maps->inlined);
	allo_vec_done(&maps->labels);
}

static struct allo_pos pos_of(const struct allo_bpftrace_maps *maps)
{
	return allo_input_pos_at(maps->in, maps->at);
}

/* Frames. */

static bool add_module(struct allo_bpftrace_maps *maps, const struct allo_bpftrace_frame *frame,
		       allo_module_id *id, struct allo_error *err)
{
	struct allo_module module = {
		.path = allo_profile_add_string(maps->profile, frame->module, err),
		.build_id = allo_profile_add_string(maps->profile, frame->build_id, err),
		.has_bias = frame->build_id.len > 0, /* addresses are those of the file */
	};

	*id = 0;
	if (module.path != 0 || module.build_id != 0)
		*id = allo_profile_add_module(maps->profile, &module, err);
	return !allo_failed(err);
}

/* Makes a frame of a line and of what is inlined into it; 0 at failure, and for what is inlined
 * itself. */
static allo_frame_id make_frame(struct allo_bpftrace_maps *maps, struct allo_text text,
				struct allo_error *err)
{
	struct allo_bpftrace_frame parsed = allo_bpftrace_parse_frame(text);
	struct allo_frame frame = { .address = parsed.address };
	struct allo_line line = { .line = parsed.line };
	allo_frame_id id;

	if (!allo_utf8_is_valid(parsed.symbol))
		allo_note(&maps->profile->notes, ALLO_NOTE_BAD_UTF8, pos_of(maps));
	if (parsed.symbol.len > 0)
		line.function = allo_symbol_function(maps->profile, maps->options->trace.namer,
						     parsed.symbol, parsed.file, err);
	if (allo_failed(err) || !add_module(maps, &parsed, &frame.module, err))
		return 0;
	if (line.function != 0 && !allo_vec_append(&maps->inlined, &line, 1)) {
		allo_fail_memory(err);
		return 0;
	}
	if (parsed.is_inlined)
		return 0;
	id = allo_profile_add_frame(maps->profile, &frame, maps->inlined.at, maps->inlined.len,
				    err);
	maps->inlined.len = 0;
	return id;
}

bool allo_bpftrace_add_frame(struct allo_bpftrace_maps *maps, struct allo_text line,
			     struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&maps->frame_ids, line);
	bool is_alone = maps->inlined.len == 0;
	allo_frame_id frame = is_alone ? allo_text_ids_find(&maps->frame_ids, hash) : 0;

	maps->has_stack = true;
	if (frame == 0) {
		frame = make_frame(maps, line, err);
		if (frame == 0)
			return !allo_failed(err);
		if (is_alone && !allo_text_ids_put(&maps->frame_ids, hash, frame))
			return allo_fail_memory(err);
	}
	return allo_vec_append(&maps->frames, &frame, 1) || allo_fail_memory(err);
}

/* Keys. */

/* What a key is called: as --fields says, or by its number.  False for one that is left out. */
static bool name_key(const struct allo_bpftrace_maps *maps, char out[FIELD_SIZE],
		     struct allo_text *name)
{
	const char *fields = maps->options->trace.fields;
	struct allo_text rest = allo_text_of(fields ? fields : "");

	for (size_t i = 0; i < maps->key_count; i++) {
		if (!allo_text_next(&rest, ',', name))
			break;
	}
	if (fields && allo_text_next(&rest, ',', name))
		return !allo_text_equal(*name, ALLO_TEXT("-")) && name->len > 0;
	snprintf(out, FIELD_SIZE, "key%zu", maps->key_count + 1);
	*name = allo_text_of(out);
	return true;
}

bool allo_bpftrace_add_key(struct allo_bpftrace_maps *maps, struct allo_text key,
			   struct allo_error *err)
{
	struct allo_label label = { 0 };
	struct allo_text name;
	char made[FIELD_SIZE];
	uint64_t number;
	bool is_named;

	/* An empty stack prints as nothing. */
	if (key.len == 0) {
		maps->has_empty_key = true;
		return true;
	}
	if (maps->key_count == KEYS_MOST)
		return allo_fail(err, ALLO_LIMIT, pos_of(maps), "an entry has more than %d keys",
				 KEYS_MOST);
	is_named = name_key(maps, made, &name);
	maps->key_count++;
	if (!is_named || !maps->options->by_thread)
		return true;
	label.key = allo_profile_add_string(maps->profile, name, err);
	label.is_number = allo_text_u64(key, &number) && number <= INT64_MAX;
	if (label.is_number)
		label.number = (int64_t)number;
	else
		label.text = allo_profile_add_string(maps->profile, key, err);
	return !allo_failed(err) &&
	       (allo_vec_append(&maps->labels, &label, 1) || allo_fail_memory(err));
}

/* Maps. */

bool allo_bpftrace_begin(struct allo_bpftrace_maps *maps, struct allo_text name,
			 struct allo_error *err)
{
	struct allo_bpftrace_map map = { 0 };

	maps->has_stack = maps->has_empty_key = false;
	maps->frames.len = maps->inlined.len = maps->labels.len = maps->key_count = 0;
	for (maps->map = 0; maps->map < maps->maps.len; maps->map++) {
		if (allo_text_equal(allo_profile_text(maps->profile, maps->maps.at[maps->map].name),
				    name))
			return true;
	}
	if (maps->maps.len == MAPS_MOST)
		return allo_fail(err, ALLO_LIMIT, pos_of(maps), "more than %d maps", MAPS_MOST);
	map.name = allo_profile_add_string(maps->profile, name, err);
	return !allo_failed(err) &&
	       (allo_vec_append(&maps->maps, &map, 1) || allo_fail_memory(err));
}

/* The metric of a map, "@bytes", that has turned out to have stacks. */
static bool add_metric(struct allo_bpftrace_maps *maps, struct allo_bpftrace_map *map,
		       struct allo_error *err)
{
	struct allo_text name = allo_text_from(allo_profile_text(maps->profile, map->name), 1);
	struct allo_text unit = ALLO_TEXT("count");
	struct allo_metric metric = { 0 };

	if (allo_text_ends(name, ALLO_TEXT("bytes")))
		unit = ALLO_TEXT("bytes");
	else if (allo_text_equal(name, ALLO_TEXT("ns")) || allo_text_ends(name, ALLO_TEXT("_ns")))
		unit = ALLO_TEXT("nanoseconds");
	if (name.len == 0)
		name = ALLO_TEXT("samples");
	metric.name = allo_profile_add_string(maps->profile, name, err);
	metric.unit = allo_profile_add_string(maps->profile, unit, err);
	map->has_stacks = true;
	map->metric = maps->profile->metrics.len;
	maps->profile->meta.default_metric = 1; /* the first one printed */
	return !allo_failed(err) && allo_profile_add_metric_like(maps->profile, &metric, err);
}

static bool add_value(struct allo_bpftrace_maps *maps, size_t metric, uint64_t value,
		      struct allo_error *err)
{
	struct allo_profile *profile = maps->profile;
	allo_stack_id stack = allo_stack_build(&maps->builder, profile, maps->frames.at,
					       maps->frames.len, err);
	allo_labels_id labels = 0;
	uint64_t *row;

	if (maps->labels.len > 0)
		labels = allo_profile_add_labels(profile, maps->labels.at, maps->labels.len, err);
	row = allo_profile_add_sample(profile, stack, labels, NULL, err);
	if (!row)
		return false;
	allo_profile_add_value(profile, metric, &row[metric], value);
	return true;
}

bool allo_bpftrace_end(struct allo_bpftrace_maps *maps, uint64_t value, struct allo_error *err)
{
	struct allo_bpftrace_map *map = &maps->maps.at[maps->map];

	if (!map->has_stacks && !maps->has_stack) {
		if (maps->has_empty_key &&
		    __builtin_add_overflow(map->unstacked, value, &map->unstacked))
			map->unstacked = UINT64_MAX;
		return true;
	}
	if (!map->has_stacks && !add_metric(maps, map, err))
		return false;
	if (!add_value(maps, map->metric, value, err))
		return false;
	if (map->unstacked == 0)
		return true;
	value = map->unstacked;
	map->unstacked = 0;
	maps->frames.len = maps->labels.len = 0;
	return add_value(maps, map->metric, value, err);
}
