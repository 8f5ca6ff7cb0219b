/*
 * notes.h - what was odd about an input without keeping it from being read.
 *
 * Counted by kind, with the first place of each.  `allo convert` mentions them, `allo verify` lists
 * them; the table in notes.c says what each means.
 */
#ifndef ALLO_PROFILE_NOTES_H
#define ALLO_PROFILE_NOTES_H

#include "base/error.h"

enum allo_note {
	ALLO_NOTE_SATURATED,
	ALLO_NOTE_REPEATED_STACK,
	ALLO_NOTE_FS_BRACKET,
	ALLO_NOTE_FRACTION,
	ALLO_NOTE_BAD_UTF8,
	ALLO_NOTE_ODD_FRAME,
	ALLO_NOTE_UNKNOWN_FREE,
	ALLO_NOTE_TOTALS,
	ALLO_NOTE_DROPS,
	/* Of recordings. */
	ALLO_NOTE_CUT,
	ALLO_NOTE_KILLED,
	ALLO_NOTE_MISSING_BLOCKS,
	ALLO_NOTE_MISSING_THREADS,
	ALLO_NOTE_DAMAGED_BLOCKS,
	ALLO_NOTE_UNREAD_BLOCKS,
	ALLO_NOTE_DROPPED_EVENTS,
	ALLO_NOTE_MISSING_STACKS,
	ALLO_NOTE_NO_CLOCK,
	ALLO_NOTE_UNSEEN_BLOCK,
	ALLO_NOTE_REUSED_ADDRESS,
	ALLO_NOTE_LOST_EVENTS,
	ALLO_NOTE_MIXED_EVENTS,
	ALLO_NOTE_ODD_EVENT,
	ALLO_NOTE_CLASHING_BACKTRACE,
	ALLO_NOTE_NULL_FRAME,
	/* Of traces. */
	ALLO_NOTE_UNENDED_CALL,
	ALLO_NOTE_UNBEGUN_CALL,
	ALLO_NOTE_MISNAMED_END,
	ALLO_NOTE_OVERLAP,
	ALLO_NOTE_ODD_LINE,
	/* Of writers: the form demands what the profile does not have, or lacks what it has. */
	ALLO_NOTE_NO_TOTAL,
	ALLO_NOTE_NO_MAX,
	ALLO_NOTE_NO_PEAK,
	ALLO_NOTE_NO_END,
	ALLO_NOTE_NO_LIFETIME,
	ALLO_NOTE_NO_BLOCKS,
	ALLO_NOTE_LEFT_OUT,
	ALLO_NOTE_NEGATIVE,
	ALLO_NOTE_ABOVE_2_53,
	ALLO_NOTES
};

struct allo_note_kind {
	const char *name;        /* for --json */
	const char *one;         /* completes "1 ..." */
	const char *several;     /* completes "2 ..." */
	const char *consequence; /* for the reader of the file */
	bool is_problem;         /* other programs may refuse the file or show it wrongly */
	bool is_repairable;      /* writing the profile again makes it right */
};

/* Indexed by note. */
extern const struct allo_note_kind allo_note_kinds[ALLO_NOTES];

/* A total that contradicts what it is the total of. */
struct allo_totals {
	const char *of; /* "allocated bytes"; constant */
	int64_t stated, found;
};

/* All zeros: nothing noted. */
struct allo_notes {
	struct {
		uint64_t count;
		struct allo_pos first;
	} of[ALLO_NOTES];
	struct allo_totals totals; /* of the first ALLO_NOTE_TOTALS */
};

void allo_note(struct allo_notes *notes, enum allo_note note, struct allo_pos pos);

/* Notes that a header and the sites below it contradict each other. */
void allo_note_totals(struct allo_notes *notes, struct allo_pos pos, const char *of, int64_t stated,
		      int64_t found);

/* What completes the count, whichever it is. */
const char *allo_note_text(const struct allo_notes *notes, enum allo_note note);

/* What there is to add about this one: ": ...", or nothing. */
enum { ALLO_NOTE_DETAIL = 200 };
const char *allo_note_detail(const struct allo_notes *notes, enum allo_note note,
			     char out[ALLO_NOTE_DETAIL]);

/* Notes `count` of them, which may be 0. */
void allo_note_many(struct allo_notes *notes, enum allo_note note, uint64_t count,
		    struct allo_pos pos);

/* Adds what `from` has noted. */
void allo_notes_add(struct allo_notes *notes, const struct allo_notes *from);

#endif
