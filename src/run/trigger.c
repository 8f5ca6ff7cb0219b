/*
 * trigger.c - parses the conditions of --snapshot-on, and checks them against a look at the
 * process.
 */
#include "run/trigger.h"

#include "base/assert.h"
#include "base/units.h"
#include "telemetry/monotonic_clock.h"

#include <signal.h>
#include <sys/sysinfo.h>

enum { PRESSURE_NS = 2000000000 }; /* shortest time over which pressure is measured */

static const double default_pressure = 10; /* percent */
static const double step = 0.05;           /* growth that is needed for another snapshot */

/* Parsing. */

/* A decimal such as 90 or 0.5, in any locale. */
static bool parse_percent(struct allo_text text, double *percent)
{
	double unit = 0; /* of the last digit behind the point; 0: none so far */

	*percent = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '.' && unit == 0 && i > 0 && i + 1 < text.len)
			unit = 1;
		else if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		else if (unit > 0)
			*percent += (unit /= 10) * (text.data[i] - '0');
		else
			*percent = *percent * 10 + (text.data[i] - '0');
	}
	return *percent > 0 && *percent <= 100;
}

static bool parse_rss(struct allo_trigger *trigger, struct allo_text value)
{
	if (allo_text_ends(value, ALLO_TEXT("%")))
		return parse_percent((struct allo_text){ value.data, value.len - 1 },
				     &trigger->percent);
	return allo_parse_bytes(value, &trigger->bytes) && trigger->bytes > 0;
}

static bool parse_pressure(struct allo_trigger *trigger, struct allo_text value)
{
	trigger->percent = default_pressure;
	if (value.len == 0)
		return true;
	if (allo_text_ends(value, ALLO_TEXT("%")))
		value.len--;
	return parse_percent(value, &trigger->percent);
}

static bool parse_signal(struct allo_trigger *trigger, struct allo_text value)
{
	static const struct {
		struct allo_text name;
		int number;
	} signals[] = {
		{ ALLO_TEXT_INIT("USR1"), SIGUSR1 },
		{ ALLO_TEXT_INIT("USR2"), SIGUSR2 },
		{ ALLO_TEXT_INIT("HUP"), SIGHUP },
	};

	allo_text_skip(&value, ALLO_TEXT("SIG"));
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		if (allo_text_equal(value, signals[i].name))
			trigger->signal = signals[i].number;
	}
	return trigger->signal != 0;
}

static bool parse_every(struct allo_trigger *trigger, struct allo_text value)
{
	return allo_parse_ns(value, &trigger->period_ns) && trigger->period_ns >= ALLO_SECOND_NS;
}

static bool parse_peak(struct allo_trigger *trigger, struct allo_text value)
{
	(void)trigger;
	return value.len == 0;
}

