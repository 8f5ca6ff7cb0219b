/* cfi.c - the format is specified in Linux Standard Base, "Exception Frames", and DWARF 5, 6.4. */
#include "capture/stacks/cfi.h"
#include "base/assert.h"
#include "capture/stacks/rule.h"

#include <stdbool.h>
#include <string.h>

const struct allo_cfi_arch allo_cfi_x86_64 = { .fp = 6, .sp = 7, .ra = 16, .ra_offset = -8 };
const struct allo_cfi_arch allo_cfi_aarch64 = { .fp = 29, .sp = 31, .ra = 30, .ra_offset = 0 };

/* The bytes left to read.  Reading past the end returns zeros and latches `is_bad`. */
struct bytes {
	const uint8_t *at, *end;
	bool is_bad;
};

static uint64_t take(struct bytes *bytes, size_t size)
{
	uint64_t value = 0;

	ALLO_ASSERT(bytes->at <= bytes->end && size <= sizeof(value));
	if ((size_t)(bytes->end - bytes->at) < size) {
		bytes->is_bad = true;
		bytes->at = bytes->end;
		return 0;
	}
	memcpy(&value, bytes->at, size);
	bytes->at += size;
	return value;
}

static int64_t take_signed(struct bytes *bytes, size_t size)
{
	unsigned unused_bits = 64 - 8 * (unsigned)size;

	return (int64_t)(take(bytes, size) << unused_bits) >> unused_bits;
}

/* A LEB128 number; also the number of bits read, and the last byte without its flag. */
static uint64_t take_leb(struct bytes *bytes, unsigned *bits, uint64_t *last)
{
	uint64_t value = 0, byte;

	*bits = 0;
	do {
		byte = take(bytes, 1);
		*last = byte & 0x7f;
		if (*bits < 64)
			value |= *last << *bits;
		*bits += 7;
	} while (byte & 0x80);
	return value;
}

static uint64_t take_uleb(struct bytes *bytes)
{
	unsigned bits;
	uint64_t last;

	return take_leb(bytes, &bits, &last);
}

static int64_t take_sleb(struct bytes *bytes)
{
	unsigned bits;
	uint64_t last, value = take_leb(bytes, &bits, &last);

	if (bits < 64 && (last & 0x40))
		value |= ~0ull << bits;
	return (int64_t)value;
}

static void skip(struct bytes *bytes, uint64_t count)
{
	if (count > (size_t)(bytes->end - bytes->at)) {
		bytes->is_bad = true;
		count = (size_t)(bytes->end - bytes->at);
	}
	bytes->at += count;
}

enum { ENCODING_OMITTED = 0xff, ENCODING_INDIRECT = 0x80 };

/* An address in the given encoding (DW_EH_PE_*).  Indirect ones are not followed. */
static uint64_t take_address(struct bytes *bytes, uint8_t encoding, uint64_t data_base)
{
	uint64_t here = (uint64_t)(uintptr_t)bytes->at, value;

	if (encoding == ENCODING_OMITTED)
		return 0;
	switch (encoding & 0x0f) {
	case 0x0: /* as wide as a pointer */
	case 0x4:
	case 0xc:
		value = take(bytes, 8);
		break;
	case 0x1:
		value = take_uleb(bytes);
		break;
	case 0x2:
		value = take(bytes, 2);
		break;
	case 0x3:
		value = take(bytes, 4);
		break;
	case 0x9:
		value = (uint64_t)take_sleb(bytes);
		break;
	case 0xa:
		value = (uint64_t)take_signed(bytes, 2);
		break;
	case 0xb:
		value = (uint64_t)take_signed(bytes, 4);
		break;
	default:
		bytes->is_bad = true;
		return 0;
	}
	if ((encoding & 0x70) == 0x10)
		value += here;
	else if ((encoding & 0x70) == 0x30)
		value += data_base;
	return value;
}

/* A common information entry: the part that many functions share. */
struct cie {
	uint64_t code_unit;
	int64_t data_unit;
	uint64_t ra;
	uint8_t encoding; /* of addresses in the entries of functions */
	bool has_augmentation, is_signal_frame;
	struct bytes program;
};

