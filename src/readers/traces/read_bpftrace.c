/*
 * read_bpftrace.c - bpftrace maps with stacks in their keys, as text or JSON.
 *
 *     @bytes[
 *         malloc+0                 the innermost first
 *         main+44
 *     , busy, 15633]: 64           other keys, and the value
 *
 * With -f json the same entry is {"type": "map", "data": {"@bytes": {"\n    malloc+0\n
 * main+44\n,busy": 64}}}.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/json_read.h"
#include "base/text.h"
#include "base/text_ids.h"
#include "base/utf8.h"
#include "readers/reader.h"
#include "readers/traces/symbol_function.h"

#include <stdio.h>

/* A parsed line of a stack; unknown parts are empty or 0.
 *
 *     work+31                                   symbol and offset
 *     work+31@src/work.c:12                     with a source line
 *     [inlined] spin@src/work.c:7               inlined into the next line
 *     0x7f2067994ed2                            no symbol is known
 *     55eca7a3b219 work+31 (/tmp/demo/busy)     in perf mode
 *     55eca7a3b219                              an address alone
 *     0af3...9e 0x1219                          a build id of 40 digits and an offset
 */
struct parsed_frame {
	struct allo_text symbol;
	struct allo_text file;
	uint32_t line;
	struct allo_text module, build_id;
	uint64_t address; /* if there is no symbol */
	bool is_inlined;
};

enum { BUILD_ID_DIGITS = 40 };

/* Without "+31" at the end. */
static struct allo_text without_offset(struct allo_text text)
{
	size_t at = text.len;

	while (at > 0 && allo_is_digit(text.data[at - 1]))
		at--;
	if (at < text.len && at > 1 && text.data[at - 1] == '+')
		text.len = at - 1;
	return text;
}

/* Cuts "@src/work.c:12" off the end.  A symbol may contain '@' before its version:
 * a source line only follows an offset or an inlined symbol. */
static void take_place(struct allo_text *text, struct parsed_frame *frame)
{
	struct allo_text symbol, place, file, number;
	uint64_t line;

	if (!allo_text_cut(*text, '@', &symbol, &place) ||
	    !allo_text_cut_last(place, ':', &file, &number) || file.len == 0 ||
	    !allo_text_u64(number, &line) || line > UINT32_MAX)
		return;
	if (!frame->is_inlined && without_offset(symbol).len == symbol.len)
		return;
	frame->file = file;
	frame->line = (uint32_t)line;
	*text = symbol;
}

/* "work+31 (/tmp/demo/busy)", or without the object. */
static void take_object(struct allo_text *text, struct parsed_frame *frame)
{
	size_t at = allo_text_find_last(*text, ALLO_TEXT(" ("));

	if (at == (size_t)-1 || text->data[text->len - 1] != ')')
		return;
	frame->module = (struct allo_text){ text->data + at + 2, text->len - at - 3 };
	text->len = at;
	if (allo_text_equal(frame->module, ALLO_TEXT("[unknown]")))
		frame->module.len = 0;
}

/* Parses a frame that begins with hex digits; false for other frames. */
static bool parse_address(struct allo_text line, struct parsed_frame *frame)
{
	struct allo_text first = line, rest = { line.data + line.len, 0 };

	allo_text_cut(line, ' ', &first, &rest);
	if (rest.len == 0) {
		bool has_mark = allo_text_skip(&first, ALLO_TEXT("0x"));

		/* Short ones may be names. */
		return (has_mark || first.len >= 8) && allo_text_hex(first, &frame->address);
	}
	if (first.len == BUILD_ID_DIGITS && allo_text_skip(&rest, ALLO_TEXT("0x")) &&
	    allo_text_hex(rest, &frame->address)) {
		frame->build_id = first;
		return true;
	}
	if (!allo_text_hex(first, &frame->address))
		return false;
	take_object(&rest, frame);
	frame->symbol = without_offset(allo_text_trim(rest));
	if (allo_text_equal(frame->symbol, ALLO_TEXT("[unknown]")))
		frame->symbol.len = 0;
	if (frame->symbol.len > 0)
		frame->address = 0;
	return true;
}

