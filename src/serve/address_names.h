/*
 * address_names.h - names for addresses in a served process, for the `symbol` paths.
 */
#ifndef ALLO_SERVE_ADDRESS_NAMES_H
#define ALLO_SERVE_ADDRESS_NAMES_H

#include "base/text.h"
#include "serve/process_list.h"
#include "symbols/symbols.h"

struct allo_address_request {
	const struct allo_served_process *process;
	const struct allo_symbol_options *symbols;
	struct allo_text addresses; /* 0x401000+0x402000 */
	bool lists_inlined;         /* inlined calls too: "inner--outer" */
};

/* For a worker: writes a line "0x401000<TAB>main" for each address that has a name. */
unsigned allo_address_names(const void *request, int out, struct allo_error *err);

#endif