/* Opens an entry of .eh_frame behind its length field. */
static bool open_entry(const uint8_t *at, const uint8_t *start, const uint8_t *end,
		       struct bytes *entry)
{
	uint64_t length;

	if (at < start || at >= end)
		return false;
	*entry = (struct bytes){ .at = at, .end = end };
	length = take(entry, 4);
	/* A length of all ones marks 64-bit entries, for tables of more than 4 GiB. */
	if (entry->is_bad || length == 0xffffffff || length > (size_t)(entry->end - entry->at))
		return false;
	entry->end = entry->at + length;
	return true;
}

/* This and the next functions are never inlined: their variables would add up on the stack. */
#define APART __attribute__((noinline))

static APART bool parse_cie(struct bytes entry, struct cie *cie)
{
	const char *augmentation;
	const uint8_t *program;
	uint64_t version, length;

	if (take(&entry, 4) != 0) /* not 0 in the entry of a function */
		return false;
	version = take(&entry, 1);
	augmentation = (const char *)entry.at;
	while (take(&entry, 1) != 0) {
	}
	if (entry.is_bad || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4)
		skip(&entry, 2); /* sizes of addresses and segments */
	cie->code_unit = take_uleb(&entry);
	cie->data_unit = take_sleb(&entry);
	cie->ra = version == 1 ? take(&entry, 1) : take_uleb(&entry);
	if (augmentation[0] == 'z') {
		cie->has_augmentation = true;
		length = take_uleb(&entry);
		if (length > (size_t)(entry.end - entry.at))
			return false;
		program = entry.at + length;
		for (const char *letter = augmentation + 1; *letter; letter++) {
			uint8_t encoding;

			if (*letter == 'R') {
				cie->encoding = (uint8_t)take(&entry, 1);
			} else if (*letter == 'P') {
				encoding = (uint8_t)take(&entry, 1);
				take_address(&entry, encoding & 0x7f, 0);
			} else if (*letter == 'L') {
				take(&entry, 1);
			} else if (*letter == 'S') {
				cie->is_signal_frame = true;
			}
		}
		entry.at = program;
	} else if (augmentation[0] != '\0') {
		return false;
	}
	cie->program = entry;
	return !entry.is_bad;
}

enum saved {
	SAVED_NOT,        /* the register still has the caller's value */
	SAVED_AT_OFFSET,  /* at an offset from the CFA */
	SAVED_AT_FP,      /* at the address in the frame pointer */
	SAVED_NOT_AT_ALL, /* undefined */
	SAVED_SOMEHOW,    /* in a way that is not supported */
};

/* The types of this and of a row are small: the machine lies on the program's stack, and a
 * coroutine may have only 4 KiB. */
struct saved_register {
	int32_t offset;
	uint8_t how; /* enum saved */
};

enum {
	NO_OFFSET = INT32_MIN,   /* instead of offsets that a rule cannot express either */
	NO_REGISTER = UINT8_MAX, /* the same for registers */
	REMEMBERED_MAX = 4,      /* compilers nest one or two states */
};

/* A row of the unwind table that the instructions build. */
struct row {
	const uint8_t *expression; /* of the CFA; NULL: it has none */
	struct saved_register fp, ra;
	int32_t cfa_offset;
	uint16_t expression_len;
	uint8_t cfa_register;
};

struct machine {
	const struct allo_cfi_arch *arch;
	const struct cie *cie;
	uint64_t location, pc;
	struct row row;
	struct saved_register initial_fp, initial_ra;
	unsigned depth;
	struct row remembered[REMEMBERED_MAX];
};

static int32_t narrow_offset(int64_t offset)
{
	return offset > NO_OFFSET && offset <= INT32_MAX ? (int32_t)offset : NO_OFFSET;
}

static struct saved_register *saved_register(struct machine *m, uint64_t number)
{
	if (number == m->arch->fp)
		return &m->row.fp;
	return number == m->cie->ra ? &m->row.ra : NULL;
}

