/* tracee_calls.c - a chain of calls: each begins where the last one would restore the registers. */
#include "attach/tracee_calls.h"

#include "base/assert.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

enum {
	ROOM_SIZE = 512 << 10, /* stack of the calls; texts lie at its lower end */
	CODE_SIZE = 4096,
	TEXT_MAX = 4096,
	CALL_MS = 20000,    /* a call that takes longer is left alone */
	RESTORE_MS = 10000, /* the thread runs already, but may wait for a processor */
	ERRNO_MAX = 4095,
	UNUSED = 32 << 10, /* bytes for the first frame, and for signal handlers on top of it */
	/* Between them and the main thread, which may run and call functions meanwhile. */
	DISTANCE = 32 << 10,
	AREA = UNUSED + DISTANCE,
};

/* Signals that the processor raises, or a seccomp filter: the call has failed. */
static bool is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGTRAP || signal == SIGSYS;
}

static pid_t thread_of(const struct allo_tracee_calls *calls)
{
	ALLO_ASSERT(calls->thread < calls->threads->all.len);
	return calls->threads->all.at[calls->thread].id;
}

static bool fail_gone(const struct allo_tracee_calls *calls, struct allo_error *err)
{
	if (!allo_tracee_is_alive(calls->threads, err))
		return false;
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "a thread of process %d has ended meanwhile",
			 (int)calls->threads->pid);
}

static bool fail_crash(struct allo_tracee_calls *calls, struct allo_error *err)
{
	struct allo_tracee_thread *thread = &calls->threads->all.at[calls->thread];
	int signal = thread->signal;

	thread->signal = 0;
	allo_call_state_restore(&calls->state, thread->id);
	calls->has_begun = false;
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			 "process %d cannot load the runtime: signal %s; it goes on as before",
			 (int)calls->threads->pid, sigabbrev_np(signal));
}

/* Handles a stop of the calling thread; true when the call is over. */
static bool take_stop(struct allo_tracee_calls *calls, enum allo_tracee_stop stop, uint64_t frame,
		      uint64_t *result, struct allo_error *err)
{
	const struct allo_tracee_thread *thread = &calls->threads->all.at[calls->thread];
	struct user_regs_struct registers;

	if (stop == ALLO_TRACEE_SIGNAL && is_crash(thread->signal))
		return fail_crash(calls, err);
	if (stop == ALLO_TRACEE_CALL && allo_registers_read(thread->id, &registers)) {
		if (allo_call_is_returning(&registers, frame, result))
			return true;
		allo_call_system_result(&registers, &calls->result_of_kernel);
	}
	allo_tracee_continue_to_call(calls->threads, calls->thread);
	return false;
}

/* Lets the thread go on until the call returns. */
static bool wait_for_return(struct allo_tracee_calls *calls, uint64_t frame, uint64_t *result,
			    struct allo_error *err)
{
	size_t index;

	allo_tracee_continue_to_call(calls->threads, calls->thread);
	while (!allo_failed(err)) {
		enum allo_tracee_stop stop = allo_tracee_wait(calls->threads, CALL_MS, &index);

		if (stop == ALLO_TRACEE_NO_STOP) {
			allo_fail(err, ALLO_IO, ALLO_NOWHERE,
				  "process %d does not get ahead with loading the runtime",
				  (int)calls->threads->pid);
			allo_hint(err, "it goes on as before; try again when it is less busy");
			calls->has_begun = false;
		} else if (calls->threads->has_executed ||
			   calls->threads->all.at[calls->thread].is_gone) {
			calls->has_begun = false;
			return fail_gone(calls, err);
		} else if (index != calls->thread) {
			allo_tracee_continue(calls->threads, index);
		} else if (take_stop(calls, stop, frame, result, err)) {
			return true;
		}
	}
	return false;
}

static bool call_with(struct allo_tracee_calls *calls, uint64_t frame, uint64_t function,
		      const uint64_t arguments[ALLO_CALL_ARGUMENTS], uint64_t *result,
		      struct allo_error *err)
{
	ALLO_ASSERT(frame != 0 && function != 0);
	calls->has_begun = true;
	/* The frame has the signal mask: it is restored even if this program is killed now. */
	if (!allo_call_begin(&calls->state, thread_of(calls), frame, function, arguments) ||
	    !allo_call_block_signals(thread_of(calls)))
		return fail_gone(calls, err);
	return wait_for_return(calls, frame, result, err);
}

