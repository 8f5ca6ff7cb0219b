/*
 * cfi_table.h - builds unwind tables that end at an unreadable page.
 *
 * A table is an .eh_frame_hdr with one function, followed by an .eh_frame with two entries: the
 * common information entry (CIE) and the function's entry (FDE).
 */
#ifndef ALLO_TESTS_CFI_TABLE_H
#define ALLO_TESTS_CFI_TABLE_H

#include "check.h"

#include "capture/stacks/cfi.h"
#include "capture/stacks/rule.h"

#include <sys/mman.h>

struct program {
	const uint8_t *bytes;
	size_t len;
};

#define PROGRAM(...)                                                                               \
	(struct program)                                                                           \
	{                                                                                          \
		(const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })         \
	}

/* Instructions, some of which have an operand in their low bits. */
enum {
	SET_LOC = 0x01,
	ADVANCE_LOC1 = 0x02,
	ADVANCE_LOC2 = 0x03,
	ADVANCE_LOC4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	IN_REGISTER = 0x09,
	REMEMBER_STATE = 0x0a,
	RESTORE_STATE = 0x0b,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	OFFSET_EXTENDED_SF = 0x11,
	DEF_CFA_SF = 0x12,
	DEF_CFA_OFFSET_SF = 0x13,
	VAL_OFFSET = 0x14,
	VAL_OFFSET_SF = 0x15,
	VAL_EXPRESSION = 0x16,
	NEGATE_RA_STATE = 0x2d,
	GNU_ARGS_SIZE = 0x2e,
};

#define ADVANCE(units)  (0x40 | (units))
#define OFFSET(number)  (0x80 | (number))
#define RESTORE(number) (0xc0 | (number))
#define OP_BREG(number) (0x70 + (number))
#define SLEB(small)     ((small)&0x7f) /* -64 to 63 */
#define ULEB2(value)    ((value)&0x7f) | 0x80, (value) >> 7
#define ULEB3(value)    ((value)&0x7f) | 0x80, ((value) >> 7 & 0x7f) | 0x80, (value) >> 14

enum { OP_DEREF = 0x06 };

enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10, RIP = 16, X19 = 19, X29 = 29, X30 = 30, SP = 31 };

/* The contents of a table; all zeros but `own` is a plain function on x86-64. */
struct table_spec {
	const struct allo_cfi_arch *arch; /* NULL: x86-64 */
	uint8_t version;                  /* 0: 1 */
	const char *augmentation;         /* NULL: "zR" */
	struct program augmentation_data; /* empty: the encoding below */
	uint8_t encoding;                 /* of addresses; 0: 32 bits from where they are */
	bool is_absolute;                 /* encoding is really 0 */
	uint8_t return_address;           /* register; 0: the machine's */
	struct program common;            /* empty: as compilers write it */
	struct program own;
};

enum { FUNCTION_SIZE = 0x20000, TABLE_MAX = 4096 };

struct table {
	uint8_t bytes[TABLE_MAX];
	size_t len;
	size_t fde, cie; /* offsets of the entries */
};

static inline void table_put(struct table *table, const void *bytes, size_t len)
{
	assert_true(len <= sizeof(table->bytes) - table->len);
	if (len > 0)
		memcpy(table->bytes + table->len, bytes, len);
	table->len += len;
}

static inline void table_put_number(struct table *table, uint64_t value, size_t size)
{
	table_put(table, &value, size);
}

static inline void table_set_u32(struct table *table, size_t at, size_t value)
{
	uint32_t word = (uint32_t)value;

	memcpy(table->bytes + at, &word, sizeof(word));
}

/* Fills in the length of an entry that is complete. */
static inline void table_end_entry(struct table *table, size_t entry)
{
	while ((table->len - entry) % 4 != 0)
		table_put_number(table, 0, 1);
	table_set_u32(table, entry, table->len - entry - 4);
}

