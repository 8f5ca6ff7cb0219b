/*
 * write_dhat.c - DHAT's JSON, as Valgrind's viewer dh_view requires it.
 *
 * The viewer refuses a file in which two program points have equal lists of frames.  So frames are
 * identified by their texts, and points with equal texts are added up.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/json_write.h"
#include "writers/dhat_columns.h"
#include "writers/printable.h"
#include "writers/writer.h"

#include <stdio.h>

/* The unit of times, and the times of the file's head. */
struct times {
	struct allo_text unit;
	char million[96];          /* name of a million of them */
	uint64_t divisor;          /* from the profile's clock to the unit */
	uint64_t end, peak, brief; /* "te", "tg" and "tuth" */
};

struct dhat {
	struct allo_write_job *w;
	const struct allo_profile *profile;
	struct allo_point_columns columns;
	struct times times;
	struct allo_printable printable; /* its samples are the program points */
};

static void dhat_done(struct dhat *dhat)
{
	allo_printable_done(&dhat->printable);
}

/* Frames. */

/* The dhat crate prints frames in another style than Valgrind. */
static bool is_of_crate(const struct allo_profile *profile)
{
	return allo_text_starts(allo_profile_text(profile, profile->meta.mode), ALLO_TEXT("rust-"));
}

static bool print_frame(const void *context, const struct allo_profile *profile,
			const struct allo_frame *frame, uint32_t call, struct allo_chars *out)
{
	(void)context;
	return allo_chars_add_valgrind_frame(out, profile, frame, call,
					     is_of_crate(profile) ? ALLO_FRAME_CRATE
								  : ALLO_FRAME_DHAT);
}

/* Times. */

/* Whether every time is a whole number of microseconds, as the dhat crate counts them. */
static bool are_microseconds(const struct dhat *dhat)
{
	const struct allo_meta *meta = &dhat->profile->meta;
	size_t lifetime = dhat->columns.metric[ALLO_POINT_TL];

	if (meta->duration % 1000 || meta->peak_time % 1000 || meta->short_lived % 1000)
		return false;
	for (size_t i = 0;
	     lifetime != ALLO_POINT_NONE && i < allo_profile_sample_count(dhat->profile); i++) {
		if (allo_profile_row(dhat->profile, i)[lifetime] % 1000)
			return false;
	}
	return true;
}

static enum allo_clock clock_of_unit(struct allo_text unit)
{
	if (allo_text_equal(unit, ALLO_TEXT("nanoseconds")))
		return ALLO_CLOCK_NS;
	return allo_text_equal(unit, ALLO_TEXT("instructions")) ? ALLO_CLOCK_INSTRUCTIONS
								: ALLO_CLOCK_NONE;
}

/* The longest life of a short-lived block: the producer's, or the default of Valgrind and the dhat
 * crate. */
static uint64_t brief_of(const struct allo_meta *meta, enum allo_clock clock)
{
	if (meta->has_short_lived)
		return meta->short_lived;
	return clock == ALLO_CLOCK_INSTRUCTIONS ? 500 : 10000;
}

static void name_unit(struct times *times, const char *unit, const char *million)
{
	times->unit = allo_text_of(unit);
	snprintf(times->million, sizeof(times->million), "%s", million);
}

/* `own_unit` is the unit of an unknown clock. */
static void choose_unit(struct dhat *dhat, enum allo_clock clock, struct allo_text own_unit)
{
	struct times *times = &dhat->times;

	times->divisor = 1;
	if (clock == ALLO_CLOCK_INSTRUCTIONS) {
		name_unit(times, "instrs", "Minstr");
	} else if (clock == ALLO_CLOCK_NONE && own_unit.len > 0) {
		times->unit = own_unit;
		snprintf(times->million, sizeof(times->million), "M%.*s", ALLO_TEXT_ARG(own_unit));
	} else if (are_microseconds(dhat)) {
		name_unit(times, "\xc2\xb5s", "s");
		times->divisor = 1000;
	} else {
		name_unit(times, "ns", "ms");
	}
}