bool allo_tracee_call(struct allo_tracee_calls *calls, uint64_t function,
		      const uint64_t arguments[ALLO_CALL_ARGUMENTS], uint64_t *result,
		      struct allo_error *err)
{
	return call_with(calls, calls->frame, function, arguments, result, err);
}

static uint64_t libc_function(const struct allo_tracee_calls *calls, const char *name,
			      struct allo_error *err)
{
	uint64_t function = allo_tracee_symbol(calls->memory, calls->libc, name, NULL);

	if (!function)
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "the C library of process %d has no %s()",
			  (int)calls->threads->pid, name);
	return function;
}

bool allo_tracee_call_libc(struct allo_tracee_calls *calls, const char *name,
			   const uint64_t arguments[ALLO_CALL_ARGUMENTS], uint64_t *result,
			   struct allo_error *err)
{
	uint64_t function = libc_function(calls, name, err);

	return function && allo_tracee_call(calls, function, arguments, result, err);
}

/* Calls a function that is one system call, while our stack is not mapped. */
static bool call_kernel(struct allo_tracee_calls *calls, const char *name,
			const uint64_t arguments[ALLO_CALL_ARGUMENTS], uint64_t *result,
			struct allo_error *err)
{
	uint64_t function = libc_function(calls, name, err), ignored;

	if (!function || !call_with(calls, calls->first_frame, function, arguments, &ignored, err))
		return false;
	*result = calls->result_of_kernel;
	return true;
}

static bool map(struct allo_tracee_calls *calls, uint64_t size, int protection, uint64_t *at,
		struct allo_error *err)
{
	const uint64_t arguments[ALLO_CALL_ARGUMENTS] = { 0, size, (uint64_t)protection,
							  MAP_PRIVATE | MAP_ANONYMOUS |
								  MAP_NORESERVE,
							  (uint64_t)-1 };
	uint64_t result;

	if (!call_kernel(calls, "mmap", arguments, &result, err))
		return false;
	if (result <= UINT64_MAX - ERRNO_MAX) {
		*at = result;
		return true;
	}
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d may not map memory%s: %s",
			 (int)calls->threads->pid, protection & PROT_EXEC ? " for code" : "",
			 strerror((int)-(int64_t)result));
}

/* The lowest address of the main thread's stack; 0 if there is none. */
static uint64_t find_low_end(struct allo_tracee_memory *memory)
{
	struct allo_error ignored = { 0 };

	if (!allo_tracee_memory_list(memory, &ignored))
		return 0;
	for (size_t i = 0; i < memory->mappings.len; i++) {
		if (strcmp(memory->mappings.at[i].path, "[stack]") == 0)
			return memory->mappings.at[i].start;
	}
	return 0;
}

/* A thread that has been there has left return addresses. */
static bool is_unused(const struct allo_tracee_memory *memory, uint64_t low, uint64_t sp)
{
	static const uint8_t zeros[AREA];
	uint8_t bytes[AREA];

	return (sp < low || sp >= low + AREA) &&
	       allo_tracee_read(memory, low, bytes, sizeof(bytes)) &&
	       memcmp(bytes, zeros, sizeof(bytes)) == 0;
}

/* The kernel extends this mapping when somebody writes below it. */
static bool extend(const struct allo_tracee_memory *memory, uint64_t low)
{
	const uint8_t zero = 0;

	return !allo_tracee_mapping_of(memory, low) &&
	       !allo_tracee_mapping_of(memory, low + AREA - 1) &&
	       allo_tracee_write(memory, low, &zero, sizeof(zero));
}

/* The end of at least UNUSED bytes of zeros at the low end of the main thread's stack, which that
 * thread has never reached.  `sp` is the stack pointer of a stopped thread.  0: there are none. */
static uint64_t find_unused(struct allo_tracee_memory *memory, uint64_t sp)
{
	uint64_t low = find_low_end(memory);

	if (!low)
		return 0;
	if (!is_unused(memory, low, sp)) {
		low -= AREA;
		if (!extend(memory, low) || !is_unused(memory, low, sp))
			return 0;
	}
	return low + UNUSED;
}

/* Writes the first frame.  It must not be below the thread's stack pointer, where the kernel puts
 * that of a signal handler: the stack of a coroutine may have no room for it. */
