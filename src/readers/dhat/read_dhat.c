/*
 * read_dhat.c - DHAT's JSON, as `valgrind --tool=dhat` and the dhat crate write it.
 *
 * The frame table comes last, but stacks cannot be built without it.  In a plain file the reader
 * jumps to it first, so that program points become samples, and are drained, while they are read.
 * From a pipe or a packed file, points are kept until the table arrives.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/json_read.h"
#include "base/utf8.h"
#include "readers/dhat/dhat_chunks.h"
#include "readers/reader.h"
#include "readers/valgrind_stacks.h"

/* The frame table.  All zeros is empty. */
struct frames {
	struct allo_valgrind_stacks stacks; /* one entry per string of the table */
	uint32_t first_noted[ALLO_NOTES];   /* number of the first entry, from 1, with this note */
};

static void frames_done(struct frames *frames)
{
	allo_valgrind_stacks_done(&frames->stacks);
	*frames = (struct frames){ 0 };
}

/* The position of the latest string: its start, or its end if it had to be copied. */
static struct allo_pos pos_of(const struct allo_json *json, struct allo_text text)
{
	return allo_input_pos_at(json->in,
				 text.data == json->string.at ? json->in->next : text.data);
}

/* A position costs counting lines: only the first of a kind is looked up. */
static void note(struct frames *frames, enum allo_note kind, struct allo_text text,
		 const struct allo_json *json, struct allo_profile *profile)
{
	bool is_first = profile->notes.of[kind].count == 0;

	if (is_first)
		frames->first_noted[kind] = (uint32_t)frames->stacks.entries.len + 1;
	allo_note(&profile->notes, kind, is_first ? pos_of(json, text) : ALLO_NOWHERE);
}

static bool add_entry(struct frames *frames, struct allo_text text, const struct allo_json *json,
		      struct allo_profile *profile, struct allo_error *err)
{
	struct allo_valgrind_frame parsed;

	/* Entry 0 is "[root]" and stands for no frame. */
	if (!allo_valgrind_frame_parse(text, &parsed) && frames->stacks.entries.len > 0)
		note(frames, ALLO_NOTE_ODD_FRAME, text, json, profile);
	if (!allo_utf8_is_valid(text))
		note(frames, ALLO_NOTE_BAD_UTF8, text, json, profile);
	return allo_valgrind_stacks_add(&frames->stacks, &parsed, profile, err);
}

/* Reads the array of strings.  The table must be empty. */
static bool read_frames(struct frames *frames, struct allo_json *json, struct allo_profile *profile,
			struct allo_error *err)
{
	struct allo_text text;

	if (!allo_json_begin(json, '[', err))
		return false;
	while (allo_json_item(json, err)) {
		if (!allo_json_string(json, &text, err) ||
		    !add_entry(frames, text, json, profile, err))
			return false;
	}
	return !allo_failed(err);
}

/* Skips the array, which was read early, and corrects the positions of its notes: line numbers are
 * only known now. */
static bool skip_frames(const struct frames *frames, struct allo_json *json,
			struct allo_profile *profile, struct allo_error *err)
{
	struct allo_text text;

	if (!allo_json_begin(json, '[', err))
		return false;
	for (uint32_t number = 1; allo_json_item(json, err); number++) {
		if (!allo_json_string(json, &text, err))
			return false;
		for (int kind = 0; kind < ALLO_NOTES; kind++) {
			if (frames->first_noted[kind] == number)
				profile->notes.of[kind].first = pos_of(json, text);
		}
	}
	return !allo_failed(err);
}

/* The keys of the outer object, each allowed once. */
enum key {
	KEY_VERSION,
	KEY_MODE,
	KEY_VERB,
	KEY_BKLT,
	KEY_BKACC,
	KEY_BU,
	KEY_BSU,
	KEY_BKSU,
	KEY_TU,
	KEY_MTU,
	KEY_TUTH,
	KEY_CMD,
	KEY_PID,
	KEY_TE,
	KEY_TG,
	KEY_PPS,
	KEY_FTBL,
	KEYS
};

