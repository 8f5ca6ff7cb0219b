/* embedded_engine.c - see embedded_engine.h. */
#include "wasm/embedded_engine.h"

/* tools/embed.sh makes them. */
extern const char allo_engine_wasm_zst[];
extern const unsigned long allo_engine_wasm_zst_len;

struct allo_text allo_embedded_engine(void)
{
	return (struct allo_text){ allo_engine_wasm_zst, allo_engine_wasm_zst_len };
}
