/* heap_profile.c - finds the recording of a process, reads it, symbolizes and writes it. */
#include "serve/heap_profile.h"

#include "base/defer.h"
#include "serve/worker.h"
#include "telemetry/monotonic_clock.h"
#include "watch/claimed_file.h"
#include "writers/writers.h"

#include <poll.h>

static unsigned fail_ended(const struct allo_served_process *process, struct allo_error *err)
{
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) has ended", process->program,
		  (int)process->pid);
	return ALLO_GONE;
}

unsigned allo_served_recording_find(const struct allo_served_process *process,
				    struct allo_recorded_processes *list,
				    struct allo_recorded_process *recorded, const char **file,
				    struct allo_error *err)
{
	const struct allo_recorded_process known = { .pid = process->pid,
						     .program = process->program,
						     .socket = process->socket };

	if (!process->has_runtime) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) does not have the runtime",
			  process->program, (int)process->pid);
		allo_hint(err, "'allo attach %d' loads it, and 'allo run' starts programs with it",
			  (int)process->pid);
		return ALLO_UNAVAILABLE;
	}
	if (allo_served_process_has_ended(process))
		return fail_ended(process, err);
	if (!allo_recorded_process_find_again(list, &known, recorded, err) ||
	    !allo_recorded_process_has_file(recorded, err))
		return allo_served_process_has_ended(process) ? ALLO_GONE : ALLO_UNAVAILABLE;
	*file = allo_claimed_recording(list, recorded, err);
	return *file ? ALLO_DONE : err->code == ALLO_NOMEM ? ALLO_BROKEN : ALLO_UNAVAILABLE;
}

struct allo_source_options allo_heap_source_options(const struct allo_heap_request *request,
						    char root[ALLO_ROOT_SIZE])
{
	struct allo_source_options options = { .symbols = *request->symbols,
					       .no_symbols = request->format == ALLO_HEAP_TEXT };

	if (!options.symbols.places.root)
		options.symbols.places.root = allo_served_process_root(request->process, root);
	return options;
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

/* Waits for the end of the window, which has just begun; false if the process ends first. */
static bool wait_for(const struct allo_heap_request *request)
{
	struct pollfd polled = { .fd = request->process->pidfd, .events = POLLIN };

	/* By the clock of the recording, the window must not be shorter. */
	return poll(&polled, 1, (int)request->seconds * 1000 + 1) == 0;
}

/* Writes a profile in the format that is asked for. */
static bool write_profile(struct allo_profile *profile, const struct allo_heap_request *request,
			  int out, struct allo_error *err)
{
	size_t metric;

	if (allo_profile_find_metric(
		    profile, request->is_of_all ? ALLO_ALLOC_BYTES : ALLO_LIVE_BYTES, &metric))
		profile->meta.default_metric = metric + 1;
	return write_heap(profile, request->format, out, err);
}

/* Reads the heap now or, at the end of the window that was asked for, its changes. */
static unsigned read_heap(struct allo_followed_profile *followed,
			  const struct allo_heap_request *request, const char *file,
			  uint64_t start_ns, struct allo_profile *profile, struct allo_error *err)
{
	char root[ALLO_ROOT_SIZE];
	struct allo_source_options options = allo_heap_source_options(request, root);
	bool ok;

	if (request->is_delta) {
		ok = allo_followed_profile_read_since(followed, file, start_ns, &options, profile,
						      err);
		return ok ? ALLO_DONE : ALLO_BROKEN;
	}
	if (request->seconds == 0) {
		ok = allo_followed_profile_read(followed, file, start_ns, &options, profile, err);
		return ok ? ALLO_DONE : ALLO_BROKEN;
	}
	if (!allo_followed_profile_begin(followed, file, start_ns, err))
		return ALLO_BROKEN;
	if (!wait_for(request))
		return fail_ended(request->process, err);
	ok = allo_followed_profile_read_change(followed, &options, profile, err);
	return ok ? ALLO_DONE : ALLO_BROKEN;
}

unsigned allo_heap_profile_follow(struct allo_followed_profile *followed,
				  const struct allo_heap_request *request, int out,
				  struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_recorded_process recorded;
	const char *file;
	unsigned status = allo_served_recording_find(request->process, &list, &recorded, &file,
						     err);

	if (status != ALLO_DONE)
		return status;
	status = read_heap(followed, request, file, recorded.start_ns, &profile, err);
	if (status == ALLO_DONE && !write_profile(&profile, request, out, err))
		status = ALLO_BROKEN;
	if (status != ALLO_DONE)
		allo_followed_profile_stop(followed);
	return status;
}
