/* entry_patches.c - see entry_patches.h. */
#include "attach/entry_patches.h"

#include "attach/call_state.h"
#include "base/assert.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum {
	STEPS_MAX = 64, /* to leave the bytes that change; string instructions take more */
	HANDLER_MAX =
		32 << 10, /* bytes of a stack in which a signal handler's frame is looked for */
	TRIES = 500,      /* for signal handlers to return */
	PAUSE_MS = 1,     /* between them */
	STOP_MS = 250,    /* the longest time that stopped threads wait for one that runs */
	STOP_TRIES = 8,   /* to stop all */
	RUN_MS = 250,     /* between them */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_plan(const struct allo_attach_plan *plan)
{
	if (memcmp(plan->magic, ALLO_ATTACH_MAGIC, sizeof(plan->magic)) != 0 ||
	    plan->version != ALLO_ATTACH_VERSION || plan->count > ALLO_ATTACH_ENTRIES)
		return false;
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->entries[i].length > ALLO_ATTACH_BYTES)
			return false;
	}
	return true;
}

bool allo_entries_plan(const struct allo_tracee_memory *memory,
		       const struct allo_tracee_module *runtime, struct allo_attach_plan *plan)
{
	uint64_t at = allo_tracee_symbol(memory, runtime, "allo_attach_plan", NULL);

	return at && allo_tracee_read(memory, at, plan, sizeof(*plan)) && is_plan(plan);
}

enum allo_entries allo_entries_state(const struct allo_tracee_memory *memory,
				     const struct allo_attach_plan *plan)
{
	size_t old = 0, new = 0;

	ALLO_ASSERT(plan->count <= ALLO_ATTACH_ENTRIES);
	for (size_t i = 0; i < plan->count; i++) {
		const struct allo_attach_entry *entry = &plan->entries[i];
		uint8_t found[ALLO_ATTACH_BYTES];

		if (!allo_tracee_read(memory, entry->at, found, entry->length))
			return ALLO_ENTRIES_FOREIGN;
		old += memcmp(found, entry->old_bytes, entry->length) == 0;
		new += memcmp(found, entry->new_bytes, entry->length) == 0;
	}
	if (old == plan->count)
		return ALLO_ENTRIES_OLD;
	if (new == plan->count)
		return ALLO_ENTRIES_NEW;
	return old + new == plan->count ? ALLO_ENTRIES_MIXED : ALLO_ENTRIES_FOREIGN;
}

/* Whether an address lies within the bytes of an entry that change, but not at its start. */
static bool is_within_entry(const struct allo_attach_plan *plan, uint64_t address)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct allo_attach_entry *entry = &plan->entries[i];

		if (address > entry->at && address < entry->at + entry->length)
			return true;
	}
	return false;
}

/* Executes instructions of a thread until it has left all entries. */
static bool step_out(struct allo_tracee_threads *threads, size_t index,
		     const struct allo_attach_plan *plan, struct user_regs_struct *registers)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (!allo_registers_read(threads->all.at[index].id, registers))
			return false;
		if (!is_within_entry(plan, registers->rip))
			return true;
		if (!allo_tracee_step(threads, index))
			return threads->all.at[index].is_gone;
	}
	return false;
}

/* Whether a signal handler of the thread has interrupted a function within its entry, and will
 * return there. */
static bool returns_into_entry(const struct allo_tracee_memory *memory,
			       const struct allo_attach_plan *plan, uint64_t sp)
{
	uint64_t words[HANDLER_MAX / sizeof(uint64_t)];
	size_t count = allo_tracee_read_some(memory, sp & ~(uint64_t)7, words, sizeof(words)) /
		       sizeof(*words);

	for (size_t i = ALLO_RIP_BEFORE_SEGMENTS; i < count; i++) {
		if (allo_call_are_segments(words[i]) &&
		    is_within_entry(plan, words[i - ALLO_RIP_BEFORE_SEGMENTS]))
			return true;
	}
	return false;
}

