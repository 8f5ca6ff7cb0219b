/* answer_open.c - the ask "open": the contents of a file, and the data that it lacks. */
#include "analysis/dhat_sort.h"
#include "profile/metric_about.h"
#include "profile/naming.h"
#include "replay/coverage.h"
#include "view/answers/answers.h"

static void add_bool(struct allo_json_out *json, const char *key, bool value)
{
	allo_json_out_key(json, key);
	allo_json_out_bool(json, value);
}

static bool has_metric(const struct allo_dataset *dataset, enum allo_meaning meaning)
{
	size_t metric;

	return allo_profile_find_metric(&dataset->profile, meaning, &metric);
}

static bool has_lines(const struct allo_profile *profile)
{
	for (size_t i = 0; i < profile->lines.len; i++) {
		if (profile->lines.at[i].line > 0)
			return true;
	}
	return false;
}

/* Data that views need, and the command that provides them. */
enum data {
	TIME,
	LIFETIMES,
	THREADS,
	SIZES,
	BLOCKS,
	LABELS,
	NAMES,
	LINES,
	ACCESSES,
	RESIDENT,
	DATA
};

static const struct {
	const char *name, *title, *needs;
} kinds[DATA] = {
	[TIME] = { "time", "a time axis", "allo run PROGRAM" },
	[LIFETIMES] = { "lifetimes", "lifetimes of blocks", "allo run PROGRAM" },
	[THREADS] = { "threads", "threads", "allo run PROGRAM" },
	[SIZES] = { "sizes", "sizes of blocks", "allo run PROGRAM" },
	[BLOCKS] = { "blocks", "individual blocks", "allo run PROGRAM" },
	[LABELS] = { "labels", "labels", "allo_label_set() of allo.h" },
	[NAMES] = { "names", "function names", "allo symbolize FILE" },
	[LINES] = { "lines", "source lines", "gcc -g, then allo run PROGRAM" },
	[ACCESSES] = { "accesses", "reads and writes of blocks", "valgrind --tool=dhat PROGRAM" },
	[RESIDENT] = { "resident", "resident memory", "allo run PROGRAM" },
};

/* A comparison of two recordings has the data that both have. */
static bool has_time(struct allo_dataset *dataset, enum allo_side side)
{
	const struct allo_dataset *file = allo_dataset_recorded(dataset, side);

	return file && file->log.change_count > 0;
}

static bool has_lines_of(struct allo_dataset *dataset, enum allo_side side)
{
	const struct allo_dataset *file = allo_dataset_recorded(dataset, side);

	return has_lines(file ? &file->profile : &dataset->profile);
}

static void find_data(struct allo_dataset *dataset, bool has[DATA])
{
	const struct allo_dataset *file = allo_dataset_recorded(dataset, ALLO_NOW);
	bool is_recording = file != NULL;

	has[TIME] = has_time(dataset, ALLO_BEFORE) && has_time(dataset, ALLO_NOW);
	has[LIFETIMES] = is_recording || has_metric(dataset, ALLO_LIFETIME);
	has[THREADS] = has[SIZES] = has[BLOCKS] = is_recording;
	has[LABELS] = dataset->profile.label_sets.len > 1;
	has[NAMES] = dataset->has_names;
	has[LINES] = has_lines_of(dataset, ALLO_BEFORE) && has_lines_of(dataset, ALLO_NOW);
	has[ACCESSES] = has_metric(dataset, ALLO_READ_BYTES);
	has[RESIDENT] = is_recording && file->summary.resident.peak_bytes > 0;
}