static void set_register(struct machine *m, uint64_t number, enum saved how, int64_t offset)
{
	struct saved_register *saved = saved_register(m, number);

	if (saved)
		*saved = (struct saved_register){ narrow_offset(offset), (uint8_t)how };
}

static void restore_register(struct machine *m, uint64_t number)
{
	if (number == m->arch->fp)
		m->row.fp = m->initial_fp;
	else if (number == m->cie->ra)
		m->row.ra = m->initial_ra;
}

static void set_cfa(struct machine *m, uint64_t number, int64_t offset)
{
	m->row.cfa_register = number < NO_REGISTER ? (uint8_t)number : NO_REGISTER;
	m->row.cfa_offset = narrow_offset(offset);
	m->row.expression = NULL;
}

static void set_cfa_expression(struct machine *m, struct bytes expression)
{
	size_t len = (size_t)(expression.end - expression.at);

	m->row.expression = expression.at;
	m->row.expression_len = len <= UINT16_MAX ? (uint16_t)len : 0;
}

/* DW_OP_breg<fp> 0: the only expression for a register that compilers emit. */
static bool is_at_fp(const struct machine *m, struct bytes expression)
{
	return expression.end - expression.at == 2 && expression.at[0] == 0x70 + m->arch->fp &&
	       expression.at[1] == 0;
}

static struct bytes take_block(struct bytes *program)
{
	uint64_t length = take_uleb(program);
	struct bytes block = { .at = program->at };

	skip(program, length);
	block.end = program->at;
	return block;
}

/* An offset in data units.  The multiplication may overflow in a broken table, hence unsigned. */
static int64_t take_units(struct machine *m, struct bytes *program)
{
	return (int64_t)(take_uleb(program) * (uint64_t)m->cie->data_unit);
}

static int64_t take_signed_units(struct machine *m, struct bytes *program)
{
	return (int64_t)((uint64_t)take_sleb(program) * (uint64_t)m->cie->data_unit);
}

static void run_extended(struct machine *m, struct bytes *program, uint8_t operation)
{
	uint64_t number;

	switch (operation) {
	case 0x00: /* nop */
	case 0x2d: /* window_save; on aarch64: toggles the signing of the return address */
		break;
	case 0x01: /* set_loc */
		m->location = take_address(program, m->cie->encoding, 0);
		break;
	case 0x02: /* advance_loc1 */
		m->location += take(program, 1) * m->cie->code_unit;
		break;
	case 0x03: /* advance_loc2 */
		m->location += take(program, 2) * m->cie->code_unit;
		break;
	case 0x04: /* advance_loc4 */
		m->location += take(program, 4) * m->cie->code_unit;
		break;
	case 0x05: /* offset_extended */
		number = take_uleb(program);
		set_register(m, number, SAVED_AT_OFFSET, take_units(m, program));
		break;
	case 0x06: /* restore_extended */
		restore_register(m, take_uleb(program));
		break;
	case 0x07: /* undefined */
		set_register(m, take_uleb(program), SAVED_NOT_AT_ALL, 0);
		break;
	case 0x08: /* same_value */
		set_register(m, take_uleb(program), SAVED_NOT, 0);
		break;
	case 0x09: /* register */
		number = take_uleb(program);
		take_uleb(program);
		set_register(m, number, SAVED_SOMEHOW, 0);
		break;
	case 0x0a: /* remember_state */
		if (m->depth < REMEMBERED_MAX)
			m->remembered[m->depth++] = m->row;
		else
			program->is_bad = true;
		break;
	case 0x0b: /* restore_state */
		if (m->depth > 0)
			m->row = m->remembered[--m->depth];
		else
			program->is_bad = true;
		break;
	case 0x0c: /* def_cfa */
		number = take_uleb(program);
		set_cfa(m, number, (int64_t)take_uleb(program));
		break;
	case 0x0d: /* def_cfa_register */
		set_cfa(m, take_uleb(program), m->row.cfa_offset);
		break;
	case 0x0e: /* def_cfa_offset */
		m->row.cfa_offset = narrow_offset((int64_t)take_uleb(program));
		break;
	case 0x0f: /* def_cfa_expression */
		set_cfa_expression(m, take_block(program));
		break;
	case 0x10: /* expression */
		number = take_uleb(program);
		set_register(m, number,
			     is_at_fp(m, take_block(program)) ? SAVED_AT_FP : SAVED_SOMEHOW, 0);
		break;
	case 0x11: /* offset_extended_sf */
		number = take_uleb(program);
		set_register(m, number, SAVED_AT_OFFSET, take_signed_units(m, program));
		break;
	case 0x12: /* def_cfa_sf */
		number = take_uleb(program);
		set_cfa(m, number, take_signed_units(m, program));
		break;
	case 0x13: /* def_cfa_offset_sf */
		m->row.cfa_offset = narrow_offset(take_signed_units(m, program));
		break;
	case 0x14: /* val_offset */
		number = take_uleb(program);
		take_uleb(program);
		set_register(m, number, SAVED_SOMEHOW, 0);
		break;
	case 0x15: /* val_offset_sf */
		number = take_uleb(program);
		take_sleb(program);
		set_register(m, number, SAVED_SOMEHOW, 0);
		break;
	case 0x16: /* val_expression */
		number = take_uleb(program);
		take_block(program);
		set_register(m, number, SAVED_SOMEHOW, 0);
		break;
	case 0x2e: /* GNU_args_size */
		take_uleb(program);
		break;
	default:
		program->is_bad = true;
	}
}

