/*
 * fuzz_page_request.c - any bytes as a request of the page, about a small recording.
 *
 * The reply must be one, also to a request that is refused.
 */
#include "base/defer.h"
#include "recordings.h"
#include "replay/recording_profile.h"
#include "view/ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file that requests are about.  It stays open, as for a page. */
static struct {
	struct recorder recorder;
	struct allo_input in;
	struct allo_recording recording;
	struct allo_dataset dataset;
	bool is_open;
} file = { .in.fd = -1 };

static void open_file(void)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	allo_stack_id *stacks = NULL;
	const struct allo_replay replay = { .stacks = &stacks };
	struct allo_error err = { 0 };

	record_notes(&file.recorder);
	file.dataset.name = "fuzz";
	if (!allo_input_open_memory(&file.in, "fuzz", file.recorder.file,
				    file.recorder.slots * ALLO_SLOT_SIZE, &err) ||
	    !allo_recording_open(&file.recording, &file.in, &err) ||
	    !allo_profile_from_recording(&profile, &file.recording, &replay, &file.dataset.summary,
					 &err) ||
	    !allo_dataset_from_recording(&file.dataset, &profile, &file.recording, stacks, NULL,
					 &err))
		abort();
	file.is_open = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_reply_done) struct allo_reply reply = { 0 };
	struct allo_dataset *datasets[] = { &file.dataset };
	const struct allo_asked_files files = { .at = datasets, .count = 1 };

	if (!file.is_open)
		open_file();
	if (allo_ask(&files, (struct allo_text){ (const char *)data, size }, &reply).len == 0)
		abort();
	return 0;
}
