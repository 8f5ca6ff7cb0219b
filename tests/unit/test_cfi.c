/* test_cfi.c - capture/stacks/cfi.h, with tables that are built here. */
#include "cfi_table.h"
#include "random.h"

#define assert_rule(spec, offset, kind, cfa, fp)                                                   \
	assert_int_equal(rule_at(spec, offset), allo_rule(kind, cfa, fp))

/* x86-64: tables as compilers write them. */

static void a_function_starts_with_its_return_address_on_top(void **state)
{
	const struct table_spec spec = { .own = PROGRAM(ADVANCE(1), DEF_CFA_OFFSET, 16) };

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_SP, 8, 0);
}

static void each_push_and_pop_moves_the_frame(void **state)
{
	const struct table_spec spec = {
		/* push rbx; sub rsp, 80; ...; add rsp, 80; pop rbx; ret */
		.own = PROGRAM(ADVANCE(1), DEF_CFA_OFFSET, 16, OFFSET(RBX), 2, ADVANCE(4),
			       DEF_CFA_OFFSET, 96, ADVANCE(20), DEF_CFA_OFFSET, 16, ADVANCE(1),
			       DEF_CFA_OFFSET, 8),
	};
	const int cfa[] = { 8, 16, 16, 16, 16, 96, 96 };

	(void)state;
	for (unsigned i = 0; i < sizeof(cfa) / sizeof(*cfa); i++)
		assert_rule(&spec, i, ALLO_RULE_SP, cfa[i], 0);
	assert_rule(&spec, 24, ALLO_RULE_SP, 96, 0);
	assert_rule(&spec, 25, ALLO_RULE_SP, 16, 0);
	assert_rule(&spec, 26, ALLO_RULE_SP, 8, 0);
}

static void a_saved_frame_pointer_is_found_without_being_used(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(ADVANCE(2), DEF_CFA_OFFSET, 16, ADVANCE(1), DEF_CFA_OFFSET, 24,
			       OFFSET(RBP), 3),
	};

	(void)state;
	assert_rule(&spec, 2, ALLO_RULE_SP, 16, 0);
	assert_rule(&spec, 3, ALLO_RULE_SP, 24, -24);
}

/* push rbp; mov rbp, rsp; ...; pop rbp; ret.  Compilers do not mark rbp as restored. */
static void a_standard_frame_has_a_separate_kind(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(ADVANCE(1), DEF_CFA_OFFSET, 16, OFFSET(RBP), 2, ADVANCE(3),
			       DEF_CFA_REGISTER, RBP, ADVANCE(20), DEF_CFA, RSP, 8),
	};

	(void)state;
	assert_rule(&spec, 1, ALLO_RULE_SP, 16, -16);
	assert_rule(&spec, 4, ALLO_RULE_STANDARD, 16, -16);
	assert_rule(&spec, 23, ALLO_RULE_STANDARD, 16, -16);
	assert_rule(&spec, 24, ALLO_RULE_SP, 8, -16);
}

static void other_frames_by_frame_pointer_keep_their_offsets(void **state)
{
	const struct table_spec spec = { .own = PROGRAM(DEF_CFA, RBP, 48, OFFSET(RBP), 4) };

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_FP, 48, -32);
}

static void restore_uses_the_initial_rules(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(DEF_CFA_OFFSET, 16, OFFSET(RBP), 2, ADVANCE(1), RESTORE(RBP),
			       ADVANCE(1), OFFSET(RBP), 2, ADVANCE(1), RESTORE_EXTENDED, RBP,
			       ADVANCE(1), OFFSET(RBP), 2, ADVANCE(1), SAME_VALUE, RBP),
	};

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		assert_rule(&spec, i, ALLO_RULE_SP, 16, i % 2 ? 0 : -16);
}

