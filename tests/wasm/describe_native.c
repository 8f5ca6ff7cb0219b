/*
 * describe_native.c - describes files: describe_native FILE...
 *
 * Each description follows a line "== FILE".
 */
#include "base/defer.h"
#include "describe.h"

#include <stdio.h>
#include <stdlib.h>

static char *read_file(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	long size;

	if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
		data = malloc((size_t)size + 1);
		rewind(file);
		*len = data ? fread(data, 1, (size_t)size, file) : 0;
	}
	if (file)
		fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		ALLO_DEFER(allo_free_pointer) char *data = NULL;
		description text = { 0 };
		size_t len;

		data = read_file(argv[i], &len);
		if (!data) {
			perror(argv[i]);
			return 1;
		}
		describe(&text, argv[i], data, len);
		printf("== %s\n%.*s", argv[i], (int)text.len, text.at);
		allo_vec_done(&text);
	}
	return 0;
}
