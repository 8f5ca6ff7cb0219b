/* answer_open.c - the ask "open": the contents of a file, and the data that it lacks. */
#include "analysis/sum.h"
#include "profile/metric_about.h"
#include "profile/naming.h"
#include "replay/resident.h"
#include "view/answers.h"

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

static void find_data(const struct allo_dataset *dataset, bool has[DATA])
{
	bool is_recording = dataset->recording != NULL;

	has[TIME] = is_recording && dataset->log.change_count > 0;
	has[LIFETIMES] = is_recording || has_metric(dataset, ALLO_LIFETIME);
	has[THREADS] = has[SIZES] = has[BLOCKS] = is_recording;
	has[LABELS] = dataset->profile.label_sets.len > 1;
	has[NAMES] = dataset->has_names;
	has[LINES] = has_lines(&dataset->profile);
	has[ACCESSES] = has_metric(dataset, ALLO_READ_BYTES);
	has[RESIDENT] = is_recording && dataset->summary.resident.peak_bytes > 0;
}

static void put_data(struct allo_json_out *json, const struct allo_dataset *dataset)
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

static void put_file(struct allo_json_out *json, const struct allo_dataset *dataset)
{
	const struct allo_profile *profile = &dataset->profile;
	const struct allo_meta *meta = &profile->meta;

	allo_json_out_key(json, "file");
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "name", allo_text_of(dataset->name));
	allo_json_out_member_text(json, "format", allo_text_of(meta->format ? meta->format : ""));
	allo_json_out_member_text(json, "producer", allo_profile_text(profile, meta->producer));
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

static void put_recording(struct allo_json_out *json, const struct allo_dataset *dataset)
{
	const struct allo_summary *summary = &dataset->summary;
	const struct allo_resident *resident = &summary->resident;

	if (dataset->growth.generation > 0) {
		add_bool(json, "growing", dataset->growth.is_growing);
		allo_json_out_member_u64(json, "generation", dataset->growth.generation);
	}
	allo_json_out_member_u64(json, "duration_ns", dataset->log.end_ns);
	allo_json_out_member_u64(json, "events", summary->events);
	put_amount(json, "peak", summary->peak_ns, summary->peak_bytes, summary->peak_blocks);
	put_amount(json, "end", ALLO_NOT_GIVEN, summary->end_bytes, summary->end_blocks);
	put_amount(json, "allocated", ALLO_NOT_GIVEN, summary->total_bytes, summary->allocations);
	put_marks(json, dataset);
	put_threads(json, dataset->recording);
	if (resident->peak_bytes == 0)
		return;
	allo_json_out_key(json, "coverage");
	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "resident_bytes", resident->peak_bytes);
	allo_json_out_member_u64(json, "heap_bytes", resident->live_bytes);
	allo_json_out_end(json);
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

	(void)request;
	(void)err;
	put_file(json, dataset);
	put_data(json, dataset);
	put_metrics(json, dataset);
	if (dataset->recording)
		put_recording(json, dataset);
	put_modules(json, dataset);
	put_notes(json, &dataset->profile.notes);
	allo_json_out_member_u64(json, "calls", dataset->call_count - 1);
	return true;
}
