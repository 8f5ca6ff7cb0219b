/*
 * read_heaptrack.c - interpreted recordings of heaptrack.
 *
 *     v 10400 3                 heaptrack 1.4.0, format 3
 *     s e /usr/bin/server       string 1, of 14 bytes
 *     i 401020 1 4 3 5 2 3 d    instruction 1, in module 1: function 4, file 3, line 5, ...
 *     t 1 0                     trace 1: instruction 1, called from trace 0
 *     a 40 1                    information 0: 64 bytes allocated at trace 1
 *     + 0                       such an allocation
 *     - 0                       one of them is freed
 *
 * All numbers are hexadecimal.
 */
#include "base/defer.h"
#include "readers/heaptrack_heap.h"
#include "readers/reader.h"

#include <stdio.h>

enum { NEWEST_FORMAT = 3, FORMAT_WITH_LENGTHS = 3 };

struct heaptrack {
	struct allo_input *in;
	struct allo_profile *profile;
	uint64_t format;
	bool is_attached; /* to a running program: some blocks were allocated before */
	struct allo_heaptrack_heap heap;
	ALLO_VEC(allo_string_id) strings;     /* by number, from 1 */
	ALLO_VEC(allo_frame_id) instructions; /* by number, from 1 */
	ALLO_VEC(allo_stack_id) traces;       /* by number, from 1 */
	ALLO_VEC(struct allo_line) lines;     /* of the current instruction */
};

static void heaptrack_done(struct heaptrack *heaptrack)
{
	allo_vec_done(&heaptrack->strings);
	allo_vec_done(&heaptrack->instructions);
	allo_vec_done(&heaptrack->traces);
	allo_vec_done(&heaptrack->heap.infos);
	allo_vec_done(&heaptrack->lines);
}

/* Failures. */

static struct allo_pos pos_of(const struct heaptrack *heaptrack, struct allo_text part)
{
	return allo_input_pos_at(heaptrack->in, part.data);
}

static bool fail_line(const struct heaptrack *heaptrack, struct allo_text line,
		      const char *expected, struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, pos_of(heaptrack, line), "expected %s, found \"%.*s\"",
			 expected, ALLO_TEXT_ARG(line));
}

static bool fail_number(const struct heaptrack *heaptrack, struct allo_text line, const char *what,
			uint64_t number, size_t end, struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, pos_of(heaptrack, line),
			 "%s %llx does not exist, there are %zx so far", what,
			 (unsigned long long)number, end);
}

static bool fail_raw(const struct heaptrack *heaptrack, struct allo_text line,
		     struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, pos_of(heaptrack, line),
		  "this is a raw recording, which heaptrack has not interpreted yet");
	return allo_hint(err,
			 "run \"zstd -dc RAW | heaptrack_interpret > FILE\" on the machine it "
			 "was recorded on, and read that (heaptrack_interpret is in heaptrack's "
			 "libexec folder)");
}

/* Events. */

/* The next number; numbers are separated by single spaces. */
static bool take_number(struct allo_text *rest, uint64_t *number)
{
	return allo_text_skip(rest, ALLO_TEXT(" ")) && allo_text_take_hex(rest, number);
}

/* A free of a block that was never allocated, or allocated before heaptrack was attached. */
static void pass_over(struct heaptrack *heaptrack, struct allo_text line)
{
	struct allo_notes *notes = &heaptrack->profile->notes;
	bool is_first = notes->of[ALLO_NOTE_UNKNOWN_FREE].count == 0;

	heaptrack->heap.last = 0;
	if (!heaptrack->is_attached)
		allo_note(notes, ALLO_NOTE_UNKNOWN_FREE,
			  is_first ? pos_of(heaptrack, line) : ALLO_NOWHERE);
}