static void remembered_states_nest(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(DEF_CFA_OFFSET, 16, REMEMBER_STATE, ADVANCE(1), DEF_CFA_OFFSET, 24,
			       OFFSET(RBP), 3, REMEMBER_STATE, ADVANCE(1), DEF_CFA, RBP, 32,
			       ADVANCE(1), RESTORE_STATE, ADVANCE(1), RESTORE_STATE),
	};

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_SP, 16, 0);
	assert_rule(&spec, 1, ALLO_RULE_SP, 24, -24);
	assert_rule(&spec, 2, ALLO_RULE_FP, 32, -24);
	assert_rule(&spec, 3, ALLO_RULE_SP, 24, -24);
	assert_rule(&spec, 4, ALLO_RULE_SP, 16, 0);
}

static void a_state_that_was_never_remembered_cuts(void **state)
{
	const struct table_spec spec = { .own = PROGRAM(RESTORE_STATE) };

	(void)state;
	assert_int_equal(rule_at(&spec, 0), ALLO_RULE_CUT);
}

static void too_many_remembered_states_cut(void **state)
{
	uint8_t program[64];
	const struct table_spec spec = { .own = { program, sizeof(program) } };

	(void)state;
	memset(program, REMEMBER_STATE, sizeof(program));
	assert_int_equal(rule_at(&spec, 0), ALLO_RULE_CUT);
}

static void locations_advance_in_every_encoding(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(ADVANCE(63), DEF_CFA_OFFSET, 16, ADVANCE_LOC1, 200, DEF_CFA_OFFSET,
			       24, ADVANCE_LOC2, 0x34, 0x12, DEF_CFA_OFFSET, 32, ADVANCE_LOC4, 0x01,
			       0x00, 0x01, 0x00, DEF_CFA_OFFSET, 40),
	};
	const uint64_t at[] = { 63, 63 + 200, 63 + 200 + 0x1234, 63 + 200 + 0x1234 + 0x10001 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_rule(&spec, at[i] - 1, ALLO_RULE_SP, 8 + 8 * i, 0);
		assert_rule(&spec, at[i], ALLO_RULE_SP, 16 + 8 * i, 0);
	}
}

static void a_location_may_be_set(void **state)
{
	uint8_t program[] = { SET_LOC, 0, 0, 0, 0, 0, 0, 0, 0, DEF_CFA_OFFSET, 16 };
	const struct table_spec spec = { .is_absolute = true, .own = { program, sizeof(program) } };
	struct edge edge;
	uint64_t location;

	(void)state;
	edge_init(&edge);
	location = edge_function(&edge) + 0x100;
	memcpy(program + 1, &location, sizeof(location));
	assert_int_equal(rule_on_edge(&edge, &spec, 0xff), allo_rule(ALLO_RULE_SP, 8, 0));
	assert_int_equal(rule_on_edge(&edge, &spec, 0x100), allo_rule(ALLO_RULE_SP, 16, 0));
	edge_done(&edge);
}

static void offsets_may_be_signed_and_registers_written_long(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(DEF_CFA_SF, RSP, SLEB(-4), OFFSET_EXTENDED, RBP, 2, ADVANCE(1),
			       DEF_CFA_OFFSET_SF, SLEB(-6), OFFSET_EXTENDED_SF, RBP, 3),
	};

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_SP, 32, -16);
	assert_rule(&spec, 1, ALLO_RULE_SP, 48, -24);
}

static void other_registers_do_not_matter(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(GNU_ARGS_SIZE, 32, UNDEFINED, RBX, IN_REGISTER, RBX, R10, VAL_OFFSET,
			       RBX, 1, VAL_OFFSET_SF, RBX, 1, VAL_EXPRESSION, RBX, 1, 0x30,
			       EXPRESSION, RBX, 2, OP_BREG(RBP), SLEB(-16), 0x00, DEF_CFA_OFFSET,
			       16),
	};

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_SP, 16, 0);
}

