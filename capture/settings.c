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

static char *variable(const char *name)
{
	char **place = place_of(name);

	return *place ? *place + strlen(name) + 1 : NULL;
}

/* Takes this library, which stands first, out of what programs that are started from here load. */
static void stay_alone(void)
{
	char **place = place_of("LD_PRELOAD"), *value = variable("LD_PRELOAD"), *rest;

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

static void copy_text(const char *text, char *to, size_t room)
{
	size_t len = text ? strlen(text) : 0;

	if (len < room)
		memcpy(to, text ? text : "", len + 1);
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
	const char *value = variable(name);
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
	const char *value = variable(name);

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

void allo_settings_read(void)
{
	static const char *const unwinders[] = { "auto", "fp", "dwarf", "none", NULL };
	struct allo_settings *settings = &allo_settings;
	const char *follow = variable("ALLO_FOLLOW");

	read_program(settings);
	copy_text(variable("ALLO_OUTPUT"), settings->output, sizeof(settings->output));
	copy_text(variable("ALLO_LIST"), settings->list, sizeof(settings->list));
	settings->min_size = read_number("ALLO_MIN_SIZE");
	settings->max_file = read_number("ALLO_MAX_FILE");
	settings->delay_ns = read_number("ALLO_DELAY_NS");
	settings->duration_ns = read_number("ALLO_DURATION_NS");
	settings->stack_depth = read_small_number("ALLO_STACK_DEPTH");
	settings->check_every = read_small_number("ALLO_VERIFY_UNWIND");
	settings->unwind = (enum allo_unwind)read_choice("ALLO_UNWIND", unwinders);
	settings->no_follow = follow && strcmp(follow, "0") == 0;
	if (settings->no_follow)
		stay_alone();
	settings->track = read_track(variable("ALLO_TRACK"));
	settings->malloc_size = settings->track & ALLO_TRACK_MALLOC ? settings->min_size
								    : UINT64_MAX;
	settings->is_plain = settings->unwind != ALLO_UNWIND_NONE && settings->check_every == 0;
	allo_unwind = settings->unwind;
}
