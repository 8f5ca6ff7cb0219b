/* source.c - opens inputs and reads profiles; see source.h. */
#include "engine/source.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/units.h"
#include "engine/rows.h"
#include "engine/window_heap.h"
#include "replay/events/event_stream.h"
#include "replay/recording/recording_stacks.h"
#include "telemetry/monotonic_clock.h"
#include "view/log/change_log.h"
#include "writers/writers.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The host. */

void allo_host_note(const struct allo_host *host, const char *fmt, ...)
{
	char text[512];
	va_list arguments;

	if (!host || !host->note)
		return;
	va_start(arguments, fmt);
	vsnprintf(text, sizeof(text), fmt, arguments);
	va_end(arguments);
	host->note(host->context, text);
}

const struct allo_progress *allo_host_begin(struct allo_host_progress *shown,
					    const struct allo_host *host, const char *title,
					    const char *unit)
{
	allo_host_end(shown);
	if (!host || !host->begin)
		return NULL;
	host->begin(host->context, title, unit);
	*shown = (struct allo_host_progress){ host, { host->progress, host->context } };
	return &shown->progress;
}

void allo_host_end(struct allo_host_progress *shown)
{
	if (shown->host)
		shown->host->end(shown->host->context);
	shown->host = NULL;
}

static const struct allo_progress *begin_progress(struct allo_source *source)
{
	return allo_host_begin(&source->progress, source->options.host, source->path, NULL);
}

void allo_source_end_progress(struct allo_source *source)
{
	allo_host_end(&source->progress);
}

/* Opening. */

static struct allo_text name_symbol(void *context, struct allo_text symbol)
{
	return allo_demangle(context, symbol);
}

static void init(struct allo_source *source, const char *path,
		 const struct allo_source_options *options)
{
	static const struct allo_source_options defaults;

	*source = (struct allo_source){ .path = path,
					.options = options ? *options : defaults,
					.in.fd = -1,
					.namer = { name_symbol, &source->demangler } };
	source->options.trace.namer = &source->namer;
	source->options.symbols.has_no_cache |= source->options.no_cache;
}

static bool open_recording(struct allo_source *source, struct allo_error *err)
{
	source->is_recording = true;
	source->reader = &allo_read_allo;
	if (!allo_recording_open(&source->recording, &source->in, err) ||
	    !allo_view_resolve(&source->options.view, &source->recording, &source->replay, err))
		return false;
	source->recording.leaves_addresses = source->options.no_symbols;
	/* A fetched file is another one each time. */
	source->replay.use_cache = !source->options.no_cache && !source->is_fetched;
	return true;
}

static struct allo_read_options options_for_reader(const struct allo_source *source)
{
	return (struct allo_read_options){ .from = source->options.format,
					   .explain_unknown = allo_writer_explain_unknown };
}

static bool open_content(struct allo_source *source, struct allo_error *err)
{
	const struct allo_read_options options = options_for_reader(source);

	source->reader = allo_reader_for_input(&source->in, &options, err);
	if (!source->reader)
		return false;
	return source->reader != &allo_read_allo || open_recording(source, err);
}

static bool is_url(const char *path)
{
	return strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0;
}

static bool open_fetched(struct allo_source *source, struct allo_error *err)
{
	source->fetched = source->options.fetch(source->path, err);
	if (source->fetched < 0)
		return false;
	source->is_fetched = true;
	return allo_input_open_fd(&source->in, source->fetched, source->path,
				  begin_progress(source), err);
}

static bool open_input(struct allo_source *source, struct allo_error *err)
{
	const struct allo_progress *progress;

	if (source->options.fetch && is_url(source->path))
		return open_fetched(source, err);
	progress = begin_progress(source);
	return allo_input_open_watched(&source->in, source->path, progress, source->options.watch,
				       err);
}

bool allo_source_open(struct allo_source *source, const char *path,
		      const struct allo_source_options *options, struct allo_error *err)
{
	struct allo_read_options read_options;

	init(source, path, options);
	source->is_directory = allo_is_directory(path);
	if (!source->is_directory)
		return open_input(source, err) && open_content(source, err);
	read_options = options_for_reader(source);
	source->reader = allo_reader_for_directory(path, &read_options, err);
	return source->reader != NULL;
}