/* Handles an event that the fast path rejects. */
static bool read_event(struct heaptrack *heaptrack, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = allo_text_from(line, 1);
	size_t count = heaptrack->heap.infos.len;
	uint64_t number;

	if (!take_number(&rest, &number))
		return fail_line(heaptrack, line, "\"+\" or \"-\" and a number", err);
	if (rest.len > 0)
		return fail_raw(heaptrack, line, err);
	if (number >= count)
		return fail_number(heaptrack, line, "allocation information", number, count, err);
	if (line.data[0] == '+')
		return allo_heaptrack_allocate(&heaptrack->heap, number) ||
		       allo_fail(err, ALLO_LIMIT, pos_of(heaptrack, line),
				 "more than 2^64 bytes are live at once");
	if (!allo_heaptrack_free(&heaptrack->heap, number))
		pass_over(heaptrack, line);
	return true;
}

/* Definitions. */

static allo_module_id add_module(struct heaptrack *heaptrack, allo_string_id path,
				 struct allo_error *err)
{
	struct allo_module module = { .path = path,
				      .has_functions = true,
				      .has_files = true,
				      .has_lines = true,
				      .has_inlines = true };

	return allo_profile_add_module(heaptrack->profile, &module, err);
}

static bool read_string(struct heaptrack *heaptrack, struct allo_text line, struct allo_error *err)
{
	bool has_length = heaptrack->format >= FORMAT_WITH_LENGTHS;
	struct allo_text text = allo_text_from(line, 1);
	allo_string_id string;
	uint64_t len = 0;

	if ((has_length && !take_number(&text, &len)) || !allo_text_skip(&text, ALLO_TEXT(" ")) ||
	    len > text.len)
		return fail_line(
			heaptrack, line,
			has_length ? "\"s\", a length and as many bytes" : "\"s\" and text", err);
	if (has_length)
		text.len = (size_t)len;
	string = allo_profile_add_string(heaptrack->profile, text, err);
	if (allo_failed(err))
		return false;
	/* heaptrack names the program's file first, and pprof wants it to be the first module. */
	if (heaptrack->strings.len == 0 && text.len > 0 && text.data[0] == '/' &&
	    add_module(heaptrack, string, err) == 0)
		return false;
	return allo_vec_append(&heaptrack->strings, &string, 1) || allo_fail_memory(err);
}

/* Takes the number of a string, 0 for none. */
static bool take_string(struct heaptrack *heaptrack, struct allo_text line, struct allo_text *rest,
			allo_string_id *string, struct allo_error *err)
{
	uint64_t number;

	if (!take_number(rest, &number))
		return fail_line(heaptrack, line, "the number of a string", err);
	if (number > heaptrack->strings.len)
		return fail_number(heaptrack, line, "string", number, heaptrack->strings.len, err);
	*string = number ? heaptrack->strings.at[number - 1] : 0;
	return true;
}

/* " function [file line]" into heaptrack->lines */
static bool take_line(struct heaptrack *heaptrack, struct allo_text text, struct allo_text *rest,
		      struct allo_error *err)
{
	struct allo_function function = { 0 };
	struct allo_line line = { 0 };
	uint64_t number = 0;

	if (!take_string(heaptrack, text, rest, &function.name, err))
		return false;
	if (rest->len > 0 && (!take_string(heaptrack, text, rest, &function.file, err) ||
			      (rest->len > 0 && !take_number(rest, &number))))
		return fail_line(heaptrack, text, "a file and a line", err);
	if (function.name == 0 && function.file == 0)
		return true;
	line.line = number > UINT32_MAX ? 0 : (uint32_t)number;
	line.function = allo_profile_add_function(heaptrack->profile, &function, err);
	if (allo_failed(err))
		return false;
	return allo_vec_append(&heaptrack->lines, &line, 1) || allo_fail_memory(err);
}

static bool read_instruction(struct heaptrack *heaptrack, struct allo_text line,
			     struct allo_error *err)
{
	struct allo_text rest = allo_text_from(line, 1);
	struct allo_frame frame = { 0 };
	allo_string_id path;
	allo_frame_id id;

