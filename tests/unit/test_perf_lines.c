/* test_perf_lines.c - readers/traces/perf_lines.h. */
#include "check.h"

#include "readers/traces/perf_lines.h"

static const struct {
	const char *line, *symbol, *object;
	bool is_inlined;
} frames[] = {
	{ "\t            1185 leaf_a+0xc (/tmp/demo/busy)", "leaf_a", "/tmp/demo/busy", false },
	{ "\t    7f7b9efb8f30 f(int, char) const+0x120 (/opt/a b (c)/lib.so)", "f(int, char) const",
	  "/opt/a b (c)/lib.so", false },
	{ "\t 1 operator+(A const&, A const&)+0x7 (/x)", "operator+(A const&, A const&)", "/x",
	  false },
	{ "\t 1 run+0x1 (/tmp/prog (deleted))", "run", "/tmp/prog (deleted)", false },
	{ "\t 1 void (anonymous namespace)::f<int>() (/opt/x y)",
	  "void (anonymous namespace)::f<int>()", "/opt/x y", false },
	{ "\tffffffff81 do_syscall_64+0x3d ([kernel.kallsyms])", "do_syscall_64",
	  "[kernel.kallsyms]", false },
	{ "\t d44a3 [unknown] (/usr/lib/libstdc++.so.6)", "", "/usr/lib/libstdc++.so.6", false },
	{ "\t d44a3 [unknown] ([unknown])", "", "", false },
	{ "\t 13ca spin (inlined)", "spin", "", true },
	{ "\t 13ca Box<int>::spin(int) (inlined)", "Box<int>::spin(int)", "", true },
	{ "\t 2724a main+0x7a (/usr/lib/libc.so.6+0x2724a)", "main", "/usr/lib/libc.so.6", false },
	{ "\t 1185 leaf_a", "leaf_a", "", false },
	{ "\t 1185", "", "", false },
	{ "\t 1185 (/tmp/busy)", "", "/tmp/busy", false },
	{ "55fc31efc185 leaf_a+0xc (/tmp/demo/busy)\r", "leaf_a", "/tmp/demo/busy", false },
	{ "    1185 a+0xc (/x)", "a", "/x", false },
	{ "\t 1185 +0x", "+0x", "", false },
	{ "\t 1185 (", "", "", false },
	{ "\t 1185 )", ")", "", false },
};

static void frames_are_parsed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		struct allo_perf_frame frame = allo_perf_parse_frame(allo_text_of(frames[i].line));

		assert_text_equal(frame.symbol, frames[i].symbol);
		assert_text_equal(frame.object, frames[i].object);
		assert_int_equal(frame.is_inlined, frames[i].is_inlined);
	}
}

static void frames_differ_from_other_lines(void **state)
{
	const char *others[] = { "",
				 "\t",
				 "1185 main",
				 "  busy.c:7",
				 "  libc.so.6[27b25]",
				 "busy 15094  1015.298049:",
				 "\v 1185 main",
				 "\tmain+0x7" };

	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		struct allo_text line = allo_text_of(frames[i].line);

		assert_int_equal(allo_perf_is_frame(line), allo_is_space(line.data[0]));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(allo_perf_is_frame(allo_text_of(others[i])));
}

