/* kernel_tick.c - finds and tests the word. */
#include "capture/time/kernel_tick.h"
#include "base/assert.h"
#include "capture/stacks/stack_bounds.h"

#include <sys/auxv.h>
#include <time.h>

enum {
	PAGES_BELOW = 16, /* kernels map up to six pages of data below the vDSO */
	PAIR = 2,         /* words of a time: seconds, nanoseconds */
	COARSE = CLOCK_MONOTONIC_COARSE * PAIR,
	SECOND = 1000000000,
};

const uint64_t allo_tick_unproven = UINT64_MAX, allo_tick_off = UINT64_MAX;
const uint64_t *allo_tick = &allo_tick_off;

/* The trial. */

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Reads the words before the clock.  If the clock has advanced when it is next read, so have the
 * words that are read after it. */
static void remember(struct allo_tick_trial *trial)
{
	for (unsigned i = 0; i < trial->count; i++)
		trial->values[i] = load(&trial->words[i]);
	trial->clock_ns = trial->read_clock();
}

void allo_tick_trial_begin(struct allo_tick_trial *trial)
{
	ALLO_ASSERT(trial->count <= ALLO_TICK_CANDIDATES);
	trial->ticks = 0;
	trial->left = (1u << trial->count) - 1;
	remember(trial);
}

/* The clock has advanced: drops the words that have not changed. */
static void judge(struct allo_tick_trial *trial)
{
	for (unsigned i = 0; i < trial->count; i++) {
		if (load(&trial->words[i]) == trial->values[i])
			trial->left &= ~(1u << i);
	}
	if (trial->ticks < ALLO_TICK_PROOF)
		trial->ticks++;
	remember(trial);
}

const uint64_t *allo_tick_trial_look(struct allo_tick_trial *trial)
{
	if (trial->read_clock() != trial->clock_ns)
		judge(trial);
	if (trial->ticks < ALLO_TICK_PROOF || trial->left == 0)
		return NULL;
	trial->left &= -trial->left; /* the lowest one: another must not take its place later */
	return &trial->words[__builtin_ctz(trial->left)];
}

/* The data start with a sequence number and the counter at the last tick.  Then come the times of
 * all clocks by their number.  The last tick's time of a coarse clock is its current time. */
bool allo_tick_trial_find(struct allo_tick_trial *trial, const uint64_t *words, size_t count,
			  uint64_t ns)
{
	for (size_t i = COARSE + 1; i + 1 < count; i++) {
		size_t times = i - COARSE;

		if (load(&words[i]) != ns / SECOND || load(&words[i + 1]) != ns % SECOND)
			continue;
		trial->count = times < ALLO_TICK_CANDIDATES ? (unsigned)times
							    : ALLO_TICK_CANDIDATES;
		trial->words = words + times - trial->count;
		return true;
	}
	return false;
}

/* This process. */

static struct allo_tick_trial own;
static enum { NEW, USABLE, UNUSABLE } state;
static bool is_on_trial; /* in this recording */

static uint64_t coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Searches a page twice in case of a tick between the two readings. */
static bool is_in_page(uint64_t page, uint64_t size)
{
	for (int i = 0; i < 2; i++) {
		if (allo_tick_trial_find(&own, (const uint64_t *)page, size / sizeof(uint64_t),
					 coarse_ns()))
			return true;
	}
	return false;
}

/* The kernel maps the data directly below the vDSO.  Contents identify the page, so other mappings
 * cannot be mistaken for it; the data stay mapped as long as the process lives. */
static bool find(void)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR), size = getauxval(AT_PAGESZ);

	own.read_clock = coarse_ns;
	for (uint64_t i = 1; vdso && i <= PAGES_BELOW; i++) {
		uint64_t page = vdso - i * size;

		if (allo_page_is_readable(page) && is_in_page(page, size))
			return true;
	}
	return false;
}

/* Ticks that are off stay off: a second thread may turn them off at any time. */
static void replace_unproven(const uint64_t *word)
{
	const uint64_t *expected = &allo_tick_unproven;

	__atomic_compare_exchange_n(&allo_tick, &expected, word, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

void allo_tick_reset(bool is_off)
{
	__atomic_store_n(&allo_tick, is_off ? &allo_tick_off : &allo_tick_unproven,
			 __ATOMIC_RELAXED);
	is_on_trial = false;
}

bool allo_tick_prepare(void)
{
	if (state == NEW)
		state = find() ? USABLE : UNUSABLE;
	if (state == USABLE && !is_on_trial)
		allo_tick_trial_begin(&own);
	is_on_trial = true;
	return state == USABLE;
}

void allo_tick_stop(void)
{
	__atomic_store_n(&allo_tick, &allo_tick_off, __ATOMIC_RELAXED);
}

bool allo_tick_look(void)
{
	const uint64_t *word = allo_tick_trial_look(&own);

	if (word)
		replace_unproven(word);
	if (own.left == 0)
		state = UNUSABLE;
	return own.left != 0;
}

uint32_t allo_tick_ns(void)
{
	struct timespec step;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0 && step.tv_sec == 0
		       ? (uint32_t)step.tv_nsec
		       : SECOND;
}
