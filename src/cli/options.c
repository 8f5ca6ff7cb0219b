/* options.c - parses a command line with the tables of its command. */
#include "cli/command.h"

#include "base/units.h"
#include "cli/foreign_words.h"

#include <stdio.h>
#include <stdlib.h>

static const struct allo_option *next_option(const struct allo_command *command, size_t *group,
					     size_t *index)
{
	while (command->groups[*group]) {
		const struct allo_option *option = &command->groups[*group]->options[(*index)++];

		if (option->name)
			return option;
		++*group;
		*index = 0;
	}
	return NULL;
}

/* By letter, or by the first `len` characters of `name`. */
static const struct allo_option *find_option(const struct allo_command *command, char letter,
					     const char *name, size_t len)
{
	size_t group = 0, index = 0;
	const struct allo_option *option;

	while ((option = next_option(command, &group, &index)) != NULL) {
		if (letter ? option->letter == letter
			   : strlen(option->name) == len && memcmp(option->name, name, len) == 0)
			return option;
	}
	return NULL;
}

bool allo_options_flag(const struct allo_command *command, const void *options, char letter)
{
	const struct allo_option *option = find_option(command, letter, NULL, 0);

	return option && *(const bool *)((const char *)options + option->offset);
}

/* Number of edits between two words: a letter added, removed, changed, or two swapped. */
static size_t distance(const char *a, const char *b)
{
	enum { MOST = 32 };
	size_t a_len = strlen(a), b_len = strlen(b), row[3][MOST + 1];

	if (a_len > MOST || b_len > MOST)
		return MOST;
	for (size_t j = 0; j <= b_len; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);

			if (before[j] + 1 < best)
				best = before[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    earlier[j - 2] + 1 < best)
				best = earlier[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[a_len % 3][b_len];
}

/* The number of equal characters at the start. */
static size_t common_beginning(const char *a, const char *b)
{
	size_t len = 0;

	while (a[len] != '\0' && a[len] == b[len])
		len++;
	return len;
}

/* A candidate that begins with the word comes first, then one with fewer edits, then one with a
 * longer common beginning: people rarely err in the first letters. */
const char *allo_nearest(const char *word, const char *const *candidates)
{
	enum { PREFIX_LEAST = 3 }; /* fewer letters begin too many names */
	const char *best = NULL;
	size_t len = strlen(word), best_distance = len / 3 + 1; /* others are too different */
	size_t best_common = 0;
	bool best_is_prefix = false;

	for (; *candidates; candidates++) {
		size_t common = common_beginning(word, *candidates);
		bool is_prefix = len >= PREFIX_LEAST && common == len;
		size_t d = is_prefix ? strlen(*candidates) - len : distance(word, *candidates);

		if (is_prefix != best_is_prefix
			    ? is_prefix
			    : d < best_distance ||
				      (best && d == best_distance && common > best_common)) {
			best_is_prefix = is_prefix;
			best_distance = d;
			best_common = common;
			best = *candidates;
		}
	}
	return best;
}

static bool fail_unknown(const struct allo_command *command, const char *argument, size_t len,
			 struct allo_error *err)
{
	enum { MOST = 64 };
	const char *names[MOST + 1] = { NULL };
	size_t group = 0, index = 0, count = 0;
	const struct allo_option *option;
	const char *nearest = NULL;
	const char *foreign = command->is_program ? NULL
						  : allo_foreign_option(command->name, argument);
	char word[64];

	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "unknown option '%.*s' for '%s%s'", (int)len,
		  argument, command->is_program ? "" : "allo ", command->name);
	while (count < MOST && (option = next_option(command, &group, &index)) != NULL)
		names[count++] = option->name;
	if (len > 2 && len - 2 < sizeof(word)) {
		memcpy(word, argument + 2, len - 2);
		word[len - 2] = '\0';
		nearest = allo_nearest(word, names);
	}
	if (foreign)
		return allo_hint(err, "%s", foreign);
	if (nearest)
		return allo_hint(err, "did you mean '--%s'?", nearest);
	return allo_hint(err, "'%s%s%s' lists its options", command->is_program ? "" : "allo help ",
			 command->name, command->is_program ? " --help" : "");
}

static bool fail_value(const struct allo_option *option, const char *value, const char *expected,
		       struct allo_error *err)
{
	return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--%s expects %s, not '%s'", option->name,
			 expected, value);
}

