/* read_leaks.c - see read_leaks.h. */
#include "cli/read_leaks.h"

#include "base/defer.h"
#include "report/messages.h"
#include "writers/writers.h"

void allo_leak_files_done(struct allo_leak_files *files)
{
	allo_profile_done(&files->profile);
	allo_birth_table_done(&files->births);
	allo_timeline_done(&files->timeline);
	allo_suppressions_done(&files->suppressions);
}

static void set_parts(struct allo_leak_files *leaks)
{
	struct allo_birth_table *births = &leaks->births;

	births->duration_ns = allo_timeline_active_ns(&leaks->timeline,
						      leaks->profile.meta.duration);
	for (unsigned i = 1; i < ALLO_TENTHS && births->duration_ns < ALLO_SHORT_RUN_NS; i++)
		births->part_ns[i - 1] = allo_timeline_part_ns(&leaks->timeline, i, ALLO_TENTHS);
}

/* Called when the timeline is complete. */
static bool take_live(void *context, allo_stack_id stack, allo_labels_id labels, uint64_t birth_ns,
		      struct allo_error *err)
{
	struct allo_leak_files *leaks = context;

	if (!allo_label_filter_met(&leaks->labels, &leaks->profile, labels))
		return true;
	if (leaks->births.duration_ns == 0)
		set_parts(leaks);
	return allo_birth_table_add(&leaks->births, stack, birth_ns, err);
}

static bool read_one(struct allo_leak_files *leaks, const struct allo_common *common,
		     const char *file, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	struct allo_profile_request request = { .live_context = leaks };
	struct allo_source_options options;

	if (!allo_common_labels(common, &leaks->labels, err) ||
	    !allo_common_source(common, &options, err) ||
	    !allo_source_open(&source, file, &options, err))
		return false;
	/* Only a span of time can be divided into start-up and growth. */
	leaks->has_births = source.is_recording && options.view.at == ALLO_AT_NONE;
	if (leaks->has_births) {
		request.take_live = take_live;
		request.timeline = &leaks->timeline;
		leaks->timeline.most = ALLO_PAGE_STEPS;
	}
	leaks->births.from_ns = source.replay.window.from_ns;
	return allo_source_profile(&source, &request, &leaks->profile, err);
}

bool allo_leak_files_read(struct allo_leak_files *leaks, const struct allo_common *common,
			  char **files, struct allo_error *err)
{
	files = allo_common_files(files, err);
	if (!files)
		return false;
	if (files[1])
		return allo_common_read_all(common, files, NULL, &leaks->profile, err);
	return read_one(leaks, common, files[0], err);
}

/* Suppressions. */

bool allo_read_suppressions(struct allo_suppressions *suppressions, const struct allo_list *files,
			    struct allo_error *err)
{
	for (size_t i = 0; i < files->count; i++) {
		ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };

		if (!allo_input_open(&in, files->item[i], NULL, err) ||
		    !allo_suppressions_read(suppressions, &in, err))
			return false;
	}
	return true;
}

void allo_tell_unused_suppressions(const struct allo_suppressions *suppressions)
{
	enum { MOST = 5 }; /* a shared file may have hundreds that are for other programs */
	size_t unused = 0;

	for (size_t i = 0; i < suppressions->list.len; i++) {
		const struct allo_suppression *suppression = &suppressions->list.at[i];

		if (suppression->stacks == 0 && suppression->file && unused++ < MOST)
			allo_say_note("%s:%llu: leak:%.*s has hidden nothing", suppression->file,
				      (unsigned long long)suppression->line,
				      ALLO_TEXT_ARG(suppression->pattern));
	}
	if (unused > MOST)
		allo_say_note("%zu more suppressions have hidden nothing", unused - MOST);
}