static const struct {
	const char *name;
	bool (*parse)(struct allo_trigger *trigger, struct allo_text value);
} kinds[] = {
	[ALLO_TRIGGER_RSS] = { "rss", parse_rss },
	[ALLO_TRIGGER_PEAK] = { "peak", parse_peak },
	[ALLO_TRIGGER_PRESSURE] = { "pressure", parse_pressure },
	[ALLO_TRIGGER_SIGNAL] = { "signal", parse_signal },
	[ALLO_TRIGGER_EVERY] = { "every", parse_every },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

bool allo_trigger_parse(struct allo_trigger *trigger, const char *condition, struct allo_error *err)
{
	struct allo_text name = allo_text_of(condition), value = ALLO_TEXT("");
	bool has_value = allo_text_cut(name, '=', &name, &value);

	for (size_t i = 0; i < KINDS && (value.len > 0 || !has_value); i++) {
		*trigger = (struct allo_trigger){ .kind = (enum allo_trigger_kind)i };
		if (allo_text_equal(name, allo_text_of(kinds[i].name)) &&
		    kinds[i].parse(trigger, value))
			return true;
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--snapshot-on does not accept '%s'", condition);
	return allo_hint(
		err, "it accepts rss=90%%, rss=512M, peak, pressure, pressure=20%%, signal=USR1, "
		     "USR2 or HUP, every=5m (1s or more)");
}

const char *allo_trigger_name(enum allo_trigger_kind kind)
{
	ALLO_ASSERT((size_t)kind < KINDS);
	return kinds[kind].name;
}

/* Checking. */

/* The limit of its control groups or, if that is less, the memory of the machine. */
static double limit_of(const struct allo_trigger_look *look)
{
	uint64_t limit = look->memory.cgroup.limit_bytes;
	struct sysinfo machine;
	uint64_t all = sysinfo(&machine) == 0 ? (uint64_t)machine.totalram * machine.mem_unit
					      : ALLO_UNKNOWN;

	return (double)(limit < all ? limit : all); /* ALLO_UNKNOWN is the largest number */
}

/* Due again after more growth, or when the limit is reached again after a decrease. */
static bool check_rss(const struct allo_trigger *trigger, struct allo_trigger_state *state,
		      const struct allo_trigger_look *look)
{
	ALLO_ASSERT(trigger->bytes > 0 || (trigger->percent > 0 && trigger->percent <= 100));
	double limit = trigger->bytes ? (double)trigger->bytes
				      : limit_of(look) * trigger->percent / 100;
	uint64_t rss = look->memory.process.rss_bytes;

	if ((double)rss < limit * (1 - step))
		state->rss = 0;
	if ((double)rss < limit || (double)rss < (double)state->rss * (1 + step))
		return false;
	state->rss = rss;
	return true;
}

/* Most programs grow fast at the start: at most one snapshot per second. */
static bool check_peak(struct allo_trigger_state *state, const struct allo_trigger_look *look)
{
	uint64_t peak = look->memory.process.rss_peak_bytes;

	if (peak == ALLO_UNKNOWN || look->now_ns - state->since_ns < ALLO_SECOND_NS ||
	    (double)peak < (double)state->peak * (1 + step))
		return false;
	state->peak = peak;
	return true;
}

/* The percentage of the last seconds in which tasks waited for memory; false if it is unknown, or
 * too little time has passed. */
static bool find_pressure(struct allo_trigger_state *state, const struct allo_trigger_look *look,
			  double *percent)
{
	const struct allo_memory_snapshot *memory = &look->memory;
	uint64_t waited = memory->cgroup.pressure_some_ns != ALLO_UNKNOWN
				  ? memory->cgroup.pressure_some_ns
				  : memory->system.pressure_some_ns;
	uint64_t since = look->now_ns - state->pressure_at_ns;
	bool is_known = state->pressure_at_ns > 0 && since >= PRESSURE_NS &&
			waited >= state->pressure_ns;

	if (waited == ALLO_UNKNOWN)
		return false;
	if (is_known)
		*percent = (double)(waited - state->pressure_ns) * 100 / (double)since;
	if (is_known || state->pressure_at_ns == 0) {
		state->pressure_ns = waited;
		state->pressure_at_ns = look->now_ns;
	}
	return is_known;
}

static bool check_pressure(const struct allo_trigger *trigger, struct allo_trigger_state *state,
			   const struct allo_trigger_look *look)
{
	bool was_pressed = state->is_pressed;
	double percent;

	if (!find_pressure(state, look, &percent))
		return false;
	if (percent >= trigger->percent)
		state->is_pressed = true;
	else if (percent < trigger->percent / 2)
		state->is_pressed = false;
	return state->is_pressed && !was_pressed;
}

bool allo_trigger_is_due(const struct allo_trigger *trigger, struct allo_trigger_state *state,
			 const struct allo_trigger_look *look)
{
	switch (trigger->kind) {
	case ALLO_TRIGGER_RSS:
		return check_rss(trigger, state, look);
	case ALLO_TRIGGER_PEAK:
		return check_peak(state, look);
	case ALLO_TRIGGER_PRESSURE:
		return check_pressure(trigger, state, look);
	case ALLO_TRIGGER_SIGNAL:
		return trigger->signal == look->signal;
	case ALLO_TRIGGER_EVERY:
		return look->now_ns >= trigger->next_ns;
	}
	return false;
}