static void a_frame_pointer_saved_in_any_other_way_cuts(void **state)
{
	const struct program ways[] = {
		PROGRAM(UNDEFINED, RBP),
		PROGRAM(IN_REGISTER, RBP, R10),
		PROGRAM(VAL_OFFSET, RBP, 1),
		PROGRAM(VAL_OFFSET_SF, RBP, 1),
		PROGRAM(VAL_EXPRESSION, RBP, 1, 0x30),
		PROGRAM(EXPRESSION, RBP, 2, OP_BREG(RSP), 8),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		assert_int_equal(rule_at(&(struct table_spec){ .own = ways[i] }, 0), ALLO_RULE_CUT);
}

static void a_return_address_in_any_other_place_cuts(void **state)
{
	const struct program places[] = {
		PROGRAM(OFFSET(RIP), 2),
		PROGRAM(SAME_VALUE, RIP),
		PROGRAM(IN_REGISTER, RIP, R10),
		PROGRAM(EXPRESSION, RIP, 2, OP_BREG(RSP), 8),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
		assert_int_equal(rule_at(&(struct table_spec){ .own = places[i] }, 0),
				 ALLO_RULE_CUT);
}

static void a_frame_by_any_other_register_cuts(void **state)
{
	const struct table_spec by_r10 = { .own = PROGRAM(DEF_CFA, R10, 0) };
	/* The low byte of its number equals that of the stack pointer. */
	const struct table_spec by_263 = { .own = PROGRAM(DEF_CFA, ULEB2(263), 16) };

	(void)state;
	assert_int_equal(rule_at(&by_r10, 0), ALLO_RULE_CUT);
	assert_int_equal(rule_at(&by_263, 0), ALLO_RULE_CUT);
}

static void an_undefined_return_address_is_the_end(void **state)
{
	const struct table_spec spec = { .own = PROGRAM(UNDEFINED, RIP) };

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_END, 0, 0);
}

static void a_signal_frame_is_known_by_its_augmentation(void **state)
{
	const struct table_spec spec = {
		.augmentation = "zRS",
		.own = PROGRAM(DEF_CFA_EXPRESSION, 4, OP_BREG(RSP), ULEB2(160), OP_DEREF),
	};

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_SIGNAL, 0, 0);
}

/* lea r10, [rsp + 8]; and rsp, -64; push [r10 - 8]; push rbp; mov rbp, rsp; push r10 */
static void a_realigned_frame_is_found_through_its_frame_pointer(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(ADVANCE(5), DEF_CFA, R10, 0, ADVANCE(15), EXPRESSION, RBP, 2,
			       OP_BREG(RBP), 0, ADVANCE(2), DEF_CFA_EXPRESSION, 3, OP_BREG(RBP),
			       SLEB(-8), OP_DEREF),
	};

	(void)state;
	assert_rule(&spec, 4, ALLO_RULE_SP, 8, 0);
	assert_int_equal(rule_at(&spec, 5), ALLO_RULE_CUT);
	assert_int_equal(rule_at(&spec, 20), ALLO_RULE_CUT);
	assert_rule(&spec, 22, ALLO_RULE_DRAP, 0, -8);
}

/* The function saves other registers in between. */
static void a_realigned_frame_may_save_its_cfa_further_down(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(EXPRESSION, RBP, 2, OP_BREG(RBP), 0, DEF_CFA_EXPRESSION, 3,
			       OP_BREG(RBP), SLEB(-40), OP_DEREF),
	};

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_DRAP, 0, -40);
}

static void any_other_expression_cuts(void **state)
{
	const struct program others[] = {
		/* The linker's expression for the PLT: rsp + 8 + ((rip & 15) >= 11) * 8. */
		PROGRAM(DEF_CFA_EXPRESSION, 11, OP_BREG(RSP), 8, OP_BREG(RIP), 0, 0x3f, 0x1a, 0x3b,
			0x2a, 0x33, 0x24, 0x22),
		/* Realigned, but the frame pointer is elsewhere. */
		PROGRAM(DEF_CFA_EXPRESSION, 3, OP_BREG(RBP), SLEB(-8), OP_DEREF),
		/* Realigned, but above the frame pointer, not at a multiple of 8, or truncated. */
		PROGRAM(EXPRESSION, RBP, 2, OP_BREG(RBP), 0, DEF_CFA_EXPRESSION, 3, OP_BREG(RBP), 8,
			OP_DEREF),
		PROGRAM(EXPRESSION, RBP, 2, OP_BREG(RBP), 0, DEF_CFA_EXPRESSION, 3, OP_BREG(RBP),
			SLEB(-12), OP_DEREF),
		PROGRAM(EXPRESSION, RBP, 2, OP_BREG(RBP), 0, DEF_CFA_EXPRESSION, 2, OP_BREG(RBP),
			SLEB(-8)),
		PROGRAM(EXPRESSION, RBP, 2, OP_BREG(RBP), 0, DEF_CFA_EXPRESSION, 4, OP_BREG(RBP),
			SLEB(-8), OP_DEREF, OP_DEREF),
		PROGRAM(EXPRESSION, RBP, 2, OP_BREG(RBP), 0, DEF_CFA_EXPRESSION, 0),
		/* Realigned, but the return address is elsewhere. */
		PROGRAM(EXPRESSION, RBP, 2, OP_BREG(RBP), 0, OFFSET(RIP), 3, DEF_CFA_EXPRESSION, 3,
			OP_BREG(RBP), SLEB(-8), OP_DEREF),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(rule_at(&(struct table_spec){ .own = others[i] }, 0),
				 ALLO_RULE_CUT);
}

static void a_frame_after_an_expression_is_plain_again(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(DEF_CFA_EXPRESSION, 1, 0x30, ADVANCE(1), DEF_CFA, RSP, 16),
	};

	(void)state;
	assert_rule(&spec, 1, ALLO_RULE_SP, 16, 0);
}

