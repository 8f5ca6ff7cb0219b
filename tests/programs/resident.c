/*
 * resident.c - allocates and maps memory, and waits until its input ends.
 *
 *     resident MIB-OF-MALLOC MIB-OF-MMAP [freed]
 *
 * With "freed", it frees the memory of malloc before it maps the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words)
{
	size_t allocated = strtoul(words[1], NULL, 10) << 20;
	size_t mapped = strtoul(words[2], NULL, 10) << 20;
	char *volatile block = malloc(allocated + 1), *mapping, byte;

	memset(block, 1, allocated);
	if (count > 3)
		free(block);
	mapping = mmap(NULL, mapped + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (mapping == MAP_FAILED)
		return 1;
	memset(mapping, 1, mapped);
	while (read(STDIN_FILENO, &byte, 1) > 0) {
	}
	return 0;
}