static bool write_first_frame(struct allo_tracee_calls *calls, struct allo_error *err)
{
	uint64_t way_back = allo_call_find_way_back(calls->memory, calls->libc->path);

	if (!way_back)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
				 "the C library of process %d has no return from signal handlers",
				 (int)calls->threads->pid);
	ALLO_ASSERT(allo_call_frame_size(&calls->state) <= UNUSED);
	calls->unused = find_unused(calls->memory, calls->state.registers.rsp);
	calls->first_frame = calls->unused ? allo_call_frame_write(&calls->state, calls->memory,
								   calls->unused, way_back)
					   : 0;
	if (calls->first_frame)
		return true;
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			 "the main thread of process %d has no room on its stack",
			 (int)calls->threads->pid);
}

/* The thread does not need the first frame any more, even if this program is killed now. */
static void clear_first_frame(struct allo_tracee_calls *calls)
{
	static const uint8_t zeros[UNUSED];
	uint64_t size = allo_call_frame_size(&calls->state);

	/* Zeros: the next search finds the memory unused again, and does not extend the stack. */
	if (calls->unused)
		allo_tracee_write_data(calls->memory, calls->unused - size, zeros, size);
	calls->unused = 0;
}

/* Writes the frame on our stack, which is mapped now. */
static bool write_frame(struct allo_tracee_calls *calls, struct allo_error *err)
{
	uint8_t code[ALLO_CALL_WAY_SIZE];

	allo_call_way_back(code);
	calls->frame = allo_call_frame_write(&calls->state, calls->memory, calls->room + ROOM_SIZE,
					     calls->code);
	if (!calls->frame || !allo_tracee_write(calls->memory, calls->code, code, sizeof(code)))
		return allo_fail_errno(err, NULL, "write to the memory of the process");
	if (!allo_call_change_frame(thread_of(calls), calls->frame))
		return fail_gone(calls, err);
	clear_first_frame(calls);
	return true;
}

bool allo_tracee_calls_begin(struct allo_tracee_calls *calls, struct allo_tracee_threads *threads,
			     struct allo_tracee_memory *memory,
			     const struct allo_tracee_module *libc, size_t thread,
			     struct allo_error *err)
{
	*calls = (struct allo_tracee_calls){
		.threads = threads, .memory = memory, .libc = libc, .thread = thread
	};
	if (!allo_call_state_read(&calls->state, thread_of(calls)))
		return allo_fail_errno(err, NULL, "read the registers of the process");
	return write_first_frame(calls, err) &&
	       map(calls, ROOM_SIZE, PROT_READ | PROT_WRITE, &calls->room, err) &&
	       map(calls, CODE_SIZE, PROT_READ | PROT_EXEC, &calls->code, err) &&
	       write_frame(calls, err);
}

uint64_t allo_tracee_calls_text(struct allo_tracee_calls *calls, const char *text)
{
	size_t size = strlen(text) + 1;

	ALLO_ASSERT(size <= TEXT_MAX);
	return allo_tracee_write_data(calls->memory, calls->room, text, size) ? calls->room : 0;
}

static void unmap(struct allo_tracee_calls *calls, uint64_t at, uint64_t size)
{
	const uint64_t arguments[ALLO_CALL_ARGUMENTS] = { at, size };
	struct allo_error ignored = { 0 };
	uint64_t result;

	if (at && calls->has_begun)
		call_kernel(calls, "munmap", arguments, &result, &ignored);
}

/* The thread is about to restore its registers.  What a signal handler would restore comes first,
 * and then, from an interrupt, the system call that it was in: the kernel can continue that only
 * there. */
static void restore(struct allo_tracee_calls *calls)
{
	struct user_regs_struct exact = calls->state.registers, now;

	calls->state.registers = allo_call_registers_after_signal(&exact);
	allo_call_state_restore(&calls->state, thread_of(calls));
	clear_first_frame(calls);
	calls->has_begun = false;
	if (allo_tracee_interrupt(calls->threads, calls->thread, RESTORE_MS) &&
	    allo_registers_read(thread_of(calls), &now) && now.rip == calls->state.registers.rip &&
	    now.rsp == calls->state.registers.rsp)
		ptrace(PTRACE_SETREGS, thread_of(calls), 0, &exact);
}

void allo_tracee_calls_end(struct allo_tracee_calls *calls)
{
	struct allo_error ignored = { 0 };

	if (!calls->has_begun)
		return;
	/* Without a first frame, our memory stays mapped. */
	if (calls->unused || write_first_frame(calls, &ignored)) {
		unmap(calls, calls->room, ROOM_SIZE);
		unmap(calls, calls->code, CODE_SIZE);
	}
	if (calls->has_begun)
		restore(calls);
}
