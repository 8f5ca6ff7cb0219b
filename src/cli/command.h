/*
 * command.h - what a command of `allo` is made of.
 *
 * Parsing, --help, man pages and shell completion all come from these tables.
 */
#ifndef ALLO_CLI_COMMAND_H
#define ALLO_CLI_COMMAND_H

#include "base/error.h"
#include "base/list.h"

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
	ALLO_OPTION_MAYBE,   /* const char *: "--name=text", or "" for "--name" alone */
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

struct allo_option {
	char letter;          /* '\0': none */
	const char *name;     /* without "--"; NULL ends a table */
	const char *argument; /* NULL for a flag, and if it is optional: */
	const char *optional; /* an argument behind '=' that may be missing */
	const char *help;
	enum allo_option_kind kind;
	enum allo_completes completes;
	size_t offset;              /* in the command's options */
	const char *const *choices; /* NULL ends */
	/* A choice with this beginning, "label:", may go on with any text, which is put at
	 * `open_offset`; NULL: there is none. */
	const char *open_choice;
	size_t open_offset; /* const char * */
};

/*
 * The options of a table, one line each.  The file of the table defines AT() before:
 *
 *     #define AT(field) offsetof(struct top, field)
 *     static const struct allo_option options[] = {
 *             OPT_ROWS(count),
 *             OPT_FLAG(0, "cum", by_total, "sort by the total, callees included"),
 *             OPT_END,
 *     };
 *
 * The letter is 0 if there is none.  The shell completes OPT_NAME() to names of a kind, such as
 * METRICS.
 */
#define OPT(kind_, completes_, letter_, name_, argument_, field, help_, ...)                       \
	{                                                                                          \
		.kind = ALLO_OPTION_##kind_, .completes = ALLO_COMPLETE_##completes_,              \
		.letter = letter_, .name = name_, .argument = argument_, .help = help_,            \
		.offset = AT(field), __VA_ARGS__                                                   \
	}

#define OPT_FLAG(letter, name, field, help) OPT(FLAG, NOTHING, letter, name, NULL, field, help, )
#define OPT_TEXT(letter, name, arg, field, help)                                                   \
	OPT(TEXT, NOTHING, letter, name, arg, field, help, )
#define OPT_FILE(letter, name, arg, field, help) OPT(TEXT, FILES, letter, name, arg, field, help, )
#define OPT_NAME(letter, name, arg, field, names, help)                                            \
	OPT(TEXT, names, letter, name, arg, field, help, )
#define OPT_MAYBE(letter, name, arg, field, help)                                                  \
	OPT(MAYBE, NOTHING, letter, name, NULL, field, help, .optional = arg)
#define OPT_COUNT(letter, name, arg, field, help)                                                  \
	OPT(COUNT, NOTHING, letter, name, arg, field, help, )
#define OPT_SIZE(letter, name, arg, field, help)                                                   \
	OPT(SIZE, NOTHING, letter, name, arg, field, help, )
#define OPT_TIME(letter, name, arg, field, help)                                                   \
	OPT(TIME, NOTHING, letter, name, arg, field, help, )
#define OPT_PERCENT(letter, name, arg, field, help)                                                \
	OPT(PERCENT, NOTHING, letter, name, arg, field, help, )

/* These may be repeated. */
#define OPT_LIST(letter, name, arg, field, help)                                                   \
	OPT(LIST, NOTHING, letter, name, arg, field, help, )
#define OPT_FILES(letter, name, arg, field, help) OPT(LIST, FILES, letter, name, arg, field, help, )
#define OPT_NAMES(letter, name, arg, field, names, help)                                           \
	OPT(LIST, names, letter, name, arg, field, help, )

/* One of `choices_`; several of them; or one of them or `prefix` and a text for `text_field`. */
#define OPT_CHOICE(letter, name, arg, field, choices_, help)                                       \
	OPT(CHOICE, CHOICES, letter, name, arg, field, help, .choices = choices_)
#define OPT_SET(letter, name, arg, field, choices_, help)                                          \
	OPT(SET, CHOICES, letter, name, arg, field, help, .choices = choices_)
#define OPT_CHOICE_OR_TEXT(letter, name, arg, field, choices_, prefix, text_field, help)           \
	OPT(CHOICE, CHOICES, letter, name, arg, field, help, .choices = choices_,                  \
	    .open_choice = prefix, .open_offset = AT(text_field))

/* Options that several commands have. */
#define OPT_ROWS(field)                                                                            \
	OPT_COUNT('n', "count", "N", field, "number of rows (default: 20; 0 for all)")
#define OPT_TRUST(field)                                                                           \
	OPT_FLAG(0, "trust", field,                                                                \
		 "lift the limits of memory and work that protect from hostile files")
#define OPT_QUIET(field) OPT_FLAG('q', "quiet", field, "print only errors on standard error")
#define OPT_FORCE(field) OPT_FLAG('f', "force", field, "replace an existing output file")
#define OPT_PLAIN(field) OPT_FLAG(0, "bytes", field, "print numbers without units and separators")
#define OPT_NO_CACHE(field)                                                                        \
	OPT_FLAG(                                                                                  \
		0, "no-cache", field,                                                              \
		"neither read nor write the cache in ~/.cache/allotrope, as with ALLO_NO_CACHE=1 " \
		"in the environment")
#define OPT_JSON(field)       OPT_FLAG(0, "json", field, "print JSON, as doc/json.md describes it")
#define OPT_JSON_LINES(field) OPT_FLAG(0, "json", field, "print one JSON object per line")
#define OPT_NO_PAGER(field)   OPT_FLAG(0, "no-pager", field, "print directly, without $PAGER or less")

/* clang-format off */
#define OPT_END { .name = NULL }
/* clang-format on */

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
	bool finds_newest;             /* without files, it reads the newest recording here */
	bool takes_processes;          /* as well as files; others read the recordings of %NAME */
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

/* The value of a flag among `options`; false if the command does not have it. */
bool allo_options_flag(const struct allo_command *command, const void *options, char letter);

/* The name among `candidates` (NULL ends) that was probably meant; NULL when none is near. */
const char *allo_nearest(const char *word, const char *const *candidates);

#endif
