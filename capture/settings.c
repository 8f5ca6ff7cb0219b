/* settings.c - parses environment variables and requests. */
#include "capture/settings.h"
#include "base/assert.h"
#include "capture/system.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define DEFAULT_PATTERN  "%e.%p.%n.allo"
#define CHILDREN_PATTERN ".d/%e.%p.allo"

struct allo_settings allo_settings;

static struct allo_settings at_start; /* from the environment at program start */

/* The entries of ALLO_SETTINGS, which holds several variables so that the program sees only one:
 * "NAME=value;...".  Names lack "ALLO_", and values have a backslash before ';' and '\\'.  Here
 * each entry ends with a NUL. */
static char entries[5 * PATH_MAX + 1024]; /* paths and numbers */
static size_t entries_len;

#ifdef __GLIBC__

/* Set by the loader. */
extern void *__libc_stack_end;

const uintptr_t *allo_settings_stack_start(void)
{
	return __libc_stack_end;
}

#else

/* The kernel puts argc, argv and the environment in this order, and the bytes of AT_RANDOM behind
 * them.  Another constructor may have moved the environment. */
const uintptr_t *allo_settings_stack_start(void)
{
	static const uintptr_t unknown[3];
	const uintptr_t *start = (const uintptr_t *)environ;
	uintptr_t count = 0, random = getauxval(AT_RANDOM),
		  here = (uintptr_t)__builtin_frame_address(0);

	if ((uintptr_t)start < here || (uintptr_t)start > random)
		return unknown;
	for (start -= 2; *start != count; start--)
		count++;
	return start;
}

#endif

/* The entry of a variable in the environment, or its final NULL.  Programs may allocate before libc
 * has set `environ`, when getenv() finds nothing. */
static char **place_of(const char *name)
{
	const uintptr_t *start = allo_settings_stack_start();
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

	/* The settings in it were for a runtime that this process does not have. */
	if (allo_settings.is_late && strncmp(name, "ALLO_", 5) == 0)
		return NULL;
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
	const uintptr_t *start = allo_settings_stack_start();
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
		{ "malloc", ALLO_TRACK_MALLOC }, { "new", ALLO_TRACK_NEW },
		{ "mmap", ALLO_TRACK_MMAP },     { "brk", ALLO_TRACK_BRK },
		{ "python", ALLO_TRACK_PYTHON },
	};
	unsigned track = 0;

	if (!list || !*list)
		return ALLO_TRACK_MALLOC | ALLO_TRACK_NEW | ALLO_TRACK_PYTHON;
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

	if (settings->rate == 1 && rates[settings->mode] != 0 && settings->max_overhead == 0)
		settings->mode = ALLO_EXACT; /* an interval of 1 samples everything */
	if (rates[settings->mode] == 0)
		settings->rate = 0;
	else if (settings->rate == 0)
		settings->rate = rates[settings->mode];
	if (settings->rate == 0)
		settings->max_overhead = 0;
	else if (settings->max_overhead > 0 && settings->rate < ALLO_OVERHEAD_RATE_LEAST)
		settings->rate = ALLO_OVERHEAD_RATE_LEAST;
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

/* Writes a path as a pattern; its length, or 0 if there is too little room. */
static size_t escape_pattern(const char *path, char *to, size_t room)
{
	size_t len = 0;

	for (; *path && len + 3 < room; path++) {
		to[len++] = *path;
		if (*path == '%')
			to[len++] = '%';
	}
	return *path ? 0 : len;
}

/* Makes a pattern absolute, because the program may change its folder before the file is opened. */
static bool absolute_pattern(const char *pattern, char *to, size_t room)
{
	char here[PATH_MAX] = "";
	size_t len;

	if (pattern[0] == '/')
		return copy_text(pattern, to, room);
	if (ALLO_SYSCALL2(SYS_getcwd, here, sizeof(here)) <= 0 || here[0] != '/')
		return false;
	len = escape_pattern(here, to, room);
	if (len == 0)
		return false;
	to[len++] = '/';
	return copy_text(pattern, to + len, room - len);
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
	settings->ring = read_number("ALLO_RING");
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
	settings->max_overhead = read_number("ALLO_MAX_OVERHEAD");
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
	settings->max_overhead = number_or("ALLO_MAX_OVERHEAD", 0);
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

void allo_settings_attach(const char *program)
{
	copy_text(program, at_start.program, sizeof(at_start.program));
	copy_text(program, allo_settings.program, sizeof(allo_settings.program));
	at_start.has_control = allo_settings.has_control = true;
}

void allo_settings_detach(void)
{
	at_start.has_control = allo_settings.has_control = false;
}

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
	uint64_t no_follow = at_start.no_follow, gathers_children = 0;
	const char *path = at_start.output[0] ? at_start.output : DEFAULT_PATTERN;

	*settings = at_start;
	settings->delay_ns = 0;
	if (!request_mode(request->mode, &settings->mode) ||
	    !request_number(request->rate, &settings->rate) ||
	    !request_number(request->min_size, &settings->min_size) ||
	    !request_number(request->max_file, &settings->max_file) ||
	    !request_number(request->duration_ns, &settings->duration_ns) ||
	    !request_number(request->stack_depth, &depth) || depth > UINT32_MAX ||
	    !request_number(request->stats, &has_stats) ||
	    !request_number(request->no_follow, &no_follow) ||
	    !request_number(request->gathers_children, &gathers_children))
		return false;
	settings->stack_depth = (uint32_t)depth;
	settings->has_stats = has_stats != 0;
	settings->no_follow = no_follow != 0;
	/* Elsewhere, programs that the process executes have the patterns of the environment. */
	settings->gathers_children = settings->is_late && gathers_children != 0;
	if (request->path)
		settings->family[0] = '\0';
	derive(settings);
	return absolute_pattern(request->path ? request->path : path, settings->output,
				sizeof(settings->output));
}

void allo_settings_gather_children(const char *path)
{
	struct allo_settings *settings = &allo_settings;
	size_t room = sizeof(settings->family), len = escape_pattern(path, settings->family, room);

	settings->main_pid = allo_process_number();
	settings->gathers_children = false;
	if (len == 0 || !copy_text(CHILDREN_PATTERN, settings->family + len, room - len))
		settings->family[0] = '\0';
}

void allo_settings_keep_stats(bool is_on)
{
	allo_settings.has_stats = is_on;
	derive(&allo_settings);
}