/* Runs instructions up to the row for m->pc. */
static bool run(struct machine *m, struct bytes program)
{
	while (program.at < program.end && !program.is_bad) {
		uint8_t operation = (uint8_t)take(&program, 1);
		uint8_t low = operation & 0x3f;

		switch (operation & 0xc0) {
		case 0x40: /* advance_loc */
			m->location += low * m->cie->code_unit;
			break;
		case 0x80: /* offset */
			set_register(m, low, SAVED_AT_OFFSET, take_units(m, &program));
			break;
		case 0xc0: /* restore */
			restore_register(m, low);
			break;
		default:
			run_extended(m, &program, operation);
		}
		if (m->location > m->pc)
			break;
	}
	return !program.is_bad;
}

/* True if a rule can express where the frame pointer is saved. */
static bool has_frame_pointer(const struct machine *m)
{
	const struct saved_register *fp = &m->row.fp;

	if (fp->how != SAVED_AT_OFFSET)
		return fp->how == SAVED_NOT;
	return fp->offset < 0 && fp->offset >= ALLO_RULE_FP_MIN && (fp->offset & 7) == 0;
}

static bool has_return_address(const struct machine *m)
{
	const struct saved_register *fp = &m->row.fp, *ra = &m->row.ra;

	if (ra->how != SAVED_AT_OFFSET)
		return false;
	if (m->arch->ra_offset)
		return ra->offset == m->arch->ra_offset;
	return fp->how == SAVED_AT_OFFSET && ra->offset == fp->offset + 8;
}

/* A function that realigns its stack saves the CFA below its frame pointer.  Its expression is
 * "DW_OP_breg<fp> -40, DW_OP_deref". */
static APART uint32_t rule_of_expression(const struct machine *m)
{
	struct bytes expression = { .at = m->row.expression,
				    .end = m->row.expression + m->row.expression_len };
	bool is_by_fp = take(&expression, 1) == (uint64_t)0x70 + m->arch->fp;
	int64_t offset = take_sleb(&expression);
	bool is_there = take(&expression, 1) == 0x06 && expression.at == expression.end;

	if (!is_by_fp || !is_there || expression.is_bad || m->row.fp.how != SAVED_AT_FP ||
	    !has_return_address(m) || offset >= 0 || offset < ALLO_RULE_FP_MIN || (offset & 7))
		return ALLO_RULE_CUT;
	return allo_rule(ALLO_RULE_DRAP, 0, offset);
}

