/* stack_bounds.c - asking the kernel whether pages are readable. */
#include "capture/stacks/stack_bounds.h"
#include "base/assert.h"
#include "capture/system.h"

#include <errno.h>

enum {
	PAGE = 4096,       /* the smallest page size; larger pages are asked about several times */
	DOWN_MAX = 1024,   /* pages that a stack may have grown down since the last capture */
	UP_MAX = 16 << 10, /* pages that one frame may span */
	CONFINED_DOWN_MAX = 64,
};

bool allo_page_is_readable(uint64_t page)
{
	/* A sandbox may refuse the system call. */
	if (allo_is_confined)
		return false;
	/* 77 is not a valid operation.  The kernel reads the signal set first, so it fails with
	 * EFAULT if the page is not readable and with EINVAL if it is.  `page + 8`: a NULL set in
	 * the first page would not be read. */
	return ALLO_SYSCALL4(SYS_rt_sigprocmask, 77, page + 8, 0, 8) != -EFAULT;
}

static bool is_all_readable(uint64_t from, uint64_t to, unsigned most)
{
	if (to - from > (uint64_t)most * PAGE)
		return false;
	for (; from < to; from += PAGE) {
		if (!allo_page_is_readable(from))
			return false;
	}
	return true;
}

static void keep(struct allo_stack_bounds *bounds)
{
	for (unsigned i = 0; i < ALLO_BOUNDS_STACKS; i++) {
		if (bounds->known[i].end == bounds->current.end) {
			bounds->known[i] = bounds->current;
			return;
		}
	}
	bounds->known[bounds->next++ % ALLO_BOUNDS_STACKS] = bounds->current;
}

static bool is_within(const struct allo_stack_range *range, uint64_t sp)
{
	return sp >= range->start && sp < range->end;
}

/* In a sandbox, the stack below the known range is trusted if it is near: the hook runs there. */
static bool has_grown_down(const struct allo_stack_bounds *bounds, uint64_t page)
{
	if (allo_is_confined)
		return bounds->current.start - page <= (uint64_t)CONFINED_DOWN_MAX * PAGE;
	return is_all_readable(page, bounds->current.start, DOWN_MAX);
}

bool allo_stack_bounds_switch(struct allo_stack_bounds *bounds, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(PAGE - 1);

	/* The current stack has grown down. */
	if (sp < bounds->current.start && has_grown_down(bounds, page)) {
		bounds->current.start = page;
		return true;
	}
	keep(bounds);
	for (unsigned i = 0; i < ALLO_BOUNDS_STACKS; i++) {
		if (is_within(&bounds->known[i], sp)) {
			bounds->current = bounds->known[i];
			return true;
		}
	}
	/* The hook has just been called from there, so the page itself is readable. */
	if (!allo_is_confined && !allo_page_is_readable(page))
		return false;
	bounds->current = (struct allo_stack_range){ page, page + PAGE };
	return true;
}

bool allo_stack_bounds_extend(struct allo_stack_bounds *bounds, uint64_t end)
{
	uint64_t page_end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	if (page_end < end || !is_all_readable(bounds->current.end, page_end, UP_MAX))
		return false;
	ALLO_ASSERT(bounds->current.start < page_end);
	bounds->current.end = page_end;
	return true;
}
