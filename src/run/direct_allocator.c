/* direct_allocator.c - looks for functions and messages of known allocators. */
#include "run/direct_allocator.h"

#include "base/defer.h"
#include "run/elf_symbols.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *function, *name;
	bool is_recorded; /* the runtime patches it, or says why not */
} known[] = {
	{ "mi_malloc", "mimalloc", true },        { "mi_malloc_aligned", "mimalloc", true },
	{ "je_malloc", "jemalloc", true },        { "_rjem_malloc", "jemalloc", true },
	{ "duckdb_je_malloc", "jemalloc", true }, { "tc_malloc", "tcmalloc", true },
	{ "rpmalloc", "rpmalloc", false },        { "sn_malloc", "snmalloc", false },
	{ "sn_rust_alloc", "snmalloc", false },   { "nedmalloc", "nedmalloc", false },
	{ "dlmalloc", "dlmalloc", false },        { "tlsf_malloc", "TLSF", false },
};

enum { KNOWN = sizeof(known) / sizeof(*known) };

/* Functions. */

/* The number of the first function that the program defines or imports; KNOWN: there is none. */
static unsigned find_function(const struct allo_elf_symbol *symbols)
{
	unsigned i = 0;

	while (i < KNOWN && !symbols[i].is_defined && !symbols[i].is_needed)
		i++;
	return i;
}

/* The symbols of a debug file with the same build-id, where the runtime looks, too. */
static bool find_debug_symbols(int fd, struct allo_elf_symbol *symbols)
{
	unsigned char id[64];
	size_t len = allo_elf_build_id(fd, id, sizeof(id));
	char path[2 * sizeof(id) + 64];
	int at = snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/"), debug;
	bool is_there;

	if (len < 2)
		return false;
	for (size_t i = 0; i < len; i++)
		at += snprintf(path + at, sizeof(path) - (size_t)at, i == 0 ? "%02x/" : "%02x",
			       id[i]);
	snprintf(path + at, sizeof(path) - (size_t)at, ".debug");
	debug = open(path, O_RDONLY | O_CLOEXEC);
	if (debug < 0)
		return false;
	is_there = allo_elf_find_static_symbols(debug, symbols, KNOWN);
	close(debug);
	return is_there;
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

/* A stripped program whose malloc is exported has the messages of what is behind it. */
static struct allo_direct_allocator find_stripped(int fd)
{
	struct allo_elf_symbol malloc_symbol = { .name = "malloc" };
	const char *name = NULL;

	allo_elf_find_symbols(fd, &malloc_symbol, 1);
	if (!malloc_symbol.is_defined)
		name = find_message(fd);
	return (struct allo_direct_allocator){ .name = name, .is_stripped = true };
}

struct allo_direct_allocator allo_direct_allocator_find(int fd)
{
	struct allo_elf_symbol symbols[KNOWN] = { 0 };
	struct allo_direct_allocator none = { 0 };
	bool has_symbols;
	unsigned found;

	for (unsigned i = 0; i < KNOWN; i++)
		symbols[i].name = known[i].function;
	allo_elf_find_symbols(fd, symbols, KNOWN);
	has_symbols = allo_elf_find_static_symbols(fd, symbols, KNOWN) ||
		      find_debug_symbols(fd, symbols);
	found = find_function(symbols);
	if (found == KNOWN)
		return has_symbols ? none : find_stripped(fd);
	return (struct allo_direct_allocator){
		.name = known[found].name,
		.is_recorded = known[found].is_recorded,
	};
}
