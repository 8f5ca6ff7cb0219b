/* replay.c - gives files to a fuzzer one by one, where libFuzzer is not at hand. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	long size;
	uint8_t *data;

	if (!file || fseek(file, 0, SEEK_END) != 0) {
		perror(path);
		exit(1);
	}
	size = ftell(file);
	rewind(file);
	data = malloc((size_t)size + 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
		exit(1);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	fclose(file);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	return argc > 1 ? 0 : 1;
}