bool allo_source_open_bytes(struct allo_source *source, const struct allo_source_bytes *bytes,
			    const struct allo_source_options *options, struct allo_error *err)
{
	const struct allo_progress *progress;

	init(source, bytes->name, options);
	progress = begin_progress(source);
	return (bytes->data
			? allo_input_open_memory(&source->in, bytes->name, bytes->data, bytes->len,
						 err)
			: allo_input_open_fd(&source->in, bytes->fd, bytes->name, progress, err)) &&
	       open_content(source, err);
}

bool allo_source_open_recording(struct allo_source *source, const char *path,
				const struct allo_source_options *options, const char *needed,
				struct allo_error *err)
{
	init(source, path, options);
	if (open_input(source, err) && open_recording(source, err))
		return allo_source_check_events(source, err);
	if (err->code == ALLO_FORMAT)
		allo_hint(err, "only recordings have %s; 'allo run PROGRAM' makes one", needed);
	return false;
}

void allo_source_close(struct allo_source *source)
{
	allo_source_end_progress(source);
	allo_recording_close(&source->recording);
	allo_input_close(&source->in); /* an input that failed to open may hold memory */
	if (source->is_fetched)
		close(source->fetched);
	allo_demangler_done(&source->demangler);
}

/* Truncated recordings. */

static bool has_events(struct allo_recording *recording)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	const struct allo_gaps gaps = recording->gaps;
	const uint64_t loaded = recording->loaded;
	struct allo_error failure = { 0 };
	struct allo_event_span span;
	bool has;

	if (recording->earlier)
		return true;
	/* The request that follows meets a failure again, and reports it. */
	has = (allo_events_open(&events, recording, &failure) &&
	       allo_events_next(&events, &span, &failure)) ||
	      allo_failed(&failure);
	/* Reading counts gaps, and the request that follows counts them again. */
	recording->gaps = gaps;
	recording->loaded = loaded;
	return has;
}

static bool fail_no_event(const struct allo_source *source, struct allo_error *err)
{
	const struct allo_recording *recording = &source->recording;
	const struct allo_pos pos = { .file = source->path };
	char size[ALLO_NUMBER_SIZE];

	/* No recording has its length in its head. */
	if (recording->is_packed && !recording->gaps.has_no_trailer)
		allo_fail(err, ALLO_FORMAT, pos,
			  "was packed from a truncated recording: no event can be read");
	else
		allo_fail(err, ALLO_FORMAT, pos,
			  "the file ends after %s bytes: no event can be read",
			  allo_format_count(recording->size, size));
	return allo_hint(err, "record the program again; 'allo verify' lists what is missing");
}

bool allo_source_check_events(struct allo_source *source, struct allo_error *err)
{
	return !source->is_recording || !source->recording.gaps.is_cut ||
	       source->options.view.of_running || has_events(&source->recording) ||
	       fail_no_event(source, err);
}

/* Names. */

static void note_other_builds(const struct allo_host *host, const struct allo_profile *profile,
			      const struct allo_symbols *symbols)
{
	for (size_t i = 1; i < profile->modules.len && i < symbols->modules.len; i++) {
		const struct allo_module_symbols *module = &symbols->modules.at[i];
		struct allo_text path = allo_profile_text(profile, profile->modules.at[i].path);

		if (module->source == ALLO_SYMBOLS_OTHER_BUILD ||
		    module->source == ALLO_SYMBOLS_CHANGED)
			allo_host_note(host, "%.*s is %s: its frames stay addresses",
				       ALLO_TEXT_ARG(path),
				       allo_symbol_source_text(module->source));
	}
}

/* A mistyped folder would otherwise look like one without debug information. */
static bool check_folder(const char *option, const char *path, struct allo_error *err)
{
	struct stat facts;

	if (stat(path, &facts) != 0)
		return allo_fail_errno(err, path, "look into it");
	return S_ISDIR(facts.st_mode) ||
	       allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s needs a directory, and %s is not one",
			 option, path);
}

static bool check_folders(const struct allo_symbol_places *places, struct allo_error *err)
{
	for (size_t i = 0; i < places->folder_count; i++) {
		if (!check_folder("--debug-dir", places->folders[i], err))
			return false;
	}
	return !places->root || check_folder("--sysroot", places->root, err);
}

