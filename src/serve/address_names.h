/*
 * address_names.h - what is at addresses of a process, for those who ask for one after the other.
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
	bool lists_inlined;         /* all functions at an address: "inner--outer" */
};

/* An worker: a line for each address of which something is known, "0x401000<TAB>main". */
unsigned allo_address_names(const void *wish, int out, struct allo_error *err);

#endif