static void set_times(struct dhat *dhat)
{
	const struct allo_meta *meta = &dhat->profile->meta;
	size_t lifetime = dhat->columns.metric[ALLO_POINT_TL], peak;
	struct allo_text unit = meta->duration > 0 ? ALLO_TEXT("ticks") : ALLO_TEXT("");
	enum allo_clock clock = meta->clock;
	struct times *times = &dhat->times;
	bool has_peak;

	if (lifetime != ALLO_POINT_NONE) {
		unit = allo_profile_text(dhat->profile, dhat->profile->metrics.at[lifetime].unit);
		clock = clock_of_unit(unit);
	}
	choose_unit(dhat, clock, unit);
	times->brief = brief_of(meta, clock) / times->divisor;
	if (clock != meta->clock)
		return;
	/* Without a peak, live memory at the end stands in for it. */
	has_peak = allo_profile_find_metric(dhat->profile, ALLO_PEAK_BYTES, &peak);
	times->end = meta->duration / times->divisor;
	times->peak = (has_peak ? meta->peak_time : meta->duration) / times->divisor;
}

/* Program points. */

static bool add_accesses(struct dhat *dhat, size_t sample, size_t point, bool is_new,
			 struct allo_error *err)
{
	struct allo_profile *points = &dhat->printable.profile;
	struct allo_accesses runs = allo_profile_accesses_of(dhat->profile, sample);

	if (is_new)
		return runs.count == 0 ||
		       allo_profile_set_accesses(points, dhat->profile->access_runs.at + runs.first,
						 runs.count, err);
	/* Access counts of two sites cannot be added up. */
	if (point < points->sample_accesses.len)
		points->sample_accesses.at[point] = (struct allo_accesses){ 0 };
	return true;
}

static bool add_points(struct dhat *dhat, struct allo_error *err)
{
	struct allo_profile *points = &dhat->printable.profile;
	uint64_t numbers[ALLO_POINT_FIELDS], *row;
	bool is_new;

	for (int field = 0; field < ALLO_POINT_FIELDS; field++) {
		if (!allo_profile_add_metric_like(points, &(struct allo_metric){ 0 }, err))
			return false;
	}
	for (size_t i = 0; i < allo_profile_sample_count(dhat->profile); i++) {
		allo_stack_id stack = dhat->printable.stacks[dhat->profile->sample_stacks.at[i]];

		allo_point_fill(&dhat->columns, dhat->profile, i, numbers, &dhat->w->notes);
		numbers[ALLO_POINT_TL] /= dhat->times.divisor;
		row = allo_profile_add_sample(points, stack, 0, &is_new, err);
		if (!row)
			return false;
		for (int field = 0; field < ALLO_POINT_FIELDS; field++)
			allo_profile_add_value(points, (size_t)field, &row[field], numbers[field]);
		ALLO_ASSERT(points->metrics.len == ALLO_POINT_FIELDS && dhat->times.divisor > 0);
		if (!add_accesses(dhat, i, (size_t)(row - points->values.at) / ALLO_POINT_FIELDS,
				  is_new, err))
			return false;
	}
	allo_notes_add(&dhat->w->notes, &points->notes);
	return true;
}

/* Output. */

static void put_key(struct allo_output *out, const char *key)
{
	allo_output_string(out, "\n,\"");
	allo_output_string(out, key);
	allo_output_string(out, "\":");
}

static void put_text(struct allo_output *out, const char *key, struct allo_text text)
{
	put_key(out, key);
	allo_json_out_quoted(out, text);
}

static void put_number(struct allo_output *out, const char *key, uint64_t number)
{
	put_key(out, key);
	allo_output_u64(out, number);
}

static void put_flag(struct allo_output *out, const char *key, bool flag)
{
	put_key(out, key);
	allo_output_string(out, flag ? "true" : "false");
}

/* The unit of a number: that of the metric or, if it is only "count", the metric's name. */
static struct allo_text unit_of(const struct dhat *dhat, enum allo_point_field field,
				struct allo_text if_none)
{
	const struct allo_profile *profile = dhat->profile;
	size_t metric = dhat->columns.metric[field];
	struct allo_text unit;

