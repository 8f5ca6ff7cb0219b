/* show_losses.c - see show_losses.h. */
#include "cli/show/show_losses.h"

#include "base/assert.h"
#include "base/units.h"

#include <stdio.h>

/* Events that the streams of the threads count. */
static uint64_t signal_events(const struct allo_summary *summary)
{
	uint64_t others = summary->losses.memory_events + summary->losses.sandbox_events;

	return summary->dropped_events > others ? summary->dropped_events - others : 0;
}

static void add(struct allo_loss_lines *lines, uint64_t count, const char *one, const char *several,
		const char *reason)
{
	char number[ALLO_NUMBER_SIZE];

	if (count == 0)
		return;
	ALLO_ASSERT(lines->count < ALLO_LOSSES_MOST);
	snprintf(lines->text[lines->count++], ALLO_LOSS_SIZE, "%s %s %s",
		 allo_format_count(count, number), count == 1 ? one : several, reason);
}

static const char *reason_of_lost_pages(const struct allo_summary *summary)
{
	return summary->end == ALLO_END_NONE || summary->end == ALLO_END_EXIT
		       ? "the program wrote faster than allo could sum up; use a larger --ring"
		       : "they could not be written before the recording ended";
}

/* Pages of one size: a share of them is about that share of the events. */
static void add_pages(struct allo_loss_lines *lines, const struct allo_summary *summary)
{
	char bytes[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE], reason[192];
	uint64_t lost = allo_summary_lost_pages(summary);

	allo_format_bytes(lost * ALLO_SLOT_SIZE, bytes);
	if (summary->written_pages > 0)
		snprintf(reason, sizeof(reason), "of events (%s, about %s of all): %s", bytes,
			 allo_format_share((double)lost, (double)(lost + summary->written_pages),
					   share),
			 reason_of_lost_pages(summary));
	else
		snprintf(reason, sizeof(reason), "of events (%s): %s", bytes,
			 reason_of_lost_pages(summary));
	add(lines, lost, "page", "pages", reason);
}

void allo_show_losses(const struct allo_summary *summary, struct allo_loss_lines *lines)
{
	const struct allo_wire_losses *losses = &summary->losses;

	lines->count = 0;
	add_pages(lines, summary);
	add(lines, losses->memory_events, "event", "events",
	    "of threads whose state got no memory (RLIMIT_AS, RLIMIT_DATA)");
	add(lines, losses->sandbox_events, "event", "events",
	    "of threads that started in a sandbox (seccomp), without memory left");
	add(lines, signal_events(summary), "event", "events",
	    "of signal handlers that interrupted the runtime, or of too many mappings");
	add(lines, losses->lost_stacks, "stack", "stacks",
	    "that got no memory (RLIMIT_AS, RLIMIT_DATA)");
	add(lines, losses->children, "process", "processes",
	    "forked or executed in a sandbox (seccomp)");
	add(lines, summary->missing_allocators, "allocator", "allocators",
	    "of the program or its libraries ('allo info' gives the reason)");
}

void allo_report_field_losses(struct allo_report *report, const struct allo_summary *summary)
{
	const struct allo_wire_losses *losses = &summary->losses;
	struct allo_loss_lines lines;

	allo_show_losses(summary, &lines);
	if (lines.count == 0)
		return;
	allo_report_object(report, "losses");
	if (allo_summary_lost_pages(summary) > 0)
		allo_report_field_u64(report, "pages", allo_summary_lost_pages(summary));
	allo_report_field_u64(report, "memory_events", losses->memory_events);
	allo_report_field_u64(report, "sandbox_events", losses->sandbox_events);
	allo_report_field_u64(report, "signal_events", signal_events(summary));
	allo_report_field_u64(report, "stacks", losses->lost_stacks);
	allo_report_field_u64(report, "processes", losses->children);
	if (summary->missing_allocators > 0)
		allo_report_field_u64(report, "allocators", summary->missing_allocators);
	allo_report_close(report);
}
