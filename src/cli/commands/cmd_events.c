/* cmd_events.c - allo events: the events of a recording, one per line. */
#include "base/assert.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show/show_labels.h"
#include "replay/events/stream_labels.h"
#include "replay/recording/module_search.h"

#include <stdio.h>
#include <stdlib.h>

struct events {
	struct allo_common common;
	uint64_t count;
	bool stacks;
};

#define AT(field) offsetof(struct events, field)
static const struct allo_option options[] = {
	OPT_COUNT('n', "count", "N", count, "number of events (default: all)"),
	OPT_FLAG(0, "stacks", stacks,
		 "print the frames of each stack below its event, the innermost first: the module "
		 "and the address in its file, which addr2line takes"),
	OPT_FLAG(0, "csv", common.csv, "print comma-separated values"),
	OPT_FLAG(0, "markdown", common.markdown, "print a Markdown table, without stacks"),
	OPT_JSON_LINES(common.json),
	OPT_TRUST(common.trust),
	OPT_FLAG('q', "quiet", common.quiet, "print no note on missing parts of the recording"),
	OPT_END,
};

static const struct allo_option_group group = { "Events", options };

static const struct allo_option_group *const groups[] = { &group, NULL };

static const struct allo_example examples[] = {
	{ "allo events -n 20 server.allo", "the first 20 events" },
	{ "allo events --json server.allo | jq 'select(.size > 1000000)'", "large blocks only" },
	{ NULL, NULL },
};

/* Prints events.  Each is a report, so that JSON has an object per line, or a row of one. */
struct printer {
	const struct events *opt;
	struct allo_source source;
	struct allo_output *out;
	struct allo_report_options options;
	struct allo_report report;        /* of the event */
	uint64_t count;                   /* printed so far */
	struct allo_stream_labels labels; /* of each thread now */
	uint32_t *modules; /* of nodes, for --stacks: see replay/recording/module_search.h */
};

static void printer_done(struct printer *printer)
{
	free(printer->modules);
	allo_stream_labels_done(&printer->labels);
	allo_source_close(&printer->source);
	allo_report_done(&printer->report);
}

struct frame {
	uint64_t address;
	const struct allo_loaded_module *module; /* NULL: not known */
	bool is_function;                        /* of an interpreter: instead of an address */
	struct allo_text function, file;
	uint32_t line; /* 0 if unknown */
};

/* The next frame of a stack, from the innermost on; false when there is none. */
static bool next_frame(const struct printer *printer, uint32_t *stack, struct frame *frame)
{
	const struct allo_recording *recording = &printer->source.recording;
	const struct allo_recorded_node *node;
	uint32_t module;

	if (*stack == 0 || *stack >= recording->nodes.len)
		return false;
	node = &recording->nodes.at[*stack];
	if (!(node->flags & ALLO_NODE_KNOWN))
		return false;
	*frame = (struct frame){ .address = allo_recorded_node_address(node) };
	if (node->flags & ALLO_NODE_FUNCTION) {
		struct allo_recorded_function function = allo_recorded_node_function(recording,
										     node);

		frame->is_function = true;
		frame->function = function.name;
		frame->file = function.file;
		frame->line = allo_recorded_node_line(node);
	}
	module = printer->modules[*stack];
	frame->module = module ? &recording->modules.at[module - 1] : NULL;
	*stack = node->parent;
	return true;
}

static bool has_stack(const struct allo_event *event)
{
	return event->kind == ALLO_EVENT_ALLOC || event->kind == ALLO_EVENT_RESIZE ||
	       event->kind == ALLO_EVENT_OWN;
}

/* A mark or a custom event, which the program records itself and which has no block. */
static bool is_custom(const struct allo_event *event)
{
	return event->kind == ALLO_EVENT_MARK || event->kind == ALLO_EVENT_OWN;
}

/* The current labels of the event's thread. */
static uint32_t labels_of(const struct printer *printer, const struct allo_event *event)
{
	return allo_stream_labels_of(&printer->labels, event->stream);
}

/* Text. */

/* The address of a block.  A packed recording has a name instead, or '?' for an unknown block. */
static void put_block(const struct printer *printer, uint64_t block)
{
	if (!printer->source.recording.is_packed)
		allo_output_printf(printer->out, "0x%llx", (unsigned long long)block);
	else if (block != 0)
		allo_output_printf(printer->out, "%u:%u", allo_block_stack(block),
				   allo_block_number(block));
	else
		allo_output_byte(printer->out, '?');
}

static void put_function(struct allo_output *out, const struct frame *frame)
{
	allo_output_printable(out, frame->function);
	allo_output_string(out, "  ");
	allo_output_printable(out, frame->file);
	if (frame->line)
		allo_output_printf(out, ":%u", frame->line);
	allo_output_byte(out, '\n');
}

static void put_stack(const struct printer *printer, uint32_t stack)
{
	struct allo_output *out = printer->out;
	struct frame frame;

	while (next_frame(printer, &stack, &frame)) {
		allo_output_string(out, "    ");
		if (frame.is_function) {
			put_function(out, &frame);
			continue;
		}
		if (frame.module) {
			allo_output_printable(out, frame.module->path);
			allo_output_byte(out, '+');
			frame.address -= frame.module->bias;
		}
		allo_output_printf(out, "0x%llx\n", (unsigned long long)frame.address);
	}
}