static void put_data(struct allo_json_out *json, struct allo_dataset *dataset)
{
	bool has[DATA];

	find_data(dataset, has);
	allo_json_out_key(json, "has");
	allo_json_out_begin(json, '{');
	for (size_t i = 0; i < DATA; i++)
		add_bool(json, kinds[i].name, has[i]);
	add_bool(json, "sampled", allo_profile_is_estimated(&dataset->profile));
	add_bool(json, "comparison", dataset->is_comparison);
	allo_json_out_end(json);
	allo_json_out_key(json, "lacks");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < DATA; i++) {
		if (has[i])
			continue;
		allo_json_out_begin(json, '{');
		allo_json_out_member_text(json, "name", allo_text_of(kinds[i].name));
		allo_json_out_member_text(json, "data", allo_text_of(kinds[i].title));
		allo_json_out_member_text(json, "needs", allo_text_of(kinds[i].needs));
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_recordings(struct allo_json_out *json, char *const *paths)
{
	if (!paths)
		return;
	allo_json_out_key(json, "recordings");
	allo_json_out_begin(json, '[');
	for (; *paths; paths++)
		allo_json_out_text(json, allo_text_of(*paths));
	allo_json_out_end(json);
}

static void put_file(struct allo_json_out *json, const struct allo_dataset *dataset)
{
	const struct allo_profile *profile = &dataset->profile;
	const struct allo_meta *meta = &profile->meta;

	allo_json_out_key(json, "file");
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "name", allo_text_of(dataset->name));
	allo_json_out_member_text(json, "format", allo_text_of(meta->format ? meta->format : ""));
	allo_json_out_member_text(json, "producer", allo_profile_text(profile, meta->producer));
	put_recordings(json, dataset->recordings);
	allo_json_out_end(json);
	allo_json_out_key(json, "program");
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "command", allo_profile_text(profile, meta->command));
	if (meta->pid)
		allo_json_out_member_u64(json, "pid", meta->pid);
	if (dataset->recording)
		allo_json_out_member_text(json, "host", dataset->recording->host);
	if (meta->start_ns > 0)
		allo_json_out_member_u64(json, "start_unix_ns", (uint64_t)meta->start_ns);
	allo_json_out_end(json);
}

static void put_metrics(struct allo_json_out *json, const struct allo_dataset *dataset)
{
	const struct allo_profile *profile = &dataset->profile;
	size_t first = allo_default_metric(profile) / 2;
	char scratch[ALLO_NAME_SCRATCH], about[ALLO_ABOUT_SIZE];

	allo_json_out_key(json, "metrics");
	allo_json_out_begin(json, '[');
	for (size_t k = 0; k < allo_dataset_metric_count(dataset); k++) {
		/* The default metric comes first. */
		size_t number = k == 0 ? first : k <= first ? k - 1 : k;
		size_t metric = allo_dataset_metric(number);
		const struct allo_metric *it = &profile->metrics.at[metric];

		allo_json_out_begin(json, '{');
		allo_json_out_member_text(json, "name", allo_metric_name(profile, metric, scratch));
		allo_json_out_member_text(json, "title",
					  allo_text_of(allo_metric_about(profile, metric, about)));
		allo_json_out_member_text(json, "unit", allo_profile_text(profile, it->unit));
		add_bool(json, "additive", allo_metric_kinds[it->meaning].is_additive);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

/* The sort orders of DHAT's tree whose data the file has. */
static void put_presets(struct allo_json_out *json, const struct allo_profile *profile)
{
	struct allo_pp_columns columns = allo_pp_columns_of(profile);

	allo_json_out_key(json, "presets");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < ALLO_PP_SORTS; i++) {
		if (allo_pp_sort_fits(&allo_pp_sorts[i], &columns))
			allo_json_out_text(json, allo_text_of(allo_pp_sorts[i].name));
	}
	allo_json_out_end(json);
}

static void put_amount(struct allo_json_out *json, const char *key, uint64_t ns, uint64_t bytes,
		       uint64_t blocks)
{
	allo_json_out_key(json, key);
	allo_json_out_begin(json, '{');
	if (ns != ALLO_NOT_GIVEN)
		allo_json_out_member_u64(json, "ns", ns);
	allo_json_out_member_u64(json, "bytes", bytes);
	allo_json_out_member_u64(json, "blocks", blocks);
	allo_json_out_end(json);
}

static void put_threads(struct allo_json_out *json, const struct allo_recording *recording)
{
	allo_json_out_key(json, "threads");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < recording->streams.len; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];

		if (stream->kind != ALLO_STREAM_EVENTS)
			continue;
		allo_json_out_begin(json, '{');
		allo_json_out_member_u64(json, "id", stream->thread);
		allo_json_out_member_text(json, "name", stream->name);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_marks(struct allo_json_out *json, const struct allo_dataset *dataset)
{
	allo_json_out_key(json, "marks");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < dataset->log.marks.list.len; i++) {
		const struct allo_mark *mark = &dataset->log.marks.list.at[i];

		allo_json_out_begin(json, '{');
		allo_json_out_member_u64(json, "ns", mark->ns);
		allo_json_out_member_text(json, "name",
					  allo_recording_text(dataset->recording, mark->name));
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_amounts(struct allo_json_out *json, const struct allo_summary *summary)
{
	allo_json_out_member_u64(json, "events", summary->events);
	put_amount(json, "peak", summary->peak_ns, summary->peak_bytes, summary->peak_blocks);
	put_amount(json, "end", ALLO_NOT_GIVEN, summary->end_bytes, summary->end_blocks);
	put_amount(json, "allocated", ALLO_NOT_GIVEN, summary->total_bytes, summary->allocations);
}

static void put_coverage(struct allo_json_out *json, const struct allo_summary *summary)
{
	char text[ALLO_COVERAGE_SIZE];

	if (!allo_coverage_text(summary, false, text)[0])
		return;
	allo_json_out_key(json, "coverage");
	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "resident_bytes",
				 allo_coverage_resident(&summary->resident));
	allo_json_out_member_u64(json, "heap_bytes", summary->resident.live_bytes);
	allo_json_out_member_text(json, "text", allo_text_of(text));
	allo_json_out_end(json);
}

static uint64_t thread_count(const struct allo_recording *recording)
{
	uint64_t count = 0;

	for (size_t i = 0; i < recording->streams.len; i++)
		count += recording->streams.at[i].kind == ALLO_STREAM_EVENTS;
	return count;
}

/* The figures of the recording that a comparison compares with. */
static void put_before(struct allo_json_out *json, const struct allo_dataset *file)
{
	allo_json_out_key(json, "before");
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "name", allo_text_of(file->name));
	allo_json_out_member_u64(json, "duration_ns", file->log.end_ns);
	put_amounts(json, &file->summary);
	allo_json_out_member_u64(json, "threads", thread_count(file->recording));
	put_coverage(json, &file->summary);
	allo_json_out_end(json);
}

