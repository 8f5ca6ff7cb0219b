/* system.c - substitutes for system calls in a sandbox; numbers of the thread and the process. */
#include "capture/system.h"

#include <pthread.h>
#include <unistd.h>

bool allo_is_confined;
__thread uint32_t allo_helped_process;

/* Memory for the sandbox, handed out from start to end and never given back. */
static struct {
	char *start;
	size_t size, used;
} confined;

enum { CONFINED_MIN = 1 << 20 };

void allo_confined_memory_prepare(size_t size)
{
	while (!confined.start && size >= CONFINED_MIN) {
		confined.start = allo_map_private(size);
		confined.size = size;
		size /= 4;
	}
}

void *allo_confined_memory(size_t size)
{
	size_t page = (size_t)getpagesize(), whole = (size + page - 1) & ~(page - 1);
	size_t at = __atomic_fetch_add(&confined.used, whole, __ATOMIC_RELAXED);

	/* A request that does not fit increases `used`, too.  2^24 requests cannot overflow it. */
	if (!confined.start || whole > confined.size || at > confined.size - whole)
		return NULL;
	return confined.start + at;
}

/* libc knows the number of a thread and encodes it in the id of the thread's clock. */
static uint32_t number_by_libc(void)
{
	clockid_t clock;

	if (pthread_getcpuclockid(pthread_self(), &clock) != 0)
		return 1;
	return ~((uint32_t)clock >> 3) & INT32_MAX >> 2;
}

uint32_t allo_thread_number(void)
{
	return allo_is_confined ? number_by_libc() : (uint32_t)ALLO_SYSCALL1(SYS_gettid, 0);
}

uint32_t allo_process_number(void)
{
	return allo_helped_process ? allo_helped_process : (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0);
}
