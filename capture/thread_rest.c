/* thread_rest.c - a mapping per thread that needs it. */
#include "capture/thread_rest.h"
#include "capture/system.h"

#include <pthread.h>

static __thread struct allo_thread_rest *own;
static pthread_key_t key;
static bool has_key;

/* A destructor that runs later and needs it makes it again. */
static void free_rest(void *rest)
{
	own = NULL;
	allo_unmap(rest, sizeof(*own));
}

void allo_thread_rest_init(void)
{
	has_key = pthread_key_create(&key, free_rest) == 0;
}

struct allo_thread_rest *allo_thread_rest_find(void)
{
	return own;
}

/* Not wiped in a child made by fork: its thread goes on with its labels. */
struct allo_thread_rest *allo_thread_rest_get(void)
{
	if (own)
		return own;
	own = allo_map(sizeof(*own), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own && has_key)
		pthread_setspecific(key, own);
	return own;
}

void allo_thread_rest_use(struct allo_thread_rest *rest)
{
	own = rest;
}
