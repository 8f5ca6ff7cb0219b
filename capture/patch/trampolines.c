/* trampolines.c - pages are searched downwards first: the heap of brk() grows upwards. */
#include "capture/patch/trampolines.h"
#include "base/assert.h"
#include "capture/system.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
	AREAS = 32,
	AREA_SIZE = 64 << 10, /* the largest page size, so that a start fits any */
	CLOSE = 64,           /* steps of AREA_SIZE; then steps of FAR_STEP */
	FAR_STEP = 1 << 20,
};

#define LOWEST  ((uint64_t)1 << 20)
#define HIGHEST ((uint64_t)1 << 47)

/* Trampolines in [start, next); those in [start, sealed) are executable. */
struct allo_trampoline_area {
	uint8_t *start, *next;
	bool is_sealed;
};

static struct allo_trampoline_area areas[AREAS];

static bool is_near(uint64_t one, uint64_t other, uint64_t reach)
{
	return one - other < reach || other - one < reach;
}

static uint8_t *map_at(uint64_t address)
{
	long got = allo_syscall(SYS_mmap, (long)address, AREA_SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (got == (long)address)
		return (uint8_t *)address;
	/* Kernels before 4.17 take the address for a hint. */
	if (got > 0)
		ALLO_SYSCALL2(SYS_munmap, got, AREA_SIZE);
	return NULL;
}

/* The distance of the place to try in step number `step`. */
static uint64_t distance(uint64_t step)
{
	return step <= CLOSE ? step * AREA_SIZE
			     : (uint64_t)CLOSE * AREA_SIZE + (step - CLOSE) * FAR_STEP;
}

static uint8_t *map_below(uint64_t near, uint64_t reach)
{
	uint8_t *memory = NULL;

	for (uint64_t step = 1; !memory && distance(step) + LOWEST < near; step++) {
		if (distance(step) > reach)
			break;
		memory = map_at(near - distance(step));
	}
	return memory;
}

static uint8_t *map_above(uint64_t near, uint64_t reach)
{
	uint8_t *memory = NULL;

	for (uint64_t step = 1; !memory && near + distance(step) + AREA_SIZE < HIGHEST; step++) {
		if (distance(step) + AREA_SIZE > reach)
			break;
		memory = map_at(near + distance(step));
	}
	return memory;
}

static struct allo_trampoline_area *add_area(uint64_t near, uint64_t reach)
{
	uint64_t aligned = near & ~(uint64_t)(AREA_SIZE - 1);
	struct allo_trampoline_area *area = areas;
	uint8_t *start;

	while (area < areas + AREAS && area->start)
		area++;
	if (area == areas + AREAS)
		return NULL;
	start = map_below(aligned, reach - AREA_SIZE);
	if (!start)
		start = map_above(aligned, reach - AREA_SIZE);
	if (!start)
		return NULL;
	*area = (struct allo_trampoline_area){ .start = start, .next = start };
	return area;
}

static struct allo_trampoline_area *find_area(uint64_t near, uint64_t reach, size_t size)
{
	for (struct allo_trampoline_area *area = areas; area < areas + AREAS && area->start;
	     area++) {
		if (!area->is_sealed && AREA_SIZE - (size_t)(area->next - area->start) >= size &&
		    is_near((uint64_t)area->next, near, reach))
			return area;
	}
	return add_area(near, reach);
}

bool allo_trampoline_find(struct allo_trampoline *found, uint64_t near, uint64_t reach, size_t size)
{
	found->area = find_area(near, reach, size);
	found->start = found->area ? found->area->next : NULL;
	found->size = size;
	return found->area != NULL;
}

void allo_trampoline_keep(const struct allo_trampoline *found)
{
	ALLO_ASSERT(found->start == found->area->next);
	found->area->next += found->size;
}

bool allo_trampolines_seal(void)
{
	for (struct allo_trampoline_area *area = areas; area < areas + AREAS && area->start;
	     area++) {
		if (area->is_sealed)
			continue;
		if (ALLO_SYSCALL3(SYS_mprotect, area->start, AREA_SIZE, PROT_READ | PROT_EXEC) < 0)
			return false;
		__builtin___clear_cache((char *)area->start, (char *)area->next);
		area->is_sealed = true;
	}
	return true;
}
