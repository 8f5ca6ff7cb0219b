/* python_layout.c - the layouts, and how each version describes itself. */
#include "capture/python/python_layout.h"

#include <stddef.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* Offsets in the tables of 3.12 and later that do not depend on the version, but on threading. */
#define TEXT_GIL                                                                                   \
	.text_length = 16, .text_state = 32, .text_ascii = 40, .text_other = 56, .text_shift = 2,  \
	.bytes_length = 16, .bytes = 32, .type = 8, .deallocator = 48
#define TEXT_FREE_THREADED                                                                         \
	.text_length = 32, .text_state = 48, .text_ascii = 56, .text_other = 72,                   \
	.bytes_length = 32, .bytes = 48, .type = 24, .deallocator = 64

static const struct allo_python_layout layouts[] = {
	{ .minor = 10,
	  .shape = ALLO_PYTHON_FRAME_OBJECTS,
	  .finalizing = 16,
	  .top = 24,
	  .c_frame = 48,
	  .previous_c_frame = 8,
	  .filename = 104,
	  .name = 112,
	  .first_line = 40,
	  .line_table = 120,
	  .text_length = 16,
	  .text_state = 32,
	  .text_ascii = 48,
	  .text_other = 72,
	  .text_shift = 2,
	  .bytes_length = 16,
	  .bytes = 32,
	  .type = 8,
	  .deallocator = 48 },
	{ .minor = 11,
	  .shape = ALLO_PYTHON_ENTRY_FLAGS,
	  .finalizing = 24,
	  .top = 56,
	  .c_frame = 56,
	  .top_in_c_frame = 8,
	  .previous_c_frame = 16,
	  .is_entry = 68,
	  .owner = 69,
	  .filename = 112,
	  .name = 128,
	  .first_line = 72,
	  .line_table = 136,
	  .bytecode = 184,
	  .text_length = 16,
	  .text_state = 32,
	  .text_ascii = 48,
	  .text_other = 72,
	  .text_shift = 2,
	  .bytes_length = 16,
	  .bytes = 32,
	  .type = 8,
	  .deallocator = 48 },
	{ .minor = 12,
	  .shape = ALLO_PYTHON_ENTRY_FRAMES,
	  .finalizing = 24,
	  .top = 56,
	  .c_frame = 56,
	  .owner = 70,
	  .filename = 112,
	  .name = 128,
	  .first_line = 68,
	  .line_table = 136,
	  .bytecode = 192,
	  TEXT_GIL },
	{ .minor = 13,
	  .shape = ALLO_PYTHON_ENTRY_FRAMES,
	  .top = 72,
	  .owner = 70,
	  .filename = 112,
	  .name = 128,
	  .first_line = 68,
	  .line_table = 136,
	  .bytecode = 200,
	  TEXT_GIL },
	{ .minor = 13,
	  .is_free_threaded = true,
	  .shape = ALLO_PYTHON_ENTRY_FRAMES,
	  .top = 72,
	  .owner = 70,
	  .filename = 128,
	  .name = 144,
	  .first_line = 84,
	  .line_table = 152,
	  .bytecode = 216,
	  .text_shift = 2,
	  TEXT_FREE_THREADED },
	{ .minor = 14,
	  .shape = ALLO_PYTHON_ENTRY_FRAMES,
	  .top = 72,
	  .owner = 74,
	  .filename = 112,
	  .name = 128,
	  .first_line = 68,
	  .line_table = 136,
	  .bytecode = 208,
	  TEXT_GIL },
	{ .minor = 14,
	  .is_free_threaded = true,
	  .shape = ALLO_PYTHON_ENTRY_FRAMES,
	  .top = 72,
	  .owner = 78,
	  .filename = 128,
	  .name = 144,
	  .first_line = 84,
	  .line_table = 152,
	  .bytecode = 232,
	  .copies = 224,
	  .text_shift = 8,
	  TEXT_FREE_THREADED },
	{ .minor = 15,
	  .shape = ALLO_PYTHON_ENTRY_FRAMES,
	  .top = 72,
	  .owner = 74,
	  .filename = 112,
	  .name = 128,
	  .first_line = 68,
	  .line_table = 136,
	  .bytecode = 208,
	  TEXT_GIL },
	{ .minor = 15,
	  .is_free_threaded = true,
	  .shape = ALLO_PYTHON_ENTRY_FRAMES,
	  .top = 72,
	  .owner = 78,
	  .filename = 128,
	  .name = 144,
	  .first_line = 84,
	  .line_table = 152,
	  .bytecode = 232,
	  .copies = 224,
	  .text_shift = 8,
	  TEXT_FREE_THREADED },
};

