/* settings.c - parses environment variables and requests. */
#include "capture/settings.h"
#include "base/assert.h"
#include "capture/system.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define DEFAULT_PATTERN "%e.%p.%n.allo"

struct allo_settings allo_settings;

static struct allo_settings at_start; /* from the environment at program start */

/* The entries of ALLO_SETTINGS, which holds several variables so that the program sees only one:
 * "NAME=value;...".  Names lack "ALLO_", and values have a backslash before ';' and '\\'.  Here
 * each entry ends with a NUL. */
static char entries[5 * PATH_MAX + 1024]; /* paths and numbers */
static size_t entries_len;

/* Set by the loader: the start of the stack, which holds argc, argv and the environment. */
extern void *__libc_stack_end;

/* The entry of a variable in the environment, or its final NULL.  Programs may allocate before libc
 * has set `environ`, when getenv() finds nothing. */
static char **place_of(const char *name)
{
	const uintptr_t *start = __libc_stack_end;
	char **at = environ ? environ : (char **)(start + 1 + start[0] + 1);
	size_t len = strlen(name);

	while (*at && (strncmp(*at, name, len) != 0 || (*at)[len] != '='))
		at++;
	return at;
}

bool allo_settings_are_secure(void)
{
	return getauxval(AT_SECURE) != 0;
}

static char *value_in_environment(const char *name)
{
	char **place = place_of(name);

	return *place && !allo_settings_are_secure() ? *place + strlen(name) + 1 : NULL;
}

static void read_entries(void)
{
	const char *at = value_in_environment("ALLO_SETTINGS");
	size_t len = 0;

	for (; at && *at && len < sizeof(entries); at++) {
		bool is_escaped = *at == '\\' && at[1];

		at += is_escaped;
		entries[len++] = *at == ';' && !is_escaped ? '\0' : *at;
	}
	entries_len = len < sizeof(entries) ? len : 0;
	entries[entries_len] = '\0';
}

static char *value_in_entries(const char *name)
{
	size_t len = strlen(name);

	for (char *at = entries; at < entries + entries_len; at += strlen(at) + 1) {
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return at + len + 1;
	}
	return NULL;
}

char *allo_settings_variable(const char *name)
{
	char *value = strncmp(name, "ALLO_", 5) == 0 ? value_in_entries(name + 5) : NULL;

	return value ? value : value_in_environment(name);
}

/* Removes this library, which is the first one, from LD_PRELOAD, so it is not loaded into programs
 * that this one starts. */
static void leave_preload(void)
{
	char **place = place_of("LD_PRELOAD"), *value = value_in_environment("LD_PRELOAD"), *rest;

	if (!value)
		return;
	rest = value + strcspn(value, ": ");
	if (*rest) {
		memmove(value, rest + 1, strlen(rest + 1) + 1);
		return;
	}
	for (; *place; place++)
		place[0] = place[1];
}

/* Copies a text, or "" for NULL.  False, and the old text stays, if it is too long. */
static bool copy_text(const char *text, char *to, size_t room)
{
	size_t len = text ? strlen(text) : 0;

	if (len < room)
		memcpy(to, text ? text : "", len + 1);
	return len < room;
}

/* Copies the name before the program runs: some programs overwrite argv[0] later. */
static void read_program(struct allo_settings *settings)
{
	const uintptr_t *start = __libc_stack_end;
	const char *path = start[0] > 0 ? (const char *)start[1] : "program";
	const char *slash = strrchr(path, '/');

	copy_text(slash ? slash + 1 : path, settings->program, sizeof(settings->program));
}

/* Whether a line of ALLO_ONLY is the whole path, or the last part of it. */
static bool is_line_of(const char *line, size_t len, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (memchr(line, '/', len))
		name = path;
	return strlen(name) == len && memcmp(name, line, len) == 0;
}