	if (metric == ALLO_POINT_NONE)
		return if_none;
	unit = allo_profile_text(profile, profile->metrics.at[metric].unit);
	if (unit.len == 0 || allo_text_equal(unit, ALLO_TEXT("count")))
		unit = allo_profile_text(profile, profile->metrics.at[metric].name);
	return unit;
}

static void put_units(struct dhat *dhat)
{
	struct allo_text units = unit_of(dhat, ALLO_POINT_TB, ALLO_TEXT("units")), unit = units;

	if (unit.len > 1 && allo_text_ends(unit, ALLO_TEXT("s")))
		unit.len--;
	put_text(dhat->w->out, "bu", unit);
	put_text(dhat->w->out, "bsu", units);
	put_text(dhat->w->out, "bksu", unit_of(dhat, ALLO_POINT_TBK, ALLO_TEXT("events")));
}

static void put_mode(struct dhat *dhat)
{
	static const struct {
		struct allo_text mode, verb;
	} usual[] = {
		[ALLO_POINT_HEAP] = { ALLO_TEXT_INIT("heap"), ALLO_TEXT_INIT("Allocated") },
		[ALLO_POINT_COPY] = { ALLO_TEXT_INIT("copy"), ALLO_TEXT_INIT("Copied") },
		[ALLO_POINT_AD_HOC] = { ALLO_TEXT_INIT("ad-hoc"), ALLO_TEXT_INIT("Occurred") },
	};
	const struct allo_meta *meta = &dhat->profile->meta;
	enum allo_point_kind kind = dhat->columns.kind;
	struct allo_text mode = allo_profile_text(dhat->profile, meta->mode);
	struct allo_text verb = allo_profile_text(dhat->profile, meta->verb);

	/* Only the mode tells copied memory from allocated memory. */
	if (mode.len == 0 ||
	    allo_text_equal(mode, usual[ALLO_POINT_COPY].mode) != (kind == ALLO_POINT_COPY)) {
		mode = usual[kind].mode;
		verb = usual[kind].verb;
	}
	put_text(dhat->w->out, "mode", mode);
	put_text(dhat->w->out, "verb", verb.len > 0 ? verb : usual[kind].verb);
}

static void put_run(struct dhat *dhat)
{
	const struct allo_meta *meta = &dhat->profile->meta;
	struct allo_output *out = dhat->w->out;

	allo_output_string(out, "{\"dhatFileVersion\":2");
	put_mode(dhat);
	put_flag(out, "bklt", dhat->columns.has_lifetimes);
	put_flag(out, "bkacc", dhat->columns.has_accesses);
	if (dhat->columns.kind == ALLO_POINT_AD_HOC)
		put_units(dhat);
	put_text(out, "tu", dhat->times.unit);
	put_text(out, "Mtu", allo_text_of(dhat->times.million));
	if (dhat->columns.has_lifetimes)
		put_number(out, "tuth", dhat->times.brief);
	put_text(out, "cmd", allo_profile_text(dhat->profile, meta->command));
	put_number(out, "pid", meta->pid);
	put_number(out, "te", dhat->times.end);
	if (dhat->columns.has_lifetimes)
		put_number(out, "tg", dhat->times.peak);
}

static void put_accesses(struct allo_output *out, const int32_t *runs, uint32_t count)
{
	allo_output_string(out, ",\"acc\":[");
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			allo_output_byte(out, ',');
		/* Valgrind's counters stop here, and the viewer refuses larger numbers. */
		allo_output_i64(out, runs[i] > UINT16_MAX ? UINT16_MAX : runs[i]);
	}
	allo_output_byte(out, ']');
}

static void put_stack(struct dhat *dhat, allo_stack_id stack)
{
	const struct allo_profile *points = &dhat->printable.profile;
	struct allo_output *out = dhat->w->out;

	allo_output_string(out, ",\"fs\":[");
	for (bool is_first = true; stack != 0; stack = points->stacks.at[stack].parent) {
		ALLO_ASSERT(points->stacks.at[stack].frame < points->frames.len);
		if (!is_first)
			allo_output_byte(out, ',');
		allo_output_u64(out, points->stacks.at[stack].frame);
		is_first = false;
	}
	allo_output_byte(out, ']');
}

