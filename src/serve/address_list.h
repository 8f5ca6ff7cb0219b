/*
 * address_list.h - the body of POST /symbol: addresses in hexadecimal, with '+' between them.
 */
#ifndef ALLO_SERVE_ADDRESS_LIST_H
#define ALLO_SERVE_ADDRESS_LIST_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALLO_ADDRESSES_MAX = 1 << 16 }; /* of a request; more are ignored */

struct allo_address_list {
	struct allo_text rest;
	size_t count; /* of the pieces so far */
};

/* The next address.  Passes over what is none, and over 0.  False at the end. */
bool allo_address_list_next(struct allo_address_list *list, uint64_t *address);

#endif
