/* read_leaks.c - see read_leaks.h. */
#include "cli/read_leaks.h"

#include "base/defer.h"
#include "replay/recording_profile.h"
#include "report/messages.h"
#include "writers/writers.h"

void allo_leak_files_done(struct allo_leak_files *files)
{
	allo_profile_done(&files->profile);
	allo_birth_table_done(&files->births);
	allo_suppressions_done(&files->suppressions);
}

/* A recording. */

static bool take_live(void *context, allo_stack_id stack, allo_labels_id labels, uint64_t birth_ns,
		      struct allo_error *err)
{
	struct allo_leak_files *leaks = context;

	if (!allo_label_wishes_met(&leaks->labels, &leaks->profile, labels))
		return true;
	leaks->births.duration_ns = leaks->profile.meta.duration;
	return allo_birth_table_add(&leaks->births, stack, birth_ns, err);
}

static bool read_recording(struct allo_leak_files *leaks, const struct allo_common *common,
			   struct allo_input *in, struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_replay replay = { 0 };
	struct allo_view view;

	if (!allo_common_labels(common, &leaks->labels, err) ||
	    !allo_common_view(common, &view, err) || !allo_recording_open(&recording, in, err) ||
	    !allo_view_resolve(&view, &recording, &replay, err))
		return false;
	recording.leaves_addresses = common->no_symbols;
	/* At an instant there is no run to be divided. */
	leaks->has_births = view.at == ALLO_AT_NONE;
	if (leaks->has_births) {
		replay.take_live = take_live;
		replay.live_context = leaks;
	}
	leaks->births.from_ns = replay.window.from_ns;
	leaks->profile.meta.format = "allo";
	return allo_profile_from_recording(&leaks->profile, &recording, &replay, NULL, err) &&
	       allo_profile_validate(&leaks->profile, err);
}

/* Files. */

static bool is_recording(const struct allo_common *common, const struct allo_input *in)
{
	return (!common->from || strcmp(common->from, "allo") == 0) &&
	       allo_recording_probe((struct allo_text){ in->next, allo_input_unread(in) });
}

static bool read_one(struct allo_leak_files *leaks, const struct allo_common *common,
		     const char *file, struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	struct allo_read_options options = { .from = common->from,
					     .explain_unknown = allo_writer_explain_unknown };
	struct allo_progress_bar bar;
	struct allo_view view;
	bool ok;

	if (!allo_common_view(common, &view, err))
		return false;
	options.view = &view;
	allo_progress_bar_init(&bar, file);
	ok = allo_input_open(&in, file, bar.is_on && !common->quiet ? &bar.progress : NULL, err) &&
	     (is_recording(common, &in) ? read_recording(leaks, common, &in, err)
					: allo_read_input(&in, &options, &leaks->profile, err));
	allo_progress_bar_done(&bar);
	return ok && allo_common_name(common, &leaks->profile, NULL, err);
}

bool allo_leak_files_read(struct allo_leak_files *leaks, const struct allo_common *common,
			  char **files, struct allo_error *err)
{
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
