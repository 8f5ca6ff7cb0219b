/* test_trigger.c - run/trigger.h. */
#include "check.h"

#include "run/trigger.h"
#include "telemetry/monotonic_clock.h"

#include <signal.h>

#define MIB ((uint64_t)1 << 20)

/* A process with a limit of 1000 MiB, and its remembered state. */
struct process {
	struct allo_trigger trigger;
	struct allo_trigger_state state;
	struct allo_trigger_look look;
};

static void begin(struct process *process, const char *condition)
{
	struct allo_error err = { 0 };

	memset(process, 0, sizeof(*process));
	memset(&process->look.memory, 0xff, sizeof(process->look.memory)); /* nothing is known */
	process->look.memory.cgroup.limit_bytes = 1000 * MIB;
	process->look.now_ns = process->state.since_ns = 100 * (uint64_t)ALLO_SECOND_NS;
	assert_true(allo_trigger_parse(&process->trigger, condition, &err));
}

static bool is_due(struct process *process)
{
	return allo_trigger_is_due(&process->trigger, &process->state, &process->look);
}

static bool is_due_with(struct process *process, uint64_t mib)
{
	process->look.memory.process.rss_bytes = mib * MIB;
	return is_due(process);
}

static void resident_memory_is_told_of_as_it_grows(void **state)
{
	struct process process;

	(void)state;
	begin(&process, "rss=50%");
	assert_false(is_due_with(&process, 499));
	assert_true(is_due_with(&process, 500));
	assert_false(is_due_with(&process, 500));
	assert_false(is_due_with(&process, 524)); /* less than a twentieth more */
	assert_true(is_due_with(&process, 526));
	assert_false(is_due_with(&process, 480)); /* a little less is not enough to arm it again */
	assert_false(is_due_with(&process, 510));
	assert_false(is_due_with(&process, 470));
	assert_true(is_due_with(&process, 500));
}

static void bytes_need_no_limit(void **state)
{
	struct process process;

	(void)state;
	begin(&process, "rss=64M");
	process.look.memory.cgroup.limit_bytes = ALLO_UNKNOWN;
	assert_false(is_due_with(&process, 63));
	assert_true(is_due_with(&process, 64));
}

/* No process has more memory than the machine. */
static void without_a_group_the_machine_is_the_limit(void **state)
{
	struct process process;

	(void)state;
	begin(&process, "rss=100%");
	process.look.memory.cgroup.limit_bytes = ALLO_UNKNOWN;
	assert_false(is_due_with(&process, 1));
	assert_true(is_due_with(&process, (uint64_t)1 << 30));
}

static void peaks_are_a_second_apart(void **state)
{
	struct process process;

	(void)state;
	begin(&process, "peak");
	process.look.memory.process.rss_peak_bytes = ALLO_UNKNOWN;
	process.look.now_ns += 2 * (uint64_t)ALLO_SECOND_NS;
	assert_false(is_due(&process));
	process.look.memory.process.rss_peak_bytes = 100 * MIB;
	assert_true(is_due(&process));
	process.state.since_ns = process.look.now_ns;
	process.look.memory.process.rss_peak_bytes = 200 * MIB;
	assert_false(is_due(&process));
	process.look.now_ns += ALLO_SECOND_NS;
	assert_true(is_due(&process));
	process.look.memory.process.rss_peak_bytes = 209 * MIB;
	assert_false(is_due(&process));
	process.look.memory.process.rss_peak_bytes = 210 * MIB;
	assert_true(is_due(&process));
}

/* Some seconds later, of which so much was waited for. */
static bool is_due_after(struct process *process, unsigned seconds, uint64_t waited_ms)
{
	process->look.now_ns += seconds * (uint64_t)ALLO_SECOND_NS;
	process->look.memory.system.pressure_some_ns += waited_ms * 1000000;
	return is_due(process);
}

static void pressure_is_told_of_once(void **state)
{
	struct process process;

	(void)state;
	begin(&process, "pressure=20%");
	assert_false(is_due(&process)); /* not known */
	process.look.memory.system.pressure_some_ns = 5000;
	assert_false(is_due_after(&process, 0, 0));
	assert_false(is_due_after(&process, 1, 1000)); /* too short a time to tell */
	assert_true(is_due_after(&process, 1, 0));
	assert_false(is_due_after(&process, 2, 2000));
	assert_false(is_due_after(&process, 2, 300)); /* 15 %: it is not over */
	assert_false(is_due_after(&process, 2, 500));
	assert_false(is_due_after(&process, 2, 100));
	assert_true(is_due_after(&process, 2, 500));
	/* The group's own counts more than the machine's. */
	begin(&process, "pressure");
	process.look.memory.cgroup.pressure_some_ns = 0;
	process.look.memory.system.pressure_some_ns = 0;
	assert_false(is_due_after(&process, 0, 0));
	assert_false(is_due_after(&process, 2, 2000));
	process.look.memory.cgroup.pressure_some_ns = 300000000;
	assert_true(is_due_after(&process, 2, 0));
}

static void signals_and_times(void **state)
{
	struct process process;

	(void)state;
	begin(&process, "signal=USR2");
	assert_int_equal(process.trigger.signal, SIGUSR2);
	assert_false(is_due(&process));
	process.look.signal = SIGUSR1;
	assert_false(is_due(&process));
	process.look.signal = SIGUSR2;
	assert_true(is_due(&process));
	begin(&process, "signal=SIGHUP");
	assert_int_equal(process.trigger.signal, SIGHUP);
	begin(&process, "every=5m");
	assert_int_equal(process.trigger.period_ns, 300 * (uint64_t)ALLO_SECOND_NS);
	process.trigger.next_ns = process.look.now_ns + 1;
	assert_false(is_due(&process));
	process.look.now_ns++;
	assert_true(is_due(&process));
}

static void what_is_no_condition_is_refused(void **state)
{
	static const char *const bad[] = {
		"",          "rss",         "rss=",       "rss=0",       "rss=x%",
		"rss=101%",  "rss=-1%",     "peak=1",     "pressure=0%", "pressure=1000",
		"signal",    "signal=KILL", "every",      "every=999ms", "every=soon",
		"Rss=1%",    "rss=0x10%",   "rss= 9%",    "rss=1e1%",    "rss=.%",
		"rss=5.%",   "rss=%",       "rss=1.2.3%", "peak=",       "pressure=",
		"pressure=%"
	};
	struct allo_trigger trigger;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct allo_error err = { 0 };

		assert_false(allo_trigger_parse(&trigger, bad[i], &err));
		assert_int_equal(err.code, ALLO_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resident_memory_is_told_of_as_it_grows),
		cmocka_unit_test(bytes_need_no_limit),
		cmocka_unit_test(without_a_group_the_machine_is_the_limit),
		cmocka_unit_test(peaks_are_a_second_apart),
		cmocka_unit_test(pressure_is_told_of_once),
		cmocka_unit_test(signals_and_times),
		cmocka_unit_test(what_is_no_condition_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