static struct parsed_frame parse_frame(struct allo_text line)
{
	struct parsed_frame frame = { 0 };
	struct allo_text text = allo_text_trim(line);

	if (parse_address(text, &frame))
		return frame;
	frame = (struct parsed_frame){
		.is_inlined = allo_text_skip(&text, ALLO_TEXT("[inlined] ")),
	};
	take_place(&text, &frame);
	frame.symbol = without_offset(text);
	return frame;
}

/* A map; each map with stacks is a metric with its name. */
struct map {
	allo_string_id name;
	bool has_stacks;
	size_t metric;      /* then */
	uint64_t unstacked; /* sum of entries whose stack may be empty, until that is decided */
};

/* Collects the maps.  Set input, options and profile, then call maps_init(). */
struct maps {
	struct allo_input *in;
	const struct allo_read_options *options;
	struct allo_profile *profile;
	const char *at; /* the current line in the input's window, for messages */

	/* Private from here on. */
	struct allo_stack_builder builder;
	struct allo_text_ids frame_ids; /* by their texts */
	ALLO_VEC(struct map) maps;
	/* The current entry. */
	size_t map;
	bool has_stack, has_empty_key;
	ALLO_VEC(allo_frame_id) frames;     /* the innermost first */
	ALLO_VEC(struct allo_line) inlined; /* inlined into the next frame, innermost first */
	ALLO_VEC(struct allo_label) labels;
	size_t key_count; /* keys that are not stacks */
};

enum {
	MAPS_MOST = 256,
	KEYS_MOST = 64,
	FIELD_SIZE = 32, /* "key12" */
};

static void maps_init(struct maps *maps)
{
	allo_text_ids_init(&maps->frame_ids);
	/* Nothing is drained before the end, so that equal stacks are found. */
	maps->profile->is_portion = false;
}

static void maps_done(struct maps *maps)
{
	allo_stack_builder_done(&maps->builder);
	allo_text_ids_done(&maps->frame_ids);
	allo_vec_done(&maps->maps);
	allo_vec_done(&maps->frames);
	allo_vec_done(&maps->inlined);
	allo_vec_done(&maps->labels);
}

static struct allo_pos pos_of(const struct maps *maps)
{
	return allo_input_pos_at(maps->in, maps->at);
}

/* Frames. */

static bool add_module(struct maps *maps, const struct parsed_frame *frame, allo_module_id *id,
		       struct allo_error *err)
{
	struct allo_module module = {
		.path = allo_profile_add_string(maps->profile, frame->module, err),
		.build_id = allo_profile_add_string(maps->profile, frame->build_id, err),
		.has_bias = frame->build_id.len > 0, /* addresses are offsets in the file */
	};

	*id = 0;
	if (module.path != 0 || module.build_id != 0)
		*id = allo_profile_add_module(maps->profile, &module, err);
	return !allo_failed(err);
}

/* Adds the frame of a line, with the calls inlined into it; 0 at failure, and for an inlined call.
 */