bool allo_add_names(const struct allo_source_options *options, struct allo_profile *profile,
		    struct allo_symbols *symbols, struct allo_error *err)
{
	ALLO_DEFER(allo_symbols_done) struct allo_symbols unused = { 0 };
	ALLO_DEFER(allo_host_end) struct allo_host_progress progress = { 0 };

	if (!check_folders(&options->symbols.places, err))
		return false;
	if (options->no_symbols || !profile->meta.has_addresses)
		return true;
	if (!symbols)
		symbols = &unused;
	if (!allo_symbols_add(profile, &options->symbols,
			      allo_host_begin(&progress, options->host, "symbols", "frames"),
			      symbols, err))
		return false;
	allo_host_end(&progress);
	note_other_builds(options->host, profile, symbols);
	return true;
}

/* Profiles. */

/* A stored index that is not of use counts among the notes. */
static void check_index(struct allo_recording *recording)
{
	ALLO_DEFER(allo_change_log_done) struct allo_change_log log = { 0 };
	struct allo_error unused = { 0 };

	allo_change_log_load(&log, recording, &unused);
}

static bool profile_of_recording(struct allo_source *source,
				 const struct allo_profile_request *request,
				 struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_timeline_done) struct allo_timeline own = { .most = ALLO_HISTORY_STEPS };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_recording *recording = &source->recording;
	struct allo_replay replay = source->replay;
	ALLO_DEFER(allo_free_pointer) allo_stack_id *stacks = NULL;
	bool has_heap = recording->head.sampling.mode != ALLO_MODE_AD_HOC;
	bool has_history = request->wants_history && has_heap;
	/* An instant has no course of time. */
	bool has_changes = request->wants_changes && has_heap &&
			   source->options.view.at == ALLO_AT_NONE;

	replay.by_thread = request->by_thread || source->options.by_thread;
	replay.timeline = request->timeline ? request->timeline : has_history ? &own : NULL;
	replay.marks = request->marks;
	replay.nodes = request->nodes;
	ALLO_ASSERT(!request->wants_changes || !request->stacks);
	replay.stacks = has_changes ? &stacks : request->stacks;
	replay.take_live = request->take_live;
	replay.live_context = request->live_context;
	replay.observer = request->observer;
	if (request->checks_all) {
		replay.use_cache = false;
		check_index(recording);
	}
	profile->meta.format = source->reader->name;
	profile->meta.has_addresses = source->reader->has_addresses;
	allo_window_heap(&heap, recording, &replay);
	if (!allo_profile_from_recording(profile, recording, &replay, request->summary, err) ||
	    (has_history && !allo_timeline_add_history(replay.timeline, profile, err)) ||
	    (has_changes && !allo_source_add_changes(source, stacks, profile, err)))
		return false;
	if (request->summary)
		request->summary->peak_ns = allo_window_peak_ns(&replay.window, recording,
								request->summary->peak_bytes,
								request->summary->peak_ns);
	return allo_profile_validate(profile, err);
}

static bool profile_of_file(struct allo_source *source, const struct allo_profile_request *request,
			    struct allo_profile *profile, struct allo_error *err)
{
	struct allo_read_options options = {
		.from = source->options.format,
		.explain_unknown = allo_writer_explain_unknown,
		.keep_accesses = request->keep_accesses,
		.leaves_addresses = source->options.no_symbols,
		.is_strict = source->options.is_strict,
		.drain = request->drain,
		.view = &source->options.view,
		.by_thread = request->by_thread || source->options.by_thread,
		.wants_history = request->wants_history,
		.wants_times = request->wants_times,
		.trace = source->options.trace,
		.watch = source->options.watch,
	};

	if (!source->is_directory)
		return allo_read_input(&source->in, &options, profile, err);
	options.progress = begin_progress(source);
	return allo_read_file(source->path, &options, profile, err);
}

/* With --strict, fails if a part of the input was not read. */
static bool check_read(const struct allo_source *source, const struct allo_notes *notes,
		       struct allo_error *err)
{
	for (int n = 0; source->options.is_strict && n < ALLO_NOTES; n++) {
		struct allo_pos pos = notes->of[n].first;

		if (!allo_note_kinds[n].is_unread || notes->of[n].count == 0)
			continue;
		if (!pos.file)
			pos.file = source->path;
		allo_fail(err, ALLO_FORMAT, pos, "%llu %s", (unsigned long long)notes->of[n].count,
			  allo_note_text(notes, (enum allo_note)n));
		return allo_hint(err, "without --strict the rest is read");
	}
	return true;
}

