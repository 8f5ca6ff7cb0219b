/*
 * imports.h - the functions that JavaScript provides to the engine, in the import module "allo".
 */
#ifndef ALLO_WASM_IMPORTS_H
#define ALLO_WASM_IMPORTS_H

#include <stddef.h>
#include <stdint.h>

#define ALLO_IMPORT(name) __attribute__((import_module("allo"), import_name(name)))

/* 64 random bits: crypto.getRandomValues(). */
ALLO_IMPORT("random") uint64_t allo_import_random(void);

/* Unpacks a zstd frame of `len` bytes into `out`.  Returns 1 if the frame is intact and has exactly
 * `out_len` bytes, else 0. */
ALLO_IMPORT("unpack_zstd")
int allo_import_unpack_zstd(const void *frame, size_t len, void *out, size_t out_len);

#endif
