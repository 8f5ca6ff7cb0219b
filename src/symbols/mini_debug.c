/* mini_debug.c - see mini_debug.h. */
#include "symbols/mini_debug.h"

#include "base/trust.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

/* The part of <lzma.h> that we use.  It is stable since version 5.0 (2010), so the header is not
 * needed to build. */
enum { RESULT_OK = 0, RESULT_NO_ROOM = 10 };

typedef int decode_call(uint64_t *memory_most, uint32_t flags, const void *allocator,
			const uint8_t *in, size_t *in_at, size_t in_len, uint8_t *out,
			size_t *out_at, size_t out_len);

static const char library_name[] = "liblzma.so.5";

/* Limits for hostile files: of the result, and of the memory of the decoder. */
static const uint64_t unpacked_ratio = 100, unpacked_least = 16 << 20;
static const uint64_t memory_most = 128 << 20;

static decode_call *decode;

static void load(void)
{
	void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);

	if (library)
		*(void **)&decode = dlsym(library, "lzma_stream_buffer_decode");
}

/* The size of the result is not known before: a larger buffer is tried until it fits. */
static char *unpack(struct allo_text packed, uint64_t most, size_t *len)
{
	size_t room = packed.len < most / 4 ? packed.len * 4 : most;

	for (;;) {
		uint64_t memory = memory_most;
		uint8_t *image = malloc(room + 1);
		size_t in_at = 0;
		int result;

		*len = 0;
		if (!image)
			return NULL;
		result = decode(&memory, 0, NULL, (const uint8_t *)packed.data, &in_at, packed.len,
				image, len, room);
		if (result == RESULT_OK)
			return (char *)image;
		free(image);
		if (result != RESULT_NO_ROOM || room == most)
			return NULL;
		room = room < most / 2 ? room * 2 : most;
	}
}

Elf *allo_mini_debug_open(struct allo_unpacked_debug *unpacked, Elf *elf, uint64_t file_bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	GElf_Shdr header;
	Elf_Scn *section = allo_elf_section_named(elf, ".gnu_debugdata", &header);
	const Elf_Data *data = section && header.sh_type != SHT_NOBITS ? elf_rawdata(section, NULL)
								       : NULL;
	uint64_t most = allo_trust_limit(file_bytes, unpacked_ratio, unpacked_least);
	size_t len;

	if (!data || !data->d_buf || data->d_size == 0)
		return NULL;
	pthread_once(&once, load);
	if (!decode)
		return NULL;
	unpacked->image = unpack((struct allo_text){ data->d_buf, data->d_size },
				 most < SIZE_MAX / 2 ? most : SIZE_MAX / 2, &len);
	if (unpacked->image)
		unpacked->elf = elf_memory(unpacked->image, len);
	return unpacked->elf;
}
