/*
 * notes.h - warnings about an input or a conversion that did not make it fail.
 *
 * Notes are counted by kind, with the position of the first.  `allo convert` mentions them, `allo
 * verify` lists them.  The table in notes.c has their texts.
 */
#ifndef ALLO_PROFILE_NOTES_H
#define ALLO_PROFILE_NOTES_H

#include "base/error.h"

enum allo_note {
	ALLO_NOTE_SATURATED,
	ALLO_NOTE_REPEATED_STACK,
	ALLO_NOTE_FS_BRACKET,
	ALLO_NOTE_FRACTION,
	ALLO_NOTE_BAD_PART,
	ALLO_NOTE_BAD_UTF8,
	ALLO_NOTE_ODD_FRAME,
	ALLO_NOTE_UNKNOWN_FREE,
	ALLO_NOTE_TOTALS,
	ALLO_NOTE_DROPS,
	/* Recordings. */
	ALLO_NOTE_CUT,
	ALLO_NOTE_KILLED,
	ALLO_NOTE_MISSING_PAGES,
	ALLO_NOTE_MISSING_THREADS,
	ALLO_NOTE_DAMAGED_PAGES,
	ALLO_NOTE_UNREAD_PAGES,
	ALLO_NOTE_DROPPED_EVENTS,
	ALLO_NOTE_MISSING_STACKS,
	ALLO_NOTE_LOST_STACKS,
	ALLO_NOTE_NO_FUNCTIONS,
	ALLO_NOTE_NO_ALLOCATOR,
	ALLO_NOTE_LOST_PROCESSES,
	ALLO_NOTE_EARLY_END,
	ALLO_NOTE_NO_CLOCK,
	ALLO_NOTE_BAD_INDEX,
	ALLO_NOTE_TRAILING_BYTES,
	ALLO_NOTE_EARLIER_SUMS,
	ALLO_NOTE_UNSEEN_BLOCK,
	ALLO_NOTE_REUSED_ADDRESS,
	ALLO_NOTE_LOST_EVENTS,
	ALLO_NOTE_MIXED_EVENTS,
	ALLO_NOTE_ODD_EVENT,
	ALLO_NOTE_CLASHING_BACKTRACE,
	ALLO_NOTE_NULL_FRAME,
	/* Traces. */
	ALLO_NOTE_UNENDED_CALL,
	ALLO_NOTE_UNBEGUN_CALL,
	ALLO_NOTE_MISNAMED_END,
	ALLO_NOTE_OVERLAP,
	ALLO_NOTE_LATE_EVENT,
	ALLO_NOTE_ODD_LINE,
	/* Writers: the format and the profile do not support the same values. */
	ALLO_NOTE_NO_TOTAL,
	ALLO_NOTE_NO_MAX,
	ALLO_NOTE_NO_PEAK,
	ALLO_NOTE_NO_END,
	ALLO_NOTE_NO_LIFETIME,
	ALLO_NOTE_NO_BLOCKS,
	ALLO_NOTE_LEFT_OUT,
	ALLO_NOTE_NEGATIVE,
	ALLO_NOTE_ABOVE_2_53,
	ALLO_NOTE_NOT_LIVE,
	ALLO_NOTE_THINNED,
	ALLO_NOTES
};

struct allo_note_kind {
	const char *name;        /* for --json */
	const char *one;         /* text after "1 " */
	const char *several;     /* text after a larger count */
	const char *consequence; /* effect on the results */
	bool is_problem;         /* results are wrong, or other programs may refuse the file */
	bool is_repairable;      /* converting the file fixes it */
	bool is_unread;          /* a part of the input was not read: --strict refuses it */
	bool is_loss;            /* the recorder or tracer has lost events */
};

/* Indexed by note. */
extern const struct allo_note_kind allo_note_kinds[ALLO_NOTES];

/* Whether the note says that data are missing. */
bool allo_note_is_gap(enum allo_note note);

/* A total in a file that differs from the sum of its call sites. */
struct allo_totals {
	const char *of; /* "allocated bytes"; a literal */
	int64_t stated, found;
};

/* All zeros: nothing noted. */
struct allo_notes {
	struct {
		uint64_t count;
		struct allo_pos first;
	} of[ALLO_NOTES];
	struct allo_totals totals; /* of the first ALLO_NOTE_TOTALS */
	bool are_merged;           /* of several files */
};

void allo_note(struct allo_notes *notes, enum allo_note note, struct allo_pos pos);

/* Notes that a total of a header differs from the sum of its call sites. */
void allo_note_totals(struct allo_notes *notes, struct allo_pos pos, const char *of, int64_t stated,
		      int64_t found);

/* The text after the count: `one` or `several`. */
const char *allo_note_text(const struct allo_notes *notes, enum allo_note note);

/* Further details, ": ...", or nothing. */
enum { ALLO_NOTE_DETAIL = 200 };
const char *allo_note_detail(const struct allo_notes *notes, enum allo_note note,
			     char out[ALLO_NOTE_DETAIL]);

/* Adds `count` notes; may be 0. */
void allo_note_many(struct allo_notes *notes, enum allo_note note, uint64_t count,
		    struct allo_pos pos);

/* Whether no data are missing. */
bool allo_notes_are_complete(const struct allo_notes *notes);

/* Adds all notes of `from`. */
void allo_notes_add(struct allo_notes *notes, const struct allo_notes *from);

#endif