static const struct {
	const char *name;
	bool is_required; /* with lifetimes, tg and tuth are required, too */
} keys[KEYS] = {
	[KEY_VERSION] = { "dhatFileVersion", true },
	[KEY_MODE] = { "mode", true },
	[KEY_VERB] = { "verb", true },
	[KEY_BKLT] = { "bklt", true },
	[KEY_BKACC] = { "bkacc", true },
	[KEY_BU] = { "bu", false },
	[KEY_BSU] = { "bsu", false },
	[KEY_BKSU] = { "bksu", false },
	[KEY_TU] = { "tu", true },
	[KEY_MTU] = { "Mtu", true },
	[KEY_TUTH] = { "tuth", false },
	[KEY_CMD] = { "cmd", true },
	[KEY_PID] = { "pid", true },
	[KEY_TE] = { "te", true },
	[KEY_TG] = { "tg", false },
	[KEY_PPS] = { "pps", true },
	[KEY_FTBL] = { "ftbl", true },
};

struct dhat {
	struct allo_input *in;
	const struct allo_read_options *options;
	struct allo_profile *profile;
	struct allo_json json;

	uint32_t seen; /* bits by key */
	allo_string_id text[KEYS];
	uint64_t number[KEYS];
	bool flag[KEYS];

	struct frames frames;
	uint64_t frames_offset; /* of the table, if it was read early; else 0 */
	bool is_ready;          /* frames, modules and metrics are known: samples can be added */
	uint64_t time_scale;    /* nanoseconds per time unit, 1 for other clocks */
	enum allo_dhat_value columns[ALLO_DHAT_VALUES]; /* the value of each metric */

	uint64_t point_count;
	uint32_t present;               /* parts that every point has */
	struct allo_dhat_chunk waiting; /* all points, until samples can be added */
};

static void dhat_done(struct dhat *dhat)
{
	allo_dhat_chunk_done(&dhat->waiting);
	frames_done(&dhat->frames);
	allo_json_done(&dhat->json);
}

static struct allo_text text_of(const struct dhat *dhat, enum key key)
{
	return allo_profile_text(dhat->profile, dhat->text[key]);
}

static bool has(const struct dhat *dhat, enum key key)
{
	return dhat->seen >> key & 1;
}

/* Metrics. */

static bool add_metric(struct dhat *dhat, enum allo_dhat_value value, enum allo_meaning meaning,
		       const char *unit, struct allo_error *err)
{
	ALLO_ASSERT(dhat->profile->metrics.len < ALLO_DHAT_VALUES);
	dhat->columns[dhat->profile->metrics.len] = value;
	return allo_profile_add_metric(dhat->profile, meaning, unit, err);
}

static bool add_totals(struct dhat *dhat, struct allo_error *err)
{
	struct allo_text mode = text_of(dhat, KEY_MODE);
	bool is_heap = allo_text_equal(mode, ALLO_TEXT("heap")) ||
		       allo_text_equal(mode, ALLO_TEXT("rust-heap"));
	enum allo_meaning blocks = ALLO_ALLOC_BLOCKS, bytes = ALLO_ALLOC_BYTES;
	const char *unit = NULL, *blocks_unit = NULL;

	if (dhat->flag[KEY_BKLT] || is_heap) {
		/* Blocks are blocks of memory, whatever words the file has for them. */
	} else if (allo_text_equal(mode, ALLO_TEXT("copy"))) {
		blocks = ALLO_COPY_BLOCKS;
		bytes = ALLO_COPY_BYTES;
	} else if (has(dhat, KEY_BSU)) {
		blocks = ALLO_EVENTS;
		bytes = ALLO_EVENT_UNITS;
		unit = text_of(dhat, KEY_BSU).data;
		/* The metric is named "events"; keep any other word as its unit. */
		if (has(dhat, KEY_BKSU) &&
		    !allo_text_equal(text_of(dhat, KEY_BKSU), ALLO_TEXT("events")))
			blocks_unit = text_of(dhat, KEY_BKSU).data;
	}
	return add_metric(dhat, ALLO_DHAT_TBK, blocks, blocks_unit, err) &&
	       add_metric(dhat, ALLO_DHAT_TB, bytes, unit, err);
}

