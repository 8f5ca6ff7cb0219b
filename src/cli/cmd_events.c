/* cmd_events.c - allo events: a recording, event by event. */
#include "base/defer.h"
#include "base/json_write.h"
#include "cli/common.h"
#include "cli/show_labels.h"
#include "replay/stream_labels.h"
#include "report/show.h"

#include <stdio.h>

struct events {
	struct allo_common common;
	uint64_t count;
	bool stacks;
};

static const struct allo_option options[] = {
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many events to print; 0, or without it, all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct events, count) },
	{ .name = "stacks",
	  .help = "print the frames below each event that has a stack, the innermost first: the "
		  "module and the address in its file, as addr2line takes it",
	  .offset = offsetof(struct events, stacks) },
	{ .name = "json",
	  .help = "print an object a line: JSON lines",
	  .offset = offsetof(struct events, common.json) },
	{ .letter = 'q',
	  .name = "quiet",
	  .help = "do not mention what the recording lacks",
	  .offset = offsetof(struct events, common.quiet) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Events", options };

static const struct allo_option_group *const groups[] = { &group, NULL };

static const struct allo_example examples[] = {
	{ "allo events -n 20 server.allo", "what the program did first" },
	{ "allo events --json server.allo | jq 'select(.size > 1000000)'", "large blocks only" },
	{ NULL, NULL },
};

/* What printing an event needs. */
struct printing {
	const struct events *opt;
	struct allo_source source;
	struct allo_output *out;
	uint64_t count;                   /* printed so far */
	struct allo_stream_labels labels; /* of each thread now */
};

static void printing_done(struct printing *printing)
{
	allo_stream_labels_done(&printing->labels);
	allo_source_close(&printing->source);
}

struct frame {
	uint64_t address;
	const struct allo_loaded_module *module; /* NULL when not known */
};

/* The next frame of a stack, from the innermost on; false when there is none. */
static bool next_frame(const struct allo_recording *recording, uint32_t *stack, struct frame *frame)
{
	const struct allo_recorded_node *node;

	if (*stack == 0 || *stack >= recording->nodes.len)
		return false;
	node = &recording->nodes.at[*stack];
	if (!(node->flags & ALLO_NODE_KNOWN))
		return false;
	frame->address = allo_recorded_node_address(node);
	frame->module = allo_recording_module(recording, frame->address, node->generation);
	*stack = node->parent;
	return true;
}

static bool has_stack(const struct allo_event *event)
{
	return event->kind == ALLO_EVENT_ALLOC || event->kind == ALLO_EVENT_RESIZE ||
	       event->kind == ALLO_EVENT_OWN;
}

/* What the program says, and nothing that it does to blocks. */
static bool is_word(const struct allo_event *event)
{
	return event->kind == ALLO_EVENT_MARK || event->kind == ALLO_EVENT_OWN;
}

/* The labels of the thread that an event is of. */
static uint32_t labels_of(const struct printing *printing, const struct allo_event *event)
{
	return allo_stream_labels_of(&printing->labels, event->stream);
}

/* Text. */

/* An address or, in a packed recording, a name; a block that was not live there has none. */
static void put_block(const struct printing *printing, uint64_t block)
{
	if (!printing->source.recording.is_packed)
		allo_output_printf(printing->out, "0x%llx", (unsigned long long)block);
	else if (block != 0)
		allo_output_printf(printing->out, "%u:%u", allo_block_stack(block),
				   allo_block_number(block));
	else
		allo_output_byte(printing->out, '?');
}

static void put_stack(const struct printing *printing, uint32_t stack)
{
	struct allo_output *out = printing->out;
	struct frame frame;

	while (next_frame(&printing->source.recording, &stack, &frame)) {
		allo_output_string(out, "    ");
		if (frame.module) {
			allo_output_printable(out, frame.module->path);
			allo_output_byte(out, '+');
			frame.address -= frame.module->bias;
		}
		allo_output_printf(out, "0x%llx\n", (unsigned long long)frame.address);
	}
}

/* A mark or an event of the program's own: its units and stack, and its name. */
static void put_word(const struct printing *printing, const struct allo_event *event)
{
	struct allo_text name = allo_recording_text(&printing->source.recording,
						    (uint32_t)event->note);

	if (event->kind == ALLO_EVENT_OWN)
		allo_output_printf(printing->out, "%llu  %u", (unsigned long long)event->size,
				   event->stack);
	if (event->kind == ALLO_EVENT_OWN && name.len > 0)
		allo_output_string(printing->out, "  ");
	allo_output_printable(printing->out, name);
}

static void put_change(const struct printing *printing, const struct allo_event *event)
{
	put_block(printing, event->pointer);
	if (has_stack(event))
		allo_output_printf(printing->out, "  %llu  %u", (unsigned long long)event->size,
				   event->stack);
	if (event->kind == ALLO_EVENT_RESIZE) {
		allo_output_string(printing->out, "  from ");
		put_block(printing, event->old);
	}
}

static void print_text(const struct printing *printing, const struct allo_event *event,
		       const struct allo_stream *stream)
{
	struct allo_output *out = printing->out;

	allo_output_printf(out, "%llu.%09llu  %u  %-7s  ",
			   (unsigned long long)event->ns / 1000000000,
			   (unsigned long long)event->ns % 1000000000, stream->thread,
			   allo_event_name(event->kind));
	(is_word(event) ? put_word : put_change)(printing, event);
	allo_show_labels(out, &printing->source.recording, labels_of(printing, event));
	allo_output_byte(out, '\n');
	if (printing->opt->stacks)
		put_stack(printing, event->stack);
}

/* JSON. */

static void put_frames(struct allo_json_out *json, const struct allo_recording *recording,
		       uint32_t stack)
{
	struct frame frame;

	allo_json_out_key(json, "frames");
	allo_json_out_begin(json, '[');
	while (next_frame(recording, &stack, &frame)) {
		allo_json_out_begin(json, '{');
		allo_json_out_member_u64(json, "address", frame.address);
		if (frame.module) {
			allo_json_out_key(json, "module");
			allo_json_out_text(json, frame.module->path);
			allo_json_out_member_u64(json, "offset",
						 frame.address - frame.module->bias);
		}
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

/* Its members are "pointer" and "old_pointer" or, in a packed recording, "block" and "old_block".
 */
static void put_json_block(struct allo_json_out *json, const struct printing *printing, bool is_old,
			   uint64_t block)
{
	char name[32];

	if (!printing->source.recording.is_packed) {
		allo_json_out_member_u64(json, is_old ? "old_pointer" : "pointer", block);
		return;
	}
	allo_json_out_key(json, is_old ? "old_block" : "block");
	snprintf(name, sizeof(name), "%u:%u", allo_block_stack(block), allo_block_number(block));
	if (block != 0)
		allo_json_out_string(json, name);
	else
		allo_json_out_null(json);
}

static void put_json_blocks(struct allo_json_out *json, const struct printing *printing,
			    const struct allo_event *event)
{
	put_json_block(json, printing, false, event->pointer);
	if (event->kind == ALLO_EVENT_RESIZE)
		put_json_block(json, printing, true, event->old);
}

static void print_json(const struct printing *printing, const struct allo_event *event,
		       const struct allo_stream *stream)
{
	struct allo_json_out json = { .out = printing->out };

	allo_show_json_begin(&json);
	allo_json_out_member_u64(&json, "ns", event->ns);
	allo_json_out_member_u64(&json, "tid", stream->thread);
	allo_json_out_key(&json, "event");
	allo_json_out_string(&json, allo_event_name(event->kind));
	if (!is_word(event))
		put_json_blocks(&json, printing, event);
	else
		allo_json_out_member_text(
			&json, "name",
			allo_recording_text(&printing->source.recording, (uint32_t)event->note));
	if (has_stack(event)) {
		allo_json_out_member_u64(&json, is_word(event) ? "units" : "size", event->size);
		allo_json_out_member_u64(&json, "stack", event->stack);
		if (printing->opt->stacks)
			put_frames(&json, &printing->source.recording, event->stack);
	}
	allo_show_json_labels(&json, &printing->source.recording, labels_of(printing, event));
	allo_json_out_end(&json);
	allo_output_byte(printing->out, '\n');
}

/* Both. */

static bool print_events(void *context, const struct allo_event_span *span, struct allo_error *err)
{
	struct printing *printing = context;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_stream *stream =
			&printing->source.recording.streams.at[event->stream];

		if (event->kind == ALLO_EVENT_LABELS &&
		    !allo_stream_labels_take(&printing->labels, event, err))
			return false;
		if (allo_event_is_silent(event))
			continue;
		if (printing->opt->common.json)
			print_json(printing, event, stream);
		else
			print_text(printing, event, stream);
		if (++printing->count == printing->opt->count)
			return false;
	}
	/* The reader of a pipe may have seen enough, or the disk may be full. */
	return !allo_failed(&printing->out->failure);
}

static bool run_events(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct events *opt = options_given;
	ALLO_DEFER(printing_done) struct printing printing = { .opt = opt, .out = &out };

	if (!allo_common_open_recording(&opt->common, files[0], "events", &printing.source, err))
		return false;
	allo_source_end_progress(&printing.source);
	if (!allo_common_open_result(&out, err) ||
	    (!allo_source_events(&printing.source, print_events, &printing, err) &&
	     allo_failed(err)) ||
	    !allo_output_finish(&out, err))
		return false;
	allo_source_note_gaps(&printing.source);
	return true;
}

const struct allo_command allo_cmd_events = {
	.name = "events",
	.heading = "Look",
	.summary = "print a recording, event by event",
	.arguments = "FILE",
	.about =
		"Prints every allocation, free and realloc of a recording in the order of time, "
		"one a line: seconds since the start, the thread, what happened, the block and, of "
		"an allocation, its size and the number of its stack; of a realloc also which "
		"block it was. A realloc that failed has left its block as it was.\n\n"
		"A block is told by its address where the recording is raw, as 'allo run --raw' "
		"leaves it. A packed one has no addresses: 17:3 is the third block of stack 17.\n\n"
		"What the program says of itself comes among them: the names of its marks, and "
		"events of its own with their units, their stack and, if they have one, their "
		"name. A thread's labels stand behind each of its events.\n\n"
		"A program with one thread looks at the clock only now and then: events in "
		"between have the time of the last look.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct events),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_events,
};
