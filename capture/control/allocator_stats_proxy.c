/* allocator_stats_proxy.c - one request, served by the next thread that enters a hook. */
#include "capture/control/allocator_stats_proxy.h"
#include "base/assert.h"
#include "capture/control/allocator_stats.h"
#include "capture/safepoint.h"
#include "capture/system.h"
#include "capture/time/clock.h"

#include <errno.h>
#include <string.h>

/* The states of a request, in this order. */
enum { IDLE, PENDING, SERVING, SERVED };

enum {
	POLL_NS = 250000,
	PENDING_TIMEOUT_NS = 50000000,   /* for a thread to come */
	SERVING_TIMEOUT_NS = 1000000000, /* for it to finish */
};

/* The only request, in memory that is empty in a child after fork(). */
static struct proxy_request {
	uint32_t state;
	const char *why;
	struct allo_allocator_memory memory;
} * request;

static bool is_state(uint32_t state)
{
	return __atomic_load_n(&request->state, __ATOMIC_ACQUIRE) == state;
}

static bool advance(uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&request->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

bool allo_allocator_proxy_is_pending(void)
{
	return request && is_state(PENDING);
}

void allo_allocator_proxy_serve(void)
{
	int before = errno;

	if (request && advance(PENDING, SERVING)) {
		memset(&request->memory, 0xff, sizeof(request->memory));
		request->memory.name[0] = request->memory.version[0] = '\0';
		request->why = allo_allocator_read(false, &request->memory);
		__atomic_store_n(&request->state, SERVED, __ATOMIC_RELEASE);
	}
	allo_hooks_update();
	errno = before;
}

static bool wait_while(uint32_t state, uint64_t timeout_ns)
{
	uint64_t until_ns = allo_monotonic_ns() + timeout_ns;
	struct timespec time = { 0, POLL_NS };

	while (is_state(state) && allo_monotonic_ns() < until_ns)
		ALLO_SYSCALL2(SYS_nanosleep, &time, 0);
	return !is_state(state);
}

/* Waits for a thread to serve the request; false if none has.  Switching the hooks makes threads
 * check for it. */
static bool wait_until_served(void)
{
	bool is_taken;

	allo_hooks_update();
	is_taken = wait_while(PENDING, PENDING_TIMEOUT_NS) || !advance(PENDING, IDLE);
	allo_hooks_update();
	return is_taken && wait_while(SERVING, SERVING_TIMEOUT_NS);
}

const char *allo_allocator_proxy_read(struct allo_allocator_memory *memory)
{
	if (allo_allocator_is_libc())
		return allo_allocator_read(false, memory);
	if (!allo_hooks_update || allo_allocator_is_interposed())
		return "no thread of the program can read the allocator's statistics";
	if (!request)
		request = allo_map_private(sizeof(*request));
	if (!request)
		return "out of memory for the request";
	if (!advance(IDLE, PENDING) && !advance(SERVED, PENDING))
		return "an earlier request is still running";
	if (!wait_until_served())
		return "no thread of the program has called the allocator in the last 50 ms";
	ALLO_ASSERT(is_state(SERVED));
	*memory = request->memory;
	return request->why;
}
