/* notes.c - see notes.h. */
#include "profile/notes.h"

#include "base/units.h"

#include <stdio.h>

const struct allo_note_kind allo_note_kinds[ALLO_NOTES] = {
	[ALLO_NOTE_SATURATED] = { "saturated",
				  "sum does not fit 64 bits and was cut to the largest number",
				  "sums do not fit 64 bits and were cut to the largest number",
				  "totals are too small", true, false },
	[ALLO_NOTE_REPEATED_STACK] = { "repeated-stack",
				       "program point repeats the stack of an earlier one and was "
				       "added to it",
				       "program points repeat the stack of an earlier one and were "
				       "added to it",
				       "dh_view refuses the file", true, true },
	[ALLO_NOTE_FS_BRACKET] = { "fs-bracket",
				   "stack is written \"fs\":] with the opening bracket missing",
				   "stacks are written \"fs\":] with the opening bracket missing",
				   "the file is not JSON: other programs refuse it", true, true },
	[ALLO_NOTE_FRACTION] = { "fraction", "value was not a whole number and was rounded",
				 "values were not whole numbers and were rounded",
				 "totals may be off by rounding", true, true },
	[ALLO_NOTE_BAD_UTF8] = { "bad-utf8", "name is not valid UTF-8", "names are not valid UTF-8",
				 "other programs may refuse the file or show wrong names", true,
				 true },
	[ALLO_NOTE_ODD_FRAME] = { "odd-frame",
				  "frame does not have the form \"0xADDRESS: name (place)\" and "
				  "was taken as a name",
				  "frames do not have the form \"0xADDRESS: name (place)\" and "
				  "were taken as names",
				  "no address, file or line is known there", false, false },
	[ALLO_NOTE_UNKNOWN_FREE] = { "unknown-free",
				     "block was freed that had not been allocated, and was left "
				     "out",
				     "blocks were freed that had not been allocated, and were left "
				     "out",
				     "what was live may be too much or too little", true, false },
	[ALLO_NOTE_TOTALS] = { "totals", "header contradicts its sites",
			       "headers contradict their sites",
			       "the file was cut or changed: sites are missing or wrong", true,
			       false },
	[ALLO_NOTE_DROPS] = { "drops", "sample was dropped by the tracer",
			      "samples were dropped by the tracer",
			      "counts are too small: a larger buffer helps (dtrace -x aggsize=64m)",
			      true, false },
	[ALLO_NOTE_CUT] = { .name = "cut",
			    .one = "place where the file ends before its recording does",
			    .several = "places where files end before their recordings do",
			    .consequence = "what came later is not there",
			    .is_problem = true },
	[ALLO_NOTE_KILLED] = { .name = "killed",
			       .one = "process did not end by exit: it was killed, left by _exit or exec, or still runs",
			       .several =
				       "processes did not end by exit: they were killed, left by _exit or exec, or still run",
			       .consequence = "all that was done until then is there" },
	[ALLO_NOTE_MISSING_BLOCKS] = { .name = "missing-blocks",
				       .one = "block of 64 KiB is missing",
				       .several = "blocks of 64 KiB are missing",
				       .consequence = "what was live may be too much or too little",
				       .is_problem = true },
	[ALLO_NOTE_MISSING_THREADS] = { .name = "missing-threads",
					.one = "stream of a thread or table is missing",
					.several = "streams of threads or tables are missing",
					.consequence =
						"what was live may be too much or too little",
					.is_problem = true },
	[ALLO_NOTE_DAMAGED_BLOCKS] = { .name = "damaged-blocks",
				       .one = "block is damaged and was left out",
				       .several = "blocks are damaged and were left out",
				       .consequence = "what was live may be too much or too little",
				       .is_problem = true },
	[ALLO_NOTE_UNREAD_BLOCKS] = { .name = "unread-blocks",
				      .one = "block cannot be read without one before it that lacks, and was left out",
				      .several =
					      "blocks cannot be read without one before them that lacks, and were left out",
				      .consequence = "what was live may be too much or too little",
				      .is_problem = true },
	[ALLO_NOTE_DROPPED_EVENTS] = { .name = "dropped-events",
				       .one = "event could not be recorded",
				       .several = "events could not be recorded",
				       .consequence = "what was live may be too much or too little",
				       .is_problem = true },
	[ALLO_NOTE_MISSING_STACKS] = { .name = "missing-stacks",
				       .one = "allocation has a stack that is not in the file",
				       .several =
					       "allocations have stacks that are not in the file",
				       .consequence = "they stand without a stack",
				       .is_problem = true },
	[ALLO_NOTE_NO_CLOCK] = { .name = "no-clock",
				 .one = "clock was never compared with the processor's counter",
				 .several =
					 "clocks were never compared with the processor's counter",
				 .consequence = "a tick of the counter is taken for a nanosecond" },
	[ALLO_NOTE_UNSEEN_BLOCK] = { .name = "unseen-block",
				     .one = "block was freed whose allocation was not recorded",
				     .several =
					     "blocks were freed whose allocations were not recorded",
				     .consequence =
					     "they were allocated before recording began, or left out by "
					     "sampling: they are not counted" },
	[ALLO_NOTE_REUSED_ADDRESS] = { .name = "reused-address",
				       .one = "block was allocated where another one had not been freed",
				       .several =
					       "blocks were allocated where others had not been freed",
				       .consequence = "frees have not been recorded: the older "
						      "block is taken to end there",
				       .is_problem = true },
	[ALLO_NOTE_LOST_EVENTS] = { .name = "lost-events",
				    .one = "event is missing, as the numbers of the others tell",
				    .several =
					    "events are missing, as the numbers of the others tell",
				    .consequence = "what was live may be too much or too little",
				    .is_problem = true },
	[ALLO_NOTE_MIXED_EVENTS] = { .name = "mixed-events",
				     .one = "event has a number that is not behind those before it",
				     .several =
					     "events have numbers that are not behind those before them",
				     .consequence =
					     "events may be taken in another order than they "
					     "happened in",
				     .is_problem = true },
	[ALLO_NOTE_ODD_EVENT] = { .name = "odd-event",
				  .one = "event is of no known kind or has no address, and was left out",
				  .several =
					  "events are of no known kind or have no address, and were left out",
				  .consequence = "what was live may be too much or too little",
				  .is_problem = true },
	[ALLO_NOTE_CLASHING_BACKTRACE] = { .name = "clashing-backtrace",
					   .one = "backtrace has the id of an earlier one, but other "
						  "frames, and was left out",
					   .several =
						   "backtraces have the ids of earlier ones, but "
						   "other frames, and were left out",
					   .consequence =
						   "allocations of both stand at the earlier one",
					   .is_problem = true },
	[ALLO_NOTE_NULL_FRAME] = { .name = "null-frame",
				   .one = "frame has no name",
				   .several = "frames have no names",
				   .consequence = "the recorded program has no symbols for them" },
	[ALLO_NOTE_UNENDED_CALL] = { .name = "unended-call",
				     .one = "call begins and does not end",
				     .several = "calls begin and do not end",
				     .consequence =
					     "they are taken to end with the last thing that their "
					     "thread does" },
	[ALLO_NOTE_UNBEGUN_CALL] = { .name = "unbegun-call",
				     .one = "call ends that has not begun, and was left out",
				     .several = "calls end that have not begun, and were left out",
				     .consequence = "the beginning of the trace is missing" },
	[ALLO_NOTE_MISNAMED_END] = { .name = "misnamed-end",
				     .one = "call ends under another name than it began with",
				     .several = "calls end under other names than they began with",
				     .consequence =
					     "events are missing, or those of several threads are "
					     "taken for one's: times may be wrong",
				     .is_problem = true },
	[ALLO_NOTE_OVERLAP] = { .name = "overlap",
				.one = "call overlaps another one without being inside of it, and "
				       "was cut",
				.several = "calls overlap others without being inside of them, and "
					   "were cut",
				.consequence = "they seem shorter than they were; some viewers "
					       "leave them out",
				.is_problem = true,
				.is_repairable = true },
	[ALLO_NOTE_ODD_LINE] = { .name = "odd-line",
				 .one = "line is neither a sample nor a frame, and was skipped",
				 .several =
					 "lines are neither samples nor frames, and were skipped",
				 .consequence = "what they say is not there" },
	[ALLO_NOTE_NO_TOTAL] = { "no-total",
				 "program point has no total: what was live stands for it",
				 "program points have no total: what was live stands for it",
				 "\"Total\" is not what was ever allocated", false, false },
	[ALLO_NOTE_NO_MAX] = { "no-max",
			       "program point has no maximum: the larger of peak and end stands "
			       "for it",
			       "program points have no maximum: the larger of peak and end stands "
			       "for it",
			       "\"Max\" may be too small", false, false },
	[ALLO_NOTE_NO_PEAK] = { "no-peak",
				"program point has no peak: what was live when the profile was "
				"taken stands for it",
				"program points have no peak: what was live when the profile was "
				"taken stands for it",
				"\"At t-gmax\" is not the program's peak", false, false },
	[ALLO_NOTE_NO_END] = { "no-end",
			       "program point has no end: what was live when the profile was taken "
			       "stands for it, or 0",
			       "program points have no end: what was live when the profile was "
			       "taken stands for it, or 0",
			       "\"At t-end\" is not what was never freed", false, false },
	[ALLO_NOTE_NO_LIFETIME] = { "no-lifetime",
				    "program point has no lifetime: it is written as 0",
				    "program points have no lifetime: it is written as 0",
				    "blocks are not as short-lived as they look", false, false },
	[ALLO_NOTE_NO_BLOCKS] = { "no-blocks",
				  "program point has bytes without blocks, or blocks without "
				  "bytes: what is not known is written as 0",
				  "program points have bytes without blocks, or blocks without "
				  "bytes: what is not known is written as 0",
				  "average sizes mean nothing", false, false },
	[ALLO_NOTE_LEFT_OUT] = { "left-out", "metric has no place in the form and was left out",
				 "metrics have no place in the form and were left out",
				 "the file does not tell all", false, false },
	[ALLO_NOTE_NEGATIVE] = { "negative",
				 "value is negative, which the form cannot hold, and was left out",
				 "values are negative, which the form cannot hold, and were left "
				 "out",
				 "totals are too large", false, false },
	[ALLO_NOTE_ABOVE_2_53] = { "above-2-53",
				   "value is above 2^53, which programs that count with doubles "
				   "cannot hold, and was cut to that",
				   "values are above 2^53, which programs that count with doubles "
				   "cannot tell apart, and were cut to that",
				   "totals are too small", false, false },
};

