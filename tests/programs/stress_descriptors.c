/*
 * stress_descriptors.c - closes every file that it did not open, as servers do, and has files of
 * its own at those numbers: nothing but its own bytes may get there. stress_descriptors FOLDER
 */
#include "blocks.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { FILES = 40 };

/* More than fits in any buffer. */
APART static void allocate_much(void)
{
	for (int i = 0; i < 200000; i++)
		free(held(malloc((size_t)(i % 977))));
	stay();
}

static void *run(void *argument)
{
	allocate_much();
	return argument;
}

static void use_files(const char *folder, int round)
{
	int files[FILES];
	pthread_t thread;
	char path[512], text[64], found[64];

	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/file-%d", folder, i);
		files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		must(files[i] >= 0, "a file opens");
		snprintf(text, sizeof(text), "file %d of round %d\n", i, round);
		must(write(files[i], text, strlen(text)) == (ssize_t)strlen(text), "it is written");
	}
	allocate_much();
	must(pthread_create(&thread, NULL, run, NULL) == 0, "a thread starts");
	pthread_join(thread, NULL);
	for (int i = 0; i < FILES; i++) {
		memset(found, 0, sizeof(found));
		snprintf(text, sizeof(text), "file %d of round %d\n", i, round);
		must(lseek(files[i], 0, SEEK_END) == (off_t)strlen(text),
		     "a file has its own size");
		must(pread(files[i], found, sizeof(found) - 1, 0) == (ssize_t)strlen(text) &&
			     strcmp(found, text) == 0,
		     "a file holds its own bytes");
		close(files[i]);
	}
}

int main(int argc, char **argv)
{
	must(argc > 1, "stress_descriptors FOLDER");
	allocate_much();
	must(close_range(3, ~0u, 0) == 0, "all files close");
	use_files(argv[1], 1);
	for (int file = 3; file < 1024; file++)
		close(file);
	use_files(argv[1], 2);
	/* Over the existing descriptor. */
	for (int file = 3; file < 64; file++)
		dup2(0, file);
	allocate_much();
	must(close_range(3, ~0u, 0) == 0, "all files close");
	use_files(argv[1], 3);
	puts("all files hold their own");
	return 0;
}
