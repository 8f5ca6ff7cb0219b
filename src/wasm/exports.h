/*
 * exports.h - the functions of engine.wasm that JavaScript calls.
 *
 * All pointers are offsets into the memory of the engine, which is exported as "memory".
 */
#ifndef ALLO_WASM_EXPORTS_H
#define ALLO_WASM_EXPORTS_H

#include <stddef.h>

#define ALLO_EXPORT(name) __attribute__((export_name(name)))

/* A result: two 32-bit words for JavaScript. */
struct allo_engine_bytes {
	const char *data;
	size_t len;
};

/* Memory for the bytes of a file or of a request; 0 when the engine's 4 GiB are used up. */
ALLO_EXPORT("allo_engine_alloc") void *allo_engine_alloc(size_t size);
ALLO_EXPORT("allo_engine_free") void allo_engine_free(void *memory);

/* Opens a file as the next one; the second is the base of a comparison, which becomes file 2, as in
 * `allo view`.  The engine keeps `data`, from allo_engine_alloc(), and copies the name.  Returns
 * nothing, or a reply that holds the error (doc/reply.md). */
ALLO_EXPORT("allo_engine_open")
const struct allo_engine_bytes *allo_engine_open(const char *name, void *data, size_t len);

/* Answers a request.  The reply is valid until the next call. */
ALLO_EXPORT("allo_engine_ask")
const struct allo_engine_bytes *allo_engine_ask(const char *request, size_t len);

#endif
