/* truncation.c - the handler of SIGBUS, and the program's action behind it. */
#include "capture/file/truncation.h"
#include "capture/file/recorder_file.h"
#include "capture/hooks/real.h"
#include "capture/process.h"
#include "capture/settings.h"
#include "capture/stacks/stack_intern.h"
#include "capture/system.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

enum { RESTORER = 0x04000000 }; /* SA_RESTORER, which libc adds and programs see */

/* The program's action.  The kernel has its mask and flags, with our handler. */
static struct sigaction wanted;
static uint32_t owner; /* process whose action that is */

/* The memory of the recording. */

static bool contains(const void *start, size_t size, const void *address)
{
	return start && (uintptr_t)address - (uintptr_t)start < size;
}

typedef bool range_visitor(void *start, size_t size, const void *address);

/* Calls `visit` for each mapping of the file, until it returns true. */
static bool visit_ranges(range_visitor *visit, const void *address)
{
	const struct allo_recorder *r = allo_recorder;
	struct allo_wire_slot *tails[2];

	allo_stacks_tails(tails);
	for (struct allo_thread_state *thread =
		     __atomic_load_n(&allo_process->threads, __ATOMIC_ACQUIRE);
	     thread; thread = thread->next) {
		if (visit(thread->tail, ALLO_SLOT_SIZE, address))
			return true;
	}
	return visit(tails[0], ALLO_SLOT_SIZE, address) ||
	       visit(tails[1], ALLO_SLOT_SIZE, address) ||
	       visit(r->window.start, r->window.count * ALLO_SLOT_SIZE, address) ||
	       visit(r->head, ALLO_SLOT_SIZE, address);
}

static bool is_hit(void *start, size_t size, const void *address)
{
	return contains(start, size, address);
}

/* Hooks that are just writing continue in memory of their own, which is not part of a file. */
static bool replace(void *start, size_t size, const void *address)
{
	(void)address;
	if (start)
		allo_syscall(SYS_mmap, (long)start, (long)size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	return false;
}

/* Writes the reason into the file, if that still has a head: its mapping cannot be used. */
static void write_end(void)
{
	const uint32_t end = ALLO_END_LOST;
	long fd = allo_recorder_file_open(allo_recorder);
	struct stat status;

	if (fd >= 0 && ALLO_SYSCALL2(SYS_fstat, fd, &status) == 0 &&
	    status.st_size >= (off_t)sizeof(struct allo_wire_head))
		ALLO_SYSCALL4(SYS_pwrite64, fd, &end, sizeof(end),
			      offsetof(struct allo_wire_head, end));
	allo_recorder_file_close(fd);
}

/* Ends the recording if the signal is about its memory. */
static bool has_ended_recording(const siginfo_t *info)
{
	if (info->si_code != BUS_ADRERR || allo_is_confined || !allo_recorder || !allo_process ||
	    !allo_settings.has_file || !visit_ranges(is_hit, info->si_addr))
		return false;
	visit_ranges(replace, NULL);
	allo_recorder_stop(ALLO_END_LOST);
	write_end();
	return true;
}

/* The program's action. */

/* Without a handler of the program, the instruction or the sender raises the signal again. */
static void act_by_default(const siginfo_t *info)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };

	allo_real.sigaction(SIGBUS, &by_default, NULL);
	if (info->si_code <= 0)
		ALLO_SYSCALL3(SYS_tgkill, ALLO_SYSCALL1(SYS_getpid, 0), allo_thread_number(),
			      SIGBUS);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	struct sigaction action = wanted;
	int error = errno;

	if (has_ended_recording(info)) {
		errno = error;
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND)
		wanted = (struct sigaction){ .sa_handler = SIG_DFL };
	if (action.sa_handler == SIG_DFL)
		act_by_default(info);
	else
		action.sa_sigaction(signal, info, context);
}

/* Gives the kernel our handler with the program's mask and flags. */
static int install(const struct sigaction *action)
{
	struct sigaction ours = *action;

	if (action->sa_handler == SIG_IGN)
		return allo_real.sigaction(SIGBUS, action, NULL);
	ours.sa_sigaction = on_fault;
	ours.sa_flags = (ours.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
	return allo_real.sigaction(SIGBUS, &ours, NULL);
}

/* Whether the kernel has our handler, which it then has instead of `wanted`. */
static bool is_ours(struct sigaction *current)
{
	return allo_real.sigaction && allo_real.sigaction(SIGBUS, NULL, current) == 0 &&
	       current->sa_sigaction == on_fault;
}

void allo_truncation_begin(void)
{
	struct sigaction current;

	/* Without the hooks, the program would see our handler. */
	if (!allo_hooks_update)
		return;
	owner = allo_process_number();
	if (is_ours(&current) || !allo_real.sigaction || current.sa_handler == SIG_IGN)
		return;
	wanted = current;
	if (current.sa_handler == SIG_DFL)
		current.sa_flags = SA_ONSTACK | SA_RESTART;
	install(&current);
}

int allo_truncation_set(const struct sigaction *action, struct sigaction *before)
{
	struct sigaction current, old = wanted;

	if (!is_ours(&current))
		return allo_real.sigaction(SIGBUS, action, before);
	/* A child made by vfork() has its own actions, but our memory. */
	if (action && owner != allo_process_number()) {
		if (allo_real.sigaction(SIGBUS, action, NULL) != 0)
			return -1;
	} else if (action) {
		wanted = *action;
		if (install(&wanted) != 0) {
			wanted = old;
			return -1;
		}
		if (is_ours(&current))
			wanted.sa_flags |= current.sa_flags & RESTORER;
	}
	if (before)
		*before = old;
	return 0;
}
