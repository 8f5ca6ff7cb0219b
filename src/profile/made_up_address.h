/*
 * made_up_address.h - addresses for frames that have none, in text that knows frames by address.
 *
 * The writer of gperftools' text makes them up and its reader drops them.  They are not canonical
 * on x86-64 or AArch64, so no code is ever there.
 */
#ifndef ALLO_PROFILE_MADE_UP_ADDRESS_H
#define ALLO_PROFILE_MADE_UP_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* The first of 2^32 addresses. */
#define ALLO_MADE_UP_ADDRESS (UINT64_C(1) << 62)

static inline bool allo_is_made_up_address(uint64_t address)
{
	return address - ALLO_MADE_UP_ADDRESS <= UINT32_MAX;
}

#endif
