/* settings.c - see settings.h. */
#include "capture/settings.h"

#include <string.h>
#include <unistd.h>

struct allo_settings allo_settings;

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

/* Digits alone; anything else is as if it were not there. */
static uint64_t read_number(const char *name)
{
	const char *value = allo_settings_variable(name);
	uint64_t number = 0;

	for (; value && *value; value++) {
		if (*value < '0' || *value > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*value - '0'), &number))
			return 0;
	}
	return number;
}

/* The same, of numbers that count what there cannot be 2^32 of. */
static uint32_t read_small_number(const char *name)
{
	uint64_t number = read_number(name);

	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* The index of the word that the variable holds; 0 when it is none of them. */
static unsigned read_choice(const char *name, const char *const *words)
{
	const char *value = allo_settings_variable(name);

	for (unsigned i = 0; value && words[i]; i++) {
		if (strcmp(value, words[i]) == 0)
			return i;
	}
	return 0;
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
	settings->is_special = settings->mode != ALLO_EXACT || settings->has_stats;
	settings->malloc_size = settings->track & ALLO_TRACK_MALLOC ? settings->min_size
								    : UINT64_MAX;
	settings->is_plain = settings->unwind != ALLO_UNWIND_NONE && settings->check_every == 0;
	allo_unwind = settings->unwind;
}

static const char *const modes[] = { "exact", "sampled", "events", "counters", "ad-hoc", NULL };
static const char *const unwinders[] = { "auto", "fp", "dwarf", "none", NULL };

static bool says(const char *name, const char *word)
{
	const char *value = allo_settings_variable(name);

	return value && strcmp(value, word) == 0;
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
	settings->no_follow = says("ALLO_FOLLOW", "0");
	if (settings->no_follow)
		stay_alone();
	settings->track = read_track(allo_settings_variable("ALLO_TRACK"));
	settings->mode = (enum allo_mode)read_choice("ALLO_MODE", modes);
	settings->rate = read_number("ALLO_RATE");
	settings->has_stats = says("ALLO_STATS", "1");
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
	if (!path)
		path = "%e.%p.%n.allo";
	return copy_text(path, settings->output, sizeof(settings->output)) &&
	       copy_text(text_or("ALLO_FORM", config->form), settings->form,
			 sizeof(settings->form)) &&
	       copy_text(text_or("ALLO_OPTIONS", config->options), settings->options,
			 sizeof(settings->options));
}

void allo_settings_keep_stats(bool is_on)
{
	allo_settings.has_stats = is_on;
	conclude(&allo_settings);
}
