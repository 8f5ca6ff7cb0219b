/*
 * python_objects.h - hooks of CPython's allocators, which hand out objects from arenas.
 *
 * The hooks call the real allocators, so the layout of the program's memory does not change.  The
 * memory that these allocators request from malloc or mmap is not recorded: its objects are.
 */
#ifndef ALLO_CAPTURE_PYTHON_OBJECTS_H
#define ALLO_CAPTURE_PYTHON_OBJECTS_H

#include <stdbool.h>

/* An allocator, as CPython's interface passes it. */
struct allo_python_allocator {
	void *context;
	void *(*malloc)(void *context, __SIZE_TYPE__ size);
	void *(*calloc)(void *context, __SIZE_TYPE__ count, __SIZE_TYPE__ size);
	void *(*realloc)(void *context, void *object, __SIZE_TYPE__ size);
	void (*free)(void *context, void *object);
};

typedef void allo_python_get_allocator(int domain, struct allo_python_allocator *allocator);

/* PyMem_GetAllocator and PyMem_SetAllocator, or NULL.  `raw_is_malloc`: PyMem_RawMalloc() calls
 * malloc. */
void allo_python_objects_init(allo_python_get_allocator *get, allo_python_get_allocator *set,
			      bool raw_is_malloc);

/* Puts hooks in front of the allocators of objects, unless they are there, or these call malloc for
 * each object.  The interpreter replaces its allocators when it starts with some options. */
void allo_python_objects_hook(void);

/* Whether objects are recorded. */
bool allo_python_objects_are_hooked(void);

/* Turns the hooks on or off, with the recording. */
void allo_python_objects_update(void);

#endif
