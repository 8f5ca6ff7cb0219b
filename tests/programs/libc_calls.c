/*
 * libc_calls.c - functions of the C library that allocate for their caller, each called by a
 * separate function, in main() and in a thread.
 */
#include "blocks.h"

#include <dirent.h>
#include <glob.h>
#include <netdb.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>

APART static void use_files(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char *line = NULL;
	size_t room = 0;

	must(file != NULL && getline(&line, &room, file) > 0, "the file is read");
	fclose(file);
	free(line);
}

APART static void use_streams(void)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(file != NULL && fputs("text", file) >= 0 && fclose(file) == 0, "a stream works");
	free(text);
}

static int is_any(const struct dirent *entry)
{
	return entry != NULL;
}

APART static void use_folders(void)
{
	struct dirent **entries;
	int count = scandir("/proc/self", &entries, is_any, alphasort);
	glob_t found;

	must(count > 0, "the folder is listed");
	while (count > 0)
		free(entries[--count]);
	free(entries);
	must(glob("/proc/self/s*", 0, NULL, &found) == 0, "files match");
	globfree(&found);
}

APART static void use_patterns(void)
{
	regmatch_t matches[3];
	regex_t pattern;

	must(regcomp(&pattern, "(a|b)*c([0-9]+)", REG_EXTENDED) == 0, "the pattern compiles");
	must(regexec(&pattern, "xababc99y", 3, matches, 0) == 0, "the text matches");
	regfree(&pattern);
}

static int compare(const void *one, const void *other)
{
	free(held(malloc(2011)));
	return *(const int *)one - *(const int *)other;
}

APART static void use_sorting(void)
{
	int numbers[] = { 5, 3, 9, 1, 7, 2 };

	qsort(numbers, 6, sizeof(*numbers), compare);
	must(numbers[0] == 1 && numbers[5] == 9, "the numbers are sorted");
}

static int compare_texts(const void *one, const void *other)
{
	return strcmp(one, other);
}

APART static void use_trees(void)
{
	void *root = NULL;

	must(tsearch("key", &root, compare_texts) != NULL, "the key is added");
	tdelete("key", &root, compare_texts);
}

APART static void use_addresses(void)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *found;

	must(getaddrinfo("127.0.0.1", "80", &hints, &found) == 0, "the address is found");
	freeaddrinfo(found);
}

APART static void use_text(void)
{
	char *text = NULL;

	must(asprintf(&text, "%d %s", 17, "bytes") > 0, "the text is made");
	free(text);
	free(held(strdup("text")));
	free(held(realpath("/proc/self", NULL)));
}

static void *use_all(void *argument)
{
	use_files();
	use_streams();
	use_folders();
	use_patterns();
	use_sorting();
	use_trees();
	use_addresses();
	use_text();
	return argument;
}

int main(void)
{
	pthread_t thread;

	use_all(NULL);
	must(pthread_create(&thread, NULL, use_all, NULL) == 0, "a thread starts");
	pthread_join(thread, NULL);
	return 0;
}