static void frames_that_no_rule_can_express_cut(void **state)
{
	const struct program programs[] = {
		PROGRAM(DEF_CFA_OFFSET, 0),
		PROGRAM(DEF_CFA_OFFSET, 20),
		PROGRAM(DEF_CFA_OFFSET, ULEB3(ALLO_RULE_CFA_MAX + 8)),
		PROGRAM(DEF_CFA_OFFSET, 16, OFFSET(RBP), ULEB2(-ALLO_RULE_FP_MIN / 8 + 1)),
		PROGRAM(DEF_CFA_OFFSET, 16, OFFSET_EXTENDED_SF, RBP, SLEB(-1)),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		assert_int_equal(rule_at(&(struct table_spec){ .own = programs[i] }, 0),
				 ALLO_RULE_CUT);
}

static void the_largest_frames_of_a_rule_come_back_whole(void **state)
{
	const struct table_spec spec = {
		.own = PROGRAM(DEF_CFA_OFFSET, ULEB3(ALLO_RULE_CFA_MAX), OFFSET(RBP),
			       ULEB2(-ALLO_RULE_FP_MIN / 8)),
	};
	uint32_t rule = rule_at(&spec, 0);

	(void)state;
	assert_int_equal(allo_rule_kind(rule), ALLO_RULE_SP);
	assert_int_equal(allo_rule_cfa(rule), ALLO_RULE_CFA_MAX);
	assert_int_equal(allo_rule_fp(rule), ALLO_RULE_FP_MIN);
}

static void an_unknown_instruction_cuts(void **state)
{
	const struct table_spec spec = { .own = PROGRAM(0x3f) };

	(void)state;
	assert_int_equal(rule_at(&spec, 0), ALLO_RULE_CUT);
}

static void instructions_after_the_row_are_not_read(void **state)
{
	const struct table_spec spec = { .own = PROGRAM(ADVANCE(4), 0x3f) };

	(void)state;
	assert_rule(&spec, 3, ALLO_RULE_SP, 8, 0);
	assert_int_equal(rule_at(&spec, 4), ALLO_RULE_CUT);
}

static void entries_of_later_versions_are_read(void **state)
{
	const uint8_t good[] = { 1, 3, 4 };

	(void)state;
	for (unsigned i = 0; i < sizeof(good); i++) {
		const struct table_spec spec = { .version = good[i],
						 .own = PROGRAM(DEF_CFA_OFFSET, 16) };

		assert_rule(&spec, 0, ALLO_RULE_SP, 16, 0);
	}
	assert_int_equal(rule_at(&(struct table_spec){ .version = 2 }, 0), ALLO_RULE_CUT);
}

static void personalities_and_exception_tables_are_skipped(void **state)
{
	const struct table_spec spec = {
		.augmentation = "zPLR",
		.augmentation_data = PROGRAM(0x9b, 1, 2, 3, 4, 0x1b, 0x1b),
		.own = PROGRAM(DEF_CFA_OFFSET, 16),
	};

	(void)state;
	/* The augmentation data of the function is empty: it has no exception table. */
	assert_rule(&spec, 0, ALLO_RULE_SP, 16, 0);
}

static void an_unknown_augmentation_cuts(void **state)
{
	const struct table_spec spec = { .augmentation = "eh" };

	(void)state;
	assert_int_equal(rule_at(&spec, 0), ALLO_RULE_CUT);
}

static void functions_without_augmentation_have_absolute_addresses(void **state)
{
	const struct table_spec spec = { .augmentation = "",
					 .is_absolute = true,
					 .own = PROGRAM(DEF_CFA_OFFSET, 16) };

	(void)state;
	assert_rule(&spec, 0, ALLO_RULE_SP, 16, 0);
}

static void there_is_no_rule_outside_of_functions(void **state)
{
	const struct table_spec spec = { .own = PROGRAM(DEF_CFA_OFFSET, 16) };

	(void)state;
	assert_rule(&spec, FUNCTION_SIZE - 1, ALLO_RULE_SP, 16, 0);
	assert_rule(&spec, FUNCTION_SIZE, ALLO_RULE_NONE, 0, 0);
	assert_rule(&spec, (uint64_t)-1, ALLO_RULE_NONE, 0, 0);
	assert_rule(&spec, (uint64_t)1 << 40, ALLO_RULE_NONE, 0, 0);
}

/* aarch64, as aarch64-linux-gnu-gcc 12 -O2 writes it. */

#define AARCH64(...)                                                                               \
	(const struct table_spec)                                                                  \
	{                                                                                          \
		.arch = &allo_cfi_aarch64, .own = PROGRAM(__VA_ARGS__)                             \
	}

/* stp x29, x30, [sp, -32]!; mov x29, sp; ...; ldp x29, x30, [sp], 32; ret */
static void an_aarch64_frame_is_found_by_its_stack_pointer(void **state)
{
	const struct table_spec spec = AARCH64(ADVANCE(1), DEF_CFA_OFFSET, 32, OFFSET(X29), 4,
					       OFFSET(X30), 3, ADVANCE(7), RESTORE(X30),
					       RESTORE(X29), DEF_CFA_OFFSET, 0);

	(void)state;
	assert_rule(&spec, 4, ALLO_RULE_SP, 32, -32);
	assert_rule(&spec, 31, ALLO_RULE_SP, 32, -32);
}

/* The return address is still in a register, which cannot be in a frame that called. */
static void an_aarch64_frame_without_a_saved_return_address_cuts(void **state)
{
	const struct table_spec spec = AARCH64(ADVANCE(1), DEF_CFA_OFFSET, 32, OFFSET(X29), 4,
					       OFFSET(X30), 3, ADVANCE(7), RESTORE(X30),
					       RESTORE(X29), DEF_CFA_OFFSET, 0);
	const struct table_spec leaf = AARCH64(0);

	(void)state;
	assert_int_equal(rule_at(&spec, 0), ALLO_RULE_CUT);
	assert_int_equal(rule_at(&spec, 32), ALLO_RULE_CUT);
	assert_int_equal(rule_at(&leaf, 0), ALLO_RULE_CUT);
}

/* mov x12, 5040; sub sp, sp, x12; stp x29, x30, [sp] */
static void a_large_aarch64_frame_has_its_record_at_the_bottom(void **state)
{
	const struct table_spec spec = AARCH64(ADVANCE(2), DEF_CFA_OFFSET, ULEB2(5040), ADVANCE(1),
					       OFFSET(X29), ULEB2(630), OFFSET(X30), ULEB2(629),
					       ADVANCE(2), OFFSET(X19), ULEB2(628));

	(void)state;
	assert_int_equal(rule_at(&spec, 8), ALLO_RULE_CUT);
	assert_rule(&spec, 12, ALLO_RULE_SP, 5040, -5040);
	assert_rule(&spec, 20, ALLO_RULE_SP, 5040, -5040);
}

/* An array whose size is not known: stp x29, x30, [sp, -16]!; mov x29, sp; sub sp, sp, x0 */
static void a_dynamic_aarch64_frame_is_found_by_its_frame_pointer(void **state)
{
	const struct table_spec spec = AARCH64(
		ADVANCE(2), DEF_CFA_OFFSET, 16, OFFSET(X29), 2, OFFSET(X30), 1, ADVANCE(3),
		DEF_CFA_REGISTER, X29, ADVANCE(6), RESTORE(X30), RESTORE(X29), DEF_CFA, SP, 0);

	(void)state;
	assert_rule(&spec, 8, ALLO_RULE_SP, 16, -16);
	assert_rule(&spec, 20, ALLO_RULE_STANDARD, 16, -16);
	assert_int_equal(rule_at(&spec, 44), ALLO_RULE_CUT);
}

/* -mbranch-protection=pac-ret: paciasp; stp x29, x30, [sp, -32]!; ...; autiasp; ret */
static void a_signed_return_address_changes_nothing_about_the_frame(void **state)
{
	const struct table_spec spec = AARCH64(ADVANCE(1), NEGATE_RA_STATE, ADVANCE(2),
					       DEF_CFA_OFFSET, 32, OFFSET(X29), 4, OFFSET(X30), 3,
					       ADVANCE(6), RESTORE(X30), RESTORE(X29),
					       DEF_CFA_OFFSET, 0, ADVANCE(1), NEGATE_RA_STATE);

	(void)state;
	assert_int_equal(rule_at(&spec, 4), ALLO_RULE_CUT);
	assert_rule(&spec, 12, ALLO_RULE_SP, 32, -32);
}

/* Broken tables. */

struct lie {
	struct edge edge;
	struct table table;
};

/* A table with each kind of instruction. */
static void lie_init(struct lie *lie, bool is_at_end)
{
	const struct table_spec spec = {
		.augmentation = "zPLR",
		.augmentation_data = PROGRAM(0x9b, 1, 2, 3, 4, 0x1b, 0x1b),
		.own = PROGRAM(ADVANCE_LOC1, 1, DEF_CFA_OFFSET, 16, OFFSET(RBP), 2, ADVANCE_LOC2, 1,
			       0, REMEMBER_STATE, DEF_CFA_REGISTER, RBP, GNU_ARGS_SIZE, 8,
			       RESTORE_STATE, EXPRESSION, RBP, 2, OP_BREG(RBP), 0,
			       DEF_CFA_EXPRESSION, 3, OP_BREG(RBP), SLEB(-8), OP_DEREF,
			       ADVANCE_LOC4, 1, 0, 0, 0, OFFSET_EXTENDED_SF, RBP, ULEB3(5)),
	};
	uint8_t *start;

	edge_init(&lie->edge);
	start = lie->edge.page;
	table_make(&lie->table, &spec, (uint64_t)(uintptr_t)start, edge_function(&lie->edge));
	if (is_at_end) {
		start += TABLE_MAX - lie->table.len;
		table_make(&lie->table, &spec, (uint64_t)(uintptr_t)start,
			   edge_function(&lie->edge));
	}
}

/* Reads the first `len` bytes of lie->table, placed before or after an unreadable page. */
static uint32_t lie_read(struct lie *lie, size_t len, bool is_at_end)
{
	uint8_t *start = lie->edge.page + (is_at_end ? TABLE_MAX - len : 0);

	memcpy(start, lie->table.bytes, len);
	return allo_cfi_rule(&allo_cfi_x86_64, start, start, start + len,
			     edge_function(&lie->edge) + 100);
}

static void a_table_may_end_at_any_byte(void **state)
{
	struct lie lie;

	(void)state;
	lie_init(&lie, true);
	for (size_t len = 0; len < lie.table.len; len++) {
		enum allo_rule_kind kind = allo_rule_kind(lie_read(&lie, len, true));

		assert_true(kind == ALLO_RULE_NONE || kind == ALLO_RULE_END);
	}
	edge_done(&lie.edge);
}

static void any_byte_may_be_any_other(void **state)
{
	struct lie lie;

	(void)state;
	for (unsigned end = 0; end < 2; end++) {
		lie_init(&lie, end);
		for (size_t at = 0; at < lie.table.len; at++) {
			uint8_t right = lie.table.bytes[at];

			for (unsigned byte = 0; byte < 256; byte++) {
				lie.table.bytes[at] = (uint8_t)byte;
				lie_read(&lie, lie.table.len, end);
			}
			lie.table.bytes[at] = right;
		}
		edge_done(&lie.edge);
	}
}

static void any_word_may_be_wrong(void **state)
{
	const uint32_t words[] = { 0,          1,          0x7f,       0x80,
				   0xfff,      0x1000,     0xffff,     0x7fffffff,
				   0x80000000, 0xfffffffc, 0xfffffffe, 0xffffffff };
	struct lie lie;

	(void)state;
	for (unsigned end = 0; end < 2; end++) {
		lie_init(&lie, end);
		for (size_t at = 0; at + 4 <= lie.table.len; at++) {
			uint32_t right;

			memcpy(&right, lie.table.bytes + at, 4);
			for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
				table_set_u32(&lie.table, at, words[i]);
				lie_read(&lie, lie.table.len, end);
			}
			table_set_u32(&lie.table, at, right);
		}
		edge_done(&lie.edge);
	}
}