static bool is_written(const struct dhat *dhat, enum allo_point_field field)
{
	if (field == ALLO_POINT_TB || field == ALLO_POINT_TBK)
		return true;
	return field == ALLO_POINT_RB || field == ALLO_POINT_WB ? dhat->columns.has_accesses
								: dhat->columns.has_lifetimes;
}

static void put_point(struct dhat *dhat, size_t point)
{
	static const char *const keys[ALLO_POINT_FIELDS] = {
		"\"tb\":",   ",\"tbk\":", ",\"tl\":",  ",\"mb\":", ",\"mbk\":", ",\"gb\":",
		",\"gbk\":", ",\"eb\":",  ",\"ebk\":", ",\"rb\":", ",\"wb\":",
	};
	const struct allo_profile *points = &dhat->printable.profile;
	struct allo_accesses runs = allo_profile_accesses_of(points, point);
	struct allo_output *out = dhat->w->out;

	allo_output_string(out, point > 0 ? "\n ,{" : "\n [{");
	for (int field = 0; field < ALLO_POINT_FIELDS; field++) {
		if (is_written(dhat, (enum allo_point_field)field)) {
			allo_output_string(out, keys[field]);
			allo_output_u64(out, allo_profile_row(points, point)[field]);
		}
	}
	if (dhat->columns.has_accesses && runs.count > 0)
		put_accesses(out, points->access_runs.at + runs.first, runs.count);
	put_stack(dhat, points->sample_stacks.at[point]);
	allo_output_byte(out, '}');
}

static void put_points(struct dhat *dhat)
{
	size_t count = allo_profile_sample_count(&dhat->printable.profile);

	put_key(dhat->w->out, "pps");
	for (size_t i = 0; i < count; i++)
		put_point(dhat, i);
	allo_output_string(dhat->w->out, count > 0 ? "\n ]" : "\n []");
}

static void put_frames(struct dhat *dhat)
{
	struct allo_output *out = dhat->w->out;

	put_key(out, "ftbl");
	allo_output_string(out, "\n [\"[root]\"");
	for (size_t i = 1; i < dhat->printable.profile.frames.len; i++) {
		allo_output_string(out, "\n ,");
		allo_json_out_quoted(out, allo_printable_text(&dhat->printable, (allo_frame_id)i));
	}
	allo_output_string(out, "\n ]\n}\n");
}

static bool write_dhat(struct allo_write_job *w, const struct allo_profile *profile,
		       struct allo_error *err)
{
	ALLO_DEFER(dhat_done) struct dhat dhat = { .w = w, .profile = profile };

	dhat.columns = allo_point_columns_of(profile, &w->notes);
	set_times(&dhat);
	if (!allo_print_stacks(&dhat.printable, profile, print_frame, NULL, err) ||
	    !add_points(&dhat, err))
		return false;
	put_run(&dhat);
	put_points(&dhat);
	put_frames(&dhat);
	return true;
}

const struct allo_writer allo_write_dhat = {
	.name = "dhat",
	.spells_stacks = true,
	.title = "DHAT, for Valgrind's dh_view and the Firefox Profiler",
	.about = "The output of 'valgrind --tool=dhat': the memory ever allocated at each "
		 "site, its maximum, its share of the program's peak, the rest at the end, "
		 "lifetimes and accesses. The viewer requires numbers that a profile may lack. "
		 "The nearest metric stands in for each, or 0, and a note says so; a profile "
		 "with totals only is written without the others. Profiles that are not about "
		 "memory, such as CPU samples, become DHAT's ad-hoc events. Of a comparison "
		 "the values after the change are written.\n\n"
		 "Program points whose frames print the same are added up, because the viewer "
		 "refuses duplicates. A frame names its module only if it has no line.",
	.endings = ".dhat.json .dhat dhat.out.*",
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_MODULES | ALLO_HOLDS_ADDRESSES | ALLO_HOLDS_FILES |
		 ALLO_HOLDS_LINES | ALLO_HOLDS_COLUMNS | ALLO_HOLDS_INLINES | ALLO_HOLDS_ACCESSES |
		 ALLO_HOLDS_COMMAND,
	.write = write_dhat,
};
