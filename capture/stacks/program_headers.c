#include "capture/stacks/program_headers.h"

#include <string.h>
#include <sys/auxv.h>

/* The kernel passes the program its headers, since its segments need not be contiguous. */
static bool find_of_program(const struct allo_code_module *module,
			    struct allo_program_headers *headers)
{
	headers->table = (const void *)getauxval(AT_PHDR);
	headers->count = getauxval(AT_PHNUM);
	headers->bias = module->bias;
	return headers->table != NULL;
}

static bool find_bias(uint64_t start, struct allo_program_headers *headers)
{
	for (size_t i = 0; i < headers->count; i++) {
		const ElfW(Phdr) *part = &headers->table[i];

		if (part->p_type == PT_LOAD) {
			headers->bias = start + part->p_offset - part->p_vaddr;
			return true;
		}
	}
	return false;
}

bool allo_program_headers_at(const uint8_t *start, size_t size,
			     struct allo_program_headers *headers)
{
	const ElfW(Ehdr) *head = (const void *)start;

	if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phoff > size ||
	    head->e_phnum > (size - head->e_phoff) / sizeof(*headers->table))
		return false;
	headers->table = (const void *)(start + head->e_phoff);
	headers->count = head->e_phnum;
	return find_bias((uint64_t)start, headers);
}

/* A library is mapped as one range that begins with the ELF header. */
bool allo_program_headers_find(const struct allo_code_module *module,
			       struct allo_program_headers *headers)
{
	return module->is_program ? find_of_program(module, headers)
				  : allo_program_headers_at((const uint8_t *)module->start,
							    module->end - module->start, headers);
}

bool allo_segment_find(const struct allo_program_headers *headers, const void *address,
		       const uint8_t **start, const uint8_t **end)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (headers->table[i].p_type != PT_LOAD)
			continue;
		*start = allo_segment_start(headers, i);
		*end = *start + headers->table[i].p_memsz;
		if ((const uint8_t *)address >= *start && (const uint8_t *)address < *end)
			return true;
	}
	return false;
}

/* The build id in a segment of notes; NULL, with *len 0, if the notes have no build id. */
static const uint8_t *find_in_notes(const uint8_t *at, const uint8_t *end, size_t *len)
{
	while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		size_t name = (note->n_namesz + 3) & ~3u, data = (note->n_descsz + 3) & ~3u;

		at += sizeof(*note);
		if (name > (size_t)(end - at) || data > (size_t)(end - at) - name)
			break;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(at, "GNU", 4) == 0 && note->n_descsz <= ALLO_BUILD_ID_MAX) {
			*len = note->n_descsz;
			return at + name;
		}
		at += name + data;
	}
	*len = 0;
	return NULL;
}

const uint8_t *allo_build_id_find(const struct allo_code_module *module, size_t *len)
{
	struct allo_program_headers headers = { 0 };
	const uint8_t *found = NULL, *start, *end, *notes;

	*len = 0;
	if (!allo_program_headers_find(module, &headers))
		return NULL;
	for (size_t i = 0; i < headers.count && !found; i++) {
		notes = allo_segment_start(&headers, i);
		if (headers.table[i].p_type == PT_NOTE &&
		    allo_segment_find(&headers, notes, &start, &end) &&
		    headers.table[i].p_memsz <= (size_t)(end - notes))
			found = find_in_notes(notes, notes + headers.table[i].p_memsz, len);
	}
	return found;
}
