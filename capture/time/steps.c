/* steps.c - counts short times, and starts over after long ones. */
#include "capture/time/steps.h"
#include "base/assert.h"

#include <string.h>

void allo_steps_begin(struct allo_steps *steps)
{
	memset(steps->left, ALLO_STEP_NEW, sizeof(steps->left));
	steps->last = ALLO_STEP_NONE;
	steps->count = 0;
}

static uint8_t greater(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

void allo_steps_forget(struct allo_steps *steps, uint8_t times)
{
	for (int i = 0; i < ALLO_STEPS; i++)
		steps->left[i] = greater(steps->left[i], times);
}

void allo_steps_add_short(struct allo_steps *steps, uint64_t step)
{
	uint8_t *left = &steps->left[step];

	ALLO_ASSERT(step < ALLO_STEPS);
	steps->count++;
	if (*left > ALLO_STEP_LONG ? steps->count % ALLO_STEP_PATIENCE == 0 : *left > 0)
		--*left;
}

/* A step that was long before a sleep once stays at that. */
void allo_steps_add_long(struct allo_steps *steps, uint64_t step)
{
	ALLO_ASSERT(step < ALLO_STEPS);
	steps->left[step] = steps->left[step] > ALLO_STEP_LONG ? ALLO_STEP_WRONG : ALLO_STEP_LONG;
}

void allo_steps_doubt_last(struct allo_steps *steps, bool has_slept)
{
	uint8_t *left = &steps->left[steps->last];

	ALLO_ASSERT(allo_steps_is_unsure(steps));
	*left = greater(*left, has_slept ? ALLO_STEP_WRONG : ALLO_STEP_LONG);
}
