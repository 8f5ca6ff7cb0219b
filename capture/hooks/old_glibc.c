/*
 * old_glibc.c - keeps liballo.so loadable with glibc 2.28 and later.
 *
 * glibc 2.34 moved these functions into libc.so and gave them that version.  So liballo.so must not
 * refer to them: the linker's option --wrap sends its calls here, and the functions are found at
 * run time.  Before 2.34, a program without libdl or libpthread lacks them.
 *
 * Only liballo.so has this file.  Programs that link the runtime statically get the functions of
 * the libc that they are linked with.
 */
#include "capture/hooks/loaded_symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

/* Defines real_NAME(), which looks up the function NAME the first time. */
#define REAL(name)                                                                                 \
	static __typeof__(name) *real_##name(void)                                                 \
	{                                                                                          \
		static __typeof__(name) *real;                                                     \
                                                                                                   \
		if (!real)                                                                         \
			*(void **)&real = allo_loaded_symbol(#name);                               \
		return real;                                                                       \
	}                                                                                          \
	__typeof__(name) __wrap_##name;

REAL(dlsym)
REAL(dlopen)
REAL(dlerror)
REAL(pthread_key_create)
REAL(pthread_setspecific)
REAL(pthread_getcpuclockid)

/* Without libdl, a program has the libraries of its start only. */
void *__wrap_dlsym(void *handle, const char *name)
{
	__typeof__(dlsym) *real = real_dlsym();

	return real ? real(handle, name) : allo_loaded_symbol(name);
}

void *__wrap_dlopen(const char *name, int mode)
{
	__typeof__(dlopen) *real = real_dlopen();

	return real ? real(name, mode) : NULL;
}

char *__wrap_dlerror(void)
{
	__typeof__(dlerror) *real = real_dlerror();

	return real ? real() : NULL;
}

/* Without libpthread, a program has one thread. */
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	__typeof__(pthread_key_create) *real = real_pthread_key_create();

	return real ? real(key, destructor) : ENOSYS;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	__typeof__(pthread_setspecific) *real = real_pthread_setspecific();

	return real ? real(key, value) : ENOSYS;
}

int __wrap_pthread_getcpuclockid(pthread_t thread, clockid_t *clock)
{
	__typeof__(pthread_getcpuclockid) *real = real_pthread_getcpuclockid();

	return real ? real(thread, clock) : ENOSYS;
}
