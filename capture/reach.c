/* reach.c - see reach.h. */
#include "capture/reach.h"
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

static void keep(struct allo_reach *reach)
{
	for (unsigned i = 0; i < ALLO_REACH_STACKS; i++) {
		if (reach->known[i].end == reach->now.end) {
			reach->known[i] = reach->now;
			return;
		}
	}
	reach->known[reach->next++ % ALLO_REACH_STACKS] = reach->now;
}

static bool is_within(const struct allo_reach_range *range, uint64_t sp)
{
	return sp >= range->start && sp < range->end;
}

bool allo_reach_switch(struct allo_reach *reach, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(PAGE - 1);

	/* The same stack, deeper than before. */
	if (sp < reach->now.start && is_all_readable(page, reach->now.start, DOWN_MAX)) {
		reach->now.start = page;
		return true;
	}
	keep(reach);
	for (unsigned i = 0; i < ALLO_REACH_STACKS; i++) {
		if (is_within(&reach->known[i], sp)) {
			reach->now = reach->known[i];
			return true;
		}
	}
	if (!is_readable(page))
		return false;
	reach->now = (struct allo_reach_range){ page, page + PAGE };
	return true;
}

bool allo_reach_extend(struct allo_reach *reach, uint64_t end)
{
	uint64_t page_end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	if (page_end < end || !is_all_readable(reach->now.end, page_end, UP_MAX))
		return false;
	reach->now.end = page_end;
	return true;
}
