/* own_resident.c - VmRSS and VmHWM of /proc/self/status. */
#include "capture/file/own_resident.h"
#include "capture/file/recorder.h"
#include "capture/settings.h"
#include "capture/spin.h"
#include "capture/system.h"
#include "wire/resident_samples.h"

#include <fcntl.h>
#include <string.h>

/* Not on the stack: programs have stacks of a few KiB.  Owned by the thread that has is_sampling.
 */
static char status[4096];

enum { AT = ALLO_SLOT_SIZE - sizeof(struct allo_wire_resident) };

/* Not by the offset in the head: others may have overwritten the file. */
static struct allo_wire_resident *resident_of(struct allo_wire_head *head)
{
	return (struct allo_wire_resident *)((char *)head + AT);
}

void allo_resident_reserve(struct allo_wire_head *head)
{
	resident_of(head)->step_ns = ALLO_RESIDENT_STEP_NS;
	head->resident = (struct allo_wire_text){ AT, sizeof(struct allo_wire_resident) };
}

/* Bytes of a line in kilobytes; 0 if it is missing. */
static uint64_t status_bytes(const char *name)
{
	const char *at = strstr(status, name);
	uint64_t kib = 0;

	if (!at)
		return 0;
	for (at += strlen(name); *at == ' ' || *at == '\t'; at++) {
	}
	for (; *at >= '0' && *at <= '9'; at++)
		kib = kib * 10 + (uint64_t)(*at - '0');
	return kib * 1024;
}

static bool read_status(void)
{
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
	long len;

	if (fd < 0)
		return false;
	len = ALLO_SYSCALL3(SYS_read, fd, status, sizeof(status) - 1);
	ALLO_SYSCALL1(SYS_close, fd);
	status[len > 0 ? len : 0] = '\0';
	return len > 0;
}

static uint64_t since_start(const struct allo_wire_head *head)
{
	return __atomic_load_n(&head->last.monotonic_ns, __ATOMIC_RELAXED) -
	       head->first.monotonic_ns;
}

/* One thread at a time: the others need no sample of the same moment. */
static void note(bool is_end)
{
	struct allo_wire_head *head = allo_recorder->head;
	struct allo_wire_resident *resident = resident_of(head);
	uint64_t peak;

	if (!allo_spin_try(&allo_recorder->is_sampling))
		return;
	if (read_status()) {
		peak = status_bytes("\nVmHWM:");
		if (!allo_settings.list[0])
			allo_resident_add(resident, since_start(head), status_bytes("\nVmRSS:"),
					  peak);
		if (is_end)
			resident->own_peak = peak;
	}
	allo_spin_unlock(&allo_recorder->is_sampling);
}

/* System calls are forbidden in a sandbox.  Without a file there is no room. */
static bool is_possible(void)
{
	return !allo_is_confined && allo_settings.has_file && allo_recorder->head &&
	       allo_recorder->head->resident.len > 0;
}

void allo_resident_attend(void)
{
	struct allo_recorder *r = allo_recorder;
	uint64_t step, step_ns;

	if (allo_settings.list[0] || !is_possible())
		return;
	step_ns = __atomic_load_n(&resident_of(r->head)->step_ns, __ATOMIC_RELAXED);
	if (step_ns == 0) /* the file was truncated */
		return;
	step = since_start(r->head) / step_ns;
	if (step + 1 == __atomic_exchange_n(&r->sampled_step, step + 1, __ATOMIC_RELAXED))
		return;
	note(false);
}

void allo_resident_end(void)
{
	if (allo_recorder && is_possible() && allo_recorder->head->pid == allo_process_number())
		note(true);
}
