/* stack_bounds.c - see stack_bounds.h. */
#include "capture/stack_bounds.h"
#include "capture/system.h"

#include <errno.h>

enum {
	PAGE = 4096,       /* or a part of one, where pages are larger */
	DOWN_MAX = 1024,   /* pages a stack may have grown down since it was last seen */
	UP_MAX = 16 << 10, /* pages that one step outward may skip */
};

static bool is_readable(uint64_t page)
{
	/* No such operation: the kernel refuses with EINVAL, but reads the set before that, and
	 * with EFAULT when it cannot.  Of the first page it would read nothing: NULL is no set. */
	return ALLO_SYSCALL4(SYS_rt_sigprocmask, 77, page + 8, 0, 8) != -EFAULT;
}

static bool is_all_readable(uint64_t from, uint64_t to, unsigned most)
{
	if (to - from > (uint64_t)most * PAGE)
		return false;
	for (; from < to; from += PAGE) {
		if (!is_readable(from))
			return false;
	}
	return true;
}

static void keep(struct allo_stack_bounds *bounds)
{
	for (unsigned i = 0; i < ALLO_BOUNDS_STACKS; i++) {
		if (bounds->known[i].end == bounds->now.end) {
			bounds->known[i] = bounds->now;
			return;
		}
	}
	bounds->known[bounds->next++ % ALLO_BOUNDS_STACKS] = bounds->now;
}

static bool is_within(const struct allo_stack_range *range, uint64_t sp)
{
	return sp >= range->start && sp < range->end;
}

bool allo_stack_bounds_switch(struct allo_stack_bounds *bounds, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(PAGE - 1);

	/* The same stack, deeper than before. */
	if (sp < bounds->now.start && is_all_readable(page, bounds->now.start, DOWN_MAX)) {
		bounds->now.start = page;
		return true;
	}
	keep(bounds);
	for (unsigned i = 0; i < ALLO_BOUNDS_STACKS; i++) {
		if (is_within(&bounds->known[i], sp)) {
			bounds->now = bounds->known[i];
			return true;
		}
	}
	if (!is_readable(page))
		return false;
	bounds->now = (struct allo_stack_range){ page, page + PAGE };
	return true;
}

bool allo_stack_bounds_extend(struct allo_stack_bounds *bounds, uint64_t end)
{
	uint64_t page_end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	if (page_end < end || !is_all_readable(bounds->now.end, page_end, UP_MAX))
		return false;
	bounds->now.end = page_end;
	return true;
}
