/* sleep_sign.c - finds and tests the field rseq_cs of a thread. */
#include "capture/time/sleep_sign.h"
#include "capture/system.h"

#include <dlfcn.h>

/* The signature that libc registers for each thread: in front of the code for an abort. */
#if defined(__x86_64__)
#define SIGNATURE 0x53053053
#else
#define SIGNATURE 0xd428bc00
#endif

/* The kernel kills a process whose section is malformed: the signature must be in front of the code
 * for an abort.  That code is never executed, since an empty section is never aborted. */
static const uint32_t signature = SIGNATURE;

const struct rseq_cs allo_empty_section = {
	.start_ip = (uint64_t)(&signature + 1),
	.abort_ip = (uint64_t)(&signature + 1),
};

static char *thread_pointer(void)
{
#if defined(__x86_64__)
	char *pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
#else
	return __builtin_thread_pointer();
#endif
}

/* libc's variables; NULL: it has none. */
static const ptrdiff_t *struct_offset;
static const unsigned *struct_size;

void allo_sleep_sign_init(void)
{
	struct_offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
	struct_size = dlsym(RTLD_DEFAULT, "__rseq_size");
}

allo_sleep_sign allo_sleep_sign_find(void)
{
	const struct rseq *own;

	if (!struct_offset || !struct_size || *struct_size == 0)
		return 0;
	own = (const struct rseq *)(thread_pointer() + *struct_offset);
	if ((int32_t)own->cpu_id < 0) /* this thread is not registered */
		return 0;
	return (uintptr_t)&own->rseq_cs - (uintptr_t)&allo_empty_section;
}

static bool shows_sleep(allo_sleep_sign sign)
{
	struct timespec time = { .tv_nsec = 1000 }; /* the kernel adds about 50 us */

	allo_sleep_sign_set(sign);
	return ALLO_SYSCALL2(SYS_nanosleep, &time, NULL) == 0 && !allo_sleep_sign_is_awake(sign);
}

/* An interrupt beside the sleep may change the sign as well, and the time may be over before the
 * thread sleeps: two of four sleeps decide. */
bool allo_sleep_sign_works(allo_sleep_sign sign)
{
	unsigned shown = 0;

	for (unsigned i = 0; sign && i < 4 && shown < 2; i++)
		shown += shows_sleep(sign);
	allo_sleep_sign_clear(sign);
	return shown == 2;
}

void allo_sleep_sign_clear(allo_sleep_sign sign)
{
	if (sign != 0 && allo_sleep_sign_is_awake(sign))
		__atomic_store_n(allo_sleep_sign_field(sign), 0, __ATOMIC_RELAXED);
}