static bool add_lifetimes(struct dhat *dhat, struct allo_error *err)
{
	bool is_ns = dhat->profile->meta.clock == ALLO_CLOCK_NS;
	const char *time_unit = is_ns ? "nanoseconds"
				: dhat->profile->meta.clock == ALLO_CLOCK_INSTRUCTIONS
					? "instructions"
					: text_of(dhat, KEY_TU).data;

	dhat->profile->meta.max_is_inuse = true;
	return add_metric(dhat, ALLO_DHAT_MBK, ALLO_MAX_BLOCKS, NULL, err) &&
	       add_metric(dhat, ALLO_DHAT_MB, ALLO_MAX_BYTES, NULL, err) &&
	       add_metric(dhat, ALLO_DHAT_GBK, ALLO_PEAK_BLOCKS, NULL, err) &&
	       add_metric(dhat, ALLO_DHAT_GB, ALLO_PEAK_BYTES, NULL, err) &&
	       add_metric(dhat, ALLO_DHAT_EBK, ALLO_END_BLOCKS, NULL, err) &&
	       add_metric(dhat, ALLO_DHAT_EB, ALLO_END_BYTES, NULL, err) &&
	       add_metric(dhat, ALLO_DHAT_TL, ALLO_LIFETIME, time_unit, err);
}

static bool add_metrics(struct dhat *dhat, struct allo_error *err)
{
	return add_totals(dhat, err) && (!dhat->flag[KEY_BKLT] || add_lifetimes(dhat, err)) &&
	       (!dhat->flag[KEY_BKACC] ||
		(add_metric(dhat, ALLO_DHAT_RB, ALLO_READ_BYTES, NULL, err) &&
		 add_metric(dhat, ALLO_DHAT_WB, ALLO_WRITE_BYTES, NULL, err)));
}

/* Metadata. */

static uint64_t scale(const struct dhat *dhat, uint64_t time)
{
	uint64_t scaled;

	if (!__builtin_mul_overflow(time, dhat->time_scale, &scaled))
		return scaled;
	allo_note(&dhat->profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return UINT64_MAX;
}

static void set_clock(struct dhat *dhat)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "ns", 1 },
		      { "\xc2\xb5s", 1000 },
		      { "us", 1000 },
		      { "ms", 1000000 },
		      { "s", 1000000000 } };
	struct allo_meta *meta = &dhat->profile->meta;
	struct allo_text tu = text_of(dhat, KEY_TU);

	dhat->time_scale = 1;
	if (allo_text_equal(tu, ALLO_TEXT("instrs")))
		meta->clock = ALLO_CLOCK_INSTRUCTIONS;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (allo_text_equal(tu, allo_text_of(units[i].unit))) {
			meta->clock = ALLO_CLOCK_NS;
			dhat->time_scale = units[i].ns;
		}
	}
}

static bool set_meta(struct dhat *dhat, struct allo_error *err)
{
	struct allo_meta *meta = &dhat->profile->meta;
	bool is_rust = allo_text_starts(text_of(dhat, KEY_MODE), ALLO_TEXT("rust-"));

	meta->command = dhat->text[KEY_CMD];
	meta->mode = meta->dialect = dhat->text[KEY_MODE];
	meta->verb = dhat->text[KEY_VERB];
	meta->pid = dhat->number[KEY_PID];
	meta->duration = scale(dhat, dhat->number[KEY_TE]);
	meta->peak_time = scale(dhat, dhat->number[KEY_TG]);
	meta->short_lived = scale(dhat, dhat->number[KEY_TUTH]);
	meta->has_short_lived = true;
	meta->producer = allo_profile_add_string(
		dhat->profile, is_rust ? ALLO_TEXT("dhat crate") : ALLO_TEXT("Valgrind DHAT"), err);
	meta->period_type = allo_profile_add_string(dhat->profile, ALLO_TEXT("space"), err);
	meta->period_unit = allo_profile_add_string(dhat->profile, ALLO_TEXT("bytes"), err);
	meta->period = 1; /* nothing is sampled */
	return !allo_failed(err);
}

static bool fail_missing(const struct dhat *dhat, const char *key, struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = dhat->in->name },
		  "has no \"%s\", which every DHAT file has", key);
	return allo_hint(err, "DHAT's own viewer refuses it, too; record again");
}

/* Called when everything is known that turns points into samples. */
static bool make_ready(struct dhat *dhat, struct allo_error *err)
{
	set_clock(dhat);
	if (!allo_valgrind_stacks_find_modules(&dhat->frames.stacks, dhat->profile,
					       text_of(dhat, KEY_CMD), err) ||
	    !add_metrics(dhat, err))
		return false;
	dhat->is_ready = true;
	return true;
}