static bool fail_choice(const struct allo_option *option, const char *value, struct allo_error *err)
{
	const char *nearest = allo_nearest(value, option->choices);
	char all[160] = "";
	size_t used = 0;

	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--%s does not accept '%s'", option->name, value);
	for (int i = 0; option->choices[i] && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "",
					 option->choices[i]);
	if (option->open_choice && used < sizeof(all))
		used += (size_t)snprintf(all + used, sizeof(all) - used, ", %s...",
					 option->open_choice);
	if (nearest)
		return allo_hint(err, "did you mean '%s'?", nearest);
	return used < sizeof(all)
		       ? allo_hint(err, "it accepts %s", all)
		       : allo_hint(err, "it accepts %s, ...: see --help", option->choices[0]);
}

static bool is_open_choice(const struct allo_option *option, const char *value)
{
	size_t len = option->open_choice ? strlen(option->open_choice) : 0;

	return len > 0 && strncmp(value, option->open_choice, len) == 0 && value[len] != '\0';
}

static bool set_choice(const struct allo_option *option, const char *value, int *to,
		       struct allo_error *err)
{
	for (int i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], value) == 0) {
			*to = i;
			return true;
		}
	}
	return fail_choice(option, value, err);
}

static bool set_words(const struct allo_option *option, const char *value, unsigned *to,
		      struct allo_error *err)
{
	struct allo_text rest = allo_text_of(value), piece;
	char word[32];
	int bit = 0;

	while (allo_text_next(&rest, ',', &piece)) {
		snprintf(word, sizeof(word), "%.*s", ALLO_TEXT_ARG(piece));
		if (!set_choice(option, word, &bit, err))
			return false;
		*to |= 1u << bit;
	}
	return true;
}

static bool set_percent(const struct allo_option *option, const char *value, double *to,
			struct allo_error *err)
{
	char *end;

	*to = strtod(value, &end);
	if (*end == '%')
		end++;
	if (end == value || *end != '\0' || !(*to >= 0 && *to <= 100))
		return fail_value(option, value, "a percentage from 0 to 100", err);
	return true;
}

static bool set_value(const struct allo_option *option, const char *value, void *options,
		      struct allo_error *err)
{
	void *to = (char *)options + option->offset;
	struct allo_list *list = to;

	switch (option->kind) {
	case ALLO_OPTION_FLAG:
		*(bool *)to = true;
		return true;
	case ALLO_OPTION_MAYBE:
		*(const char **)to = value ? value : "";
		return true;
	case ALLO_OPTION_TEXT:
		*(const char **)to = value;
		return true;
	case ALLO_OPTION_LIST:
		if (list->count == ALLO_LIST_MAX)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "--%s is given more than %d times", option->name,
					 ALLO_LIST_MAX);
		list->item[list->count++] = value;
		return true;
	case ALLO_OPTION_COUNT:
		return allo_text_u64(allo_text_of(value), to) ||
		       fail_value(option, value, "a whole number", err);
	case ALLO_OPTION_SIZE:
		return allo_parse_bytes(allo_text_of(value), to) ||
		       fail_value(option, value, "a size such as 4096, 64K or 1.5G", err);
	case ALLO_OPTION_TIME:
		return allo_parse_ns(allo_text_of(value), to) ||
		       fail_value(option, value, "a time such as 10ms, 2.5s or 3m", err);
	case ALLO_OPTION_PERCENT:
		return set_percent(option, value, to, err);
	case ALLO_OPTION_SET:
		return set_words(option, value, to, err);
	default:
		if (is_open_choice(option, value)) {
			*(const char **)((char *)options +
					 option->open_offset) = value + strlen(option->open_choice);
			return true;
		}
		return set_choice(option, value, to, err);
	}
}

static bool fail_lacks_value(const struct allo_option *option, struct allo_error *err)
{
	return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--%s needs an argument: %s", option->name,
			 option->argument);
}

/* Whether the argument may be the next word. */
static bool takes_value(const struct allo_option *option)
{
	return option->kind != ALLO_OPTION_FLAG && option->kind != ALLO_OPTION_MAYBE;
}

/* "--name", "--name=value" or "--name value"; *used is the number of arguments taken. */
static bool parse_long(const struct allo_command *command, char **arguments, void *options,
		       size_t *used, struct allo_error *err)
{
	const char *name = arguments[0] + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct allo_option *option = find_option(command, '\0', name, len);

	*used = 1;
	if (!option)
		return fail_unknown(command, arguments[0], len + 2, err);
	if (!takes_value(option)) {
		if (equals && option->kind == ALLO_OPTION_MAYBE)
			return set_value(option, equals + 1, options, err);
		if (equals)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--%s takes no value",
					 option->name);
		return set_value(option, NULL, options, err);
	}
	if (equals)
		return set_value(option, equals + 1, options, err);
	if (!arguments[1])
		return fail_lacks_value(option, err);
	*used = 2;
	return set_value(option, arguments[1], options, err);
}

