/* show_coverage.c - see show_coverage.h. */
#include "cli/show/show_coverage.h"

static const char *const fields[ALLO_RESIDENT_PARTS] = {
	[ALLO_RESIDENT_HEAP] = "heap_bytes",
	[ALLO_RESIDENT_MAPPED] = "mapped_bytes",
	[ALLO_RESIDENT_FILES] = "file_bytes",
	[ALLO_RESIDENT_DATA] = "data_bytes",
	[ALLO_RESIDENT_STACKS] = "stack_bytes",
	[ALLO_RESIDENT_SHARED] = "shared_bytes",
	[ALLO_RESIDENT_RECORDER] = "recorder_bytes",
	[ALLO_RESIDENT_EITHER] = "heap_or_mapped_bytes",
};

void allo_report_field_coverage(struct allo_report *report, const struct allo_summary *summary)
{
	const struct allo_resident *resident = &summary->resident;

	if (resident->peak_bytes == 0)
		return;
	allo_report_object(report, "resident");
	allo_report_field_u64(report, "peak_bytes", resident->peak_bytes);
	if (resident->peak_ns != UINT64_MAX)
		allo_report_field_u64(report, "peak_ns", resident->peak_ns);
	allo_report_field_u64(report, "live_bytes", resident->live_bytes);
	if (resident->parts_bytes > 0) {
		allo_report_object(report, "parts");
		for (unsigned i = 0; i < ALLO_RESIDENT_PARTS; i++)
			allo_report_field_u64(report, fields[i], resident->parts[i]);
		allo_report_close(report);
	}
	allo_report_close(report);
}
