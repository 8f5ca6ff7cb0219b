/*
 * late_library.c - loads a library, uses up all descriptors, and calls the library for the first
 * time.
 *     late_library LIBRARY
 */
#include "blocks.h"

#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library, *make, *blocks[5];

	must(argc == 2, "late_library LIBRARY");
	library = dlopen(argv[1], RTLD_NOW);
	must(library != NULL, "the library opens");
	make = dlsym(library, "make");
	must(make != NULL, "the library has its function");
	while (dup(STDERR_FILENO) >= 0) {
	}
	((void (*)(void **, int))make)(blocks, 5);
	for (int i = 0; i < 5; i++)
		free(blocks[i]);
	return 0;
}