/* Of a comparison: of the recording that is compared. */
static void put_recording(struct allo_json_out *json, const struct allo_dataset *dataset)
{
	uint64_t exact_ns = allo_recording_exact_ns(dataset->recording);

	if (dataset->growth.generation > 0) {
		add_bool(json, "growing", dataset->growth.is_growing);
		allo_json_out_member_u64(json, "generation", dataset->growth.generation);
	}
	allo_json_out_member_u64(json, "duration_ns", dataset->log.end_ns);
	if (exact_ns > 0)
		allo_json_out_member_u64(json, "exact_ns", exact_ns);
	put_amounts(json, &dataset->summary);
	put_marks(json, dataset);
	put_threads(json, dataset->recording);
	put_coverage(json, &dataset->summary);
}

static void put_modules(struct allo_json_out *json, struct allo_dataset *dataset)
{
	const struct allo_profile *profile = &dataset->profile;

	allo_json_out_key(json, "modules");
	allo_json_out_begin(json, '[');
	for (size_t i = 1; i < profile->modules.len; i++) {
		struct allo_text path = allo_profile_text(profile, profile->modules.at[i].path);

		allo_json_out_begin(json, '{');
		allo_json_out_member_text(json, "path", path);
		add_bool(json, "own",
			 allo_is_own_code(&dataset->ownership, profile, ALLO_TEXT(""),
					  ALLO_TEXT(""), path));
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_notes(struct allo_json_out *json, const struct allo_notes *notes)
{
	allo_json_out_key(json, "notes");
	allo_json_out_begin(json, '[');
	for (int n = 0; n < ALLO_NOTES; n++) {
		if (notes->of[n].count == 0)
			continue;
		allo_json_out_begin(json, '{');
		allo_json_out_member_u64(json, "count", notes->of[n].count);
		allo_json_out_member_text(json, "text",
					  allo_text_of(allo_note_text(notes, (enum allo_note)n)));
		add_bool(json, "gap", allo_note_is_gap((enum allo_note)n));
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

bool allo_answer_open(struct allo_dataset *dataset, const struct allo_request *request,
		      struct allo_reply *reply, struct allo_error *err)
{
	struct allo_json_out *json = &reply->head;
	const struct allo_dataset *file = allo_dataset_recorded(dataset, ALLO_NOW);

	(void)request;
	(void)err;
	put_file(json, dataset);
	put_data(json, dataset);
	put_metrics(json, dataset);
	put_presets(json, &dataset->profile);
	if (file)
		put_recording(json, file);
	if (file && file != dataset)
		put_before(json, allo_dataset_recorded(dataset, ALLO_BEFORE));
	put_modules(json, dataset);
	put_notes(json, &dataset->profile.notes);
	allo_json_out_member_u64(json, "calls", dataset->call_count - 1);
	return true;
}