void allo_note_totals(struct allo_notes *notes, struct allo_pos pos, const char *of, int64_t stated,
		      int64_t found)
{
	if (notes->of[ALLO_NOTE_TOTALS].count == 0)
		notes->totals = (struct allo_totals){ of, stated, found };
	allo_note(notes, ALLO_NOTE_TOTALS, pos);
}

const char *allo_note_text(const struct allo_notes *notes, enum allo_note note)
{
	const struct allo_note_kind *kind = &allo_note_kinds[note];

	return notes->of[note].count == 1 ? kind->one : kind->several;
}

void allo_note(struct allo_notes *notes, enum allo_note note, struct allo_pos pos)
{
	if (notes->of[note].count++ == 0)
		notes->of[note].first = pos;
}

static const char *format(int64_t number, char out[ALLO_NUMBER_SIZE])
{
	struct allo_number signed_number = { number < 0 ? -(uint64_t)number : (uint64_t)number,
					     number < 0 };

	return allo_format(signed_number, ALLO_UNIT_COUNT, false, out);
}

const char *allo_note_detail(const struct allo_notes *notes, enum allo_note note,
			     char out[ALLO_NOTE_DETAIL])
{
	char stated[ALLO_NUMBER_SIZE], found[ALLO_NUMBER_SIZE];
	bool is_one = notes->of[note].count == 1;

	out[0] = '\0';
	if (note == ALLO_NOTE_TOTALS)
		snprintf(out, ALLO_NOTE_DETAIL, ": %s says %s %s, %s add up to %s",
			 is_one ? "it" : "the first", format(notes->totals.stated, stated),
			 notes->totals.of, is_one ? "they" : "its sites",
			 format(notes->totals.found, found));
	return out;
}

void allo_note_many(struct allo_notes *notes, enum allo_note note, uint64_t count,
		    struct allo_pos pos)
{
	if (count > 0 && notes->of[note].count == 0)
		notes->of[note].first = pos;
	notes->of[note].count += count;
}

void allo_notes_add(struct allo_notes *notes, const struct allo_notes *from)
{
	if (notes->of[ALLO_NOTE_TOTALS].count == 0)
		notes->totals = from->totals;
	for (int n = 0; n < ALLO_NOTES; n++) {
		if (from->of[n].count > 0 && notes->of[n].count == 0)
			notes->of[n].first = from->of[n].first;
		notes->of[n].count += from->of[n].count;
	}
}