/* Points to samples. */

static bool fail_frame(const struct dhat *dhat, uint64_t point, uint32_t frame, struct allo_pos pos,
		       struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, pos,
		  "program point %llu refers to frame %lu, but the frame table has %zu",
		  (unsigned long long)point, (unsigned long)frame, dhat->frames.stacks.entries.len);
	return allo_hint(err, "the file is damaged");
}

static bool add_sample(struct dhat *dhat, const struct allo_dhat_point *point, allo_stack_id stack,
		       const int32_t *accesses, bool *is_new, struct allo_error *err)
{
	struct allo_profile *profile = dhat->profile;
	uint64_t *row = allo_profile_add_sample(profile, stack, 0, is_new, err);

	if (!row)
		return false;
	for (size_t m = 0; m < profile->metrics.len; m++) {
		uint64_t value = point->values[dhat->columns[m]];

		if (dhat->columns[m] == ALLO_DHAT_TL)
			value = scale(dhat, value);
		if (*is_new)
			row[m] = value;
		else
			allo_profile_add_value(profile, m, &row[m], value);
	}
	return !*is_new || point->access_count == 0 ||
	       allo_profile_set_accesses(profile, accesses, point->access_count, err);
}

/* Adds the notes of a chunk, whose positions are offsets in its text. */
static void add_notes(struct dhat *dhat, const struct allo_dhat_chunk *chunk,
		      struct allo_offset place)
{
	struct allo_notes notes = chunk->notes;

	for (int n = 0; n < ALLO_NOTES; n++)
		notes.of[n].first = allo_dhat_chunk_pos(
			chunk, place, (size_t)notes.of[n].first.byte, dhat->in->name);
	allo_notes_add(&dhat->profile->notes, &notes);
}

/* A position costs counting lines: only the first is looked up. */
static void note_repetition(struct dhat *dhat, const struct allo_dhat_chunk *chunk,
			    struct allo_offset place, const struct allo_dhat_point *point)
{
	struct allo_notes *notes = &dhat->profile->notes;
	bool is_first = notes->of[ALLO_NOTE_REPEATED_STACK].count == 0;

	allo_note(notes, ALLO_NOTE_REPEATED_STACK,
		  is_first ? allo_dhat_chunk_pos(chunk, place, point->offset, dhat->in->name)
			   : ALLO_NOWHERE);
}

/* `place` is the position of the chunk's text. */
static bool add_samples(struct dhat *dhat, const struct allo_dhat_chunk *chunk,
			struct allo_offset place, struct allo_error *err)
{
	size_t frames_used = 0, accesses_used = 0;

	for (size_t i = 0; i < chunk->points.len; i++) {
		const struct allo_dhat_point *point = &chunk->points.at[i];
		const uint32_t *frames = point->frame_count ? chunk->frames.at + frames_used : NULL;
		const int32_t *accesses = point->access_count ? chunk->accesses.at + accesses_used
							      : NULL;
		allo_stack_id stack;
		bool is_new;

		dhat->point_count++;
		for (uint32_t k = 0; k < point->frame_count; k++) {
			if (frames[k] >= dhat->frames.stacks.entries.len)
				return fail_frame(dhat, dhat->point_count, frames[k],
						  allo_dhat_chunk_pos(chunk, place, point->offset,
								      dhat->in->name),
						  err);
		}
		stack = allo_valgrind_stacks_build(&dhat->frames.stacks, frames, point->frame_count,
						   dhat->profile, err);
		if (!add_sample(dhat, point, stack, accesses, &is_new, err))
			return false;
		if (!is_new)
			note_repetition(dhat, chunk, place, point);
		ALLO_ASSERT(frames_used + point->frame_count <= chunk->frames.len);
		frames_used += point->frame_count;
		accesses_used += point->access_count;
		if (!allo_reader_drain(dhat->options, dhat->profile, &dhat->frames.stacks.builder,
				       err))
			return false;
	}
	return true;
}

/* Keeps points until the frame table has been read. */
static bool keep_waiting(struct dhat *dhat, const struct allo_dhat_chunk *chunk,
			 struct allo_error *err)
{
	struct allo_dhat_chunk *waiting = &dhat->waiting;