void allo_set_moment(struct allo_profile *profile)
{
	struct allo_meta *meta = &profile->meta;
	struct timespec now;
	int64_t passed_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	meta->taken_ns = now.tv_sec * (int64_t)ALLO_SECOND_NS + now.tv_nsec;
	/* The recording ends with its last event, a range goes on until now. */
	passed_ns = meta->taken_ns - meta->start_ns - (int64_t)meta->run_ns;
	if (meta->part.of_range && meta->start_ns > 0 && passed_ns > 0)
		meta->duration += (uint64_t)passed_ns;
}

bool allo_source_profile(struct allo_source *source, const struct allo_profile_request *request,
			 struct allo_profile *profile, struct allo_error *err)
{
	static const struct allo_profile_request defaults;
	bool ok;

	if (!request)
		request = &defaults;
	ok = (request->describes || allo_source_check_events(source, err)) &&
	     (source->is_recording ? profile_of_recording : profile_of_file)(source, request,
									     profile, err);
	allo_source_end_progress(source);
	if (ok && source->options.view.of_running)
		allo_set_moment(profile);
	return ok && check_read(source, &profile->notes, err) &&
	       (request->no_names ||
		allo_add_names(&source->options, profile, request->symbols, err));
}

bool allo_read_profile(const char *path, const struct allo_source_options *options,
		       const struct allo_profile_request *request, struct allo_profile *profile,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };

	return allo_source_open(&source, path, options, err) &&
	       allo_source_profile(&source, request, profile, err);
}

bool allo_source_stacks(struct allo_source *source, struct allo_profile *profile,
			allo_stack_id **stacks, struct allo_error *err)
{
	profile->meta.format = source->reader->name;
	profile->meta.has_addresses = source->reader->has_addresses;
	return allo_profile_from_stacks(profile, &source->recording, stacks, err) &&
	       allo_add_names(&source->options, profile, NULL, err);
}

/* Events. */

bool allo_source_events(struct allo_source *source, allo_take_events *take, void *context,
			struct allo_error *err)
{
	ALLO_DEFER(allo_window_close) struct allo_window_events events = { 0 };
	struct allo_event_span span;
	bool is_inside;

	if (!allo_source_check_events(source, err) ||
	    !allo_window_open(&events, &source->recording, &source->replay.window, err))
		return false;
	while (allo_window_next(&events, &span, &is_inside, err)) {
		if (is_inside && !take(context, &span, err))
			return false;
	}
	return !allo_failed(err);
}

bool allo_source_block_rows(struct allo_source *source, allo_take_rows *take, void *context,
			    struct allo_error *err)
{
	enum allo_view_instant at = source->options.view.at;
	const struct allo_window *window = &source->replay.window;
	struct allo_instant instant;
	bool ok;

	if (!allo_source_check_events(source, err))
		return false;
	if (at == ALLO_AT_NONE || at == ALLO_AT_CHANGE)
		ok = allo_block_rows(&source->recording, window, take, context, err);
	else
		ok = allo_instant_of_view(&instant, &source->recording, at, window, err) &&
		     allo_block_rows_at(&source->recording, &instant, window->threads, take,
					context, err);
	allo_source_end_progress(source);
	return ok;
}

void allo_source_note_gaps(const struct allo_source *source)
{
	const struct allo_gaps *gaps = &source->recording.gaps;
	char size[ALLO_NUMBER_SIZE];

	if (!source->is_recording)
		return;
	if (gaps->is_cut && (!source->recording.is_packed || gaps->has_no_trailer))
		allo_host_note(source->options.host,
			       "%s is truncated: the numbers are those of its first %s bytes",
			       source->path, allo_format_count(source->recording.size, size));
	else if (gaps->is_cut || gaps->missing_pages || gaps->missing_streams ||
		 gaps->damaged_pages || gaps->unread_pages || gaps->dropped_events ||
		 allo_end_is_early(source->recording.head.end))
		allo_host_note(source->options.host,
			       "some events are missing; 'allo verify' lists them");
}
