/* shows_preload.c - prints the names of its preloaded libraries, and its arguments. */
#include "blocks.h"

int main(int count, char **words)
{
	const char *preload = getenv("LD_PRELOAD");

	free(held(malloc(2003)));
	printf("%s", preload ? preload : "none");
	for (int i = 1; i < count; i++)
		printf(" %s", words[i]);
	printf("\n");
	return 7;
}