	if (!take_number(&rest, &frame.address))
		return fail_line(heaptrack, line, "\"i\" and an address", err);
	if (!take_string(heaptrack, line, &rest, &path, err))
		return false;
	if (path != 0)
		frame.module = add_module(heaptrack, path, err);
	heaptrack->lines.len = 0;
	while (rest.len > 0) {
		if (!take_line(heaptrack, line, &rest, err))
			return false;
	}
	if (allo_failed(err))
		return false;
	id = allo_profile_add_frame(heaptrack->profile, &frame, heaptrack->lines.at,
				    heaptrack->lines.len, err);
	if (id == 0)
		return false;
	return allo_vec_append(&heaptrack->instructions, &id, 1) || allo_fail_memory(err);
}

/* The stack of a trace, 0 for the empty one. */
static bool find_trace(struct heaptrack *heaptrack, struct allo_text line, uint64_t number,
		       allo_stack_id *stack, struct allo_error *err)
{
	if (number > heaptrack->traces.len)
		return fail_number(heaptrack, line, "trace", number, heaptrack->traces.len, err);
	*stack = number ? heaptrack->traces.at[number - 1] : 0;
	return true;
}

static bool read_trace(struct heaptrack *heaptrack, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = allo_text_from(line, 1);
	uint64_t instruction, caller;
	allo_stack_id stack;

	if (!take_number(&rest, &instruction) || !take_number(&rest, &caller) || rest.len > 0)
		return fail_line(heaptrack, line, "\"t\", an instruction and a trace", err);
	if (instruction > heaptrack->instructions.len)
		return fail_number(heaptrack, line, "instruction", instruction,
				   heaptrack->instructions.len, err);
	/* Only earlier traces can be callers, so there are no cycles. */
	if (!find_trace(heaptrack, line, caller, &stack, err))
		return false;
	if (instruction != 0)
		stack = allo_profile_add_stack(heaptrack->profile, stack,
					       heaptrack->instructions.at[instruction - 1], err);
	if (allo_failed(err))
		return false;
	return allo_vec_append(&heaptrack->traces, &stack, 1) || allo_fail_memory(err);
}

static bool read_info(struct heaptrack *heaptrack, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = allo_text_from(line, 1);
	struct allo_heaptrack_info info = { .of_peak = heaptrack->heap.peaks };
	uint64_t trace;

	if (!take_number(&rest, &info.size) || !take_number(&rest, &trace) || rest.len > 0)
		return fail_line(heaptrack, line, "\"a\", a size and a trace", err);
	if (!find_trace(heaptrack, line, trace, &info.stack, err))
		return false;
	return allo_vec_append(&heaptrack->heap.infos, &info, 1) || allo_fail_memory(err);
}

/* Lines. */

static bool read_time(struct heaptrack *heaptrack, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = allo_text_from(line, 1);

	return (take_number(&rest, &heaptrack->heap.time_ms) && rest.len == 0) ||
	       fail_line(heaptrack, line, "\"c\" and a time", err);
}

static bool read_command(struct heaptrack *heaptrack, struct allo_text line, struct allo_error *err)
{
	struct allo_text command = allo_text_trim(allo_text_from(line, 1));

	heaptrack->profile->meta.command = allo_profile_add_string(heaptrack->profile, command,
								   err);
	return !allo_failed(err);
}

/* Any line but the first. */
static bool read_line(struct heaptrack *heaptrack, struct allo_text line, struct allo_error *err)
{
	switch (line.len > 0 ? line.data[0] : '#') {
	case '+':
	case '-':
		return read_event(heaptrack, line, err);
	case 's':
		return read_string(heaptrack, line, err);
	case 'i':
		return read_instruction(heaptrack, line, err);
	case 't':
		return read_trace(heaptrack, line, err);
	case 'a':
		return read_info(heaptrack, line, err);
	case 'c':
		return read_time(heaptrack, line, err);
	case 'X':
		return read_command(heaptrack, line, err);
	case 'A':
		if (!heaptrack->is_attached)
			allo_heaptrack_start_over(&heaptrack->heap);
		heaptrack->is_attached = true;
		return true;
	case 'x':
	case 'm':
		return fail_raw(heaptrack, line, err);
	case '#': /* a comment */
	case 'I': /* page size and physical memory */
	case 'R': /* resident memory */
	case 'S': /* a leak that the program asks to suppress */
		return true;
	default:
		return fail_line(heaptrack, line, "a line of an interpreted heaptrack file", err);
	}
}

