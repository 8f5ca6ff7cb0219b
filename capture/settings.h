/*
 * settings.h - what the environment and the program ask for.
 *
 * Read once, in the first process, and whenever the program starts a recording; a child made by
 * fork keeps it.
 */
#ifndef ALLO_CAPTURE_SETTINGS_H
#define ALLO_CAPTURE_SETTINGS_H

#include "capture/rules.h"
#include "capture/visibility.h"
#include <allo.h>

#include <limits.h>

/* Behind the name of what is to be made of a recording: the recording's own. */
#define ALLO_RECORDING_END ".allo"

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
	char control[PATH_MAX];  /* ALLO_CONTROL: a pattern for the socket; empty: the usual one */
	char runtime[PATH_MAX];  /* XDG_RUNTIME_DIR */
	uint64_t min_size;       /* ALLO_MIN_SIZE */
	uint64_t malloc_size;    /* the same for malloc; UINT64_MAX where that is not tracked */
	uint64_t max_file;       /* ALLO_MAX_FILE, bytes; 0: no limit */
	uint64_t delay_ns;       /* ALLO_DELAY_NS */
	uint64_t duration_ns;    /* ALLO_DURATION_NS; 0: until the end */
	uint32_t stack_depth;    /* ALLO_STACK_DEPTH; 0: all */
	uint32_t check_every;    /* ALLO_VERIFY_UNWIND: one in so many stacks; 0: none */
	unsigned track;          /* ALLO_TRACK */
	enum allo_unwind unwind; /* ALLO_UNWIND */
	uint32_t debug_level;    /* ALLO_DEBUG: 0 (off) to 3; see debug_log.h */
	char debug_file[PATH_MAX]; /* ALLO_DEBUG_FILE: a pattern; empty: the default */
	bool no_follow;            /* ALLO_FOLLOW=0: children are left alone */
	bool no_control;           /* ALLO_CONTROL=0, or no other thread is suffered */
	bool is_dormant;           /* ALLO_DORMANT=1: nothing is recorded before somebody says so */
	bool is_for_another; /* the environment is meant for another runtime in this process */

	enum allo_mode mode; /* ALLO_MODE */
	uint64_t rate;       /* ALLO_RATE, of the modes that have one */
	bool has_stats;      /* ALLO_STATS, and where there is nothing else */
	bool has_file;       /* not where there are statistics alone */
	bool is_filtered;    /* not every block is recorded, or there is more to do for each */
	bool is_plain;   /* every block of malloc is, with its stack, and there is no more to do */
	char format[32]; /* ALLO_FORMAT; empty: the recording itself */
	char options[1024]; /* ALLO_OPTIONS */
};

ALLO_HIDDEN extern struct allo_settings allo_settings;

/* What an environment variable holds; NULL: it is not there.  Also before libc has an environment.
 */
char *allo_settings_variable(const char *name);

/* From the environment alone. */
void allo_settings_read(void);

/* What somebody asks for from outside; 0 and NULL mean what the environment said at the start. */
struct allo_start_request {
	const char *path, *mode, *rate, *min_size, *max_file, *stack_depth, *duration_ns, *stats;
};

/* That, whatever the program has asked for since.  A pattern that is not a whole path begins where
 * the program is now.  False when a text is too long, or means nothing. */
bool allo_settings_reset(const struct allo_start_request *wishes);

/* As ALLO_MODE says it. */
const char *allo_settings_mode_name(enum allo_mode mode);

/* Whether statistics are kept, with all else as it is. */
void allo_settings_keep_stats(bool is_on);

/* The variable that has a word which means nothing; NULL: none. */
const char *allo_settings_unknown_word(void);

/* From the program, with the environment before it.  False when a text is too long. */
bool allo_settings_apply(const struct allo_config *config);

#endif
