/* custom_heaps.c - blocks that the program's own allocators report: allo_heap(), allo_on_*(). */
#include "base/assert.h"
#include "capture/api/annotations.h"
#include "capture/api/last_error.h"
#include "capture/modes.h"
#include "capture/process.h"
#include "capture/settings.h"
#include "capture/sizes.h"
#include "capture/spin.h"

#include <string.h>

enum { NAME_SIZE = 64 };

/* By heap id; heap 0 has no name. */
static char names[ALLO_HEAPS - 1][NAME_SIZE];
static uint32_t count = 1;

/* The heap with this name, or `count` if the name is new.  With the lock. */
static uint32_t find(const char *name)
{
	uint32_t heap = 1;

	while (heap < count && strncmp(names[heap], name, NAME_SIZE - 1) != 0)
		heap++;
	ALLO_ASSERT(heap <= count && count <= ALLO_HEAPS - 1);
	return heap;
}

uint32_t allo_heap(const char *name)
{
	uint32_t heap;

	allo_process_init();
	if (!allo_process)
		return 0;
	allo_spin_lock(&allo_process->is_naming);
	heap = find(name);
	if (heap == ALLO_HEAPS - 1) {
		heap = 0;
		allo_set_error("too many heaps: there is no id left for ", name);
	} else if (heap == count) {
		strncpy(names[heap], name, NAME_SIZE - 1);
		__atomic_store_n(&count, heap + 1, __ATOMIC_RELEASE);
	}
	allo_spin_unlock(&allo_process->is_naming);
	return heap;
}

/* The number of a heap in sizes.h, where malloc's heap is number 0. */
static uint32_t number_of(uint32_t heap)
{
	return heap < __atomic_load_n(&count, __ATOMIC_ACQUIRE) ? heap + 1 : 1;
}

static bool begin_labels(struct allo_thread_state *thread, uint32_t heap)
{
	if (heap == 0 || heap >= __atomic_load_n(&count, __ATOMIC_ACQUIRE))
		return false;
	allo_annotations_set_heap(thread, names[heap]);
	return true;
}

void allo_on_alloc(uint32_t heap, const void *block, size_t size)
{
	struct allo_thread_state *thread = allo_enter();
	bool has_labels;

	if (!thread)
		return;
	if (block && size >= allo_settings.min_size) {
		has_labels = begin_labels(thread, heap);
		allo_filtered_alloc(thread, number_of(heap), block, size, ALLO_FRAME());
		if (has_labels)
			allo_annotations_set_heap(thread, NULL);
	}
	allo_leave(thread);
}

void allo_on_free(uint32_t heap, const void *block)
{
	struct allo_thread_state *thread = block ? allo_enter() : NULL;

	if (!thread)
		return;
	allo_filtered_free(thread, number_of(heap), block);
	allo_leave(thread);
}

/* The thread stays inside the hook until allo_on_realloc_end(), so allocations in between are not
 * recorded as the resized block. */
void allo_on_realloc_begin(uint32_t heap, const void *block)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return;
	thread->is_resizing = true;
	allo_filtered_resize(thread, number_of(heap), block);
}

void allo_on_realloc_end(uint32_t heap, const void *moved, size_t size)
{
	struct allo_thread_state *thread = allo_self;
	bool has_labels;

	if (!thread || thread->phase != ALLO_THREAD_BUSY || !thread->is_resizing)
		return;
	thread->is_resizing = false;
	has_labels = moved && begin_labels(thread, heap);
	allo_filtered_resized(thread, number_of(heap), moved, size, ALLO_FRAME());
	if (has_labels)
		allo_annotations_set_heap(thread, NULL);
	allo_leave(thread);
}
