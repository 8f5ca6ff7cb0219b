/* test_resident.c - the resident memory of a process, next to its live blocks. */
#include "base/defer.h"
#include "check.h"
#include "recordings.h"
#include "replay/packed/pack_recording.h"
#include "replay/recording/recording.h"
#include "replay/summary.h"
#include "scratch.h"

enum { MIB = 1 << 20, STEP = ALLO_RESIDENT_STEP_NS };

static struct allo_wire_resident empty(void)
{
	return (struct allo_wire_resident){ .step_ns = STEP };
}

static struct allo_resident of(const struct allo_wire_resident *wire)
{
	const struct allo_recording recording = { .resident = wire };

	return allo_resident_of(&recording);
}

static uint64_t within(const struct allo_wire_resident *wire, uint64_t from_ns, uint64_t to_ns)
{
	const struct allo_recording recording = { .resident = wire };

	return allo_resident_within(&recording, from_ns, to_ns);
}

static void a_step_has_its_largest_sample(void **state)
{
	struct allo_wire_resident wire = empty();

	(void)state;
	allo_resident_add(&wire, 10, 7 * MIB, 7 * MIB);
	allo_resident_add(&wire, STEP - 1, 5 * MIB, 7 * MIB);
	allo_resident_add(&wire, STEP, 3 * MIB, 7 * MIB);
	assert_int_equal(wire.kib[0], 7 * 1024);
	assert_int_equal(wire.kib[1], 3 * 1024);
	assert_int_equal(wire.largest_ns, 10);
}

static void steps_double_when_there_is_no_room(void **state)
{
	struct allo_wire_resident wire = empty();

	(void)state;
	for (uint64_t i = 0; i < 5 * ALLO_RESIDENT_SAMPLES; i++)
		allo_resident_add(&wire, i * STEP, (i + 1) * MIB, (i + 1) * MIB);
	assert_int_equal(wire.step_ns, 8ull * STEP);
	for (uint64_t i = 0; i < 5 * ALLO_RESIDENT_SAMPLES / 8; i++)
		assert_int_equal(wire.kib[i], (8 * i + 8) * 1024);
	assert_int_equal(wire.kib[5 * ALLO_RESIDENT_SAMPLES / 8], 0);
	allo_resident_add(&wire, UINT64_MAX / 4, MIB, MIB); /* ends */
}

static void the_kernel_knows_the_peak_better_than_samples(void **state)
{
	struct allo_wire_resident wire = empty();

	(void)state;
	allo_resident_add(&wire, 3 * STEP, 100 * MIB, 102 * MIB);
	assert_int_equal(of(&wire).peak_bytes, 102 * MIB);
	assert_int_equal(of(&wire).peak_ns, 3ull * STEP);
	wire.own_peak = 150 * MIB; /* after the last sample */
	assert_int_equal(of(&wire).peak_bytes, 150 * MIB);
	assert_true(of(&wire).peak_ns == UINT64_MAX);
	assert_int_equal(of(NULL).peak_bytes, 0);
}

static void parts_of_a_smaller_process_are_left_out(void **state)
{
	struct allo_wire_resident wire = empty();

	(void)state;
	wire.own_peak = 100 * MIB;
	wire.parts_ns = 1;
	wire.parts[ALLO_RESIDENT_HEAP] = 50 * MIB;
	wire.parts[ALLO_RESIDENT_MAPPED] = 40 * MIB;
	assert_int_equal(of(&wire).parts_bytes, 90 * MIB);
	assert_int_equal(of(&wire).parts[ALLO_RESIDENT_MAPPED], 40 * MIB);
	wire.own_peak = 200 * MIB;
	assert_int_equal(of(&wire).parts_bytes, 0);
	assert_int_equal(of(&wire).parts[ALLO_RESIDENT_MAPPED], 0);
	wire.parts[0] = wire.parts[1] = UINT64_MAX; /* a file may contain anything */
	assert_true(of(&wire).parts_bytes == UINT64_MAX);
}

static void a_time_without_a_sample_has_that_of_before(void **state)
{
	struct allo_wire_resident wire = empty();

	(void)state;
	assert_int_equal(within(&wire, 0, UINT64_MAX), 0);
	allo_resident_add(&wire, 2 * STEP, 5 * MIB, 5 * MIB);
	allo_resident_add(&wire, 4 * STEP, 9 * MIB, 9 * MIB);
	assert_int_equal(within(&wire, 0, STEP), 0);
	assert_int_equal(within(&wire, 2ull * STEP + 7, 2ull * STEP + 8), 5 * MIB);
	assert_int_equal(within(&wire, 3ull * STEP, 4ull * STEP), 5 * MIB);
	assert_int_equal(within(&wire, 3ull * STEP, 4ull * STEP + 1), 9 * MIB);
	assert_int_equal(within(&wire, 0, UINT64_MAX), 9 * MIB);
	assert_int_equal(within(&wire, UINT64_MAX - 1, UINT64_MAX), 9 * MIB);
}

static struct allo_summary summary_of(const char *path)
{
	struct allo_error err = { 0 };
	struct allo_summary summary;

	assert_true(allo_recording_summary(path, &summary, NULL, &err));
	return summary;
}

/* The blocks of handle are allocated one by one, from tick 10000 to tick 32000. */
static void the_live_bytes_are_those_of_that_time(void **state)
{
	static const struct {
		uint64_t ns, live;
	} cases[] = { { 0, 0 },
		      { 1500, 5 },
		      { 9500, 5 + 64 + 1009 },
		      { 20000, 5 + 64 + 11 * 1009 },
		      { 900000, 5 + 32 + 3 * 1009 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ALLO_DEFER(recorder_done) struct recorder recorder;
		ALLO_DEFER(scratch_done) struct scratch scratch;
		struct allo_error err = { 0 };
		const char *raw, *packed;

		scratch_init(&scratch);
		record_resident(&recorder, cases[i].ns);
		raw = scratch_write(&scratch, "raw", recorder.file, recorder_size(&recorder));
		packed = scratch_path(&scratch, "packed");
		assert_true(allo_recording_pack(raw, packed, NULL, &err));
		assert_int_equal(summary_of(raw).resident.live_bytes, cases[i].live);
		assert_int_equal(summary_of(packed).resident.live_bytes, cases[i].live);
		assert_int_equal(summary_of(packed).resident.peak_bytes, 3 * MIB);
		assert_int_equal(summary_of(packed).resident.peak_ns, cases[i].ns);
	}
}

/* Any place and any step may be in a file. */
static void a_damaged_head_has_no_resident_memory(void **state)
{
	static const struct allo_wire_text places[] = {
		{ 0, 0 }, { 65536, 4200 }, { UINT32_MAX, UINT32_MAX }, { 64000, 4200 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		ALLO_DEFER(recorder_done) struct recorder recorder;
		ALLO_DEFER(scratch_done) struct scratch scratch;

		scratch_init(&scratch);
		record_resident(&recorder, 0);
		recorder_head(&recorder)->resident = places[i];
		assert_int_equal(summary_of(scratch_write(&scratch, "raw", recorder.file,
							  recorder_size(&recorder)))
					 .resident.peak_bytes,
				 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_has_its_largest_sample),
		cmocka_unit_test(steps_double_when_there_is_no_room),
		cmocka_unit_test(the_kernel_knows_the_peak_better_than_samples),
		cmocka_unit_test(parts_of_a_smaller_process_are_left_out),
		cmocka_unit_test(a_time_without_a_sample_has_that_of_before),
		cmocka_unit_test(the_live_bytes_are_those_of_that_time),
		cmocka_unit_test(a_damaged_head_has_no_resident_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
