/*
 * embedded_engine.h - the copy of engine.wasm that allo carries for the pages it writes.
 */
#ifndef ALLO_WASM_EMBEDDED_ENGINE_H
#define ALLO_WASM_EMBEDDED_ENGINE_H

#include "base/text.h"

/* The bytes of engine.wasm, packed with zstd; empty if allo was built without the engine. */
struct allo_text allo_embedded_engine(void);

#endif
