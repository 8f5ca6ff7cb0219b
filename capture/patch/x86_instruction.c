/* x86_instruction.c - tables of operands by opcode, from the opcode maps of Intel's manual. */
#include "capture/patch/x86_instruction.h"

#include <string.h>

enum { LONGEST = 15 };

/*
 * One letter per opcode, 16 in a row:
 *   .  no operands in further bytes       m  ModRM
 *   b  8-bit immediate                    M  ModRM, 8-bit immediate
 *   w  16-bit immediate                   Z  ModRM, 16- or 32-bit immediate
 *   z  16- or 32-bit immediate            g  ModRM, 8-bit immediate in forms 0 and 1
 *   v  16-, 32- or 64-bit immediate       G  ModRM, 16- or 32-bit immediate in forms 0 and 1
 *   o  address of 64 or 32 bits           e  16-bit and 8-bit immediate
 *   j  8-bit branch                       J  32-bit branch
 *   x  not known, or a prefix
 */
static const char one_byte[] = "mmmmbzxxmmmmbzxx"
			       "mmmmbzxxmmmmbzxx"
			       "mmmmbzxxmmmmbzxx"
			       "mmmmbzxxmmmmbzxx"
			       "xxxxxxxxxxxxxxxx"
			       "................"
			       "xxxmxxxxzZbM...."
			       "jjjjjjjjjjjjjjjj"
			       "MZxMmmmmmmmmmmmm"
			       "..........x....."
			       "oooo....bz......"
			       "bbbbbbbbvvvvvvvv"
			       "MMw.xxMZe.w..bx."
			       "mmmmxxx.mmmmmmmm"
			       "jjjjbbbbJJxj...."
			       "x.xx..gG......mm";

/* Behind 0f. */
static const char two_bytes[] = "mmmmx.....x.xm.M"
				"mmmmmmmmmmmmmmmm"
				"xxxxxxxxmmmmmmmm"
				"......x.xxxxxxxx"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"MMMMmmm.mmxxmmmm"
				"JJJJJJJJJJJJJJJJ"
				"mmmmmmmmmmmmmmmm"
				"...mMmxx...mMmmm"
				"mmmmmmmmmmMmmmmm"
				"mmMmMMMm........"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm";

/* Opcode maps, with the numbers that VEX and EVEX give them. */
enum { ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_EVEX_5 = 5, MAP_EVEX_6 };

struct decoder {
	const uint8_t *code;
	size_t size, at; /* `at` may go beyond `size`; bytes from there on read as 0 */
	bool has_operand_size, has_address_size, is_wide; /* 66, 67, REX.W */
	bool is_vector;                                   /* VEX or EVEX */
	unsigned map;
	uint8_t opcode, modrm;
	struct allo_x86_instruction *out;
};

static uint8_t next(struct decoder *d)
{
	uint8_t byte = d->at < d->size ? d->code[d->at] : 0;

	d->at++;
	return byte;
}

static bool is_legacy_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					    0x66, 0x67, 0xf0, 0xf2, 0xf3 };

	return memchr(prefixes, byte, sizeof(prefixes)) != NULL;
}

static void take_prefixes(struct decoder *d)
{
	while (d->at < d->size && d->at < LONGEST && is_legacy_prefix(d->code[d->at])) {
		d->has_operand_size |= d->code[d->at] == 0x66;
		d->has_address_size |= d->code[d->at] == 0x67;
		d->at++;
	}
	if (d->at < d->size && (d->code[d->at] & 0xf0) == 0x40)
		d->is_wide = next(d) & 8;
}

/* Takes the opcode and, of vector prefixes, the map that they name. */
static void take_opcode(struct decoder *d)
{
	uint8_t first = next(d);

	d->is_vector = first == 0xc5 || first == 0xc4 || first == 0x62;
	if (first == 0xc5) {
		d->map = MAP_0F;
		d->at++;
	} else if (first == 0xc4) {
		d->map = next(d) & 31;
		d->at++;
	} else if (first == 0x62) {
		d->map = next(d) & 7;
		d->at += 2;
	} else if (first == 0x0f) {
		d->map = MAP_0F;
	} else {
		d->opcode = first;
		return;
	}
	d->opcode = next(d);
	if (d->is_vector || (d->opcode != 0x38 && d->opcode != 0x3a))
		return;
	d->map = d->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
	d->opcode = next(d);
}

static bool has_vector_immediate(uint8_t opcode)
{
	return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
	       (opcode >= 0xc4 && opcode <= 0xc6);
}

static char vector_operands(const struct decoder *d)
{
	bool is_evex = d->code[d->out->opcode_at] == 0x62;

	if (d->map == MAP_0F && d->opcode == 0x77 && !is_evex)
		return '.'; /* vzeroupper */
	if (d->map == MAP_0F)
		return has_vector_immediate(d->opcode) ? 'M' : 'm';
	if (d->map == MAP_0F38 || (is_evex && (d->map == MAP_EVEX_5 || d->map == MAP_EVEX_6)))
		return 'm';
	return d->map == MAP_0F3A ? 'M' : 'x';
}

