/* parse_test.c - a test whose memory CI checks. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The sum of numbers that are separated by commas. */
static long sum(const char *text)
{
	char *copy = strdup(text);
	long total = 0;

	assert(copy);
	for (char *word = strtok(copy, ","); word; word = strtok(NULL, ","))
		total += atol(word);
	free(copy);
	return total;
}

int main(void)
{
	assert(sum("1,2,3") == 6);
	assert(sum("") == 0);
	return 0;
}
