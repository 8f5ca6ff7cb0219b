/* modules.c - see modules.h. */
#include "capture/modules.h"
#include "capture/metadata_stream.h"
#include "capture/program_headers.h"
#include "capture/recorder.h"
#include "wire/stacks.h"

#include <string.h>

enum { BUILD_ID_MAX = 64 };
_Static_assert(5 * ALLO_VARINT_MAX + BUILD_ID_MAX + PATH_MAX <= ALLO_METADATA_MAX, "a module fits");

bool allo_modules_begin(struct allo_modules *modules)
{
	modules->facts = allo_tail_open(ALLO_STREAM_FACTS);
	return modules->facts != NULL;
}

/* The identifier in one of a module's notes; `len` is 0 when it is not there. */
static const uint8_t *find_in_notes(const uint8_t *at, const uint8_t *end, size_t *len)
{
	while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		size_t name = (note->n_namesz + 3) & ~3u, data = (note->n_descsz + 3) & ~3u;

		at += sizeof(*note);
		if (name > (size_t)(end - at) || data > (size_t)(end - at) - name)
			break;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(at, "GNU", 4) == 0 && note->n_descsz <= BUILD_ID_MAX) {
			*len = note->n_descsz;
			return at + name;
		}
		at += name + data;
	}
	*len = 0;
	return NULL;
}

static const uint8_t *find_build_id(const struct dl_find_object *module, size_t *len)
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

static void tell_module(struct allo_modules *modules, const struct dl_find_object *module)
{
	const struct allo_wire_head *head = allo_recorder->head;
	const char *path = module->dlfo_link_map->l_name;
	size_t path_len = strlen(path), id_len;
	const uint8_t *id = find_build_id(module, &id_len);
	uint8_t *at = allo_metadata_begin(modules->facts);

	if (!at)
		return;
	if (path_len == 0) { /* the program itself */
		path = (const char *)head + head->program.at;
		path_len = head->program.len;
	}
	if (path_len > PATH_MAX)
		path_len = PATH_MAX;
	at = allo_varint_put(at, allo_recorder->generation);
	at = allo_varint_put(at, module->dlfo_link_map->l_addr);
	at = allo_varint_put(at, (uint64_t)module->dlfo_map_start);
	at = allo_varint_put(at, (uint64_t)module->dlfo_map_end);
	at = allo_varint_put(at, id_len);
	if (id_len > 0)
		memcpy(at, id, id_len);
	memcpy(at + id_len, path, path_len);
	allo_metadata_end(modules->facts, ALLO_FACT_MODULE, at + id_len + path_len);
}

static bool is_in(const struct allo_mapped_module *module, uint64_t pc)
{
	return pc - module->start < module->end - module->start;
}

void allo_modules_note(struct allo_modules *modules, uint64_t pc)
{
	struct dl_find_object module;

	if (modules->count > 0 && is_in(&modules->known[modules->last], pc))
		return;
	for (uint32_t i = 0; i < modules->count; i++) {
		if (is_in(&modules->known[i], pc)) {
			modules->last = i;
			return;
		}
	}
	/* Code that was made at run time has no module. */
	if (modules->count == ALLO_MODULES_MAX || _dl_find_object((void *)pc, &module) != 0)
		return;
	modules->last = modules->count++;
	modules->known[modules->last] = (struct allo_mapped_module){
		(uint64_t)module.dlfo_map_start, (uint64_t)module.dlfo_map_end, module.dlfo_link_map
	};
	tell_module(modules, &module);
}

static bool is_there(const struct allo_mapped_module *module)
{
	struct dl_find_object found;

	return _dl_find_object((void *)module->start, &found) == 0 &&
	       found.dlfo_link_map == module->map &&
	       (uint64_t)found.dlfo_map_start == module->start;
}

static void tell_gone(struct allo_modules *modules, const struct allo_mapped_module *module)
{
	uint8_t *at = allo_metadata_begin(modules->facts);

	if (!at)
		return;
	at = allo_varint_put(at, allo_recorder->generation);
	at = allo_varint_put(at, module->start);
	allo_metadata_end(modules->facts, ALLO_FACT_MODULE_GONE, at);
}

void allo_modules_check(struct allo_modules *modules)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < modules->count; i++) {
		if (is_there(&modules->known[i]))
			modules->known[kept++] = modules->known[i];
		else
			tell_gone(modules, &modules->known[i]);
	}
	modules->count = kept;
	modules->last = 0;
}