static allo_frame_id make_frame(struct maps *maps, struct allo_text text, struct allo_error *err)
{
	struct parsed_frame parsed = parse_frame(text);
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

static bool add_frame(struct maps *maps, struct allo_text line, struct allo_error *err)
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

/* The name of a key: from --fields, or by its number.  False for a key that is dropped. */
static bool name_key(const struct maps *maps, char out[FIELD_SIZE], struct allo_text *name)
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

static bool add_key(struct maps *maps, struct allo_text key, struct allo_error *err)
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

/* Begins an entry of a map, "@name"; its keys follow in order: scalars, and stacks frame by frame.
 */
static bool begin_entry(struct maps *maps, struct allo_text name, struct allo_error *err)
{
	struct map map = { 0 };

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

/* The metric of a map, "@bytes", whose first stack has been found. */
static bool add_metric(struct maps *maps, struct map *map, struct allo_error *err)
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
	maps->profile->meta.default_metric = 1; /* the first map that is printed */
	return !allo_failed(err) && allo_profile_add_metric_like(maps->profile, &metric, err);
}

static bool add_value(struct maps *maps, size_t metric, uint64_t value, struct allo_error *err)
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

/* Ends an entry with its value. */
static bool add_entry(struct maps *maps, uint64_t value, struct allo_error *err)
{
	struct map *map = &maps->maps.at[maps->map];

	ALLO_ASSERT(maps->map < maps->maps.len);
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

struct reader {
	struct allo_input *in;
	struct maps maps;
	struct allo_json json;
	bool is_within;            /* inside an entry, whose value follows */
	struct allo_pos entry_pos; /* where that entry began */
};

static void reader_done(struct reader *reader)
{
	maps_done(&reader->maps);
	allo_json_done(&reader->json);
}

/* Text. */

static bool is_name_byte(char c)
{
	return allo_is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Takes "@name" off the front of a line; false for other lines. */
static bool take_map(struct allo_text *line, struct allo_text *name)
{
	size_t len = 1;

	if (line->len == 0 || line->data[0] != '@')
		return false;
	while (len < line->len && is_name_byte(line->data[len]))
		len++;
	if (len == line->len || (line->data[len] != '[' && line->data[len] != ':'))
		return false;
	*name = (struct allo_text){ line->data, len };
	*line = allo_text_from(*line, len);
	return true;
}

/* Keys, separated by ", ".  If `is_whole` is false, the next line continues them. */
static bool add_keys(struct reader *reader, struct allo_text keys, bool is_whole,
		     struct allo_error *err)
{
	struct allo_text key;
	size_t at;

	while ((at = allo_text_find(keys, ALLO_TEXT(", "))) != (size_t)-1) {
		key = (struct allo_text){ keys.data, at };
		if (!add_key(&reader->maps, key, err))
			return false;
		keys = allo_text_from(keys, at + 2);
	}
	/* Trailing spaces may have been stripped. */
	if (!is_whole && allo_text_cut_last(keys, ',', &key, &keys))
		return add_key(&reader->maps, key, err);
	return (keys.len == 0 && !is_whole) || add_key(&reader->maps, keys, err);
}

/* Parses the value after "]: "; stats() prints a total.  False if it cannot be added up. */
static bool parse_value(struct allo_text text, uint64_t *value)
{
	static const struct allo_text total = ALLO_TEXT_INIT(", total ");
	size_t at = allo_text_find(text, total);

	if (at != (size_t)-1 && allo_text_starts(text, ALLO_TEXT("count ")))
		text = allo_text_from(text, at + total.len);
	return allo_text_u64(text, value);
}

/* Ends an entry at "]: 64".  Histograms, which follow on later lines, are ignored. */
static bool end_entry(struct reader *reader, struct allo_text text, struct allo_error *err)
{
	uint64_t value;

	reader->is_within = false;
	return !parse_value(allo_text_trim(text), &value) || add_entry(&reader->maps, value, err);
}

/* Reads keys after a stack or after the opening bracket, and perhaps the end of the entry. */
static bool read_keys(struct reader *reader, struct allo_text line, struct allo_error *err)
{
	size_t at = allo_text_find_last(line, ALLO_TEXT("]:"));

	if (at == (size_t)-1)
		return add_keys(reader, line, false, err);
	return add_keys(reader, (struct allo_text){ line.data, at }, true, err) &&
	       end_entry(reader, allo_text_from(line, at + 2), err);
}

/* Reads a line within an entry: a frame, or the rest after a stack. */
static bool read_within(struct reader *reader, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = line;

	if (line.len == 0 || allo_text_starts(line, ALLO_TEXT("ERROR: ")) ||
	    allo_text_starts(line, ALLO_TEXT("WARNING: ")))
		return true; /* standard error may go to the same file */
	if (allo_is_space(line.data[0]))
		return add_frame(&reader->maps, allo_text_trim(line), err);
	if (allo_text_skip(&rest, ALLO_TEXT("]:")))
		return end_entry(reader, rest, err);
	if (allo_text_skip(&rest, ALLO_TEXT(","))) {
		allo_text_skip(&rest, ALLO_TEXT(" "));
		return read_keys(reader, rest, err);
	}
	return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(reader->in, line.data),
			 "expected a frame or the end of a map's entry, found \"%.*s\"",
			 ALLO_TEXT_ARG(line));
}

/* Takes the start of an entry, "@name[", off a line; its keys follow on this line or the next. */
static bool take_entry(struct allo_text *line, struct allo_text *map)
{
	struct allo_text end;

	if (!take_map(line, map) || line->data[0] != '[')
		return false;
	*line = allo_text_from(*line, 1);
	end = allo_text_trim(*line);
	return end.len == 0 || end.data[end.len - 1] == ',' ||
	       allo_text_find(end, ALLO_TEXT("]:")) != (size_t)-1;
}

/* Ignores the program's output, histograms and maps without keys. */
static bool read_line(struct reader *reader, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = line, map;

	reader->maps.at = line.data;
	if (reader->is_within)
		return read_within(reader, line, err);
	if (!take_entry(&rest, &map))
		return true;
	reader->is_within = true;
	reader->entry_pos = allo_input_pos_at(reader->in, line.data);
	return begin_entry(&reader->maps, map, err) && read_keys(reader, rest, err);
}

static bool read_text(struct reader *reader, struct allo_error *err)
{
	struct allo_text line;

	while (allo_input_line(reader->in, &line, err)) {
		if (!read_line(reader, line, err))
			return false;
	}
	if (allo_failed(err) || !reader->is_within || reader->in->is_stopped)
		return !allo_failed(err);
	allo_fail(err, ALLO_FORMAT, reader->entry_pos, "the file ends within this entry of a map");
	return allo_hint(err, "the file looks cut off");
}

/* JSON. */

/* Splits a key at its commas; a stack begins with a newline, and each of its frames ends in one. */
static bool split_key(struct reader *reader, struct allo_text key, struct allo_error *err)
{
	bool goes_on = true;

	while (goes_on) {
		struct allo_text piece = key, rest = { key.data + key.len, 0 };

		if (allo_text_skip(&key, ALLO_TEXT("\n"))) {
			while (key.len > 0 && allo_is_space(key.data[0])) {
				allo_text_next(&key, '\n', &piece);
				if (!add_frame(&reader->maps, allo_text_trim(piece), err))
					return false;
			}
			goes_on = allo_text_skip(&key, ALLO_TEXT(","));
			continue;
		}
		goes_on = allo_text_cut(key, ',', &piece, &rest);
		if (!add_key(&reader->maps, piece, err))
			return false;
		key = rest;
	}
	return true;
}

/* {"keys": 64, ...} */
static bool read_entries(struct reader *reader, struct allo_text map, struct allo_error *err)
{
	struct allo_json *json = &reader->json;
	struct allo_text key, number;
	uint64_t value;

	if (!allo_json_begin(json, '{', err))
		return false;
	while (allo_json_key(json, &key, err)) {
		reader->maps.at = reader->in->next;
		if (!begin_entry(&reader->maps, map, err) || !split_key(reader, key, err))
			return false;
		if (!allo_is_digit(allo_json_peek(json, err))) {
			if (!allo_json_skip(json, err))
				return false;
			continue;
		}
		if (!allo_json_number(json, &number, err) ||
		    (allo_json_text_u64(number, &value) && !add_entry(&reader->maps, value, err)))
			return false;
	}
	return !allo_failed(err);
}

/* {"@bytes": {...}, "@": 83} */
static bool read_maps(struct reader *reader, struct allo_error *err)
{
	enum { NAME_MOST = 256 };
	struct allo_json *json = &reader->json;
	struct allo_text key;
	char name[NAME_MOST];

	if (allo_json_peek(json, err) != '{')
		return allo_json_skip(json, err);
	if (!allo_json_begin(json, '{', err))
		return false;
	while (allo_json_key(json, &key, err)) {
		struct allo_text map = { name, key.len };

		if (key.len > 0 && key.len <= NAME_MOST)
			memcpy(name, key.data, key.len);
		if (!(key.len > 0 && key.len <= NAME_MOST && allo_json_peek(json, err) == '{'
			      ? read_entries(reader, map, err)
			      : allo_json_skip(json, err)))
			return false;
	}
	return !allo_failed(err);
}

/* {"type": "map", "data": ...} */
static bool read_object(struct reader *reader, struct allo_error *err)
{
	struct allo_json *json = &reader->json;
	struct allo_text key, type;
	bool is_map = false;

	if (!allo_json_begin(json, '{', err))
		return false;
	while (allo_json_key(json, &key, err)) {
		bool is_type = allo_text_equal(key, ALLO_TEXT("type"));
		bool is_data = allo_text_equal(key, ALLO_TEXT("data"));

		if (is_type && allo_json_peek(json, err) == '"') {
			if (!allo_json_string(json, &type, err))
				return false;
			is_map = allo_text_equal(type, ALLO_TEXT("map"));
		} else if (!(is_data && is_map ? read_maps(reader, err)
					       : allo_json_skip(json, err))) {
			return false;
		}
	}
	return !allo_failed(err);
}

static bool read_json(struct reader *reader, struct allo_error *err)
{
	while (allo_json_peek(&reader->json, err) != '\0') {
		if (!read_object(reader, err))
			return false;
	}
	return !allo_failed(err);
}

/* All together. */

static bool is_json(struct allo_text head)
{
	return allo_text_starts(allo_text_trim(head), ALLO_TEXT("{\"type\""));
}

static bool read_bpftrace(struct allo_input *in, const struct allo_read_options *options,
			  struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(reader_done)
	struct reader reader = { .in = in,
				 .maps = { .in = in, .options = options, .profile = profile },
				 .json = { .in = in } };
	bool ok;

	maps_init(&reader.maps);
	ok = is_json((struct allo_text){ in->next, allo_input_unread(in) })
		     ? read_json(&reader, err)
		     : read_text(&reader, err);
	if (ok && profile->metrics.len == 0)
		ok = allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = in->name },
			       "has no map with stacks among its keys");
	return ok;
}

static enum allo_guess probe_bpftrace(struct allo_text head)
{
	struct allo_text line, map, rest = head;

	if (allo_text_starts(head, ALLO_TEXT("Attaching ")) || is_json(head))
		return ALLO_SURE;
	while (allo_text_next(&rest, '\n', &line)) {
		if (take_entry(&line, &map))
			return ALLO_SURE;
	}
	return ALLO_NO;
}

const struct allo_reader allo_read_bpftrace = {
	.name = "bpftrace",
	.title = "bpftrace maps with stacks in their keys",
	.about = "Maps that bpftrace prints, as text or with -f json: entries with kstack "
		 "or ustack among their keys, in any of their modes. Of several stacks, "
		 "the next is taken to be the caller of the one before. Each such map is a "
		 "metric with the map's name, or samples if it has none. Other keys become "
		 "labels, if the output format holds labels, named by --fields or by their "
		 "position: key1, key2. Values of a map that is printed several times are "
		 "added up. Other maps, histograms and the program's own output are "
		 "ignored.",
	.probe = probe_bpftrace,
	.read = read_bpftrace,
};
