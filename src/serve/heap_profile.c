/* heap_profile.c - finds the recording of a process, reads it, symbolizes and writes it. */
#include "serve/heap_profile.h"

#include "base/defer.h"
#include "readers/readers.h"
#include "replay/view.h"
#include "serve/worker.h"
#include "telemetry/monotonic_clock.h"
#include "watch/recorded_process.h"
#include "writers/writers.h"

#include <poll.h>

static unsigned fail_ended(const struct allo_served_process *process, struct allo_error *err)
{
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) has ended", process->program,
		  (int)process->pid);
	return ALLO_GONE;
}

/* Finds the file of the recording; the error says what to do if there is none. */
static unsigned find_recording(const struct allo_served_process *process,
			       struct allo_recorded_processes *list,
			       struct allo_recorded_process *recorded, const char **file,
			       struct allo_error *err)
{
	if (!process->socket[0]) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) does not have the runtime",
			  process->program, (int)process->pid);
		allo_hint(err, "'allo run' starts programs with it");
		return ALLO_UNAVAILABLE;
	}
	if (allo_served_process_has_ended(process))
		return fail_ended(process, err);
	if (!allo_recorded_process_find(list, process->socket, recorded, err) ||
	    !allo_recorded_process_has_file(recorded, err))
		return allo_served_process_has_ended(process) ? ALLO_GONE : ALLO_UNAVAILABLE;
	*file = allo_recorded_process_file(list, recorded);
	if (*file)
		return ALLO_DONE;
	allo_fail_memory(err);
	return ALLO_BROKEN;
}

/* Live memory and all allocations, or their changes since `from_ns` of the recording (0: no
 * window). */
static bool read_heap(const char *file, uint64_t from_ns, struct allo_profile *profile,
		      struct allo_error *err)
{
	const struct allo_view view = { .from_ns = from_ns,
					.at = from_ns > 0 ? ALLO_AT_CHANGE : ALLO_AT_NOW };

	return allo_read_file(file, &(struct allo_read_options){ .from = "allo", .view = &view },
			      profile, err);
}

static bool add_names(struct allo_profile *profile, const struct allo_heap_request *request,
		      struct allo_error *err)
{
	struct allo_symbol_options symbols = *request->symbols;
	char root[ALLO_ROOT_SIZE];

	if (!symbols.places.root)
		symbols.places.root = allo_served_process_root(request->process, root);
	return allo_symbols_add(profile, &symbols, NULL, NULL, err);
}

/* Writes pprof, or the text of gperftools.  A text without names is for programs that look them up.
 */
static bool write_heap(const struct allo_profile *profile, enum allo_heap_format format, int fd,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	bool is_pprof = format == ALLO_HEAP_PPROF;
	const struct allo_writer *writer = allo_writer_find(is_pprof ? "pprof" : "gperftools", err);
	const struct allo_output_options options = { .packing = is_pprof ? ALLO_GZIP : ALLO_PLAIN,
						     .fast = true };

	return writer && allo_output_open_fd(&out, fd, "the reply", &options, err) &&
	       allo_write(writer, profile, NULL, &out, NULL, err) && allo_output_finish(&out, err);
}

/* Waits for the end of the window; false if the process ends first. */
static bool wait_for(const struct allo_heap_request *request)
{
	struct pollfd polled = { .fd = request->process->pidfd, .events = POLLIN };
	uint64_t end_ns = request->asked_ns + request->seconds * ALLO_SECOND_NS,
		 now_ns = allo_clock_ns();

	return poll(&polled, 1, now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) : 0) == 0;
}

unsigned allo_heap_profile_write(const void *task, int out, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_heap_request *request = task;
	struct allo_recorded_process recorded;
	uint64_t from_ns = 0;
	const char *file;
	size_t first;
	unsigned status = find_recording(request->process, &list, &recorded, &file, err);

	if (status != ALLO_DONE)
		return status;
	if (request->seconds > 0) {
		from_ns = request->asked_ns > recorded.start_ns
				  ? request->asked_ns - recorded.start_ns
				  : 1;
		if (!wait_for(request))
			return fail_ended(request->process, err);
	}
	if (!read_heap(file, from_ns, &profile, err))
		return ALLO_BROKEN;
	if (allo_profile_find_metric(
		    &profile, request->is_of_all ? ALLO_ALLOC_BYTES : ALLO_LIVE_BYTES, &first))
		profile.meta.default_metric = first + 1;
	if (request->format != ALLO_HEAP_TEXT && !add_names(&profile, request, err))
		return ALLO_BROKEN;
	return write_heap(&profile, request->format, out, err) ? ALLO_DONE : ALLO_BROKEN;
}