bool allo_settings_select_program(void)
{
	const char *line = allo_settings_variable("ALLO_ONLY");
	const char *executed = (const char *)getauxval(AT_EXECFN); /* of a script, its path */
	char program[PATH_MAX];
	long len;

	if (!line || !*line)
		return true;
	len = ALLO_SYSCALL4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program,
			    sizeof(program) - 1);
	program[len > 0 ? len : 0] = '\0';
	for (; *line; line += *line == '\n') {
		size_t line_len = strcspn(line, "\n");

		if (is_line_of(line, line_len, program) ||
		    is_line_of(line, line_len, allo_settings.program) ||
		    (executed && is_line_of(line, line_len, executed)))
			return true;
		line += line_len;
	}
	return false;
}

/* Parses decimal digits; an empty text or NULL is 0.  False, and 0, for anything else. */
static bool parse_number(const char *text, uint64_t *number)
{
	*number = 0;
	for (; text && *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*text - '0'), number)) {
			*number = 0;
			return false;
		}
	}
	return true;
}

static uint64_t read_number(const char *name)
{
	uint64_t number;

	parse_number(allo_settings_variable(name), &number);
	return number;
}

/* Reads a number of 32 bits; 0 if it is larger. */
static uint32_t read_small_number(const char *name)
{
	uint64_t number = read_number(name);

	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Finds the index of a word in a list that ends in NULL.  False, and 0, if it is not in it. */
static bool parse_choice(const char *word, const char *const *words, unsigned *choice)
{
	for (*choice = 0; words[*choice]; ++*choice) {
		if (strcmp(word, words[*choice]) == 0)
			return true;
	}
	*choice = 0;
	return false;
}

static unsigned read_choice(const char *name, const char *const *words)
{
	const char *value = allo_settings_variable(name);
	unsigned choice;

	parse_choice(value ? value : "", words, &choice);
	return choice;
}

/* Whether a list separated by commas contains a word. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list) {
		if (strncmp(list, word, len) == 0 && (list[len] == ',' || list[len] == '\0'))
			return true;
		list = strchr(list, ',');
		if (list)
			list++;
	}
	return false;
}

static unsigned read_track(const char *list)
{
	static const struct {
		const char *word;
		enum allo_track track;
	} words[] = {
		{ "malloc", ALLO_TRACK_MALLOC },
		{ "new", ALLO_TRACK_NEW },
		{ "mmap", ALLO_TRACK_MMAP },
		{ "brk", ALLO_TRACK_BRK },
	};
	unsigned track = 0;

	if (!list || !*list)
		return ALLO_TRACK_MALLOC | ALLO_TRACK_NEW;
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		track |= has_word(list, words[i].word) ? words[i].track : 0u;
	return track;
}

/* Computes the fields that follow from others. */
static void derive(struct allo_settings *settings)
{
	static const uint64_t rates[] = {
		[ALLO_SAMPLED] = 512 << 10, [ALLO_SAMPLED_EVENTS] = 1000, [ALLO_AD_HOC] = 0
	};

	if (settings->rate == 1 && rates[settings->mode] != 0)
		settings->mode = ALLO_EXACT; /* an interval of 1 samples everything */
	if (rates[settings->mode] == 0)
		settings->rate = 0;
	else if (settings->rate == 0)
		settings->rate = rates[settings->mode];
	settings->has_file = settings->mode != ALLO_COUNTERS;
	settings->has_stats |= settings->mode == ALLO_COUNTERS;
	settings->is_filtered = settings->mode != ALLO_EXACT || settings->has_stats;
	settings->malloc_size = settings->track & ALLO_TRACK_MALLOC ? settings->min_size
								    : UINT64_MAX;
	settings->is_plain = !settings->is_filtered && settings->malloc_size == 0 &&
			     settings->unwind != ALLO_UNWIND_NONE && settings->check_every == 0;
	ALLO_ASSERT((settings->rate != 0) ==
		    (settings->mode == ALLO_SAMPLED || settings->mode == ALLO_SAMPLED_EVENTS));
	ALLO_ASSERT(!settings->is_plain || (settings->has_file && settings->rate == 0));
	allo_unwind = settings->unwind;
}

static const char *const modes[] = { "exact", "sampled", "events", "counters", "ad-hoc", NULL };
static const char *const times[] = { "auto", "exact", NULL };
static const char *const unwinders[] = { "auto", "fp", "dwarf", "none", NULL };

const char *allo_settings_mode_name(enum allo_mode mode)
{
	ALLO_ASSERT(mode <= ALLO_AD_HOC);
	return modes[mode];
}

/* Whether a variable has this value. */
static bool says(const char *name, const char *word)
{
	const char *value = allo_settings_variable(name);

	return value && strcmp(value, word) == 0;
}

/* Makes a pattern absolute, because the program may change its folder before the file is opened.
 * Escapes each % of the folder's name. */
static bool absolute_pattern(const char *pattern, char *to, size_t room)
{
	char here[PATH_MAX] = "";
	const char *at = here;
	size_t len = 0;

	if (pattern[0] == '/')
		return copy_text(pattern, to, room);
	if (ALLO_SYSCALL2(SYS_getcwd, here, sizeof(here)) <= 0 || here[0] != '/')
		return false;
	for (; *at && len + 3 < room; at++) {
		to[len++] = *at;
		if (*at == '%')
			to[len++] = '%';
	}
	to[len++] = '/';
	return !*at && copy_text(pattern, to + len, room - len);
}

/* ALLO_CONTROL is 0 (no socket), 1 (the default socket) or a pattern.  If it is not set, only a
 * dormant program has a socket, because nothing else can start its recording. */
static void read_control(struct allo_settings *settings)
{
	const char *control = allo_settings_variable("ALLO_CONTROL");

	settings->is_dormant = says("ALLO_DORMANT", "1");
	settings->has_control = settings->is_dormant;
	if (control && control[0])
		settings->has_control = strcmp(control, "0") != 0;
	if (control && control[0] && settings->has_control && strcmp(control, "1") != 0)
		settings->has_control = absolute_pattern(control, settings->control,
							 sizeof(settings->control));
	copy_text(allo_settings_variable("XDG_RUNTIME_DIR"), settings->runtime,
		  sizeof(settings->runtime));
}

void allo_settings_read(void)
{
	struct allo_settings *settings = &allo_settings;

	read_entries();
	read_program(settings);
	copy_text(allo_settings_variable("ALLO_OUTPUT"), settings->output,
		  sizeof(settings->output));
	copy_text(allo_settings_variable("ALLO_FAMILY"), settings->family,
		  sizeof(settings->family));
	settings->main_pid = read_small_number("ALLO_MAIN");
	copy_text(allo_settings_variable("ALLO_LIST"), settings->list, sizeof(settings->list));
	settings->min_size = read_number("ALLO_MIN_SIZE");
	settings->max_file = read_number("ALLO_MAX_FILE");
	settings->delay_ns = read_number("ALLO_DELAY_NS");
	settings->duration_ns = read_number("ALLO_DURATION_NS");
	settings->stack_depth = read_small_number("ALLO_STACK_DEPTH");
	settings->check_every = read_small_number("ALLO_VERIFY_UNWIND");
	settings->unwind = (enum allo_unwind)read_choice("ALLO_UNWIND", unwinders);
	settings->debug_level = read_small_number("ALLO_DEBUG");
	copy_text(allo_settings_variable("ALLO_DEBUG_FILE"), settings->debug_file,
		  sizeof(settings->debug_file));
	settings->no_command = says("ALLO_COMMAND", "0");
	settings->no_follow = says("ALLO_FOLLOW", "0");
	if (settings->no_follow)
		leave_preload();
	settings->track = read_track(allo_settings_variable("ALLO_TRACK"));
	settings->mode = (enum allo_mode)read_choice("ALLO_MODE", modes);
	settings->has_exact_times = says("ALLO_TIME", "exact");
	settings->rate = read_number("ALLO_RATE");
	settings->has_stats = says("ALLO_STATS", "1");
	read_control(settings);
	at_start = *settings;
	derive(settings);
}

static bool is_set(const char *name)
{
	return !allo_settings.is_for_another && allo_settings_variable(name);
}

/* These return the value of a variable, or else the program's. */
static const char *text_or(const char *name, const char *text)
{
	return is_set(name) ? allo_settings_variable(name) : text;
}

static uint64_t number_or(const char *name, uint64_t number)
{
	return is_set(name) ? read_number(name) : number;
}

static unsigned choice_or(const char *name, const char *const *words, unsigned choice)
{
	return is_set(name) ? read_choice(name, words) : choice;
}

static bool flag_or(const char *name, const char *word, bool flag)
{
	return is_set(name) ? says(name, word) : flag;
}

const char *allo_settings_unknown_word(void)
{
	static const struct {
		const char *name;
		const char *const *words;
	} choices[] = { { "ALLO_MODE", modes },
			{ "ALLO_UNWIND", unwinders },
			{ "ALLO_TIME", times } };
	unsigned choice;

	for (unsigned i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		const char *word = text_or(choices[i].name, NULL);

		if (word && *word && !parse_choice(word, choices[i].words, &choice))
			return choices[i].name;
	}
	return NULL;
}

bool allo_settings_apply(const struct allo_config *config)
{
	static const struct allo_config plain;
	struct allo_settings *settings = &allo_settings;
	const char *path;

	if (!config)
		config = &plain;
	settings->mode = (enum allo_mode)choice_or("ALLO_MODE", modes, config->mode);
	settings->unwind = (enum allo_unwind)choice_or("ALLO_UNWIND", unwinders, config->unwinder);
	settings->rate = number_or("ALLO_RATE", config->rate);
	settings->min_size = number_or("ALLO_MIN_SIZE", config->min_size);
	settings->max_file = number_or("ALLO_MAX_FILE", config->max_file);
	settings->stack_depth = (uint32_t)number_or("ALLO_STACK_DEPTH", config->stack_depth);
	settings->has_stats = flag_or("ALLO_STATS", "1", config->has_stats);
	settings->no_follow = flag_or("ALLO_FOLLOW", "0", config->no_follow);
	settings->has_exact_times = flag_or("ALLO_TIME", "exact", config->has_exact_times);
	derive(settings);
	settings->family[0] = '\0';
	path = text_or("ALLO_PATH", config->path);
	return copy_text(path ? path : DEFAULT_PATTERN, settings->output,
			 sizeof(settings->output)) &&
	       copy_text(text_or("ALLO_FORMAT", config->format), settings->format,
			 sizeof(settings->format)) &&
	       copy_text(text_or("ALLO_OPTIONS", config->options), settings->options,
			 sizeof(settings->options));
}

/* Requests from other processes. */

static bool request_number(const char *text, uint64_t *number)
{
	return !text || (*text && parse_number(text, number));
}

static bool request_mode(const char *text, enum allo_mode *mode)
{
	unsigned choice;

	if (!text)
		return true;
	if (!parse_choice(text, modes, &choice))
		return false;
	*mode = (enum allo_mode)choice;
	return true;
}

bool allo_settings_reset(const struct allo_start_request *request)
{
	struct allo_settings *settings = &allo_settings;
	uint64_t depth = at_start.stack_depth, has_stats = at_start.has_stats;
	const char *path = at_start.output[0] ? at_start.output : DEFAULT_PATTERN;

	*settings = at_start;
	settings->delay_ns = 0;
	if (!request_mode(request->mode, &settings->mode) ||
	    !request_number(request->rate, &settings->rate) ||
	    !request_number(request->min_size, &settings->min_size) ||
	    !request_number(request->max_file, &settings->max_file) ||
	    !request_number(request->duration_ns, &settings->duration_ns) ||
	    !request_number(request->stack_depth, &depth) || depth > UINT32_MAX ||
	    !request_number(request->stats, &has_stats))
		return false;
	settings->stack_depth = (uint32_t)depth;
	settings->has_stats = has_stats != 0;
	if (request->path)
		settings->family[0] = '\0';
	derive(settings);
	return absolute_pattern(request->path ? request->path : path, settings->output,
				sizeof(settings->output));
}

void allo_settings_keep_stats(bool is_on)
{
	allo_settings.has_stats = is_on;
	derive(&allo_settings);
}
