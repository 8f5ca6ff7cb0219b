/* direct_allocator.c - looks for functions and messages of known allocators. */
#include "run/direct_allocator.h"

#include "base/defer.h"
#include "run/elf_symbols.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *function, *name;
} known[] = {
	{ "mi_malloc", "mimalloc" },     { "je_malloc", "jemalloc" },
	{ "_rjem_malloc", "jemalloc" },  { "tc_malloc", "tcmalloc" },
	{ "rpmalloc", "rpmalloc" },      { "sn_malloc", "snmalloc" },
	{ "sn_rust_alloc", "snmalloc" }, { "nedmalloc", "nedmalloc" },
	{ "dlmalloc", "dlmalloc" },      { "tlsf_malloc", "TLSF" },
};

enum { KNOWN = sizeof(known) / sizeof(*known) };

/* Functions. */

static const char *find_function(const struct allo_elf_symbol *symbols)
{
	for (unsigned i = 0; i < KNOWN; i++) {
		if (symbols[i].is_defined || symbols[i].is_needed)
			return known[i].name;
	}
	return NULL;
}

/* Messages.  Around "malloc", so that this program does not contain them itself. */

static const struct {
	const char *before, *after, *name;
} messages[] = {
	{ "mi", ": error: ", "mimalloc" },
	{ "<je", ">: ", "jemalloc" },
	{ "tc", ": large alloc ", "tcmalloc" },
};

enum {
	CHUNK = 1 << 20,
	CONTEXT = 32,          /* bytes that a message needs on both sides of "malloc" */
	MAX_BYTES = 256 << 20, /* of all segments that are searched */
};

static bool ends_with(const char *end, const char *text)
{
	size_t len = strlen(text);

	return memcmp(end - len, text, len) == 0;
}

static const char *message_at(const char *at)
{
	for (unsigned i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		if (ends_with(at, messages[i].before) &&
		    memcmp(at + strlen("malloc"), messages[i].after, strlen(messages[i].after)) ==
			    0)
			return messages[i].name;
	}
	return NULL;
}

/* `bytes` has CONTEXT bytes more on both sides. */
static const char *find_in_bytes(const char *bytes, size_t len)
{
	const char *at = bytes, *end = bytes + len;

	while ((at = memmem(at, (size_t)(end - at), "malloc", strlen("malloc")))) {
		const char *name = message_at(at);

		if (name)
			return name;
		at++;
	}
	return NULL;
}

/* Chunks overlap, so that each message is whole in one of them. */
static const char *find_in_segment(int fd, const Elf64_Phdr *header, char *room)
{
	const char *name = NULL;

	for (uint64_t done = 0; !name && done < header->p_filesz; done += CHUNK - 2 * CONTEXT) {
		uint64_t left = header->p_filesz - done;
		size_t len = left < CHUNK ? (size_t)left : CHUNK;

		memset(room, 0, CONTEXT);
		memset(room + CONTEXT + len, 0, CONTEXT);
		if (allo_elf_read(fd, header->p_offset + done, room + CONTEXT, len) != len)
			break;
		name = find_in_bytes(room + CONTEXT, len);
	}
	return name;
}

/* Searches constants: segments that can be neither written nor executed. */
static const char *find_message(int fd)
{
	ALLO_DEFER(allo_free_pointer) Elf64_Phdr *headers = NULL;
	ALLO_DEFER(allo_free_pointer) char *room = malloc(CHUNK + 2 * CONTEXT);
	const char *name = NULL;
	uint64_t bytes = 0;
	size_t count = 0;

	if (!room || !allo_elf_read_headers(fd, &headers, &count))
		return NULL;
	for (size_t i = 0; !name && i < count; i++) {
		if (headers[i].p_type != PT_LOAD || headers[i].p_flags != PF_R ||
		    headers[i].p_filesz > MAX_BYTES - bytes)
			continue;
		bytes += headers[i].p_filesz;
		name = find_in_segment(fd, &headers[i], room);
	}
	return name;
}

const char *allo_direct_allocator(int fd)
{
	struct allo_elf_symbol symbols[KNOWN] = { 0 };
	const char *name;
	bool is_stripped;

	for (unsigned i = 0; i < KNOWN; i++)
		symbols[i].name = known[i].function;
	allo_elf_find_symbols(fd, symbols, KNOWN);
	is_stripped = !allo_elf_find_static_symbols(fd, symbols, KNOWN);
	name = find_function(symbols);
	return name || !is_stripped ? name : find_message(fd);
}