static const struct {
	const char *line, *comm;
	uint64_t pid, tid, time_ns, period; /* UINT64_MAX: not there */
	const char *event, *rest;
} heads[] = {
#define NO UINT64_MAX
	{ "busy 15094  1015.298049:    3367003 cpu-clock: ", "busy", 0, 15094, 1015298049000,
	  3367003, "cpu-clock", "" },
	{ "V8 WorkerThread 24636/25607 [000] 94564.109216: 100 cycles: ", "V8 WorkerThread", 24636,
	  25607, 94564109216000, 100, "cycles", "" },
	{ "worker 7/8 x 29624 69622.512842123:    2518891 cycles:uppp: ", "worker 7/8 x", 0, 29624,
	  69622512842123, 2518891, "cycles:uppp", "" },
	{ "kworker/0:1-events  12 [001]     1.000001:          1 sched:sched_switch: prev_comm=a ",
	  "kworker/0:1-events", 0, 12, 1000001000, 1, "sched:sched_switch", "prev_comm=a" },
	{ "a 1/1     1.5: cpu_atom/cycles/P: ", "a", 1, 1, 1500000000, NO, "cpu_atom/cycles/P",
	  "" },
	{ "a 29603 U     69.507892367:    25 cpu-clock:", "a", 0, 29603, 69507892367, 25,
	  "cpu-clock", "" },
	{ "a 1 2.0: 7 raw 0x1c2:", "a", 0, 1, 2000000000, 7, "raw 0x1c2", "" },
	{ "            busy 19510  2807.858814:   10309278 cpu-clock:      55fc185 leaf_a+0xc (/b)",
	  "busy", 0, 19510, 2807858814000, 10309278, "cpu-clock", "55fc185 leaf_a+0xc (/b)" },
	{ "  busy prog 29603/29603 69622.507892:      55b95b66c3ca Box<unsigned long>::work",
	  "busy prog", 29603, 29603, 69622507892000, NO, "",
	  "55b95b66c3ca Box<unsigned long>::work" },
	{ "a 1 2.0:  401185 main+0x5 (/x)", "a", 0, 1, 2000000000, NO, "", "401185 main+0x5 (/x)" },
	{ "a 1 2.0:  77 401185 main+0x5 (/x)", "a", 0, 1, 2000000000, 77, "",
	  "401185 main+0x5 (/x)" },
	{ "a 1 2.0: 77", "a", 0, 1, 2000000000, 77, "", "" },
	{ "pool 7/8 9.5: 29624 69622.5: 7 cycles:", "pool 7/8 9.5:", 0, 29624, 69622500000000, 7,
	  "cycles", "" },
	{ "a 1 2.0: 7 cycles: 8 3.5: x", "a", 0, 1, 2000000000, 7, "cycles", "8 3.5: x" },
	{ "69622.507892: ", "", 0, NO, 69622507892000, NO, "", "" },
	{ " 15094  1015.298049: cpu-clock:", "", 0, 15094, 1015298049000, NO, "cpu-clock", "" },
	{ "busy prog  1015.298049: cpu-clock:", "busy prog", 0, NO, 1015298049000, NO, "cpu-clock",
	  "" },
	{ "worker 7/8 x 29603    2518891 cpu-clock: ", "worker 7/8 x", 0, 29603, NO, 2518891,
	  "cpu-clock", "" },
	{ "busy 15094 [003] cycles:", "busy", 0, 15094, NO, NO, "cycles", "" },
	{ "busy prog 15094 ", "busy prog", 0, 15094, NO, NO, "", "" },
	{ "cpu-clock: ", "", 0, NO, NO, NO, "cpu-clock", "" },
	{ "a 1 2.0: PERF_RECORD_MMAP2 1/1: [0x5(0x1) @ 0x1 fe:00 1 2]: r-xp /a", "a", 0, 1,
	  2000000000, NO, "", "PERF_RECORD_MMAP2 1/1: [0x5(0x1) @ 0x1 fe:00 1 2]: r-xp /a" },
#undef NO
};

static void heads_of_samples_are_parsed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		struct allo_perf_head head;

		assert_true(allo_perf_parse_head(allo_text_of(heads[i].line), &head));
		assert_text_equal(head.comm, heads[i].comm);
		assert_int_equal(head.has_tid, heads[i].tid != UINT64_MAX);
		assert_int_equal(head.pid, heads[i].pid);
		assert_int_equal(head.has_tid ? head.tid : UINT64_MAX, heads[i].tid);
		assert_int_equal(head.has_time ? head.time_ns : UINT64_MAX, heads[i].time_ns);
		assert_int_equal(head.has_period ? head.period : UINT64_MAX, heads[i].period);
		assert_text_equal(head.event, heads[i].event);
		assert_text_equal(head.rest, heads[i].rest);
	}
}

static void other_lines_are_no_heads(void **state)
{
	const char *others[] = { "",
				 "busy",
				 "main;parse 12 x",
				 "a b c d e f g h i j k 12",
				 "Processed 15 events and lost 1 chunks!",
				 "1:2:3",
				 "a:b: c d" };
	struct allo_perf_head head;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(allo_perf_parse_head(allo_text_of(others[i]), &head));
}

static void source_lines_are_parsed(void **state)
{
	struct allo_text file = { 0 };
	uint32_t line = 0;

	(void)state;
	assert_true(allo_perf_parse_place(ALLO_TEXT("  a b:c.h:412\n"), &file, &line));
	assert_text_equal(file, "a b:c.h");
	assert_int_equal(line, 412);
	assert_false(allo_perf_parse_place(ALLO_TEXT("  libc.so.6[27b25]"), &file, &line));
	assert_false(allo_perf_parse_place(ALLO_TEXT("  :7"), &file, &line));
	assert_false(allo_perf_parse_place(ALLO_TEXT(""), &file, &line));
	assert_int_equal(line, 412);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_parsed),
		cmocka_unit_test(frames_differ_from_other_lines),
		cmocka_unit_test(heads_of_samples_are_parsed),
		cmocka_unit_test(other_lines_are_no_heads),
		cmocka_unit_test(source_lines_are_parsed),
	};

	return cmocka_run_group_tests_name("perf_lines", tests, NULL, NULL);
}