/* Where the interpreter's own table is in _PyRuntime.  Its first words are the same in all
 * versions, but the rest moves with each. */
enum { OWN_MAGIC = 0, OWN_FREE_THREADED = 16, OWN_FINALIZING = 32, OWN_TABLE_SINCE = 13 };

/* Offsets in that table. */
struct own_table {
	uint8_t minor;
	uint16_t top, previous, code, instruction, owner;
	uint16_t filename, name, line_table, first_line, bytecode;
	uint16_t copies; /* 0: the version has none */
};

static const struct own_table own_tables[] = {
	{ 13, 184, 232, 240, 248, 264, 280, 296, 304, 312, 344, 0 },
	{ 14, 208, 256, 264, 272, 288, 320, 336, 344, 352, 384, 392 },
	{ 15, 208, 320, 328, 336, 352, 384, 400, 408, 416, 448, 456 },
};

static uint64_t own_word(const void *runtime, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)runtime + offset, sizeof(word));
	return word;
}

const struct allo_python_layout *allo_python_layout_find(unsigned minor, bool is_free_threaded)
{
	for (size_t i = 0; i < COUNT(layouts); i++) {
		if (layouts[i].minor == minor && layouts[i].is_free_threaded == is_free_threaded)
			return &layouts[i];
	}
	return NULL;
}

bool allo_python_is_free_threaded(unsigned minor, const void *runtime)
{
	return minor >= OWN_TABLE_SINCE && own_word(runtime, OWN_FREE_THREADED) != 0;
}

bool allo_python_raw_is_malloc(unsigned minor, const void *runtime)
{
	return minor < 15 || !allo_python_is_free_threaded(minor, runtime);
}

bool allo_python_layout_agrees(const struct allo_python_layout *layout, const void *runtime)
{
	struct allo_python_frame_fields fields = allo_python_frame_fields(layout->shape);
	const struct own_table *own = NULL;

	if (layout->minor < OWN_TABLE_SINCE)
		return true;
	for (size_t i = 0; i < COUNT(own_tables); i++) {
		if (own_tables[i].minor == layout->minor)
			own = &own_tables[i];
	}
	return own && memcmp((const char *)runtime + OWN_MAGIC, "xdebugpy", 8) == 0 &&
	       own_word(runtime, own->top) == layout->top &&
	       own_word(runtime, own->previous) == fields.previous &&
	       own_word(runtime, own->code) == fields.code &&
	       own_word(runtime, own->instruction) == fields.instruction &&
	       own_word(runtime, own->owner) == layout->owner &&
	       own_word(runtime, own->filename) == layout->filename &&
	       own_word(runtime, own->name) == layout->name &&
	       own_word(runtime, own->line_table) == layout->line_table &&
	       own_word(runtime, own->first_line) == layout->first_line &&
	       own_word(runtime, own->bytecode) == layout->bytecode &&
	       (!layout->copies || own_word(runtime, own->copies) == layout->copies);
}

uint64_t allo_python_layout_finalizing(const struct allo_python_layout *layout, const void *runtime)
{
	return layout->finalizing ? layout->finalizing : own_word(runtime, OWN_FINALIZING);
}
