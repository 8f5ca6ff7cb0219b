/*
 * lives.c - blocks of three sites that live for a short, a longer and a long time, with a peak in
 * the middle: 331 of 1013 bytes one after the other, 293 of 2017 bytes at once, 71 of 3019 bytes to
 * the end.  They are many, since a thread that is alone reads the clock at some events only.
 */
#include "blocks.h"

enum { BRIEF = 331, MIDDLING = 293, LASTING = 71, TURNS = 2000000 };

static void *middling_blocks[MIDDLING], *lasting_blocks[LASTING];

/* Time goes by, however it is measured. */
APART static void wait_a_while(void)
{
	for (volatile int i = 0; i < TURNS; i++)
		;
}

APART static void brief(void)
{
	for (int i = 0; i < BRIEF; i++)
		free(filled(1013, i));
	stay();
}

APART static void middling(void)
{
	for (int i = 0; i < MIDDLING; i++)
		middling_blocks[i] = filled(2017, i);
	wait_a_while();
	for (int i = 0; i < MIDDLING; i++)
		free(middling_blocks[i]);
	stay();
}

APART static void lasting(void)
{
	for (int i = 0; i < LASTING; i++)
		lasting_blocks[i] = filled(3019, i);
	stay();
}

int main(void)
{
	lasting();
	wait_a_while();
	brief();
	middling();
	wait_a_while();
	brief();
	return 0;
}
