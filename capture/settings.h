/*
 * settings.h - what the environment asks for.
 *
 * Read once, in the first process; a child made by fork keeps it.
 */
#ifndef ALLO_CAPTURE_SETTINGS_H
#define ALLO_CAPTURE_SETTINGS_H

#include "capture/rules.h"

#include <limits.h>

enum allo_track {
	ALLO_TRACK_MALLOC = 1, /* malloc and all that stands beside it */
	ALLO_TRACK_NEW = 2,    /* operator new, where it does not come down to malloc */
	ALLO_TRACK_MMAP = 4,   /* mmap, munmap, mremap */
	ALLO_TRACK_BRK = 8,    /* brk, sbrk */
};

struct allo_settings {
	char program[NAME_MAX + 1]; /* as it was called, without the folder */
	char output[PATH_MAX];      /* ALLO_OUTPUT: a pattern; empty: nothing is recorded */
	char list[PATH_MAX];     /* ALLO_LIST: where to say which file was begun; empty: nowhere */
	uint64_t min_size;       /* ALLO_MIN_SIZE */
	uint64_t malloc_size;    /* the same for malloc; UINT64_MAX where that is not tracked */
	uint64_t max_file;       /* ALLO_MAX_FILE, bytes; 0: no limit */
	uint64_t delay_ns;       /* ALLO_DELAY_NS */
	uint64_t duration_ns;    /* ALLO_DURATION_NS; 0: until the end */
	uint32_t stack_depth;    /* ALLO_STACK_DEPTH; 0: all */
	uint32_t check_every;    /* ALLO_VERIFY_UNWIND: one in so many stacks; 0: none */
	unsigned track;          /* ALLO_TRACK */
	enum allo_unwind unwind; /* ALLO_UNWIND */
	bool no_follow;          /* ALLO_FOLLOW=0: children are left alone */
	bool is_plain;           /* stacks are wanted, and not checked */
};

extern struct allo_settings allo_settings;

void allo_settings_read(void);

#endif