/* The units and the stack of a custom event, and the name of any. */
static void put_custom(const struct printer *printer, const struct allo_event *event)
{
	struct allo_text name = allo_recording_text(&printer->source.recording,
						    (uint32_t)event->note);

	if (event->kind == ALLO_EVENT_OWN)
		allo_output_printf(printer->out, "%llu  %u", (unsigned long long)event->size,
				   event->stack);
	if (event->kind == ALLO_EVENT_OWN && name.len > 0)
		allo_output_string(printer->out, "  ");
	allo_output_printable(printer->out, name);
}

static void put_change(const struct printer *printer, const struct allo_event *event)
{
	put_block(printer, event->pointer);
	if (has_stack(event))
		allo_output_printf(printer->out, "  %llu  %u", (unsigned long long)event->size,
				   event->stack);
	if (event->kind == ALLO_EVENT_RESIZE) {
		allo_output_string(printer->out, "  from ");
		put_block(printer, event->old);
	}
}

static void put_line(const struct printer *printer, const struct allo_event *event,
		     const struct allo_stream *stream)
{
	struct allo_output *out = printer->out;

	allo_output_printf(out, "%llu.%09llu  %u  %-7s  ",
			   (unsigned long long)event->ns / 1000000000,
			   (unsigned long long)event->ns % 1000000000, stream->thread,
			   allo_event_name(event->kind));
	(is_custom(event) ? put_custom : put_change)(printer, event);
	allo_show_labels(out, &printer->source.recording, labels_of(printer, event));
	allo_output_byte(out, '\n');
	if (printer->opt->stacks)
		put_stack(printer, event->stack);
}

/* JSON. */

static void add_function(struct allo_report *report, const struct frame *frame)
{
	allo_report_field_text(report, "function", frame->function);
	allo_report_field_text(report, "file", frame->file);
	if (frame->line)
		allo_report_field_u64(report, "line", frame->line);
}

static void add_frames(struct printer *printer, uint32_t stack)
{
	struct allo_report *report = &printer->report;
	struct frame frame;

	allo_report_list(report, "frames");
	while (next_frame(printer, &stack, &frame)) {
		allo_report_object(report, NULL);
		if (frame.is_function)
			add_function(report, &frame);
		else
			allo_report_field_u64(report, "address", frame.address);
		if (frame.module) {
			allo_report_field_name(report, "module", frame.module->path);
			allo_report_field_u64(report, "offset", frame.address - frame.module->bias);
		}
		allo_report_close(report);
	}
	allo_report_close(report);
}

/* As put_block(): `pointer` is the member's name, `name` is its name in a packed recording. */
static void add_block(struct printer *printer, const char *pointer, const char *name,
		      uint64_t block)
{
	struct allo_report *report = &printer->report;
	char text[32];

	if (!printer->source.recording.is_packed) {
		allo_report_field_u64(report, pointer, block);
	} else if (block != 0) {
		snprintf(text, sizeof(text), "%u:%u", allo_block_stack(block),
			 allo_block_number(block));
		allo_report_field_string(report, name, text);
	} else {
		allo_report_field_null(report, name);
	}
}

static void add_fields(struct printer *printer, const struct allo_event *event,
		       const struct allo_stream *stream)
{
	const struct allo_recording *recording = &printer->source.recording;
	struct allo_report *report = &printer->report;

	allo_report_field_u64(report, "ns", event->ns);
	allo_report_field_u64(report, "tid", stream->thread);
	allo_report_field_string(report, "event", allo_event_name(event->kind));
	if (is_custom(event))
		allo_report_field_text(report, "name",
				       allo_recording_text(recording, (uint32_t)event->note));
	else
		add_block(printer, "pointer", "block", event->pointer);
	if (event->kind == ALLO_EVENT_RESIZE)
		add_block(printer, "old_pointer", "old_block", event->old);
	if (has_stack(event)) {
		allo_report_field_u64(report, is_custom(event) ? "units" : "size", event->size);
		allo_report_field_u64(report, "stack", event->stack);
		if (printer->opt->stacks)
			add_frames(printer, event->stack);
	}
	allo_report_field_labels(report, recording, labels_of(printer, event));
}

/* CSV and Markdown. */

enum { NS, TID, EVENT, BLOCK, OLD_BLOCK, SIZE, STACK, NAME, LABELS, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[NS] = { "ns", "ns", NULL, ALLO_CELL_ID },
	[TID] = { "thread", "tid", NULL, ALLO_CELL_ID },
	[EVENT] = { "event", "event", NULL, ALLO_CELL_TEXT },
	[BLOCK] = { "block", "block", NULL, ALLO_CELL_TEXT },
	[OLD_BLOCK] = { "old block", "old_block", NULL, ALLO_CELL_TEXT },
	[SIZE] = { "size", "size", NULL, ALLO_CELL_ID },
	[STACK] = { "stack", "stack", NULL, ALLO_CELL_ID },
	[NAME] = { "name", "name", NULL, ALLO_CELL_TEXT },
	[LABELS] = { "labels", "labels", NULL, ALLO_CELL_TEXT },
};