/* "-inuse_space": pprof's options have one dash, and would be read as letters. */
static bool is_foreign(const struct allo_command *command, const char *argument)
{
	return !command->is_program && strlen(argument) > 3 &&
	       allo_foreign_option(command->name, argument);
}

/* "-n20", "-n 20", or several flags: "-fq". */
static bool parse_short(const struct allo_command *command, char **arguments, void *options,
			size_t *used, struct allo_error *err)
{
	*used = 1;
	if (is_foreign(command, arguments[0]))
		return fail_unknown(command, arguments[0], strcspn(arguments[0], "="), err);
	for (const char *letter = arguments[0] + 1; *letter; letter++) {
		const struct allo_option *option = find_option(command, *letter, NULL, 0);
		char shown[3] = { '-', *letter, '\0' };

		if (!option)
			return fail_unknown(command, shown, 2, err);
		if (!takes_value(option)) {
			if (!set_value(option, NULL, options, err))
				return false;
			continue;
		}
		if (letter[1] != '\0')
			return set_value(option, letter + 1, options, err);
		if (!arguments[1])
			return fail_lacks_value(option, err);
		*used = 2;
		return set_value(option, arguments[1], options, err);
	}
	return true;
}

static bool check_file_count(const struct allo_command *command, size_t count,
			     struct allo_error *err)
{
	if (count >= command->files_least && count <= command->files_most)
		return true;
	if (count < command->files_least)
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'allo %s' needs %s", command->name,
			  command->arguments);
	else
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'allo %s' takes %s, not %zu argument%s",
			  command->name, command->files_most ? command->arguments : "no arguments",
			  count, count == 1 ? "" : "s");
	return allo_hint(err, "usage: allo %s [OPTION]...%s%s", command->name,
			 command->files_most ? " " : "", command->arguments);
}

/* "-" is an argument: standard input. */
static bool is_option(const char *argument)
{
	return argument[0] == '-' && argument[1] != '\0';
}

/* Whether the next argument is the value of this one. */
static bool takes_next(const struct allo_command *command, const char *argument)
{
	const struct allo_option *option;

	if (argument[1] == '-') {
		option = find_option(command, '\0', argument + 2, strlen(argument + 2));
		return option && takes_value(option);
	}
	for (const char *letter = argument + 1; *letter; letter++) {
		option = find_option(command, *letter, NULL, 0);
		if (!option || takes_value(option))
			return option && letter[1] == '\0';
	}
	return false;
}

bool allo_options_ask_for_help(const struct allo_command *command, char **arguments)
{
	for (; *arguments && strcmp(*arguments, "--") != 0; arguments++) {
		if (strcmp(*arguments, "--help") == 0 || strcmp(*arguments, "-h") == 0)
			return true;
		if (!command->takes_program)
			continue;
		if (!is_option(*arguments))
			return false;
		if (takes_next(command, *arguments) && arguments[1])
			arguments++;
	}
	return false;
}

static bool check_dashes(char **files, struct allo_error *err)
{
	size_t dashes = 0;

	for (; *files; files++)
		dashes += strcmp(*files, "-") == 0;
	return dashes <= 1 ||
	       allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "standard input (-) can be read only once");
}

bool allo_options_parse(const struct allo_command *command, char **arguments, void *options,
			struct allo_error *err)
{
	size_t files = 0, used;

	for (size_t i = 0; arguments[i]; i += used) {
		const char *argument = arguments[i];

		bool ends_options = strcmp(argument, "--") == 0;

		used = 1;
		if (ends_options || (command->takes_program && !is_option(argument))) {
			for (i += ends_options; arguments[i]; i++)
				arguments[files++] = arguments[i];
			break;
		}
		if (!is_option(argument))
			arguments[files++] = arguments[i];
		else if (!(argument[1] == '-'
				   ? parse_long(command, &arguments[i], options, &used, err)
				   : parse_short(command, &arguments[i], options, &used, err)))
			return false;
	}
	arguments[files] = NULL;
	return (command->takes_program || check_dashes(arguments, err)) &&
	       check_file_count(command, files, err);
}
