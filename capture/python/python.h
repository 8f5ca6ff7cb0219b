/*
 * python.h - finds CPython in the process, and puts its functions into stacks.
 *
 * Nothing is linked: the interpreter exports all that is needed.  It is the program itself, or a
 * library that the program links or loads later.  Stacks have Python functions only if the layout
 * of this version is known and agrees with the interpreter's own table
 * (python_layout.h); otherwise the recording says why not.
 */
#ifndef ALLO_CAPTURE_PYTHON_H
#define ALLO_CAPTURE_PYTHON_H

#include "capture/python/python_layout.h"
#include "capture/stacks/unwind.h"
#include "capture/visibility.h"

struct allo_python {
	const struct allo_python_layout *layout; /* NULL: no functions of Python in stacks */
	void *(*current)(void);                  /* state of the thread; NULL without the GIL */
	void *(*bound)(void);                    /* the same, also without the GIL */
	const uint64_t *finalizing;              /* not 0 when the interpreter ends */
	const void *code_type;                   /* the type of code objects */
};

ALLO_HIDDEN extern struct allo_python allo_python;

/* Stacks have functions of Python. */
ALLO_HIDDEN extern bool allo_python_is_on;

/* There is something to tell: see allo_python_tell(). */
ALLO_HIDDEN extern bool allo_python_has_news;

/* Looks for CPython in the program and the libraries that it links. */
void allo_python_init(void);

struct allo_code_module;

/* Looks at a library that may have been loaded later.  Called under the lock of the stacks, so the
 * rest is left to allo_python_tell(). */
void allo_python_see_module(const struct allo_code_module *module);

/* The program may be about to unload a library.  Called outside of all hooks. */
void allo_python_keep_library(void);

/* A recording has begun. */
void allo_python_begin(void);

/* Starts to use a Python library that was seen, and writes the findings to the recording.  Called
 * inside of a hook, without locks. */
void allo_python_tell(void);

struct allo_thread_state;

/* The id of the stack with the functions of Python in place of the interpreter's own frames, from
 * the id of the native stack, which is not 0. */
uint32_t allo_python_stack(struct allo_thread_state *thread, uint32_t native,
			   const struct allo_registers *caller);

#endif