/* Reads and counts all lines of a piece of the file. */
static bool read_lines(struct heaptrack *heaptrack, struct allo_text text, uint64_t *line_count,
		       struct allo_error *err)
{
	const char *at = text.data, *end = text.data + text.len;
	const char *last_newline = memrchr(text.data, '\n', text.len);
	const char *whole = last_newline ? last_newline + 1 : text.data;

	for (;;) {
		const char *newline;
		struct allo_text line;

		at = allo_heaptrack_read_events(&heaptrack->heap, at, whole, line_count);
		if (at == end)
			return true;
		newline = memchr(at, '\n', (size_t)(end - at));
		line = (struct allo_text){ at, (size_t)((newline ? newline : end) - at) };
		if (!read_line(heaptrack, line, err))
			return false;
		*line_count += newline != NULL;
		at = newline ? newline + 1 : end;
	}
}

/* The first line. */

static bool parse_version(struct allo_text line, uint64_t *version, uint64_t *format)
{
	struct allo_text rest = line;

	*format = 0;
	if (!allo_text_skip(&rest, ALLO_TEXT("v")) || !take_number(&rest, version))
		return false;
	/* heaptrack 1.2.0 writes no format number. */
	if (rest.len == 0 && *version == 0x10200)
		*format = 1;
	return rest.len == 0 || (take_number(&rest, format) && rest.len == 0);
}

static bool read_version(struct heaptrack *heaptrack, struct allo_error *err)
{
	struct allo_profile *profile = heaptrack->profile;
	struct allo_text line;
	char text[64];
	uint64_t version;

	if (!allo_input_line(heaptrack->in, &line, err))
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = heaptrack->in->name },
				 "is empty");
	if (!parse_version(line, &version, &heaptrack->format))
		return fail_line(heaptrack, line, "\"v VERSION FORMAT\"", err);
	if (heaptrack->format == 0 || heaptrack->format > NEWEST_FORMAT) {
		allo_fail(err, ALLO_FORMAT, pos_of(heaptrack, line),
			  "has heaptrack's file format %llu; formats 1 to %d are supported",
			  (unsigned long long)heaptrack->format, NEWEST_FORMAT);
		return allo_hint(err, heaptrack->format == 0
					      ? "record again with heaptrack 1.0 or later"
					      : "record with an older heaptrack, or read it with a "
						"newer allo");
	}
	snprintf(text, sizeof(text), "heaptrack %llu.%llu.%llu", (unsigned long long)version >> 16,
		 (unsigned long long)version >> 8 & 0xff, (unsigned long long)version & 0xff);
	profile->meta.producer = allo_profile_add_string(profile, allo_text_of(text), err);
	snprintf(text, sizeof(text), "format %llu", (unsigned long long)heaptrack->format);
	profile->meta.dialect = allo_profile_add_string(profile, allo_text_of(text), err);
	return !allo_failed(err);
}

/* The profile. */

static const enum allo_meaning meanings[] = { ALLO_ALLOC_BLOCKS,    ALLO_ALLOC_BYTES,
					      ALLO_PEAK_BLOCKS,     ALLO_PEAK_BYTES,
					      ALLO_END_BLOCKS,      ALLO_END_BYTES,
					      ALLO_TEMPORARY_BLOCKS };
enum { METRICS = sizeof(meanings) / sizeof(*meanings), PEAK_BYTES = 3 };