	if (!allo_vec_append(&waiting->points, chunk->points.at, chunk->points.len) ||
	    !allo_vec_append(&waiting->frames, chunk->frames.at, chunk->frames.len) ||
	    !allo_vec_append(&waiting->accesses, chunk->accesses.at, chunk->accesses.len))
		return allo_fail_memory(err);
	return true;
}

static bool take_points(void *context, const struct allo_dhat_chunk *chunk,
			struct allo_offset place, struct allo_error *err)
{
	struct dhat *dhat = context;

	for (size_t i = 0; i < chunk->points.len; i++) {
		uint32_t present = chunk->points.at[i].present;

		dhat->present &= present;
		if (present & ALLO_DHAT_HAS_ACC && !dhat->options->keep_accesses)
			dhat->profile->meta.has_unread_accesses = true;
	}
	add_notes(dhat, chunk, place);
	return dhat->is_ready ? add_samples(dhat, chunk, place, err)
			      : keep_waiting(dhat, chunk, err);
}

/* The outer object. */

/* Reads the frame table ahead of the points.  It is no failure if that is impossible: the table
 * comes again in its place. */
static bool read_frames_early(struct dhat *dhat, struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input at = { .fd = -1 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &at };
	struct allo_notes notes = dhat->profile->notes;
	struct allo_text needle = ALLO_TEXT("\"ftbl\"");
	struct allo_error ignored = { 0 };

	if (!allo_input_open_at_last(dhat->in, needle, &at, &ignored))
		return true;
	at.next += needle.len;
	if (allo_json_peek(&json, &ignored) != ':')
		return true;
	at.next++;
	allo_json_peek(&json, &ignored);
	dhat->frames_offset = allo_input_offset(&at).offset;
	/* Only the end may follow: otherwise it may be some other object's table. */
	if (read_frames(&dhat->frames, &json, dhat->profile, &ignored) &&
	    allo_json_peek(&json, &ignored) == '}' && at.next++ && allo_json_end(&json, &ignored))
		return make_ready(dhat, err);
	dhat->frames_offset = 0;
	frames_done(&dhat->frames);
	dhat->profile->notes = notes;
	return true;
}

/* The required parts of each point, according to the keys so far. */
static uint32_t required_of(const struct dhat *dhat)
{
	return ALLO_DHAT_ALWAYS | (dhat->flag[KEY_BKLT] ? ALLO_DHAT_LIFETIMES : 0) |
	       (dhat->flag[KEY_BKACC] ? ALLO_DHAT_ACCESSES : 0);
}

static bool read_points(struct dhat *dhat, struct allo_error *err)
{
	const uint32_t needed = 1u << KEY_MODE | 1u << KEY_BKLT | 1u << KEY_BKACC | 1u << KEY_TU |
				1u << KEY_CMD;

	if (allo_json_peek(&dhat->json, err) != '[')
		return allo_json_begin(&dhat->json, '[', err); /* which reports the error */
	if ((dhat->seen & needed) == needed) {
		if (has(dhat, KEY_FTBL) ? !make_ready(dhat, err) : !read_frames_early(dhat, err))
			return false;
	}
	dhat->in->next++;
	return allo_dhat_read_chunks(
		&(struct allo_dhat_chunks){ .in = dhat->in,
					    .required = required_of(dhat),
					    .keep_accesses = dhat->options->keep_accesses,
					    .take = take_points,
					    .context = dhat },
		err);
}

static bool read_frame_table(struct dhat *dhat, struct allo_error *err)
{
	if (dhat->frames_offset == 0)
		return read_frames(&dhat->frames, &dhat->json, dhat->profile, err);
	allo_json_peek(&dhat->json, err);
	if (allo_input_offset(dhat->in).offset != dhat->frames_offset)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(dhat->in),
				 "the file has a second frame table");
	return skip_frames(&dhat->frames, &dhat->json, dhat->profile, err);
}

static bool read_version(struct dhat *dhat, struct allo_error *err)
{
	struct allo_pos pos;
	uint64_t version;

	allo_json_peek(&dhat->json, err);
	pos = allo_input_pos(dhat->in);
	if (!allo_json_u64(&dhat->json, &version, err))
		return false;
	if (version == 2)
		return true;
	allo_fail(err, ALLO_FORMAT, pos,
		  "has version %llu of the DHAT format; only version 2 is supported",
		  (unsigned long long)version);
	return allo_hint(err, "record again with Valgrind 3.15 or later");
}