static char operands(const struct decoder *d)
{
	if (d->is_vector)
		return vector_operands(d);
	if (d->map == MAP_0F38)
		return 'm';
	if (d->map == MAP_0F3A)
		return 'M';
	return d->map == MAP_0F ? two_bytes[d->opcode] : one_byte[d->opcode];
}

static void take_modrm(struct decoder *d)
{
	unsigned mode, base;

	d->modrm = next(d);
	mode = d->modrm >> 6;
	base = d->modrm & 7;
	if (mode == 3)
		return;
	if (base == 4) {
		base = next(d) & 7; /* SIB */
		if (mode == 0 && base == 5)
			d->at += 4;
	} else if (mode == 0 && base == 5) {
		d->out->relative_at = (uint8_t)d->at;
		d->at += 4;
	}
	if (mode == 1)
		d->at += 1;
	else if (mode == 2)
		d->at += 4;
}

static unsigned form(const struct decoder *d)
{
	return d->modrm >> 3 & 7;
}

static size_t immediate_size(const struct decoder *d, char operand)
{
	size_t full = d->has_operand_size && !d->is_wide ? 2 : 4;

	switch (operand) {
	case 'b':
	case 'M':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'z':
	case 'Z':
		return full;
	case 'v':
		return d->is_wide ? 8 : full;
	case 'o':
		return d->has_address_size ? 4 : 8;
	case 'g':
		return form(d) < 2 ? 1 : 0;
	case 'G':
		return form(d) < 2 ? full : 0;
	default:
		return 0;
	}
}

static enum allo_x86_kind branch_kind(const struct decoder *d)
{
	if (d->map == ONE_BYTE && d->opcode >= 0xe0 && d->opcode <= 0xe3)
		return ALLO_X86_LOOP;
	if (d->map == ONE_BYTE && d->opcode == 0xe8)
		return ALLO_X86_CALL;
	if (d->map == ONE_BYTE && (d->opcode == 0xe9 || d->opcode == 0xeb))
		return ALLO_X86_JUMP;
	return ALLO_X86_BRANCH;
}

static void take_branch(struct decoder *d, uint8_t size)
{
	d->out->kind = branch_kind(d);
	d->out->target_at = (uint8_t)d->at;
	d->out->target_size = size;
	d->at += size;
}

/* The kind of an instruction that is no direct branch. */
static enum allo_x86_kind plain_kind(const struct decoder *d)
{
	/* ret, ret, retf, retf, int3, iret, hlt */
	static const uint8_t ends[] = { 0xc2, 0xc3, 0xca, 0xcb, 0xcc, 0xcf, 0xf4 };

	if (d->is_vector || d->map > MAP_0F)
		return ALLO_X86_PLAIN;
	if (d->map == MAP_0F) /* ud2, ud1, ud0 */
		return d->opcode == 0x0b || d->opcode == 0xb9 || d->opcode == 0xff ? ALLO_X86_END
										   : ALLO_X86_PLAIN;
	if (d->opcode == 0xff && (form(d) == 2 || form(d) == 3))
		return ALLO_X86_CALL;
	if (d->opcode == 0xff && (form(d) == 4 || form(d) == 5))
		return ALLO_X86_END;
	if (d->opcode == 0xc7 && form(d) == 7)
		return ALLO_X86_LOOP; /* xbegin */
	return memchr(ends, d->opcode, sizeof(ends)) ? ALLO_X86_END : ALLO_X86_PLAIN;
}

bool allo_x86_decode(const uint8_t *code, size_t size, struct allo_x86_instruction *instruction)
{
	struct decoder d = { .code = code, .size = size, .out = instruction };
	char operand;

	*instruction = (struct allo_x86_instruction){ 0 };
	take_prefixes(&d);
	if (d.at >= size)
		return false;
	instruction->opcode_at = (uint8_t)d.at;
	take_opcode(&d);
	operand = operands(&d);
	if (operand == 'x')
		return false;
	if (operand == 'j' || operand == 'J') {
		take_branch(&d, operand == 'j' ? 1 : 4);
	} else {
		if (strchr("mMZgG", operand))
			take_modrm(&d);
		d.at += immediate_size(&d, operand);
		instruction->kind = plain_kind(&d);
	}
	if (d.at > size || d.at > LONGEST)
		return false;
	instruction->length = (uint8_t)d.at;
	return true;
}

int64_t allo_x86_displacement(const uint8_t *code, const struct allo_x86_instruction *instruction)
{
	int32_t wide;

	if (instruction->target_size == 1)
		return (int8_t)code[instruction->target_at];
	memcpy(&wide, code + instruction->target_at, sizeof(wide));
	return wide;
}
