/*
 * python_layout.h - the offsets in CPython that a walk along its frames reads, by version.
 *
 * The layout is stable within a minor version.  All offsets are in bytes.
 */
#ifndef ALLO_CAPTURE_PYTHON_LAYOUT_H
#define ALLO_CAPTURE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Versions whose frames have the same fields at the same places. */
enum allo_python_shape {
	ALLO_PYTHON_FRAME_OBJECTS, /* 3.10: frames are objects, with a 32-bit instruction */
	ALLO_PYTHON_ENTRY_FLAGS,   /* 3.11: a flag marks the frame that the interpreter entered */
	ALLO_PYTHON_ENTRY_FRAMES,  /* 3.12 and later: the interpreter adds an entry frame */
};

struct allo_python_layout {
	uint8_t minor;
	bool is_free_threaded;
	enum allo_python_shape shape;
	uint16_t finalizing; /* in _PyRuntime; 0: see python_layout.c */
	/* In the state of a thread: the top frame, or the C frame that `top_in_c_frame` is in. */
	uint16_t top, c_frame;
	uint16_t top_in_c_frame, previous_c_frame;                 /* in a C frame */
	uint16_t is_entry, owner;                                  /* in a frame */
	uint16_t filename, name, first_line, line_table, bytecode; /* in a code object */
	uint16_t copies; /* in a code object: the threads' copies of its bytecode; 0: none */
	uint16_t text_length, text_state, text_ascii, text_other; /* in a str */
	uint8_t text_shift; /* the number of bits of the state below the size of a character */
	uint16_t bytes_length,
		bytes;        /* the length is at the same place in all objects that have one */
	uint16_t type;        /* in an object */
	uint16_t deallocator; /* in a type */
};

/* Offsets of the frame's fields, by shape: constants, so that a walk reads no table. */
struct allo_python_frame_fields {
	uint16_t code, instruction, previous;
	bool is_short;   /* the instruction has 32 bits */
	bool tells_code; /* the instruction is an address inside of the code object */
};

static inline struct allo_python_frame_fields allo_python_frame_fields(enum allo_python_shape shape)
{
	switch (shape) {
	case ALLO_PYTHON_FRAME_OBJECTS:
		return (struct allo_python_frame_fields){ 32, 96, 24, true, false };
	case ALLO_PYTHON_ENTRY_FLAGS:
		return (struct allo_python_frame_fields){ 32, 56, 48, false, true };
	default:
		return (struct allo_python_frame_fields){ 0, 56, 8, false, true };
	}
}

/* The layout of version 3.`minor`; NULL if it is not known. */
const struct allo_python_layout *allo_python_layout_find(unsigned minor, bool is_free_threaded);

/* Whether _PyRuntime says that this build is free-threaded. */
bool allo_python_is_free_threaded(unsigned minor, const void *runtime);

/* Whether PyMem_RawMalloc() calls malloc, as in all builds that have a GIL. */
bool allo_python_raw_is_malloc(unsigned minor, const void *runtime);

/* Whether the interpreter's own table of offsets, which 3.13 and later have, agrees. */
bool allo_python_layout_agrees(const struct allo_python_layout *layout, const void *runtime);

/* Offset in _PyRuntime of the word that is not 0 when the interpreter ends. */
uint64_t allo_python_layout_finalizing(const struct allo_python_layout *layout,
				       const void *runtime);

#endif
