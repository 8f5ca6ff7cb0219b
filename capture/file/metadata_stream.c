/* metadata_stream.c - records of the metadata stream, and the table of modules behind them. */
#include "capture/file/metadata_stream.h"
#include "base/assert.h"
#include "capture/debug_log.h"
#include "capture/file/recorder.h"
#include "capture/hooks/built_in.h"
#include "capture/python/python.h"
#include "capture/settings.h"
#include "capture/stacks/program_headers.h"
#include "wire/stacks.h"

#include <string.h>

enum {
	RECORD_HEAD = 3, /* the kind and a 2-byte length */
};
_Static_assert(5 * ALLO_VARINT_MAX + ALLO_BUILD_ID_MAX + PATH_MAX <= ALLO_METADATA_MAX,
	       "a module fits");

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

/* The program's path is in the head. */
static size_t put_path(const struct allo_code_module *module, uint8_t *at)
{
	const struct allo_wire_head *head = allo_recorder->head;
	size_t len = head->program.len;

	if (!module->is_program)
		return allo_module_path(module, (char *)at, PATH_MAX);
	if (len >= PATH_MAX)
		len = PATH_MAX - 1;
	memcpy(at, (const char *)head + head->program.at, len);
	at[len] = '\0'; /* for the debug log */
	return len;
}

static void write_module(struct allo_metadata *metadata, const struct allo_code_module *module)
{
	size_t path_len, id_len;
	const uint8_t *id = allo_build_id_find(module, &id_len);
	uint8_t *at = allo_metadata_begin(metadata->tail);

	if (!at)
		return;
	at = allo_varint_put(at, allo_recorder_generation());
	at = allo_varint_put(at, module->bias);
	at = allo_varint_put(at, module->start);
	at = allo_varint_put(at, module->end);
	at = allo_varint_put(at, id_len);
	if (id_len > 0)
		memcpy(at, id, id_len);
	at += id_len;
	path_len = put_path(module, at);
	ALLO_DEBUG(ALLO_DEBUG_STREAM, "module %s at %#lx, %s unwind table, %s build id",
		   module->is_program ? allo_settings.program : (const char *)at,
		   (unsigned long)module->start, module->unwind_header ? "with" : "without",
		   id_len ? "with" : "without");
	allo_metadata_end(metadata->tail, ALLO_FACT_MODULE, at + path_len);
	allo_python_see_module(module);
	if (allo_built_in_see_module)
		allo_built_in_see_module(module, metadata->tail);
}

static bool is_in(const struct allo_mapped_module *module, uint64_t pc)
{
	return pc - module->start < module->end - module->start;
}

void allo_metadata_note_module(struct allo_metadata *metadata, uint64_t pc)
{
	struct allo_code_module found;

	if (metadata->module_count > 0 && is_in(&metadata->modules[metadata->last_module], pc))
		return;
	for (uint32_t i = 0; i < metadata->module_count; i++) {
		if (is_in(&metadata->modules[i], pc)) {
			metadata->last_module = i;
			return;
		}
	}
	/* Code generated at run time has no module. */
	if (metadata->module_count == ALLO_MODULES_MAX || !allo_module_find(pc, &found))
		return;
	metadata->last_module = metadata->module_count++;
	ALLO_ASSERT(found.start <= pc && pc < found.end);
	metadata->modules[metadata->last_module] = (struct allo_mapped_module){ found.start,
										found.end,
										found.identity };
	write_module(metadata, &found);
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
		const struct allo_mapped_module *module = &metadata->modules[i];

		if (allo_module_is_loaded(module->start, module->identity))
			metadata->modules[kept++] = *module;
		else
			write_unloaded(metadata, module);
	}
	metadata->module_count = kept;
	metadata->last_module = 0;
}
