/*
 * messages.h - messages on standard error.
 */
#ifndef ALLO_REPORT_MESSAGES_H
#define ALLO_REPORT_MESSAGES_H

#include "base/error.h"
#include "base/io/input.h"
#include "profile/notes.h"

/* "allo: ..." */
void allo_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "note: ..." */
void allo_say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "  ...": the next step. */
void allo_say_advice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "allo: error: file:line:byte: ..." and the hint. */
void allo_say_error(const struct allo_error *err);

/* One note for each kind of problem with the input. */
void allo_say_notes(const struct allo_notes *notes);

/* The same in two parts: before a result, the parts of the input that are missing in it; after it,
 * all others. */
void allo_say_missing(const struct allo_notes *notes);
void allo_say_other_notes(const struct allo_notes *notes);

/* "file:line:byte", "file at byte N" or "file", into `out`, which is returned. */
const char *allo_format_pos(struct allo_pos pos, char *out, size_t room);

/* A progress bar on standard error, if that is a terminal, once an operation takes a while. */
struct allo_progress_bar {
	struct allo_progress progress; /* to hand to a reader */
	const char *what;
	const char *counts;    /* noun of the counted things; NULL: bytes */
	double started, drawn; /* seconds; drawn is 0 before the bar is shown */
	bool is_on;
};

void allo_progress_bar_init(struct allo_progress_bar *bar, const char *what);
void allo_progress_bar_done(struct allo_progress_bar *bar);

#endif
