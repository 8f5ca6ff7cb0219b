/*
 * opened.h - a file that a command looks into, event by event if it is a recording.
 */
#ifndef ALLO_CLI_OPENED_H
#define ALLO_CLI_OPENED_H

#include "cli/common.h"
#include "replay/block_rows.h"
#include "report/messages.h"

/* All zeros: nothing to close. */
struct allo_opened {
	struct allo_input in;
	bool is_recording; /* then: */
	struct allo_recording recording;
	/* The part that the options ask for: a range of time, or a moment. */
	struct allo_window window;
	bool has_moment;
	struct allo_instant moment;
	bool keeps_first; /* a realloc's block belongs to who has allocated it first */

	/* Private from here on. */
	bool is_open, has_bar;
	struct allo_progress_bar bar;
};

/* Opens a file with a progress bar, and the recording if it is one. */
bool allo_opened_open(struct allo_opened *opened, const struct allo_common *common,
		      const char *file, struct allo_error *err);

/* The same for commands that need a recording.  `what` is what only recordings have, for a hint
 * where the file is none: "single allocations". */
bool allo_opened_open_recording(struct allo_opened *opened, const struct allo_common *common,
				const char *file, const char *what, struct allo_error *err);

/* Reads what is no recording. */
bool allo_opened_read(struct allo_opened *opened, const struct allo_common *common,
		      struct allo_profile *profile, struct allo_error *err);

/* Takes the bar off the screen: what is wanted of the file has been read. */
void allo_opened_end_bar(struct allo_opened *opened);

void allo_opened_close(struct allo_opened *opened);

/* Says that events lack, if some do and somebody listens: what is printed may look odd. */
void allo_tell_lacks(const struct allo_recording *recording, const struct allo_common *common);

/* A thread for people: its number and, where it has one, its name. */
enum { ALLO_THREAD_NAME_SIZE = 48 };
const char *allo_format_thread(const struct allo_recording *recording, uint32_t stream,
			       char out[ALLO_THREAD_NAME_SIZE]);

#endif
