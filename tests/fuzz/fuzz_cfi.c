/*
 * fuzz_cfi.c - an unwind table and an address to look up in it.
 *
 * A byte that says for which machine (its lowest bit: aarch64), four with the address from the
 * table's start, and the table: an .eh_frame_hdr and the bytes after it.
 */
#include "capture/stacks/cfi.h"
#include "capture/stacks/rule.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A rule that would read where it must not, or lead nowhere. */
static bool is_bad(uint32_t rule)
{
	switch (allo_rule_kind(rule)) {
	case ALLO_RULE_EMPTY:
		return true;
	case ALLO_RULE_SP:
	case ALLO_RULE_FP:
	case ALLO_RULE_STANDARD:
		return allo_rule_cfa(rule) < 8;
	case ALLO_RULE_DRAP:
		return allo_rule_fp(rule) >= 0;
	default:
		return false;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct allo_cfi_arch *arch;
	int32_t offset;
	uint8_t *table;

	if (size < 5)
		return 0;
	arch = data[0] & 1 ? &allo_cfi_aarch64 : &allo_cfi_x86_64;
	memcpy(&offset, data + 1, sizeof(offset));
	size -= 5;
	/* A separate block, so that the sanitizer sees reads beyond either end. */
	table = malloc(size ? size : 1);
	if (!table)
		return 0;
	memcpy(table, data + 5, size);
	if (is_bad(allo_cfi_rule(arch, table, table, table + size,
				 (uint64_t)(uintptr_t)table + (uint64_t)(int64_t)offset)))
		abort();
	free(table);
	return 0;
}
