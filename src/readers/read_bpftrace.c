/*
 * read_bpftrace.c - stacks that bpftrace has in the keys of its maps, as it prints them.
 *
 *     @bytes[
 *         malloc+0                 the innermost first
 *         main+44
 *     , busy, 15633]: 64           other keys, and the value
 *
 * With -f json the same is {"type": "map", "data": {"@bytes": {"\n    malloc+0\n main+44\n,busy":
 * 64}}}.
 */
#include "base/defer.h"
#include "base/json_read.h"
#include "readers/bpftrace_maps.h"

struct reading {
	struct allo_input *in;
	struct allo_bpftrace_maps maps;
	struct allo_json json;
	bool is_within;            /* an entry, whose value is still to come */
	struct allo_pos entry_pos; /* then, where it began */
};

static void reading_done(struct reading *reading)
{
	allo_bpftrace_maps_done(&reading->maps);
	allo_json_done(&reading->json);
}

/* Text. */

static bool is_name_byte(char c)
{
	return allo_is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Takes "@name" off the front of a line; false if it is no entry's. */
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

/* Keys, separated by ", ".  Another one is to follow on the next line where `is_whole` is false. */
static bool add_keys(struct reading *reading, struct allo_text keys, bool is_whole,
		     struct allo_error *err)
{
	struct allo_text key;
	size_t at;

	while ((at = allo_text_find(keys, ALLO_TEXT(", "))) != (size_t)-1) {
		key = (struct allo_text){ keys.data, at };
		if (!allo_bpftrace_add_key(&reading->maps, key, err))
			return false;
		keys = allo_text_from(keys, at + 2);
	}
	/* Spaces at the ends of lines get lost. */
	if (!is_whole && allo_text_cut_last(keys, ',', &key, &keys))
		return allo_bpftrace_add_key(&reading->maps, key, err);
	return (keys.len == 0 && !is_whole) || allo_bpftrace_add_key(&reading->maps, keys, err);
}

/* The number behind "]: "; statistics tell of a total.  False if there is none that adds up. */
static bool parse_value(struct allo_text text, uint64_t *value)
{
	static const struct allo_text total = ALLO_TEXT_INIT(", total ");
	size_t at = allo_text_find(text, total);

	if (at != (size_t)-1 && allo_text_starts(text, ALLO_TEXT("count ")))
		text = allo_text_from(text, at + total.len);
	return allo_text_u64(text, value);
}

/* What ends an entry: "]: 64".  Tables of values, which come below it, are left out. */
static bool end_entry(struct reading *reading, struct allo_text text, struct allo_error *err)
{
	uint64_t value;

	reading->is_within = false;
	return !parse_value(allo_text_trim(text), &value) ||
	       allo_bpftrace_end(&reading->maps, value, err);
}

/* Keys on a line of an entry, behind a stack or behind the opening bracket, and perhaps its end. */
static bool read_keys(struct reading *reading, struct allo_text line, struct allo_error *err)
{
	size_t at = allo_text_find_last(line, ALLO_TEXT("]:"));

	if (at == (size_t)-1)
		return add_keys(reading, line, false, err);
	return add_keys(reading, (struct allo_text){ line.data, at }, true, err) &&
	       end_entry(reading, allo_text_from(line, at + 2), err);
}

/* A line within an entry: a frame, or what follows on a stack. */
static bool read_within(struct reading *reading, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = line;

	if (line.len == 0 || allo_text_starts(line, ALLO_TEXT("ERROR: ")) ||
	    allo_text_starts(line, ALLO_TEXT("WARNING: ")))
		return true; /* said on standard error, which may have come to the same file */
	if (allo_is_space(line.data[0]))
		return allo_bpftrace_add_frame(&reading->maps, allo_text_trim(line), err);
	if (allo_text_skip(&rest, ALLO_TEXT("]:")))
		return end_entry(reading, rest, err);
	if (allo_text_skip(&rest, ALLO_TEXT(","))) {
		allo_text_skip(&rest, ALLO_TEXT(" "));
		return read_keys(reading, rest, err);
	}
	return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(reading->in, line.data),
			 "expected a frame or the end of a map's entry, found \"%.*s\"",
			 ALLO_TEXT_ARG(line));
}

/* Takes the beginning of an entry off a line: "@name[", and keys behind it, on this line or on the
 * next ones. */
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