static const struct allo_report_table table = { NULL, columns, COLUMNS };

static void set_block(struct printer *printer, size_t column, uint64_t block)
{
	char text[32];

	if (!printer->source.recording.is_packed)
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)block);
	else if (block != 0)
		snprintf(text, sizeof(text), "%u:%u", allo_block_stack(block),
			 allo_block_number(block));
	else
		return;
	allo_cell_string(&printer->report, column, text);
}

static void set_cells(struct printer *printer, const struct allo_event *event,
		      const struct allo_stream *stream)
{
	const struct allo_recording *recording = &printer->source.recording;
	struct allo_report *report = &printer->report;

	allo_report_row(report);
	allo_cell_u64(report, NS, event->ns);
	allo_cell_u64(report, TID, stream->thread);
	allo_cell_string(report, EVENT, allo_event_name(event->kind));
	if (is_custom(event))
		allo_cell_text(report, NAME, allo_recording_text(recording, (uint32_t)event->note));
	else
		set_block(printer, BLOCK, event->pointer);
	if (event->kind == ALLO_EVENT_RESIZE)
		set_block(printer, OLD_BLOCK, event->old);
	if (has_stack(event)) {
		allo_cell_u64(report, SIZE, event->size);
		allo_cell_u64(report, STACK, event->stack);
	}
	allo_cell_labels(report, LABELS, recording, labels_of(printer, event));
}

static bool is_table(const struct events *opt)
{
	return opt->common.csv || opt->common.markdown;
}

static void print_event(struct printer *printer, const struct allo_event *event)
{
	const struct allo_recording *recording = &printer->source.recording;
	const struct allo_stream *stream = &recording->streams.at[event->stream];

	ALLO_ASSERT(event->stream < recording->streams.len);
	if (is_table(printer->opt)) {
		set_cells(printer, event, stream);
	} else {
		allo_report_begin(&printer->report, &printer->options, printer->out);
		if (printer->opt->common.json)
			add_fields(printer, event, stream);
		else
			put_line(printer, event, stream);
		allo_report_end(&printer->report);
	}
	printer->count++;
}

static bool print_events(void *context, const struct allo_event_span *span, struct allo_error *err)
{
	struct printer *printer = context;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];

		if (event->kind == ALLO_EVENT_LABELS &&
		    !allo_stream_labels_take(&printer->labels, event, err))
			return false;
		if (allo_event_is_silent(event))
			continue;
		print_event(printer, event);
		if (printer->count == printer->opt->count)
			return false;
	}
	/* Stop if the reader of a pipe has closed it, or the disk is full. */
	return !allo_failed(&printer->out->failure);
}

static bool print_all(struct printer *printer, struct allo_error *err)
{
	if (is_table(printer->opt)) {
		allo_report_begin(&printer->report, &printer->options, printer->out);
		allo_report_table(&printer->report, &table);
	}
	if (!allo_source_events(&printer->source, print_events, printer, err) && allo_failed(err))
		return false;
	if (is_table(printer->opt)) {
		allo_report_end_table(&printer->report);
		allo_report_end(&printer->report);
	}
	return true;
}

static bool run_events(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct events *opt = options_given;
	ALLO_DEFER(printer_done)
	struct printer printer = { .opt = opt,
				   .out = &out,
				   .options = allo_common_report_options(&opt->common, false) };

	printer.options.json_lines = 0;
	if (!allo_common_check(&opt->common, err) ||
	    !allo_common_open_recording(&opt->common, files[0], "events", &printer.source, err))
		return false;
	allo_source_end_progress(&printer.source);
	if (opt->stacks)
		printer.modules = allo_modules_of_nodes(&printer.source.recording, err);
	if (allo_failed(err) || !allo_common_open_result(&out, err))
		return false;
	if (opt->common.json || is_table(opt))
		allo_output_clean_terminal(&out);
	if (!print_all(&printer, err) || !allo_output_finish(&out, err))
		return false;
	allo_source_note_gaps(&printer.source);
	return true;
}

const struct allo_command allo_cmd_events = {
	.name = "events",
	.heading = "Look",
	.summary = "print the events of a recording, one per line",
	.arguments = "[FILE]",
	.about =
		"Prints every allocation, free and realloc of a recording in the order of time, one "
		"per line: seconds since the start, the thread, the event and the block. An "
		"allocation also has its size and the number of its stack, and a realloc the old "
		"block. A failed realloc leaves its block unchanged.\n\n"
		"A raw recording, as 'allo run --raw' leaves it, has the addresses of blocks. A "
		"packed one does not: 17:3 is the third block of stack 17.\n\n"
		"Marks of the program are events with a name. Custom events have their units, "
		"their stack and, if they have one, their name. Each event ends with the labels "
		"of its thread.\n\n"
		"A program with one thread reads the clock only now and then; the events in "
		"between have the time of the last reading.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct events),
	.finds_newest = true,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_events,
};
