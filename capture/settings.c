/* settings.c - see settings.h. */
#include "capture/settings.h"
#include "capture/system.h"

#include <string.h>
#include <unistd.h>

#define USUAL_PATTERN "%e.%p.%n.allo"

struct allo_settings allo_settings;

static struct allo_settings at_start; /* as the environment was then */

/* Set by the loader: where the stack began, with the number of arguments, the arguments and the
 * environment. */
extern void *__libc_stack_end;

/* Where a variable stands, or the NULL at the end.  Programs may allocate before libc has set
 * `environ`, where getenv finds nothing. */
static char **place_of(const char *name)
{
	const uintptr_t *start = __libc_stack_end;
	char **at = environ ? environ : (char **)(start + 1 + start[0] + 1);
	size_t len = strlen(name);

	while (*at && (strncmp(*at, name, len) != 0 || (*at)[len] != '='))
		at++;
	return at;
}

char *allo_settings_variable(const char *name)
{
	char **place = place_of(name);

	return *place ? *place + strlen(name) + 1 : NULL;
}

/* Takes this library, which stands first, out of what programs that are started from here load. */
static void stay_alone(void)
{
	char **place = place_of("LD_PRELOAD"), *value = allo_settings_variable("LD_PRELOAD"), *rest;

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

/* False when it is too long: what was there stays. */
static bool copy_text(const char *text, char *to, size_t room)
{
	size_t len = text ? strlen(text) : 0;

	if (len < room)
		memcpy(to, text ? text : "", len + 1);
	return len < room;
}

/* Copied before the program runs: some write there what they want to be seen as. */
static void read_program(struct allo_settings *settings)
{
	const uintptr_t *start = __libc_stack_end;
	const char *path = start[0] > 0 ? (const char *)start[1] : "program";
	const char *slash = strrchr(path, '/');

	copy_text(slash ? slash + 1 : path, settings->program, sizeof(settings->program));
}

/* Digits alone, or nothing; false, and 0, for anything else. */
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

/* The same, of numbers that count what there cannot be 2^32 of. */
static uint32_t read_small_number(const char *name)
{
	uint64_t number = read_number(name);

	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* The index of a word; false, and 0, when it is none of them. */
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

/* Whether a list, separated by commas, holds a word. */
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

/* What the fields amount to. */
static void conclude(struct allo_settings *settings)
{
	static const uint64_t rates[] = {
		[ALLO_SAMPLED] = 512 << 10, [ALLO_SAMPLED_EVENTS] = 1000, [ALLO_AD_HOC] = 0
	};

	if (settings->rate == 1 && rates[settings->mode] != 0)
		settings->mode = ALLO_EXACT; /* one in one */
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
	allo_unwind = settings->unwind;
}

static const char *const modes[] = { "exact", "sampled", "events", "counters", "ad-hoc", NULL };
static const char *const unwinders[] = { "auto", "fp", "dwarf", "none", NULL };

const char *allo_settings_mode_name(enum allo_mode mode)
{
	return modes[mode];
}

static bool says(const char *name, const char *word)
{
	const char *value = allo_settings_variable(name);

	return value && strcmp(value, word) == 0;
}

/* A pattern as a whole path: who opens the file again may be somewhere else by then. */
static bool whole_path(const char *pattern, char *to, size_t room)
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

static void read_control(struct allo_settings *settings)
{
	const char *control = allo_settings_variable("ALLO_CONTROL");

	settings->no_control = says("ALLO_CONTROL", "0");
	settings->is_dormant = says("ALLO_DORMANT", "1");
	if (control && control[0] && !settings->no_control &&
	    !whole_path(control, settings->control, sizeof(settings->control)))
		settings->no_control = true;
	copy_text(allo_settings_variable("XDG_RUNTIME_DIR"), settings->runtime,
		  sizeof(settings->runtime));
}

void allo_settings_read(void)
{
	struct allo_settings *settings = &allo_settings;

	read_program(settings);
	copy_text(allo_settings_variable("ALLO_OUTPUT"), settings->output,
		  sizeof(settings->output));
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
	settings->no_follow = says("ALLO_FOLLOW", "0");
	if (settings->no_follow)
		stay_alone();
	settings->track = read_track(allo_settings_variable("ALLO_TRACK"));
	settings->mode = (enum allo_mode)read_choice("ALLO_MODE", modes);
	settings->rate = read_number("ALLO_RATE");
	settings->has_stats = says("ALLO_STATS", "1");
	read_control(settings);
	at_start = *settings;
	conclude(settings);
}

static bool is_set(const char *name)
{
	return !allo_settings.is_for_another && allo_settings_variable(name);
}

/* A variable's value, or else the program's. */
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
	} choices[] = { { "ALLO_MODE", modes }, { "ALLO_UNWIND", unwinders } };
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
	conclude(settings);
	path = text_or("ALLO_PATH", config->path);
	return copy_text(path ? path : USUAL_PATTERN, settings->output, sizeof(settings->output)) &&
	       copy_text(text_or("ALLO_FORMAT", config->format), settings->format,
			 sizeof(settings->format)) &&
	       copy_text(text_or("ALLO_OPTIONS", config->options), settings->options,
			 sizeof(settings->options));
}

/* From outside. */

static bool wish_number(const char *text, uint64_t *number)
{
	return !text || (*text && parse_number(text, number));
}

static bool wish_mode(const char *text, enum allo_mode *mode)
{
	unsigned choice;

	if (!text)
		return true;
	if (!parse_choice(text, modes, &choice))
		return false;
	*mode = (enum allo_mode)choice;
	return true;
}

bool allo_settings_reset(const struct allo_start_request *wishes)
{
	struct allo_settings *settings = &allo_settings;
	uint64_t depth = at_start.stack_depth, has_stats = at_start.has_stats;
	const char *path = at_start.output[0] ? at_start.output : USUAL_PATTERN;

	*settings = at_start;
	settings->delay_ns = 0;
	if (!wish_mode(wishes->mode, &settings->mode) ||
	    !wish_number(wishes->rate, &settings->rate) ||
	    !wish_number(wishes->min_size, &settings->min_size) ||
	    !wish_number(wishes->max_file, &settings->max_file) ||
	    !wish_number(wishes->duration_ns, &settings->duration_ns) ||
	    !wish_number(wishes->stack_depth, &depth) || depth > UINT32_MAX ||
	    !wish_number(wishes->stats, &has_stats))
		return false;
	settings->stack_depth = (uint32_t)depth;
	settings->has_stats = has_stats != 0;
	conclude(settings);
	return whole_path(wishes->path ? wishes->path : path, settings->output,
			  sizeof(settings->output));
}

void allo_settings_keep_stats(bool is_on)
{
	allo_settings.has_stats = is_on;
	conclude(&allo_settings);
}
