/* metadata_stream.c - records of the metadata stream, and the table of modules behind them. */
#include "capture/metadata_stream.h"
#include "base/assert.h"
#include "capture/debug_log.h"
#include "capture/program_headers.h"
#include "capture/recorder.h"
#include "capture/settings.h"
#include "wire/stacks.h"

#include <string.h>

enum {
	RECORD_HEAD = 3, /* the kind and a 2-byte length */
	BUILD_ID_MAX = 64,
};
_Static_assert(5 * ALLO_VARINT_MAX + BUILD_ID_MAX + PATH_MAX <= ALLO_METADATA_MAX, "a module fits");

bool allo_metadata_open(struct allo_metadata *metadata)
{
	metadata->tail = allo_tail_open(ALLO_STREAM_FACTS);
	return metadata->tail != NULL;
}

uint8_t *allo_metadata_begin(struct allo_wire_slot *tail)
{
	if (tail->used + RECORD_HEAD + ALLO_METADATA_MAX > ALLO_SLOT_ROOM &&
	    !allo_tail_seal(tail, 0, 0))
		return NULL;
	return (uint8_t *)(tail + 1) + tail->used + RECORD_HEAD;
}

void allo_metadata_end(struct allo_wire_slot *tail, enum allo_fact fact, const uint8_t *end)
{
	uint8_t *start = (uint8_t *)(tail + 1) + tail->used;
	size_t len = (size_t)(end - start) - RECORD_HEAD;

	ALLO_ASSERT(end >= start + RECORD_HEAD && len <= ALLO_METADATA_MAX);
	start[0] = (uint8_t)fact;
	/* Always two bytes: the space was left before the length was known. */
	start[1] = (uint8_t)(len | 0x80);
	start[2] = (uint8_t)(len >> 7);
	__atomic_store_n(&tail->used, tail->used + (uint32_t)(RECORD_HEAD + len), __ATOMIC_RELEASE);
}

/* Modules. */

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

static void write_module(struct allo_metadata *metadata, const struct dl_find_object *module)
{
	const struct allo_wire_head *head = allo_recorder->head;
	const char *path = module->dlfo_link_map->l_name;
	size_t path_len = strlen(path), id_len;
	const uint8_t *id = find_build_id(module, &id_len);
	uint8_t *at = allo_metadata_begin(metadata->tail);

	if (!at)
		return;
	if (path_len == 0) { /* the program itself */
		path = (const char *)head + head->program.at;
		path_len = head->program.len;
	}
	ALLO_DEBUG(ALLO_DEBUG_STREAM, "module %s at %#lx, %s unwind table, %s build id",
		   module->dlfo_link_map->l_name[0] ? path : allo_settings.program,
		   (unsigned long)module->dlfo_map_start,
		   module->dlfo_eh_frame ? "with" : "without", id_len ? "with" : "without");
	if (path_len > PATH_MAX)
		path_len = PATH_MAX;
	at = allo_varint_put(at, allo_recorder_generation());
	at = allo_varint_put(at, module->dlfo_link_map->l_addr);
	at = allo_varint_put(at, (uint64_t)module->dlfo_map_start);
	at = allo_varint_put(at, (uint64_t)module->dlfo_map_end);
	at = allo_varint_put(at, id_len);
	if (id_len > 0)
		memcpy(at, id, id_len);
	memcpy(at + id_len, path, path_len);
	allo_metadata_end(metadata->tail, ALLO_FACT_MODULE, at + id_len + path_len);
}

static bool is_in(const struct allo_mapped_module *module, uint64_t pc)
{
	return pc - module->start < module->end - module->start;
}

void allo_metadata_note_module(struct allo_metadata *metadata, uint64_t pc)
{
	struct dl_find_object found;

	if (metadata->module_count > 0 && is_in(&metadata->modules[metadata->last_module], pc))
		return;
	for (uint32_t i = 0; i < metadata->module_count; i++) {
		if (is_in(&metadata->modules[i], pc)) {
			metadata->last_module = i;
			return;
		}
	}
	/* Code generated at run time has no module. */
	if (metadata->module_count == ALLO_MODULES_MAX || _dl_find_object((void *)pc, &found) != 0)
		return;
	metadata->last_module = metadata->module_count++;
	ALLO_ASSERT(found.dlfo_map_start <= (void *)pc && (void *)pc < found.dlfo_map_end);
	metadata->modules[metadata->last_module] = (struct allo_mapped_module){
		(uint64_t)found.dlfo_map_start, (uint64_t)found.dlfo_map_end, found.dlfo_link_map
	};
	write_module(metadata, &found);
}

static bool is_loaded(const struct allo_mapped_module *module)
{
	struct dl_find_object found;

	return _dl_find_object((void *)module->start, &found) == 0 &&
	       found.dlfo_link_map == module->map &&
	       (uint64_t)found.dlfo_map_start == module->start;
}

static void write_unloaded(struct allo_metadata *metadata, const struct allo_mapped_module *module)
{
	uint8_t *at = allo_metadata_begin(metadata->tail);

	if (!at)
		return;
	ALLO_DEBUG(ALLO_DEBUG_STREAM, "module unloaded: %#lx", (unsigned long)module->start);
	at = allo_varint_put(at, allo_recorder_generation());
	at = allo_varint_put(at, module->start);
	allo_metadata_end(metadata->tail, ALLO_FACT_MODULE_GONE, at);
}

void allo_metadata_check_modules(struct allo_metadata *metadata)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < metadata->module_count; i++) {
		if (is_loaded(&metadata->modules[i]))
			metadata->modules[kept++] = metadata->modules[i];
		else
			write_unloaded(metadata, &metadata->modules[i]);
	}
	metadata->module_count = kept;
	metadata->last_module = 0;
}
