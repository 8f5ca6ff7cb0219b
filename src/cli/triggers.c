/* triggers.c - see triggers.h. */
#include "cli/triggers.h"

#include "base/units.h"
#include "cli/messages.h"
#include "telemetry/snapshots.h"
#include "telemetry/ticking.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

enum {
	KEEP_USUAL = 5,
	PRESSURE_NS = 2000000000, /* that pressure is a share of, at least */
};

static const double pressure_usual = 10; /* percent */
static const double step = 0.05;         /* by how much more there has to be for another one */

/* What is asked for. */

static bool parse_percent(struct allo_text text, double *percent)
{
	char digits[32], *end;

	if (text.len == 0 || text.len >= sizeof(digits))
		return false;
	memcpy(digits, text.data, text.len);
	digits[text.len] = '\0';
	*percent = strtod(digits, &end);
	return end != digits && *end == '\0' && *percent > 0 && *percent <= 100;
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
	trigger->percent = pressure_usual;
	if (allo_text_ends(value, ALLO_TEXT("%")))
		value.len--;
	return value.len == 0 || parse_percent(value, &trigger->percent);
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

static bool parse(struct allo_trigger *trigger, const char *condition, struct allo_error *err)
{
	struct allo_text name = allo_text_of(condition), value = ALLO_TEXT("");

	allo_text_cut(name, '=', &name, &value);
	for (size_t i = 0; i < KINDS; i++) {
		*trigger = (struct allo_trigger){ .kind = (enum allo_trigger_kind)i };
		if (allo_text_equal(name, allo_text_of(kinds[i].name)) &&
		    kinds[i].parse(trigger, value))
			return true;
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--snapshot-on does not know '%s'", condition);
	return allo_hint(err, "rss=90%%, rss=512M, peak, pressure, pressure=20%%, signal=USR1, "
			      "USR2 or HUP, every=5m (1s or more)");
}

static bool parse_keep(struct allo_auto_snapshots *snapshots, const char *given,
		       struct allo_error *err)
{
	struct allo_text text = allo_text_of(given ? given : "");

	snapshots->keep_count = KEEP_USUAL;
	if (!given)
		return true;
	if (allo_text_skip(&text, ALLO_TEXT("largest:")))
		snapshots->keep = ALLO_KEEP_LARGEST;
	else
		allo_text_skip(&text, ALLO_TEXT("newest:"));
	return (allo_text_u64(text, &snapshots->keep_count) && snapshots->keep_count > 0) ||
	       allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			 "--snapshot-keep takes a number, newest:N or largest:N, not '%s'", given);
}

bool allo_triggers_init(struct allo_triggers *triggers, const struct allo_list *conditions,
			const char *keep, struct allo_recordings *recordings,
			struct allo_error *err)
{
	*triggers = (struct allo_triggers){ .recordings = recordings };
	if (conditions->count == 0 && keep)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--snapshot-keep makes no sense without --snapshot-on");
	if (!parse_keep(&triggers->snapshots, keep, err))
		return false;
	for (size_t i = 0; i < conditions->count; i++) {
		struct allo_trigger *trigger = allo_vec_push(&triggers->all);

		if (!trigger)
			return allo_fail_memory(err);
		if (!parse(trigger, conditions->item[i], err))
			return false;
		trigger->next_ns = allo_clock_ns() + trigger->period_ns;
	}
	return true;
}

void allo_triggers_done(struct allo_triggers *triggers)
{
	allo_auto_snapshots_done(&triggers->snapshots);
	allo_vec_done(&triggers->processes);
	allo_vec_done(&triggers->all);
}

bool allo_triggers_have_signal(const struct allo_triggers *triggers, int signal)
{
	for (size_t i = 0; i < triggers->all.len; i++) {
		if (triggers->all.at[i].kind == ALLO_TRIGGER_SIGNAL &&
		    triggers->all.at[i].signal == signal)
			return true;
	}
	return false;
}

/* Looking. */

static struct allo_triggered *find_process(struct allo_triggers *triggers, pid_t pid)
{
	struct allo_triggered *process;

	for (size_t i = 0; i < triggers->processes.len; i++) {
		if (triggers->processes.at[i].pid == pid)
			return &triggers->processes.at[i];
	}
	process = allo_vec_push(&triggers->processes);
	if (process)
		*process = (struct allo_triggered){ .pid = pid, .since_ns = allo_clock_ns() };
	return process;
}

/* Takes notice of recordings that have begun. */
static void find_processes(struct allo_triggers *triggers)
{
	struct allo_recordings *recordings = triggers->recordings;
	struct allo_error err = { 0 };

	allo_recordings_read_more(recordings, &err);
	for (; triggers->seen < recordings->all.len; triggers->seen++) {
		const struct allo_recorded *recorded = &recordings->all.at[triggers->seen];
		struct allo_triggered *process = recorded->path
							 ? find_process(triggers, recorded->pid)
							 : NULL;

		if (process)
			process->recording = recorded->path;
	}
}

/* The look that is being taken, and what it sees of the process at hand. */
struct look {
	uint64_t now;
	int signal;
	struct allo_memory_snapshot memory;
};

/* What it may have: by its control groups, or because there is no more. */
static double limit_of(const struct look *look)
{
	uint64_t limit = look->memory.cgroup.limit_bytes;
	struct sysinfo machine;
	uint64_t all = sysinfo(&machine) == 0 ? (uint64_t)machine.totalram * machine.mem_unit
					      : ALLO_UNKNOWN;

	return (double)(limit < all ? limit : all); /* what is not known is more than anything */
}

/* Again when there is more still, or when it had become less. */
static bool is_rss_due(const struct allo_trigger *trigger, struct allo_triggered *process,
		       const struct look *look)
{
	double limit = trigger->bytes ? (double)trigger->bytes
				      : limit_of(look) * trigger->percent / 100;
	uint64_t rss = look->memory.process.rss_bytes;

	if ((double)rss < limit * (1 - step))
		process->rss = 0;
	if ((double)rss < limit || (double)rss < (double)process->rss * (1 + step))
		return false;
	process->rss = rss;
	return true;
}

/* Most programs grow quickly at first: once a second is often enough. */
static bool is_peak_due(struct allo_triggered *process, const struct look *look)
{
	uint64_t peak = look->memory.process.rss_peak_bytes;

	if (peak == ALLO_UNKNOWN || look->now - process->since_ns < ALLO_SECOND_NS ||
	    (double)peak < (double)process->peak * (1 + step))
		return false;
	process->peak = peak;
	return true;
}

/* How much of the last seconds somebody has waited for memory, in percent; false when they are not
 * over, or nobody knows. */
static bool find_pressure(struct allo_triggered *process, const struct look *look, double *percent)
{
	const struct allo_memory_snapshot *memory = &look->memory;
	uint64_t waited = memory->cgroup.pressure_some_ns != ALLO_UNKNOWN
				  ? memory->cgroup.pressure_some_ns
				  : memory->system.pressure_some_ns;
	uint64_t since = look->now - process->pressure_at_ns;
	bool is_known = process->pressure_at_ns > 0 && since >= PRESSURE_NS &&
			waited >= process->pressure_ns;

	if (waited == ALLO_UNKNOWN)
		return false;
	if (is_known)
		*percent = (double)(waited - process->pressure_ns) * 100 / (double)since;
	if (is_known || process->pressure_at_ns == 0) {
		process->pressure_ns = waited;
		process->pressure_at_ns = look->now;
	}
	return is_known;
}

static bool is_pressure_due(const struct allo_trigger *trigger, struct allo_triggered *process,
			    const struct look *look)
{
	bool was_pressed = process->is_pressed;
	double percent;

	if (!find_pressure(process, look, &percent))
		return false;
	if (percent >= trigger->percent)
		process->is_pressed = true;
	else if (percent < trigger->percent / 2)
		process->is_pressed = false;
	return process->is_pressed && !was_pressed;
}

static bool is_due(const struct allo_trigger *trigger, struct allo_triggered *process,
		   const struct look *look)
{
	switch (trigger->kind) {
	case ALLO_TRIGGER_RSS:
		return is_rss_due(trigger, process, look);
	case ALLO_TRIGGER_PEAK:
		return is_peak_due(process, look);
	case ALLO_TRIGGER_PRESSURE:
		return is_pressure_due(trigger, process, look);
	case ALLO_TRIGGER_SIGNAL:
		return trigger->signal == look->signal;
	case ALLO_TRIGGER_EVERY:
		return look->now >= trigger->next_ns;
	}
	return false;
}

static void look_at(struct allo_triggers *triggers, struct allo_triggered *process,
		    const struct look *look)
{
	for (size_t i = 0; i < triggers->all.len; i++) {
		const struct allo_trigger *trigger = &triggers->all.at[i];

		if (!is_due(trigger, process, look))
			continue;
		process->since_ns = look->now;
		allo_auto_snapshot(&triggers->snapshots, process->pid, process->recording,
				   kinds[trigger->kind].name, look->memory.process.rss_bytes);
	}
}

static void plan_next(struct allo_triggers *triggers, uint64_t now)
{
	for (size_t i = 0; i < triggers->all.len; i++) {
		if (now >= triggers->all.at[i].next_ns)
			triggers->all.at[i].next_ns = now + triggers->all.at[i].period_ns;
	}
}

static bool see(struct look *look, pid_t pid)
{
	struct allo_snapshots shots;

	allo_snapshots_init(&shots, "", (uint64_t)pid);
	shots.page_budget_ns = 0;
	return allo_snapshots_take(&shots, 0, &look->memory) &&
	       look->memory.process.rss_bytes != ALLO_UNKNOWN;
}

void allo_triggers_look(struct allo_triggers *triggers, int signal)
{
	struct look look = { .now = allo_clock_ns(), .signal = signal };

	if (triggers->all.len == 0)
		return;
	find_processes(triggers);
	allo_auto_snapshots_collect(&triggers->snapshots, false);
	for (size_t i = triggers->processes.len; i-- > 0;) {
		struct allo_triggered *process = &triggers->processes.at[i];

		if (see(&look, process->pid))
			look_at(triggers, process, &look);
		else /* it is gone */
			*process = triggers->processes.at[--triggers->processes.len];
	}
	plan_next(triggers, look.now);
}

void allo_triggers_end(struct allo_triggers *triggers, bool is_quiet)
{
	char size[ALLO_NUMBER_SIZE];

	if (triggers->all.len == 0)
		return;
	allo_auto_snapshots_collect(&triggers->snapshots, true);
	if (is_quiet)
		return;
	if (triggers->snapshots.all.len == 0)
		allo_say("no snapshot was due");
	for (size_t i = 0; i < triggers->snapshots.all.len; i++) {
		const struct allo_auto_snapshot *snapshot = &triggers->snapshots.all.at[i];

		allo_say("snapshot %s, of process %d with %s resident", snapshot->path,
			 (int)snapshot->of, allo_format_bytes(snapshot->bytes, size));
	}
}
