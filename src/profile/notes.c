/* notes.c - the table of notes, and counting them. */
#include "profile/notes.h"

#include "base/units.h"

#include <stdio.h>

const struct allo_note_kind allo_note_kinds[ALLO_NOTES] = {
	[ALLO_NOTE_SATURATED] = { .name = "saturated",
				  .one = "sum exceeds 64 bits and was limited to the largest number",
				  .several =
					  "sums exceed 64 bits and were limited to the largest number",
				  .consequence = "totals are too small",
				  .is_problem = true },
	[ALLO_NOTE_REPEATED_STACK] = { .name = "repeated-stack",
				       .one = "program point repeats the stack of an earlier one and was added to it",
				       .several =
					       "program points repeat the stack of an earlier one and were added to it",
				       .consequence = "dh_view refuses the file",
				       .is_problem = true,
				       .is_repairable = true },
	[ALLO_NOTE_FS_BRACKET] = { .name = "fs-bracket",
				   .one = "stack is written \"fs\":] without the opening bracket",
				   .several =
					   "stacks are written \"fs\":] without the opening bracket",
				   .consequence =
					   "the file is not valid JSON: other programs refuse it",
				   .is_problem = true,
				   .is_repairable = true },
	[ALLO_NOTE_FRACTION] = { .name = "fraction",
				 .one = "value is not a whole number and was rounded",
				 .several = "values are not whole numbers and were rounded",
				 .consequence = "totals may be off by rounding",
				 .is_problem = true,
				 .is_repairable = true },
	[ALLO_NOTE_BAD_PART] = { .name = "bad-part",
				 .one = "line or stack could not be read and was skipped",
				 .several = "lines or stacks could not be read and were skipped",
				 .consequence = "their contents are missing",
				 .is_problem = true,
				 .is_unread = true },
	[ALLO_NOTE_BAD_UTF8] = { .name = "bad-utf8",
				 .one = "name is not valid UTF-8",
				 .several = "names are not valid UTF-8",
				 .consequence =
					 "other programs may refuse the file or show wrong names",
				 .is_problem = true,
				 .is_repairable = true },
	[ALLO_NOTE_ODD_FRAME] = { .name = "odd-frame",
				  .one = "frame does not have the format \"0xADDRESS: name (location)\" and was used as a name",
				  .several =
					  "frames do not have the format \"0xADDRESS: name (location)\" and were used as names",
				  .consequence = "their addresses, files and lines are unknown" },
	[ALLO_NOTE_UNKNOWN_FREE] = { .name = "unknown-free",
				     .one = "free of a block that was not allocated was ignored",
				     .several =
					     "frees of blocks that were not allocated were ignored",
				     .consequence = "live figures may be too high or too low",
				     .is_problem = true },
	[ALLO_NOTE_TOTALS] = { .name = "totals",
			       .one = "header contradicts its call sites",
			       .several = "headers contradict their call sites",
			       .consequence =
				       "the file was truncated or changed: call sites are missing or wrong",
			       .is_problem = true },
	[ALLO_NOTE_DROPS] = { .name = "drops",
			      .one = "sample was dropped by the tracer",
			      .several = "samples were dropped by the tracer",
			      .consequence =
				      "counts are too small: use a larger buffer (dtrace -x aggsize=64m)",
			      .is_problem = true,
			      .is_loss = true },
	[ALLO_NOTE_CUT] = { .name = "cut",
			    .one = "file is truncated",
			    .several = "files are truncated",
			    .consequence = "later events are missing",
			    .is_problem = true,
			    .is_unread = true },
	[ALLO_NOTE_KILLED] = { .name = "killed",
			       .one = "process was killed, ended by exec or _exit, or still runs",
			       .several =
				       "processes were killed, ended by exec or _exit, or still run",
			       .consequence = "the recording is complete up to that point" },
	[ALLO_NOTE_MISSING_PAGES] = { .name = "missing-pages",
				      .one = "page of 64 KiB is missing",
				      .several = "pages of 64 KiB are missing",
				      .consequence = "live figures may be too high or too low",
				      .is_problem = true,
				      .is_unread = true },
	[ALLO_NOTE_MISSING_THREADS] = { .name = "missing-threads",
					.one = "stream of a thread or table is missing",
					.several = "streams of threads or tables are missing",
					.consequence = "live figures may be too high or too low",
					.is_problem = true,
					.is_unread = true },
	[ALLO_NOTE_DAMAGED_PAGES] = { .name = "damaged-pages",
				      .one = "page is damaged and was skipped",
				      .several = "pages are damaged and were skipped",
				      .consequence = "live figures may be too high or too low",
				      .is_problem = true,
				      .is_unread = true },
	[ALLO_NOTE_UNREAD_PAGES] = { .name = "unread-pages",
				     .one = "page depends on a missing one and was skipped",
				     .several = "pages depend on missing ones and were skipped",
				     .consequence = "live figures may be too high or too low",
				     .is_problem = true,
				     .is_unread = true },
	[ALLO_NOTE_LOST_STACKS] = { .name = "lost-stacks",
				    .one = "allocation has no stack: there was no memory for it",
				    .several =
					    "allocations have no stack: there was no memory for it",
				    .consequence = "they are shown without a stack",
				    .is_problem = true },
	[ALLO_NOTE_NO_FUNCTIONS] = { .name = "no-functions",
				     .one = "interpreter is of a version that is not supported",
				     .several =
					     "interpreters are of versions that are not supported",
				     .consequence =
					     "stacks have its native frames instead of its "
					     "functions; 'allo info' names the version; Python 3.10 to "
					     "3.15 are supported" },
	[ALLO_NOTE_NO_ALLOCATOR] = { .name = "no-allocator",
				     .one = "allocator of a library or the program was not recorded",
				     .several =
					     "allocators of libraries or the program were not recorded",
				     .consequence =
					     "their blocks are missing; 'allo info' gives the reason",
				     .is_problem = true,
				     .is_loss = true },
	[ALLO_NOTE_LOST_PROCESSES] = { .name = "lost-processes",
				       .one = "child process in a sandbox was not recorded",
				       .several = "child processes in a sandbox were not recorded",
				       .consequence = "their allocations are missing",
				       .is_problem = true,
				       .is_loss = true },
	[ALLO_NOTE_EARLY_END] = { .name = "early-end",
				  .one = "recording ends before its program",
				  .several = "recordings end before their programs",
				  .consequence =
					  "later events are missing; 'allo info' gives the reason",
				  .is_problem = true,
				  .is_loss = true },
	[ALLO_NOTE_DROPPED_EVENTS] = { .name = "dropped-events",
				       .one = "event could not be recorded",
				       .several = "events could not be recorded",
				       .consequence = "live figures may be too high or too low",
				       .is_problem = true,
				       .is_loss = true },
	[ALLO_NOTE_MISSING_STACKS] = { .name = "missing-stacks",
				       .one = "allocation has a stack that is not in the file",
				       .several =
					       "allocations have stacks that are not in the file",
				       .consequence = "they are shown without a stack",
				       .is_problem = true },
	[ALLO_NOTE_NO_CLOCK] = { .name = "no-clock",
				 .one = "CPU counter was never calibrated against the clock",
				 .several = "CPU counters were never calibrated against the clock",
				 .consequence =
					 "one tick of the counter counts as one nanosecond" },
	[ALLO_NOTE_BAD_INDEX] = { .name = "bad-index",
				  .one = "stored index is damaged, or of another recording or version, and was ignored",
				  .several =
					  "stored indexes are damaged, or of other recordings or versions, and were ignored",
				  .consequence =
					  "ranges of time are replayed, which takes longer" },
	[ALLO_NOTE_TRAILING_BYTES] = { .name = "trailing-bytes",
				       .one = "byte follows the end of the recording",
				       .several = "bytes follow the end of the recording",
				       .consequence = "they are not read, also if they are another "
						      "recording: keep each in a file of its own",
				       .is_problem = true },
	[ALLO_NOTE_EARLIER_SUMS] = { .name = "earlier-sums",
				     .one = "recording is bounded and has its earlier events as sums",
				     .several =
					     "recordings are bounded and have their earlier events as sums",
				     .consequence =
					     "times, threads and single blocks are those of the exact part; 'allo info' shows where it begins" },
	[ALLO_NOTE_UNSEEN_BLOCK] = { .name = "unseen-block",
				     .one = "free of a block whose allocation was not recorded",
				     .several =
					     "frees of blocks whose allocations were not recorded",
				     .consequence =
					     "the blocks were allocated before recording started, or were not sampled: they are not counted" },
	[ALLO_NOTE_REUSED_ADDRESS] = { .name = "reused-address",
				       .one = "block was allocated at the address of a live one",
				       .several =
					       "blocks were allocated at the addresses of live ones",
				       .consequence =
					       "frees are missing: the older blocks end there",
				       .is_problem = true },
	[ALLO_NOTE_LOST_EVENTS] = { .name = "lost-events",
				    .one = "event is missing, according to the event numbers",
				    .several = "events are missing, according to the event numbers",
				    .consequence = "live figures may be too high or too low",
				    .is_problem = true,
				    .is_loss = true },
	[ALLO_NOTE_MIXED_EVENTS] = { .name = "mixed-events",
				     .one = "event number is lower than an earlier one",
				     .several = "event numbers are lower than earlier ones",
				     .consequence = "events may be processed out of order",
				     .is_problem = true },
	[ALLO_NOTE_ODD_EVENT] = { .name = "odd-event",
				  .one = "event has an unknown type or no address and was skipped",
				  .several =
					  "events have an unknown type or no address and were skipped",
				  .consequence = "live figures may be too high or too low",
				  .is_problem = true },
	[ALLO_NOTE_CLASHING_BACKTRACE] = { .name = "clashing-backtrace",
					   .one = "backtrace has the id of an earlier one but other frames, and was skipped",
					   .several =
						   "backtraces have the ids of earlier ones but other frames, and were skipped",
					   .consequence =
						   "allocations of both are shown at the earlier one",
					   .is_problem = true },
	[ALLO_NOTE_NULL_FRAME] = { .name = "null-frame",
				   .one = "frame has no name",
				   .several = "frames have no names",
				   .consequence = "the recorded program has no symbols for them" },
	[ALLO_NOTE_UNENDED_CALL] = { .name = "unended-call",
				     .one = "call has no end",
				     .several = "calls have no end",
				     .consequence =
					     "they end with the last event of their thread" },
	[ALLO_NOTE_UNBEGUN_CALL] = { .name = "unbegun-call",
				     .one = "call has no start and was skipped",
				     .several = "calls have no start and were skipped",
				     .consequence = "the start of the trace is missing" },
	[ALLO_NOTE_MISNAMED_END] = { .name = "misnamed-end",
				     .one = "call ends with another name than it started with",
				     .several = "calls end with other names than they started with",
				     .consequence =
					     "events are missing, or several threads are mixed up as one: times may be wrong",
				     .is_problem = true },
	[ALLO_NOTE_OVERLAP] = { .name = "overlap",
				.one = "call overlaps another one without being nested in it, and was cut",
				.several =
					"calls overlap others without being nested in them, and were cut",
				.consequence =
					"they look shorter than they were; some viewers drop them",
				.is_problem = true,
				.is_repairable = true },
	[ALLO_NOTE_LATE_EVENT] = { .name = "late-event",
				   .one = "event is earlier than the one before it in its thread and was moved to its time",
				   .several =
					   "events are earlier than those before them in their threads and were moved to their times",
				   .consequence =
					   "the times of these calls are too short or too long",
				   .is_problem = true,
				   .is_repairable = true },
	[ALLO_NOTE_ODD_LINE] = { .name = "odd-line",
				 .one = "line is neither a sample nor a frame and was skipped",
				 .several = "lines are neither samples nor frames and were skipped",
				 .consequence = "their contents are missing",
				 .is_unread = true },
	[ALLO_NOTE_NO_TOTAL] = { .name = "no-total",
				 .one = "program point has no total: its live value is used",
				 .several =
					 "program points have no total: their live values are used",
				 .consequence = "\"Total\" is not the total of all allocations" },
	[ALLO_NOTE_NO_MAX] = { .name = "no-max",
			       .one = "program point has no maximum: the larger of peak and end is used",
			       .several =
				       "program points have no maximum: the larger of peak and end is used",
			       .consequence = "\"Max\" may be too small" },
	[ALLO_NOTE_NO_PEAK] = { .name = "no-peak",
				.one = "program point has no peak: its live value is used",
				.several =
					"program points have no peak: their live values are used",
				.consequence = "\"At t-gmax\" is not the program's peak" },
	[ALLO_NOTE_NO_END] = { .name = "no-end",
			       .one = "program point has no end: its live value is used, or 0",
			       .several =
				       "program points have no end: their live values are used, or 0",
			       .consequence = "\"At t-end\" does not show leaks" },
	[ALLO_NOTE_NO_LIFETIME] = { .name = "no-lifetime",
				    .one = "program point has no lifetime: it is written as 0",
				    .several =
					    "program points have no lifetime: it is written as 0",
				    .consequence = "blocks look more short-lived than they are" },
	[ALLO_NOTE_NO_BLOCKS] = { .name = "no-blocks",
				  .one = "program point has bytes without blocks, or blocks without bytes: the unknown value is written as 0",
				  .several =
					  "program points have bytes without blocks, or blocks without bytes: the unknown values are written as 0",
				  .consequence = "average sizes are meaningless" },
	[ALLO_NOTE_LEFT_OUT] = { .name = "left-out",
				 .one = "metric is not supported by the format and was omitted",
				 .several =
					 "metrics are not supported by the format and were omitted",
				 .consequence = "the file is incomplete" },
	[ALLO_NOTE_NEGATIVE] = { .name = "negative",
				 .one = "value is negative, which the format does not support, and was omitted",
				 .several =
					 "values are negative, which the format does not support, and were omitted",
				 .consequence = "totals are too large" },
	[ALLO_NOTE_ABOVE_2_53] = { .name = "above-2-53",
				   .one = "value exceeds 2^53, the limit of programs that use doubles, and was limited to it",
				   .several =
					   "values exceed 2^53, the limit of programs that use doubles, and were limited to it",
				   .consequence = "totals are too small" },
	[ALLO_NOTE_NOT_LIVE] = { .name = "not-live",
				 .one = "metric is not live memory, but the format has no other place for it",
				 .several =
					 "metrics are not live memory, but the format has no other place for them",
				 .consequence = "the heap looks larger than it ever was" },
	[ALLO_NOTE_THINNED] = { .name = "thinned",
				.one = "block was left out of the blocks over time, which end at half a million",
				.several =
					"blocks were left out of the blocks over time, which end at half a million",
				.consequence =
					"the others stand for them: their sums over time are estimates" },
};

void allo_note_totals(struct allo_notes *notes, struct allo_pos pos, const char *of, int64_t stated,
		      int64_t found)
{
	if (notes->of[ALLO_NOTE_TOTALS].count == 0)
		notes->totals = (struct allo_totals){ of, stated, found };
	allo_note(notes, ALLO_NOTE_TOTALS, pos);
}

bool allo_note_is_gap(enum allo_note note)
{
	return allo_note_kinds[note].is_unread || allo_note_kinds[note].is_loss;
}

bool allo_notes_are_complete(const struct allo_notes *notes)
{
	for (enum allo_note n = 0; n < ALLO_NOTES; n++) {
		if (notes->of[n].count > 0 && allo_note_is_gap(n))
			return false;
	}
	return true;
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
	notes->are_merged |= from->are_merged;
}
