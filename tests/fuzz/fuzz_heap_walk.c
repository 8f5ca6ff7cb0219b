/*
 * fuzz_heap_walk.c - the heap of another process with any words changed.
 *
 * The input is a list of changes: an offset of two bytes, in words, and the new word.
 */
#include "invented_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct invented_process process;
	struct allo_glibc_blocks blocks = { 0 };
	struct allo_glibc glibc = { 0 };
	struct allo_error err = { 0 };

	invented_init(&process);
	for (; size >= 10; data += 10, size -= 10) {
		uint64_t word;
		uint16_t at;

		memcpy(&at, data, sizeof(at));
		memcpy(&word, data + 2, sizeof(word));
		((uint64_t *)process.words)[at % (sizeof(process.words) / 8)] = word;
	}
	invented_walk(&process, &glibc, &blocks, &err);
	/* What is read is bounded by the size of the process: two walks, each of all its pages, and
	 * a million entries of lists. */
	if (process.states_read > (8 << 20))
		abort();
	allo_glibc_done(&glibc);
	return 0;
}
