/*
 * command.h - what a command of `allo` is made of.
 *
 * Parsing, --help, man pages and shell completion all come from these tables.
 */
#ifndef ALLO_CLI_COMMAND_H
#define ALLO_CLI_COMMAND_H

#include "base/error.h"

#include <stddef.h>

enum allo_option_kind {
	ALLO_OPTION_FLAG,    /* bool */
	ALLO_OPTION_TEXT,    /* const char * */
	ALLO_OPTION_LIST,    /* struct allo_list; may be given several times */
	ALLO_OPTION_COUNT,   /* uint64_t */
	ALLO_OPTION_SIZE,    /* uint64_t, bytes: "4096", "64K", "1.5GiB", "2MB" */
	ALLO_OPTION_TIME,    /* uint64_t, nanoseconds: "10ms", "2.5s", "3m" */
	ALLO_OPTION_PERCENT, /* double, "5" or "5%" */
	ALLO_OPTION_CHOICE,  /* int, the index in `choices` */
	ALLO_OPTION_SET,     /* unsigned, a bit for each of `choices`: "one,another" */
};

/* What a shell may complete an argument to. */
enum allo_completes {
	ALLO_COMPLETE_NOTHING,
	ALLO_COMPLETE_FILES,
	ALLO_COMPLETE_READERS,
	ALLO_COMPLETE_WRITERS,
	ALLO_COMPLETE_METRICS,
	ALLO_COMPLETE_CHOICES,
	ALLO_COMPLETE_COMMANDS,
	ALLO_COMPLETE_SHELLS,
	ALLO_COMPLETE_PROGRAMS,
	ALLO_COMPLETE_PROCESSES,
};

enum { ALLO_LIST_MAX = 16 };

struct allo_list {
	const char *item[ALLO_LIST_MAX];
	size_t count;
};

struct allo_option {
	char letter;          /* '\0': none */
	const char *name;     /* without "--"; NULL ends a table */
	const char *argument; /* NULL for a flag */
	const char *help;
	enum allo_option_kind kind;
	enum allo_completes completes;
	size_t offset;              /* in the command's options */
	const char *const *choices; /* NULL ends */
	/* A choice that begins so has a text of its own behind it, which is put at `open_offset`;
	 * NULL: there is none. */
	const char *open_choice;
	size_t open_offset; /* const char * */
};

struct allo_option_group {
	const char *title;
	const struct allo_option *options;
};

struct allo_example {
	const char *line, *what; /* line NULL ends a table */
};

struct allo_command {
	const char *name;
	bool is_program;       /* called by its name alone, without "allo" in front */
	const char *alias;     /* another name that it answers to; NULL: none */
	const char *heading;   /* in the list of commands */
	const char *summary;   /* one line, no full stop */
	const char *arguments; /* "FILE...", or "" */
	const char *about;     /* paragraphs, separated by an empty line */
	const struct allo_example *examples;
	const struct allo_option_group *const *groups; /* NULL ends */
	size_t options_size;
	const void *defaults; /* of the options; NULL for all zeros */
	size_t files_least, files_most;
	/* The first argument is a program: options end there, what follows is the program's. */
	bool takes_program;
	enum allo_completes completes; /* its arguments */
	/* `options` starts as the defaults and is filled from the command line; `files` ends with
	 * NULL. */
	bool (*run)(const void *options, char **files, struct allo_error *err);
	/* What to exit with, whether or not it failed, for a command that ends as the program did
	 * which it ran; NULL: by the kind of failure.  `statuses` explains them. */
	const int *status;
	const struct allo_example *statuses;
};

/* Ends with NULL; in the order of `allo help`. */
extern const struct allo_command *const allo_commands[];

const struct allo_command *allo_command_find(const char *name);

/* There is no such command; says which one was probably meant.  Returns false. */
bool allo_command_fail(const char *name, struct allo_error *err);

/* --help, which every command has. */
extern const struct allo_option allo_help_option;

/* Whether --help is among a command's options. */
bool allo_options_ask_for_help(const struct allo_command *command, char **arguments);

/* Fills `options` and takes the options out of `arguments`, which keeps the files and its NULL. */
bool allo_options_parse(const struct allo_command *command, char **arguments, void *options,
			struct allo_error *err);

/* The name among `candidates` (NULL ends) that was probably meant; NULL when none is near. */
const char *allo_nearest(const char *word, const char *const *candidates);

#endif
