/*
 * loaded_symbol.h - finds a function in the libraries that are loaded after ours, without dlsym().
 *
 * Before glibc 2.34, dlsym() and the functions of threads are in libraries of their own, which the
 * program may not have.  This reads the dynamic linker's list of libraries.
 */
#ifndef ALLO_CAPTURE_LOADED_SYMBOL_H
#define ALLO_CAPTURE_LOADED_SYMBOL_H

/* The result of dlsym(RTLD_NEXT, name); NULL also for indirect functions.  No other thread may load
 * or close a library meanwhile. */
void *allo_loaded_symbol(const char *name);

#endif
