/*
 * index.c - indexes the words of a text, with two defects that a recording shows.
 *
 *     index FILE        prints the number of words and of different words
 *
 * It copies each line before it parses it, and it never frees the lists of line numbers.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096 };

struct word {
	struct word *next;
	char *text;
	int *lines;
	size_t count;
};

static struct word *buckets[BUCKETS];

static size_t hash(const char *text)
{
	size_t sum = 5381;

	while (*text)
		sum = sum * 33 + (unsigned char)*text++;
	return sum % BUCKETS;
}

static struct word *find_word(const char *text)
{
	struct word **bucket = &buckets[hash(text)], *word;

	for (word = *bucket; word; word = word->next) {
		if (strcmp(word->text, text) == 0)
			return word;
	}
	word = calloc(1, sizeof(*word));
	if (!word || !(word->text = strdup(text)))
		abort();
	word->next = *bucket;
	return *bucket = word;
}

static void add_line_number(struct word *word, int line)
{
	/* Grows by one each time, which copies a lot. */
	word->lines = realloc(word->lines, (word->count + 1) * sizeof(*word->lines));
	if (!word->lines)
		abort();
	word->lines[word->count++] = line;
}

static size_t index_line(const char *line, int number)
{
	char *copy = strdup(line), *rest = copy, *text;
	size_t count = 0;

	while ((text = strsep(&rest, " \t\n.,;:()`|")) != NULL) {
		if (!isalpha((unsigned char)*text))
			continue;
		add_line_number(find_word(text), number);
		count++;
	}
	free(copy);
	return count;
}

static size_t free_words(void)
{
	size_t count = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct word *word = buckets[i], *next; word; word = next, count++) {
			next = word->next;
			free(word->text);
			free(word); /* but not word->lines */
		}
	}
	return count;
}

int main(int argc, char **argv)
{
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	size_t room = 0, words = 0;
	char *line = NULL;

	if (!file) {
		fprintf(stderr, "usage: index FILE\n");
		return 2;
	}
	for (int number = 1; getline(&line, &room, file) >= 0; number++)
		words += index_line(line, number);
	free(line);
	fclose(file);
	printf("%zu words, %zu different ones\n", words, free_words());
	return 0;
}
