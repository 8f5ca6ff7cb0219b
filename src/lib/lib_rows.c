/* lib_rows.c - individual allocations and events of files; see allotrope.h. */
#include "base/defer.h"
#include "engine/rows.h"
#include "lib/lib_common.h"
#include "replay/recording/recording_stacks.h"

#include <stdlib.h>

enum { AT_ONCE = 256 }; /* rows or events in one call of the caller's function */

static void free_profile(struct allotrope_profile **profile)
{
	allotrope_profile_free(*profile);
}

static bool check(const char *path, bool has_take, struct allotrope_error *err)
{
	if (err && err->code != ALLOTROPE_OK)
		return false;
	if (!path)
		return allo_lib_misuse(err, "no file is given to read");
	return has_take || allo_lib_misuse(err, "no function is given to take the results");
}

/* Only on a command line is "-" standard input. */
static const char *file_of(const char *path)
{
	return strcmp(path, "-") == 0 ? "./-" : path;
}

/* Allocations. */

struct row_call {
	allotrope_take_allocations take;
	void *context;
	const struct allotrope_profile *profile;
	bool is_stopped;
};

static bool begin_rows(void *context, const struct allo_profile *profile,
		       const struct allo_process_info *process, const bool *has_rows,
		       const struct allo_marker *markers, size_t marker_count,
		       struct allo_error *err)
{
	(void)context;
	(void)profile;
	(void)process;
	(void)has_rows;
	(void)markers;
	(void)marker_count;
	(void)err;
	return true;
}

static struct allotrope_allocation public_row(const struct allo_allocation *row)
{
	return (struct allotrope_allocation){
		.alloc_ns = row->alloc_ns,
		.free_ns = row->free_ns, /* ALLO_NEVER_FREED is ALLOTROPE_NEVER */
		.size = row->size,
		.address = row->address,
		.first_ns = row->first_ns,
		.weight = row->weight > 0 ? row->weight : 1,
		.stack = row->stack,
		.first_stack = row->first_stack,
		.alloc_thread = row->alloc_thread,
		.free_thread = row->free_thread,
		.labels = row->labels,
		.is_resized = row->is_resized,
		.ends_resized = row->is_resized_on,
		.is_temporary = row->is_temporary,
	};
}

static bool take_rows(void *context, const struct allo_allocation *rows, size_t count,
		      struct allo_error *err)
{
	struct allotrope_allocation batch[AT_ONCE];
	struct row_call *call = context;

	(void)err;
	for (size_t done = 0, i; done < count; done += i) {
		for (i = 0; i < AT_ONCE && done + i < count; i++)
			batch[i] = public_row(&rows[done + i]);
		call->is_stopped = !call->take(call->context, call->profile, batch, i);
		if (call->is_stopped)
			return false;
	}
	return true;
}

bool allotrope_read_allocations(const char *path, const struct allotrope_read_options *options,
				allotrope_take_allocations take, void *context,
				struct allotrope_error *err)
{
	ALLO_DEFER(free_profile) struct allotrope_profile *profile = NULL;
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	struct row_call call = { .take = take, .context = context };
	const struct allo_allocation_sink sink = { begin_rows, take_rows, &call };
	struct allo_source_options how;
	struct allo_error failure = { 0 };
	struct allo_host host;

	if (!check(path, take != NULL, err) || !allo_lib_source_options(options, &host, &how, err))
		return false;
	call.profile = profile = allotrope_profile_new(err);
	if (!profile)
		return false;
	path = file_of(path);
	if (allo_source_open(&source, path, &how, &failure) && !allo_source_has_rows(&source)) {
		allo_fail(&failure, ALLO_FORMAT, (struct allo_pos){ .file = path },
			  "has no individual allocations");
		allo_hint(&failure, "recordings have them, and a part of one can be read");
	}
	return (!allo_failed(&failure) &&
		allo_source_rows(&source, &sink, &profile->data, &failure)) ||
	       call.is_stopped || allo_lib_fail(err, &failure);
}

/* Events. */

struct event_call {
	allotrope_take_events take;
	void *context;
	const struct allotrope_profile *profile;
	const struct allo_recording *recording;
	const allo_stack_id *stacks; /* by node */
	bool is_stopped;
};

static const enum allotrope_event_kind public_kinds[] = {
	[ALLO_EVENT_ALLOC] = ALLOTROPE_EVENT_ALLOC,
	[ALLO_EVENT_FREE] = ALLOTROPE_EVENT_FREE,
	[ALLO_EVENT_RESIZE] = ALLOTROPE_EVENT_REALLOC,
	[ALLO_EVENT_RESIZE_FAILED] = ALLOTROPE_EVENT_REALLOC_FAILED,
	[ALLO_EVENT_MARK] = ALLOTROPE_EVENT_MARK,
	[ALLO_EVENT_OWN] = ALLOTROPE_EVENT_OWN,
};

static bool has_name(const struct allo_event *event)
{
	return event->kind == ALLO_EVENT_MARK || event->kind == ALLO_EVENT_OWN;
}

static struct allotrope_event public_event(const struct event_call *call,
					   const struct allo_event *event)
{
	const struct allo_recording *recording = call->recording;

	ALLO_ASSERT(event->kind < sizeof(public_kinds) / sizeof(*public_kinds) &&
		    event->stream < recording->streams.len);
	return (struct allotrope_event){
		.ns = event->ns,
		.kind = public_kinds[event->kind],
		.tid = recording->streams.at[event->stream].thread,
		.block = event->pointer,
		.old_block = event->kind == ALLO_EVENT_RESIZE ? event->old : 0,
		.size = event->size,
		.stack = event->stack < recording->nodes.len ? call->stacks[event->stack] : 0,
		.name = has_name(event) && event->note
				? allo_recording_text(recording, (uint32_t)event->note).data
				: "",
	};
}

static bool take_events(void *context, const struct allo_event_span *span, struct allo_error *err)
{
	struct allotrope_event batch[AT_ONCE];
	struct event_call *call = context;
	size_t count = 0;

	(void)err;
	for (size_t i = 0; i < span->count && !call->is_stopped; i++) {
		if (!allo_event_is_silent(&span->events[i]))
			batch[count++] = public_event(call, &span->events[i]);
		if (count == AT_ONCE || (count > 0 && i + 1 == span->count)) {
			call->is_stopped = !call->take(call->context, call->profile, batch, count);
			count = 0;
		}
	}
	return !call->is_stopped;
}

bool allotrope_read_events(const char *path, const struct allotrope_read_options *options,
			   allotrope_take_events take, void *context, struct allotrope_error *err)
{
	ALLO_DEFER(free_profile) struct allotrope_profile *profile = NULL;
	ALLO_DEFER(allo_free_pointer) allo_stack_id *stacks = NULL;
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	struct event_call call = { .take = take, .context = context };
	struct allo_source_options how;
	struct allo_error failure = { 0 };
	struct allo_host host;

	if (!check(path, take != NULL, err) || !allo_lib_source_options(options, &host, &how, err))
		return false;
	call.profile = profile = allotrope_profile_new(err);
	if (!profile)
		return false;
	if (!allo_source_open_recording(&source, file_of(path), &how, "events", &failure) ||
	    !allo_source_stacks(&source, &profile->data, &stacks, &failure))
		return allo_lib_fail(err, &failure);
	call.recording = &source.recording;
	call.stacks = stacks;
	return allo_source_events(&source, take_events, &call, &failure) || call.is_stopped ||
	       allo_lib_fail(err, &failure);
}
