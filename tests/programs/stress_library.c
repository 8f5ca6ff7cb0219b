/*
 * stress_library.c - a library that stress_dlopen.c loads; built twice, with MAKE defined as
 * make_one and as make_two, SIZE as the size of its blocks, and BEFORE as the number of bytes in
 * front of MAKE, so that the two have different return addresses.
 */
#include "blocks.h"

void MAKE(void **blocks, int count);
void make(void **blocks, int count);

APART void before(void)
{
	__asm__ volatile(".fill " BEFORE ", 1, 0x90");
}

APART void MAKE(void **blocks, int count)
{
	for (int i = 0; i < count; i++)
		blocks[i] = filled(SIZE, i);
	stay();
}

void make(void **blocks, int count)
{
	before();
	MAKE(blocks, count);
	stay();
}
