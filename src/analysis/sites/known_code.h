/*
 * known_code.h - prior knowledge about functions that allocate on behalf of their callers.
 *
 * known_code.c has the tables: to add a family of wrappers, add a table there.
 */
#ifndef ALLO_ANALYSIS_KNOWN_CODE_H
#define ALLO_ANALYSIS_KNOWN_CODE_H

#include "base/text.h"

/* The part that a call plays in an allocation. */
enum allo_role {
	ALLO_ROLE_NONE,           /* not judged yet */
	ALLO_ROLE_CODE,           /* may be responsible */
	ALLO_ROLE_NAMELESS,       /* the same, but only its address is known */
	ALLO_ROLE_SCRIPT,         /* a function of an interpreted program: Python, JavaScript */
	ALLO_ROLE_STARTUP,        /* calls main() or a thread's function */
	ALLO_ROLE_SCRIPT_LIBRARY, /* a function of the standard library of such a program */
	ALLO_ROLE_LIBRARY,        /* containers and language runtimes */
	ALLO_ROLE_WRAPPER,        /* wraps an allocator: xmalloc(), sdsnewlen() */
	ALLO_ROLE_ALLOCATOR,      /* malloc(), operator new */
};

/* A role, and the name of the library for people; NULL for single functions. */
struct allo_known_code {
	enum allo_role role; /* ALLO_ROLE_CODE: nothing is known */
	const char *library;
};

/* Looks a function up in the tables.  The file may be empty.  `is_rust`: the program has Rust code,
 * so that core:: and alloc:: are crates and not namespaces of C++. */
struct allo_known_code allo_known_function(struct allo_text name, struct allo_text file,
					   bool is_rust);

/* The same for all functions of a program or library. */
struct allo_known_code allo_known_module(struct allo_text path);

/* The language whose standard library a source file is of, by its folder. */
enum allo_file_library { ALLO_FILE_OF_NONE, ALLO_FILE_OF_CPP, ALLO_FILE_OF_RUST };
enum allo_file_library allo_known_file(struct allo_text path);

/* Whether a function proves that the program has Rust code. */
bool allo_is_rust_function(struct allo_text name, struct allo_text file);

/* Whether a function is one of an interpreted program. */
bool allo_is_script_function(struct allo_text name);

/* Whether a program or library is the interpreter of such programs. */
bool allo_is_interpreter(struct allo_text module);

struct allo_function;
struct allo_profile;

/* The name that tells what a function is: its linkage name if it is one of an interpreted program.
 */
struct allo_text allo_judged_name(const struct allo_profile *profile,
				  const struct allo_function *function);

#endif