static uint64_t times(struct heaptrack *heaptrack, uint64_t a, uint64_t b)
{
	uint64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product;
	allo_note(&heaptrack->profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return UINT64_MAX;
}

static bool add_sample(struct heaptrack *heaptrack, size_t number, struct allo_error *err)
{
	const struct allo_heaptrack_info *info = &heaptrack->heap.infos.at[number];
	uint64_t at_peak = allo_heaptrack_live_at_peak(&heaptrack->heap, number);
	const uint64_t values[METRICS] = {
		info->allocated, times(heaptrack, info->allocated, info->size),
		at_peak,         times(heaptrack, at_peak, info->size),
		info->live,      times(heaptrack, info->live, info->size),
		info->temporary,
	};
	uint64_t *row;

	if (info->allocated == 0)
		return true;
	row = allo_profile_add_sample(heaptrack->profile, info->stack, 0, NULL, err);
	if (!row)
		return false;
	for (size_t i = 0; i < METRICS; i++)
		allo_profile_add_value(heaptrack->profile, i, &row[i], values[i]);
	return true;
}

static bool add_samples(struct heaptrack *heaptrack, struct allo_error *err)
{
	for (size_t i = 0; i < METRICS; i++) {
		if (!allo_profile_add_metric(heaptrack->profile, meanings[i], NULL, err))
			return false;
	}
	for (size_t i = 0; i < heaptrack->heap.infos.len; i++) {
		if (!add_sample(heaptrack, i, err))
			return false;
	}
	return true;
}

static bool set_meta(struct heaptrack *heaptrack, struct allo_error *err)
{
	struct allo_profile *profile = heaptrack->profile;
	struct allo_meta *meta = &profile->meta;
	const uint64_t ns = 1000000; /* nanoseconds in a millisecond */

	meta->clock = ALLO_CLOCK_NS;
	meta->duration = times(heaptrack, heaptrack->heap.time_ms, ns);
	meta->peak_time = times(heaptrack, heaptrack->heap.peak_time_ms, ns);
	meta->period_type = allo_profile_add_string(profile, ALLO_TEXT("space"), err);
	meta->period_unit = allo_profile_add_string(profile, ALLO_TEXT("bytes"), err);
	meta->period = 1; /* nothing is sampled */
	meta->default_metric = PEAK_BYTES + 1;
	return !allo_failed(err);
}

static bool read_heaptrack(struct allo_input *in, const struct allo_read_options *options,
			   struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(heaptrack_done)
	struct heaptrack heaptrack = { .in = in, .profile = profile };
	struct allo_text text;

	(void)options;
	if (!read_version(&heaptrack, err))
		return false;
	allo_input_lines_counted(in, 1);
	while (allo_input_lines(in, &text, err)) {
		uint64_t line_count = 0;

		if (!read_lines(&heaptrack, text, &line_count, err))
			return false;
		allo_input_lines_counted(in, line_count);
	}
	return !allo_failed(err) && add_samples(&heaptrack, err) && set_meta(&heaptrack, err);
}

static enum allo_guess probe_heaptrack(struct allo_text head)
{
	struct allo_text line = head, rest;
	uint64_t version, format;

	allo_text_cut(head, '\n', &line, &rest);
	return parse_version(line, &version, &format) && version >= 0x10000 ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_heaptrack = {
	.name = "heaptrack",
	.title = "heaptrack recordings, interpreted",
	.about = "Files of heaptrack, formats 1 to 3, packed or not. All events are "
		 "replayed: alloc_blocks and alloc_bytes count all allocations; "
		 "peak_blocks and peak_bytes what was live at the program's peak; "
		 "end_blocks and end_bytes what was never freed, which heaptrack calls "
		 "leaked; temporary_blocks counts blocks that were freed before any other "
		 "event. Resident memory and times are not kept. Raw recordings (heaptrack "
		 "--raw) have no names yet and are refused.",
	.probe = probe_heaptrack,
	.read = read_heaptrack,
};
