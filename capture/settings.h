/*
 * settings.h - the settings of the recording, from the environment, the program or a request.
 *
 * The environment is read once, in the first process.  The program may change settings whenever it
 * starts a recording.  A child made by fork() keeps them.
 *
 * In a program with more rights than its caller (setuid, setgid or file capabilities: AT_SECURE),
 * the caller could use the environment to write files and run programs with these rights.  There,
 * the environment counts as empty.
 */
#ifndef ALLO_CAPTURE_SETTINGS_H
#define ALLO_CAPTURE_SETTINGS_H

#include "capture/stacks/rules.h"
#include "capture/visibility.h"
#include <allo.h>

#include <limits.h>

/* Appended to the path of a converted output: the name of the recording itself. */
#define ALLO_RECORDING_END ".allo"

/* The shortest sampling interval with a limit for the overhead. */
enum { ALLO_OVERHEAD_RATE_LEAST = 16 };

enum allo_track {
	ALLO_TRACK_MALLOC = 1,  /* malloc and its relatives */
	ALLO_TRACK_NEW = 2,     /* operator new, unless it calls malloc */
	ALLO_TRACK_MMAP = 4,    /* mmap, munmap, mremap */
	ALLO_TRACK_BRK = 8,     /* brk, sbrk */
	ALLO_TRACK_PYTHON = 16, /* objects of CPython */
};

struct allo_settings {
	char program[NAME_MAX + 1]; /* argv[0] without its folder */
	char output[PATH_MAX];      /* ALLO_OUTPUT: a pattern; "": record nothing */
	char family[PATH_MAX];   /* ALLO_FAMILY: a pattern for other processes; "": ALLO_OUTPUT */
	uint32_t main_pid;       /* ALLO_MAIN: the process that ALLO_OUTPUT is for */
	char list[PATH_MAX];     /* ALLO_LIST: file that lists recordings (announce.h); "": none */
	char control[PATH_MAX];  /* ALLO_CONTROL: a pattern for the socket; "": the default one */
	char runtime[PATH_MAX];  /* XDG_RUNTIME_DIR; "": the usual one */
	uint64_t min_size;       /* ALLO_MIN_SIZE */
	uint64_t malloc_size;    /* min_size of malloc; UINT64_MAX if malloc is not tracked */
	uint64_t max_file;       /* ALLO_MAX_FILE, bytes; 0: no limit */
	uint64_t ring;           /* ALLO_RING: bytes on the disk (doc/ring.md); 0: no limit */
	uint64_t delay_ns;       /* ALLO_DELAY_NS */
	uint64_t duration_ns;    /* ALLO_DURATION_NS; 0: until the end */
	uint32_t stack_depth;    /* ALLO_STACK_DEPTH; 0: all */
	uint32_t check_every;    /* ALLO_VERIFY_UNWIND: check one in N stacks; 0: none */
	unsigned track;          /* ALLO_TRACK */
	enum allo_unwind unwind; /* ALLO_UNWIND */
	uint32_t debug_level;    /* ALLO_DEBUG: 0 (off) to 3; see debug_log.h */
	char debug_file[PATH_MAX]; /* ALLO_DEBUG_FILE: a pattern; "": the default */
	bool no_follow;            /* ALLO_FOLLOW=0: do not record children */
	bool gathers_children;     /* the recording's path becomes that of the family */
	bool no_command;           /* ALLO_COMMAND=0: do not record the program's arguments */
	bool has_exact_times;      /* ALLO_TIME=exact: a time stamp with every event */
	bool has_control;    /* ALLO_CONTROL or ALLO_DORMANT: a thread serves a control socket */
	bool is_dormant;     /* ALLO_DORMANT=1: wait for `allo start` */
	bool is_for_another; /* the environment is for another runtime in this process */
	bool is_late;        /* loaded by `allo attach`: the environment says nothing about it */

	enum allo_mode mode; /* ALLO_MODE */
	/* ALLO_RATE: sampling interval; 0 in modes without one.  It may change while all hooks are
	 * frozen: overhead.h. */
	uint64_t rate;
	uint64_t max_overhead; /* ALLO_MAX_OVERHEAD, parts per million; 0: `rate` is fixed */
	bool has_stats;        /* ALLO_STATS=1, or the mode is ALLO_COUNTERS */
	bool has_file;         /* the mode writes a recording */
	bool is_filtered;      /* blocks go through modes.h: sampling or statistics */
	bool is_plain;      /* every block of malloc is recorded with its stack, and nothing else */
	char format[32];    /* ALLO_FORMAT; "": the recording itself */
	char options[1024]; /* ALLO_OPTIONS */
};

ALLO_HIDDEN extern struct allo_settings allo_settings;

/* Whether the program has more rights than its caller. */
bool allo_settings_are_secure(void);
#define ALLO_SECURE_ERROR                                                                          \
	"nothing is recorded or converted in a program with more rights than its caller "          \
	"(setuid, setgid or file capabilities)"

/* The start of the stack, as the kernel makes it: argc, argv, NULL, the environment, NULL. */
const uintptr_t *allo_settings_stack_start(void);

/* The value of an environment variable, or NULL.  A value in ALLO_SETTINGS precedes.  Works before
 * libc has set `environ`. */
char *allo_settings_variable(const char *name);

/* Reads all settings from the environment. */
void allo_settings_read(void);

/* Whether ALLO_ONLY, which lists names and paths of programs, a line each, is empty or has this
 * program. */
bool allo_settings_select_program(void);

/* For a runtime that was loaded by `allo attach`: the name of the program, and a control socket. */
void allo_settings_attach(const char *program);

/* Without a control socket, from now on. */
void allo_settings_detach(void);

/* The options of a start request from another process, as texts.  NULL means the value that the
 * environment had at program start. */
struct allo_start_request {
	const char *path, *mode, *rate, *min_size, *max_file, *stack_depth, *duration_ns, *stats;
	const char *no_follow, *gathers_children;
};

/* Replaces all settings by those of a request.  A relative pattern starts at the current folder.
 * False if a text is too long or invalid. */
bool allo_settings_reset(const struct allo_start_request *request);

/* Directs recordings of children to the directory PATH.d of the recording that was just named. */
void allo_settings_gather_children(const char *path);

/* The name of a mode in ALLO_MODE. */
const char *allo_settings_mode_name(enum allo_mode mode);

/* Turns statistics on or off; all other settings stay. */
void allo_settings_keep_stats(bool is_on);

/* The name of a variable whose value is not one of its words, or NULL. */
const char *allo_settings_unknown_word(void);

/* Applies the program's options; environment variables override them.  False if a text is too
 * long. */
bool allo_settings_apply(const struct allo_config *config);

#endif
