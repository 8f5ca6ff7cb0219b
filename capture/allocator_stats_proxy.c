/* allocator_stats_proxy.c - see allocator_stats_proxy.h. */
#include "capture/allocator_stats_proxy.h"
#include "capture/allocator_stats.h"
#include "capture/clock.h"
#include "capture/safepoint.h"
#include "capture/system.h"

#include <errno.h>
#include <string.h>

enum { NOBODY_ASKS, ASKED, IS_ANSWERING, ANSWERED };

enum {
	TURN_NS = 250000,
	PATIENCE_NS = 50000000,          /* until a thread comes, */
	ANSWER_PATIENCE_NS = 1000000000, /* and until it has got its answer */
};

/* In memory that a child made by fork finds empty. */
static struct question {
	uint32_t state;
	const char *why;
	struct allo_allocator_memory memory;
} * question;

static bool is_state(uint32_t state)
{
	return __atomic_load_n(&question->state, __ATOMIC_ACQUIRE) == state;
}

static bool advance(uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&question->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

bool allo_allocator_proxy_is_pending(void)
{
	return question && is_state(ASKED);
}

void allo_allocator_proxy_serve(void)
{
	int before = errno;

	if (question && advance(ASKED, IS_ANSWERING)) {
		memset(&question->memory, 0xff, sizeof(question->memory));
		question->memory.name[0] = question->memory.version[0] = '\0';
		question->why = allo_allocator_read(false, &question->memory);
		__atomic_store_n(&question->state, ANSWERED, __ATOMIC_RELEASE);
	}
	allo_hooks_update();
	errno = before;
}

static bool wait_while(uint32_t state, uint64_t patience_ns)
{
	uint64_t until_ns = allo_monotonic_ns() + patience_ns;
	struct timespec time = { 0, TURN_NS };

	while (is_state(state) && allo_monotonic_ns() < until_ns)
		ALLO_SYSCALL2(SYS_nanosleep, &time, 0);
	return !is_state(state);
}

/* Whether a thread has come and gone again. */
static bool wait_for_answer(void)
{
	bool has_come;

	allo_hooks_update();
	has_come = wait_while(ASKED, PATIENCE_NS) || !advance(ASKED, NOBODY_ASKS);
	allo_hooks_update();
	return has_come && wait_while(IS_ANSWERING, ANSWER_PATIENCE_NS);
}

const char *allo_allocator_proxy_read(struct allo_allocator_memory *memory)
{
	if (allo_allocator_is_libc())
		return allo_allocator_read(false, memory);
	if (!allo_hooks_update || allo_allocator_is_interposed())
		return "no thread of the program can be sent to ask its allocator";
	if (!question)
		question = allo_map_private(sizeof(*question));
	if (!question)
		return "there is no memory to ask with";
	if (!advance(NOBODY_ASKS, ASKED) && !advance(ANSWERED, ASKED))
		return "a thread is asking its allocator since an earlier time";
	if (!wait_for_answer())
		return "no thread of the program has allocated anything meanwhile, which is when "
		       "one can ask its allocator";
	*memory = question->memory;
	return question->why;
}