static uint32_t rule_of_row(const struct machine *m)
{
	const struct row *row = &m->row;
	int64_t cfa = row->cfa_offset, fp = row->fp.how == SAVED_AT_OFFSET ? row->fp.offset : 0;

	if (m->cie->is_signal_frame)
		return allo_rule(ALLO_RULE_SIGNAL, 0, 0);
	if (row->ra.how == SAVED_NOT_AT_ALL)
		return allo_rule(ALLO_RULE_END, 0, 0);
	if (row->expression)
		return rule_of_expression(m);
	if (!has_frame_pointer(m) || !has_return_address(m) || cfa < 8 || cfa > ALLO_RULE_CFA_MAX ||
	    (cfa & 7))
		return ALLO_RULE_CUT;
	if (row->cfa_register == m->arch->sp)
		return allo_rule(ALLO_RULE_SP, cfa, fp);
	if (row->cfa_register != m->arch->fp)
		return ALLO_RULE_CUT;
	return allo_rule(cfa == 16 && fp == -16 ? ALLO_RULE_STANDARD : ALLO_RULE_FP, cfa, fp);
}

/* The entry of the last function that starts at or before pc, by binary search in the pairs
 * (function, entry) behind the header; NULL if not found or malformed. */
static APART const uint8_t *find_entry(const uint8_t *header, const uint8_t *end, uint64_t pc)
{
	struct bytes bytes = { .at = header, .end = end };
	uint64_t base = (uint64_t)(uintptr_t)header, count, low = 0, high;
	int64_t wanted = (int64_t)(pc - base);
	uint8_t encoding[3];
	int32_t pair[2];

	if (take(&bytes, 1) != 1)
		return NULL;
	for (unsigned i = 0; i < 3; i++)
		encoding[i] = (uint8_t)take(&bytes, 1);
	take_address(&bytes, encoding[0], base);
	count = take_address(&bytes, encoding[1], base);
	/* 0x3b: 32-bit offsets from the header, as every linker writes them. */
	if (bytes.is_bad || encoding[2] != 0x3b || count > (size_t)(end - bytes.at) / sizeof(pair))
		return NULL;
	for (high = count; low < high;) {
		uint64_t middle = (low + high) / 2;

		memcpy(pair, bytes.at + middle * sizeof(pair), sizeof(pair));
		if (pair[0] <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	memcpy(pair, bytes.at + (low - 1) * sizeof(pair), sizeof(pair));
	return header + pair[1];
}

uint32_t allo_cfi_rule(const struct allo_cfi_arch *arch, const uint8_t *header,
		       const uint8_t *start, const uint8_t *end, uint64_t pc)
{
	const uint8_t *at = find_entry(header, end, pc), *cie_at;
	struct bytes entry, cie_entry;
	struct cie cie = { 0 };
	struct machine m = { .arch = arch, .cie = &cie, .pc = pc };
	uint64_t function, size;

	if (!at)
		return allo_rule(ALLO_RULE_NONE, 0, 0);
	if (!open_entry(at, start, end, &entry))
		return ALLO_RULE_CUT;
	cie_at = entry.at;
	cie_at -= take(&entry, 4);
	if (!open_entry(cie_at, start, end, &cie_entry) || !parse_cie(cie_entry, &cie))
		return ALLO_RULE_CUT;
	function = take_address(&entry, cie.encoding & (uint8_t)~ENCODING_INDIRECT, 0);
	size = take_address(&entry, cie.encoding & 0x0f, 0);
	if (entry.is_bad)
		return ALLO_RULE_CUT;
	if (pc - function >= size) /* between two functions */
		return allo_rule(ALLO_RULE_NONE, 0, 0);
	if (cie.has_augmentation)
		skip(&entry, take_uleb(&entry));
	if (!run(&m, cie.program))
		return ALLO_RULE_CUT;
	m.initial_fp = m.row.fp;
	m.initial_ra = m.row.ra;
	m.location = function;
	return run(&m, entry) ? rule_of_row(&m) : ALLO_RULE_CUT;
}