static inline void table_put_cie(struct table *table, const struct table_spec *spec)
{
	bool is_x86 = !spec->arch || spec->arch == &allo_cfi_x86_64;
	const char *augmentation = spec->augmentation ? spec->augmentation : "zR";
	uint8_t encoding = spec->encoding || spec->is_absolute ? spec->encoding : 0x1b;
	uint8_t return_address = is_x86 ? RIP : X30;
	struct program common = is_x86 ? PROGRAM(DEF_CFA, RSP, 8, OFFSET(RIP), 1)
				       : PROGRAM(DEF_CFA, SP, 0);

	table->cie = table->len;
	table_put_number(table, 0, 8); /* length, and the id of a CIE */
	table_put_number(table, spec->version ? spec->version : 1, 1);
	table_put(table, augmentation, strlen(augmentation) + 1);
	if (spec->version == 4)
		table_put_number(table, 8, 2);
	table_put_number(table, is_x86 ? 1 : 4, 1);
	table_put_number(table, SLEB(-8), 1);
	table_put_number(table, spec->return_address ? spec->return_address : return_address, 1);
	if (augmentation[0] == 'z') {
		table_put_number(table,
				 spec->augmentation_data.len ? spec->augmentation_data.len : 1, 1);
		if (spec->augmentation_data.len)
			table_put(table, spec->augmentation_data.bytes,
				  spec->augmentation_data.len);
		else
			table_put_number(table, encoding, 1);
	}
	if (spec->common.len)
		common = spec->common;
	table_put(table, common.bytes, common.len);
	table_end_entry(table, table->cie);
}

/* `base`: address of the table; `function`: address of the function. */
static inline void table_make(struct table *table, const struct table_spec *spec, uint64_t base,
			      uint64_t function)
{
	size_t fde;

	*table = (struct table){ 0 };
	/* version; .eh_frame, how many and the table: 32 bits from here, as they are, from the
	 * header. */
	table_put(table, (const uint8_t[]){ 1, 0x1b, 0x03, 0x3b }, 4);
	table_put_number(table, 16, 4);
	table_put_number(table, 1, 4);
	table_put_number(table, function - base, 4);
	table_put_number(table, 0, 4);
	table_put_cie(table, spec);
	fde = table->fde = table->len;
	table_set_u32(table, 16, fde);
	table_put_number(table, 0, 4);
	table_put_number(table, table->len - table->cie, 4);
	if (spec->is_absolute) {
		table_put_number(table, function, 8);
		table_put_number(table, FUNCTION_SIZE, 8);
	} else {
		table_put_number(table, function - (base + table->len), 4);
		table_put_number(table, FUNCTION_SIZE, 4);
	}
	if (!spec->augmentation || spec->augmentation[0] == 'z')
		table_put_number(table, 0, 1);
	table_put(table, spec->own.bytes, spec->own.len);
	table_end_entry(table, fde);
}

/* A page between two unreadable ones. */
struct edge {
	uint8_t *page;
};

static inline void edge_init(struct edge *edge)
{
	uint8_t *pages = mmap(NULL, 3 * TABLE_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	edge->page = pages + TABLE_MAX;
	assert_int_equal(mprotect(edge->page, TABLE_MAX, PROT_READ | PROT_WRITE), 0);
}

static inline void edge_done(struct edge *edge)
{
	munmap(edge->page - TABLE_MAX, 3 * TABLE_MAX);
}

/* There is no function at this address: it is only compared. */
static inline uint64_t edge_function(const struct edge *edge)
{
	return (uint64_t)(uintptr_t)edge->page + 0x100000;
}

/* The rule at `offset` in the function, from a table that ends with the page. */
static inline uint32_t rule_on_edge(const struct edge *edge, const struct table_spec *spec,
				    uint64_t offset)
{
	uint64_t function = edge_function(edge);
	uint8_t *start, *end = edge->page + TABLE_MAX;
	struct table table;

	table_make(&table, spec, (uint64_t)(uintptr_t)edge->page, function);
	start = end - table.len;
	/* Again: its start depends on its length. */
	table_make(&table, spec, (uint64_t)(uintptr_t)start, function);
	memcpy(start, table.bytes, table.len);
	return allo_cfi_rule(spec->arch ? spec->arch : &allo_cfi_x86_64, start, start, end,
			     function + offset);
}

static inline uint32_t rule_at(const struct table_spec *spec, uint64_t offset)
{
	struct edge edge;
	uint32_t rule;

	edge_init(&edge);
	rule = rule_on_edge(&edge, spec, offset);
	edge_done(&edge);
	return rule;
}

#endif
