/* exports.c - opened files, and replies to requests about them. */
#include "wasm/exports.h"

#include "base/defer.h"
#include "readers/readers.h"
#include "replay/recording_profile.h"
#include "view/ask.h"
#include "view/compare.h"

#include <stdlib.h>

enum { FILES_MOST = 2 };

struct file {
	char *name;
	void *data;
	struct allo_input in;
	struct allo_recording recording;
	struct allo_dataset dataset;
};

/* The engine lives as long as its page shows these files: nothing is ever closed. */
static struct file opened[FILES_MOST];
static struct allo_dataset comparison;
static struct allo_dataset *datasets[FILES_MOST + 1];
static struct allo_asked_files asked = { .at = datasets };
static struct allo_reply reply;

void *allo_engine_alloc(size_t size)
{
	return malloc(size);
}

void allo_engine_free(void *memory)
{
	free(memory);
}

static const struct allo_engine_bytes *result(struct allo_text text)
{
	static struct allo_engine_bytes bytes;

	bytes = (struct allo_engine_bytes){ text.data, text.len };
	return &bytes;
}

static bool read_recording(struct file *file, struct allo_profile *profile, struct allo_error *err)
{
	struct allo_summary *summary = &file->dataset.summary;
	const struct allo_view everything = { 0 };
	allo_stack_id *stacks = NULL;
	struct allo_replay replay;

	profile->meta.format = allo_read_allo.name;
	profile->meta.has_addresses = allo_read_allo.has_addresses;
	if (!allo_recording_open(&file->recording, &file->in, err) ||
	    !allo_view_resolve(&everything, &file->recording, &replay, err))
		return false;
	replay.stacks = &stacks;
	if (!allo_profile_from_recording(profile, &file->recording, &replay, summary, err) ||
	    !allo_profile_validate(profile, err)) {
		free(stacks);
		return false;
	}
	summary->peak_ns = allo_window_peak_ns(&replay.window, &file->recording,
					       summary->peak_bytes, summary->peak_ns);
	return allo_dataset_from_recording(&file->dataset, profile, &file->recording, stacks, NULL,
					   err);
}

static bool read_file(struct file *file, size_t len, struct allo_error *err)
{
	const struct allo_read_options options = { .keep_accesses = true };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_reader *reader;

	if (!allo_input_open_memory(&file->in, file->name, file->data, len, err))
		return false;
	reader = allo_reader_for_input(&file->in, &options, err);
	if (!reader)
		return false;
	if (reader == &allo_read_allo)
		return read_recording(file, &profile, err);
	return allo_read_input(&file->in, &options, &profile, err) &&
	       allo_dataset_from_profile(&file->dataset, &profile, err);
}

static bool compare(struct allo_error *err)
{
	comparison.name = opened[0].name;
	return allo_dataset_compare(&comparison, &opened[1].dataset, &opened[0].dataset, err);
}

static bool open_next(const char *name, void *data, size_t len, struct allo_error *err)
{
	struct file *file = &opened[asked.count];

	if (asked.count >= FILES_MOST)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "more than %d files", FILES_MOST);
	*file = (struct file){ .name = strdup(name), .data = data };
	if (!file->name)
		return allo_fail_memory(err);
	file->dataset.name = file->name;
	if (!read_file(file, len, err))
		return false;
	datasets[asked.count++] = &file->dataset;
	if (asked.count < FILES_MOST)
		return true;
	datasets[asked.count++] = &comparison;
	return compare(err);
}

const struct allo_engine_bytes *allo_engine_open(const char *name, void *data, size_t len)
{
	struct allo_error err = { 0 };

	allo_reply_done(&reply);
	if (open_next(name, data, len, &err))
		return result((struct allo_text){ 0 });
	return result(allo_reply_finish(&reply, "open", &err));
}

const struct allo_engine_bytes *allo_engine_ask(const char *request, size_t len)
{
	allo_reply_done(&reply);
	return result(allo_ask(&asked, (struct allo_text){ request, len }, &reply));
}