/* Including itself and places outside of the table. */
static void an_entry_may_claim_to_belong_to_any_other_place(void **state)
{
	struct lie lie;

	(void)state;
	lie_init(&lie, true);
	for (uint32_t distance = 0; distance < 2 * TABLE_MAX; distance++) {
		size_t right = lie.table.fde + 4 - lie.table.cie;

		table_set_u32(&lie.table, lie.table.fde + 4, distance - TABLE_MAX);
		if (distance - TABLE_MAX != right)
			assert_int_equal(lie_read(&lie, lie.table.len, true), ALLO_RULE_CUT);
	}
	edge_done(&lie.edge);
}

static void the_header_may_point_anywhere(void **state)
{
	struct lie lie;

	(void)state;
	lie_init(&lie, true);
	for (uint32_t at = 0; at < 2 * TABLE_MAX; at++) {
		table_set_u32(&lie.table, 16, at - TABLE_MAX);
		if (at - TABLE_MAX != lie.table.fde)
			assert_int_equal(lie_read(&lie, lie.table.len, true), ALLO_RULE_CUT);
	}
	edge_done(&lie.edge);
}

static void the_header_may_claim_too_many_functions(void **state)
{
	const uint32_t counts[] = { 1000, 0x10000000, 0x20000001, 0x80000000, 0xffffffff };
	struct lie lie;

	(void)state;
	lie_init(&lie, true);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		table_set_u32(&lie.table, 8, counts[i]);
		assert_int_equal(lie_read(&lie, lie.table.len, true),
				 allo_rule(ALLO_RULE_NONE, 0, 0));
	}
	edge_done(&lie.edge);
}

