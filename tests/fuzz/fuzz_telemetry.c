/*
 * fuzz_telemetry.c - files of the kernel: the first byte selects the file.  The results are printed
 * in all formats.
 */
#include "base/defer.h"
#include "ledger/vmas.h"
#include "telemetry/cgroup.h"
#include "telemetry/metrics.h"
#include "telemetry/process_files.h"
#include "telemetry/snapshots.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_place(struct allo_proc_reader *lines, struct allo_text text)
{
	static struct allo_cgroup_place place;
	struct allo_text groups = text, mounts = { "", 0 }, line;

	memset(&place, 0, sizeof(place));
	allo_text_cut(text, '\0', &groups, &mounts);
	allo_proc_reader_open_memory(lines, groups);
	while (allo_proc_reader_next(lines, &line))
		allo_cgroup_read_group(&place, line);
	allo_proc_reader_open_memory(lines, mounts);
	while (allo_proc_reader_next(lines, &line))
		allo_cgroup_read_mount(&place, line);
	/* Nothing outside of a mount is ever looked at. */
	if (strlen(place.v2.path) < place.v2.mount_len ||
	    strlen(place.v1.path) < place.v1.mount_len)
		abort();
}

/* Mounts, and mappings behind a NUL. */
static void read_mappings(struct allo_proc_reader *lines, struct allo_text text)
{
	ALLO_DEFER(allo_vmas_done) struct allo_vmas vmas = { 0 };
	struct allo_text mounts = { "", 0 };
	struct allo_error err = { 0 };

	allo_text_cut(text, '\0', &mounts, &text);
	allo_proc_reader_open_memory(lines, mounts);
	allo_vmas_take_mounts(&vmas, lines, &err);
	allo_proc_reader_open_memory(lines, text);
	allo_vmas_take(&vmas, lines, &err);
	for (size_t i = 0; i < vmas.all.len; i++) {
		const struct allo_vma *vma = &vmas.all.at[i];

		if (allo_vmas_find(&vmas, vma->start) != vma ||
		    allo_vmas_find(&vmas, vma->end - 1) != vma)
			abort();
	}
}

static void read_file(unsigned kind, struct allo_proc_reader *lines, struct allo_text text,
		      struct allo_memory_snapshot *snapshot)
{
	uint64_t start_ticks;

	allo_proc_reader_open_memory(lines, text);
	switch (kind) {
	case 0:
		allo_read_status(lines, &snapshot->process);
		break;
	case 1:
		allo_read_stat(lines, 100, &snapshot->process, &start_ticks);
		break;
	case 2:
		allo_read_io(lines, &snapshot->process);
		break;
	case 3:
		allo_read_limits(lines, &snapshot->process);
		break;
	case 4:
		allo_read_smaps_rollup(lines, &snapshot->pages);
		break;
	case 5:
		allo_cgroup_take_stats(lines, 1, &snapshot->cgroup);
		break;
	case 6:
		allo_cgroup_take_stats(lines, 2, &snapshot->cgroup);
		break;
	case 7:
		allo_take_pressure(lines, &snapshot->system.pressure_some_ns,
				   &snapshot->system.pressure_full_ns);
		break;
	case 8:
		read_place(lines, text);
		break;
	default:
		read_mappings(lines, text);
	}
}

/* Whatever was told, a cut text is the front of the whole one. */
static void write_text(enum allo_metrics_format form, const struct allo_memory_snapshot *snapshot)
{
	static char whole[1 << 16], part[1000];
	struct allo_metrics_of process = { snapshot, "" };
	struct allo_text_buffer drafts[] = { { whole, sizeof(whole), 0 },
					     { part, sizeof(part), 0 } };

	for (int i = 0; i < 2; i++) {
		if (form == ALLO_METRICS_JSON)
			allo_metrics_put_json(&drafts[i], snapshot);
		else
			allo_metrics_put(&drafts[i], form, &process, 1);
		allo_buffer_end(&drafts[i]);
	}
	if (drafts[0].len != drafts[1].len || drafts[0].len >= sizeof(whole) ||
	    strncmp(whole, part, sizeof(part) - 1) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct allo_memory_snapshot snapshot;
	static struct allo_proc_reader lines;

	if (size == 0)
		return 0;
	allo_snapshot_init(&snapshot);
	read_file(data[0] % 10, &lines, (struct allo_text){ (const char *)data + 1, size - 1 },
		  &snapshot);
	for (int form = 0; form <= ALLO_METRICS_JSON; form++)
		write_text(form, &snapshot);
	return 0;
}