/* Whether no thread stands, or will return, where bytes change. */
static bool are_clear(struct allo_tracee_threads *threads, const struct allo_tracee_memory *memory,
		      const struct allo_attach_plan *plan)
{
	struct user_regs_struct registers;

	for (size_t i = 0; i < threads->all.len; i++) {
		if (threads->all.at[i].is_gone)
			continue;
		if (!step_out(threads, i, plan, &registers))
			return false;
		if (!threads->all.at[i].is_gone && returns_into_entry(memory, plan, registers.rsp))
			return false;
	}
	return true;
}

static bool write_bytes(const struct allo_tracee_memory *memory,
			const struct allo_attach_plan *plan, bool is_new)
{
	bool ok = true;

	for (size_t i = 0; i < plan->count; i++) {
		const struct allo_attach_entry *entry = &plan->entries[i];

		ALLO_ASSERT(entry->length <= ALLO_ATTACH_BYTES);
		ok &= allo_tracee_write(memory, entry->at,
					is_new ? entry->new_bytes : entry->old_bytes,
					entry->length);
	}
	return ok;
}

enum written { WRITTEN, NOT_NOW, LATE, FAILED };

/* One try: stops all threads, and writes if they are clear.  Stores the thread that does not stop.
 */
static enum written try_once(struct allo_tracee_threads *threads,
			     const struct allo_tracee_memory *memory,
			     const struct allo_attach_plan *plan, bool is_new, pid_t *late,
			     struct allo_error *err)
{
	*late = allo_tracee_stop_all(threads, STOP_MS, err);
	if (allo_failed(err) || !allo_tracee_is_alive(threads, err))
		return FAILED;
	if (*late)
		return LATE;
	/* A jump has no inside to stand in, so the old bytes may always come back. */
	if (is_new && !are_clear(threads, memory, plan))
		return NOT_NOW;
	if (write_bytes(memory, plan, is_new))
		return WRITTEN;
	allo_fail_errno(err, NULL, "write to the code of the process");
	return FAILED;
}

static size_t count_threads(const struct allo_tracee_threads *threads)
{
	size_t count = 0;

	for (size_t i = 0; i < threads->all.len; i++)
		count += !threads->all.at[i].is_gone;
	return count;
}

static bool fail_late(const struct allo_tracee_threads *threads, pid_t late, struct allo_error *err)
{
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "thread %d of process %d does not stop", (int)late,
		  (int)threads->pid);
	return allo_hint(err,
			 "it waits in the kernel, for the end of its vfork() or for a disk, or "
			 "the machine is overloaded: try again later");
}

/* Tries until a signal handler that stands in the way has returned.  In between, all threads run.
 */
static bool write_entries(struct allo_tracee_threads *threads, struct allo_tracee_memory *memory,
			  const struct allo_attach_plan *plan, bool is_new,
			  struct allo_entries_result *result, struct allo_error *err)
{
	unsigned late_count = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t start_ns = now_ns();
		pid_t late;
		enum written written = try_once(threads, memory, plan, is_new, &late, err);

		result->threads = count_threads(threads);
		if (written == LATE && ++late_count == STOP_TRIES)
			return fail_late(threads, late, err);
		if (written == WRITTEN || written == FAILED) {
			allo_tracee_threads_done(threads);
			result->stopped_ns = now_ns() - start_ns;
			return written == WRITTEN;
		}
		allo_tracee_run_all(threads, written == LATE ? RUN_MS : PAUSE_MS);
	}
	allo_fail(err, ALLO_IO, ALLO_NOWHERE,
		  "a signal handler of process %d has interrupted malloc() and does not return",
		  (int)threads->pid);
	return allo_hint(err, "try again later");
}

bool allo_entries_write(struct allo_tracee_threads *threads, struct allo_tracee_memory *memory,
			const struct allo_attach_plan *plan, bool is_new,
			struct allo_entries_result *result, struct allo_error *err)
{
	sigset_t all, before;
	bool ok;

	/* Nothing may delay this program while the other one stands still. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	ok = write_entries(threads, memory, plan, is_new, result, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ok;
}