static void an_entry_of_64_bits_cuts(void **state)
{
	struct lie lie;

	(void)state;
	lie_init(&lie, true);
	table_set_u32(&lie.table, lie.table.fde, 0xffffffff);
	assert_int_equal(lie_read(&lie, lie.table.len, true), ALLO_RULE_CUT);
	lie_init(&lie, true);
	table_set_u32(&lie.table, lie.table.cie, 0xffffffff);
	assert_int_equal(lie_read(&lie, lie.table.len, true), ALLO_RULE_CUT);
	edge_done(&lie.edge);
}

#define HUGE_LEB 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01

static void numbers_may_be_longer_than_64_bits(void **state)
{
	const struct program programs[] = {
		PROGRAM(DEF_CFA_OFFSET, HUGE_LEB),
		PROGRAM(DEF_CFA_OFFSET_SF, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			0x7f),
		PROGRAM(OFFSET(RBP), HUGE_LEB),
		PROGRAM(OFFSET(RIP), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		PROGRAM(OFFSET_EXTENDED_SF, RBP, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			0x80, 0x7f),
		PROGRAM(DEF_CFA_EXPRESSION, HUGE_LEB),
		/* Up to the last byte of the entry. */
		PROGRAM(DEF_CFA_SF, RSP, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		assert_int_equal(rule_at(&(struct table_spec){ .own = programs[i] }, 0),
				 ALLO_RULE_CUT);
	assert_int_equal(rule_at(&AARCH64(OFFSET(X29), 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					  0x80, 0x90, 0x01, OFFSET(X30), 4),
				 0),
			 ALLO_RULE_CUT);
}

static void random_programs_are_survived(void **state)
{
	uint64_t random = 1;
	uint8_t program[48];

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		struct table_spec spec = { .own = { program, sizeof(program) } };

		if (draw(&random, 2))
			spec.arch = &allo_cfi_aarch64;
		for (size_t at = 0; at < sizeof(program); at++)
			program[at] = (uint8_t)draw(&random, draw(&random, 2) ? 256 : 32);
		rule_at(&spec, draw(&random, 4096));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_starts_with_its_return_address_on_top),
		cmocka_unit_test(each_push_and_pop_moves_the_frame),
		cmocka_unit_test(a_saved_frame_pointer_is_found_without_being_used),
		cmocka_unit_test(a_standard_frame_has_a_separate_kind),
		cmocka_unit_test(other_frames_by_frame_pointer_keep_their_offsets),
		cmocka_unit_test(restore_uses_the_initial_rules),
		cmocka_unit_test(remembered_states_nest),
		cmocka_unit_test(a_state_that_was_never_remembered_cuts),
		cmocka_unit_test(too_many_remembered_states_cut),
		cmocka_unit_test(locations_advance_in_every_encoding),
		cmocka_unit_test(a_location_may_be_set),
		cmocka_unit_test(offsets_may_be_signed_and_registers_written_long),
		cmocka_unit_test(other_registers_do_not_matter),
		cmocka_unit_test(a_frame_pointer_saved_in_any_other_way_cuts),
		cmocka_unit_test(a_return_address_in_any_other_place_cuts),
		cmocka_unit_test(a_frame_by_any_other_register_cuts),
		cmocka_unit_test(an_undefined_return_address_is_the_end),
		cmocka_unit_test(a_signal_frame_is_known_by_its_augmentation),
		cmocka_unit_test(a_realigned_frame_is_found_through_its_frame_pointer),
		cmocka_unit_test(a_realigned_frame_may_save_its_cfa_further_down),
		cmocka_unit_test(any_other_expression_cuts),
		cmocka_unit_test(a_frame_after_an_expression_is_plain_again),
		cmocka_unit_test(frames_that_no_rule_can_express_cut),
		cmocka_unit_test(the_largest_frames_of_a_rule_come_back_whole),
		cmocka_unit_test(an_unknown_instruction_cuts),
		cmocka_unit_test(instructions_after_the_row_are_not_read),
		cmocka_unit_test(entries_of_later_versions_are_read),
		cmocka_unit_test(personalities_and_exception_tables_are_skipped),
		cmocka_unit_test(an_unknown_augmentation_cuts),
		cmocka_unit_test(functions_without_augmentation_have_absolute_addresses),
		cmocka_unit_test(there_is_no_rule_outside_of_functions),
		cmocka_unit_test(an_aarch64_frame_is_found_by_its_stack_pointer),
		cmocka_unit_test(an_aarch64_frame_without_a_saved_return_address_cuts),
		cmocka_unit_test(a_large_aarch64_frame_has_its_record_at_the_bottom),
		cmocka_unit_test(a_dynamic_aarch64_frame_is_found_by_its_frame_pointer),
		cmocka_unit_test(a_signed_return_address_changes_nothing_about_the_frame),
		cmocka_unit_test(a_table_may_end_at_any_byte),
		cmocka_unit_test(any_byte_may_be_any_other),
		cmocka_unit_test(any_word_may_be_wrong),
		cmocka_unit_test(an_entry_may_claim_to_belong_to_any_other_place),
		cmocka_unit_test(the_header_may_point_anywhere),
		cmocka_unit_test(the_header_may_claim_too_many_functions),
		cmocka_unit_test(an_entry_of_64_bits_cuts),
		cmocka_unit_test(numbers_may_be_longer_than_64_bits),
		cmocka_unit_test(random_programs_are_survived),
	};

	return cmocka_run_group_tests_name("cfi", tests, NULL, NULL);
}
