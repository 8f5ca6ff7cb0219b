/*
 * stress_dlopen.c - two libraries that come and go, the second where the first one was.
 *     stress_dlopen LIBRARY LIBRARY TIMES [THREADS]
 * Threads allocate meanwhile.
 */
#include "blocks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_bool is_over;

static void *use(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *blocks[5], *make;

	must(library != NULL, "the library opens");
	make = dlsym(library, "make");
	must(make != NULL, "the library has its function");
	((void (*)(void **, int))make)(blocks, 5);
	for (int i = 0; i < 5; i++)
		free(blocks[i]);
	must(dlclose(library) == 0, "the library closes");
	return make;
}

static void *allocate(void *argument)
{
	while (!is_over)
		free(filled(512, 1));
	return argument;
}

int main(int argc, char **argv)
{
	int threads = argc > 4 ? atoi(argv[4]) : 0, shared = 0;
	pthread_t ids[16];

	must(argc > 3 && threads <= 16, "stress_dlopen LIBRARY LIBRARY TIMES [THREADS]");
	for (int i = 0; i < threads; i++)
		must(pthread_create(&ids[i], NULL, allocate, NULL) == 0, "a thread starts");
	for (int i = 0; i < atoi(argv[3]); i++)
		shared += (size_t)use(argv[1]) >> 12 == (size_t)use(argv[2]) >> 12;
	is_over = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	/* Now and then something else comes in between, with threads more often. */
	if (threads == 0)
		puts(shared > atoi(argv[3]) * 9 / 10 ? "at the same address" : "elsewhere");
	return 0;
}