static bool read_value(struct dhat *dhat, enum key key, struct allo_error *err)
{
	struct allo_text text;

	switch (key) {
	case KEY_VERSION:
		return read_version(dhat, err);
	case KEY_BKLT:
	case KEY_BKACC:
		return allo_json_bool(&dhat->json, &dhat->flag[key], err);
	case KEY_TUTH:
	case KEY_PID:
	case KEY_TE:
	case KEY_TG:
		return allo_json_u64(&dhat->json, &dhat->number[key], err);
	case KEY_PPS:
		return read_points(dhat, err);
	case KEY_FTBL:
		return read_frame_table(dhat, err);
	default:
		if (!allo_json_string(&dhat->json, &text, err))
			return false;
		dhat->text[key] = allo_profile_add_string(dhat->profile, text, err);
		return !allo_failed(err);
	}
}

static bool read_member(struct dhat *dhat, struct allo_text name, struct allo_error *err)
{
	for (int key = 0; key < KEYS; key++) {
		if (!allo_text_equal(name, allo_text_of(keys[key].name)))
			continue;
		if (has(dhat, key))
			return allo_fail(err, ALLO_FORMAT, allo_input_pos(dhat->in),
					 "the key \"%s\" appears twice", keys[key].name);
		dhat->seen |= 1u << key;
		return read_value(dhat, key, err);
	}
	return allo_json_skip(&dhat->json, err);
}

static bool check_keys(struct dhat *dhat, struct allo_error *err)
{
	for (int key = 0; key < KEYS; key++) {
		bool is_required = keys[key].is_required ||
				   (dhat->flag[KEY_BKLT] && (key == KEY_TUTH || key == KEY_TG));

		if (is_required && !has(dhat, key))
			return fail_missing(dhat, keys[key].name, err);
	}
	/* Points before these flags have not been checked yet. */
	if ((required_of(dhat) & ~dhat->present) != 0)
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = dhat->in->name },
				 "some program points lack values that \"bklt\" or \"bkacc\" "
				 "announces");
	return true;
}

static bool read_dhat(struct allo_input *in, const struct allo_read_options *options,
		      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(dhat_done)
	struct dhat dhat = { .in = in,
			     .options = options,
			     .profile = profile,
			     .json = { .in = in },
			     .present = ~0u };
	struct allo_text name;

	if (!allo_json_begin(&dhat.json, '{', err))
		return false;
	while (allo_json_key(&dhat.json, &name, err)) {
		if (!read_member(&dhat, name, err))
			return false;
	}
	if (allo_failed(err) || !allo_json_end(&dhat.json, err) || !check_keys(&dhat, err))
		return false;
	if (!dhat.is_ready && (!make_ready(&dhat, err) ||
			       !add_samples(&dhat, &dhat.waiting, (struct allo_offset){ 0 }, err)))
		return false;
	return set_meta(&dhat, err);
}

static enum allo_guess probe_dhat(struct allo_text head)
{
	struct allo_text start = allo_text_trim(head);

	if (start.len == 0 || start.data[0] != '{')
		return ALLO_NO;
	if (allo_text_find(head, ALLO_TEXT("\"dhatFileVersion\"")) != (size_t)-1)
		return ALLO_SURE;
	/* Keys come in any order. */
	if (allo_text_find(head, ALLO_TEXT("\"pps\"")) != (size_t)-1 ||
	    allo_text_find(head, ALLO_TEXT("\"ftbl\"")) != (size_t)-1)
		return ALLO_MAYBE;
	return ALLO_NO;
}

const struct allo_reader allo_read_dhat = {
	.name = "dhat",
	.title = "DHAT output of Valgrind and of the dhat crate",
	.about = "Valgrind's heap, copy and ad-hoc modes, and the heap and ad-hoc modes of "
		 "the dhat crate. DHAT lists inlined calls as frames with equal addresses; "
		 "they become lines of one frame. Program points with equal stacks are "
		 "added up and reported.",
	.probe = probe_dhat,
	.read = read_dhat,
};