/* What the program prints, tables and maps without keys are passed by. */
static bool read_line(struct reading *reading, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = line, map;

	reading->maps.at = line.data;
	if (reading->is_within)
		return read_within(reading, line, err);
	if (!take_entry(&rest, &map))
		return true;
	reading->is_within = true;
	reading->entry_pos = allo_input_pos_at(reading->in, line.data);
	return allo_bpftrace_begin(&reading->maps, map, err) && read_keys(reading, rest, err);
}

static bool read_text(struct reading *reading, struct allo_error *err)
{
	struct allo_text line;

	while (allo_input_line(reading->in, &line, err)) {
		if (!read_line(reading, line, err))
			return false;
	}
	if (allo_failed(err) || !reading->is_within || reading->in->is_stopped)
		return !allo_failed(err);
	allo_fail(err, ALLO_FORMAT, reading->entry_pos,
		  "the file ends before this entry of a map does");
	return allo_hint(err, "the file looks cut off");
}

/* JSON. */

/* Keys, separated by commas, of which a stack begins with a newline, as each of its frames ends. */
static bool split_key(struct reading *reading, struct allo_text key, struct allo_error *err)
{
	bool goes_on = true;

	while (goes_on) {
		struct allo_text piece = key, rest = { key.data + key.len, 0 };

		if (allo_text_skip(&key, ALLO_TEXT("\n"))) {
			while (key.len > 0 && allo_is_space(key.data[0])) {
				allo_text_next(&key, '\n', &piece);
				if (!allo_bpftrace_add_frame(&reading->maps, allo_text_trim(piece),
							     err))
					return false;
			}
			goes_on = allo_text_skip(&key, ALLO_TEXT(","));
			continue;
		}
		goes_on = allo_text_cut(key, ',', &piece, &rest);
		if (!allo_bpftrace_add_key(&reading->maps, piece, err))
			return false;
		key = rest;
	}
	return true;
}

/* {"keys": 64, ...} */
static bool read_entries(struct reading *reading, struct allo_text map, struct allo_error *err)
{
	struct allo_json *json = &reading->json;
	struct allo_text key, number;
	uint64_t value;

	if (!allo_json_begin(json, '{', err))
		return false;
	while (allo_json_key(json, &key, err)) {
		reading->maps.at = reading->in->next;
		if (!allo_bpftrace_begin(&reading->maps, map, err) || !split_key(reading, key, err))
			return false;
		if (!allo_is_digit(allo_json_peek(json, err))) {
			if (!allo_json_skip(json, err))
				return false;
			continue;
		}
		if (!allo_json_number(json, &number, err) ||
		    (allo_json_text_u64(number, &value) &&
		     !allo_bpftrace_end(&reading->maps, value, err)))
			return false;
	}
	return !allo_failed(err);
}

/* {"@bytes": {...}, "@": 83} */
static bool read_maps(struct reading *reading, struct allo_error *err)
{
	enum { NAME_MOST = 256 };
	struct allo_json *json = &reading->json;
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
			      ? read_entries(reading, map, err)
			      : allo_json_skip(json, err)))
			return false;
	}
	return !allo_failed(err);
}

/* {"type": "map", "data": ...} */
static bool read_object(struct reading *reading, struct allo_error *err)
{
	struct allo_json *json = &reading->json;
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
		} else if (!(is_data && is_map ? read_maps(reading, err)
					       : allo_json_skip(json, err))) {
			return false;
		}
	}
	return !allo_failed(err);
}

static bool read_json(struct reading *reading, struct allo_error *err)
{
	while (allo_json_peek(&reading->json, err) != '\0') {
		if (!read_object(reading, err))
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
	ALLO_DEFER(reading_done)
	struct reading reading = { .in = in,
				   .maps = { .in = in, .options = options, .profile = profile },
				   .json = { .in = in } };
	bool ok;

	allo_bpftrace_maps_init(&reading.maps);
	ok = is_json((struct allo_text){ in->next, allo_input_unread(in) })
		     ? read_json(&reading, err)
		     : read_text(&reading, err);
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
	.title = "bpftrace's maps with stacks in their keys",
	.about = "What bpftrace prints of its maps, as text or with -f json: entries with kstack "
		 "or ustack among their keys, in any of their modes; of several stacks, the first "
		 "is taken to be called by the next. Each such map is a metric that goes by its "
		 "name, or samples if it has none. Other keys are labels, if the form has room for "
		 "them, which go by what --fields says or by their number, key1. A map that is "
		 "printed several times is added up. Other maps, tables of values and what the "
		 "program prints are passed by.",
	.probe = probe_bpftrace,
	.read = read_bpftrace,
};
