/* triggers.c - see triggers.h. */
#include "cli/triggers.h"

#include "base/units.h"
#include "report/messages.h"
#include "telemetry/monotonic_clock.h"
#include "telemetry/snapshots.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

enum { KEEP_USUAL = 5 };

/* What is asked for. */

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
		if (!allo_trigger_parse(trigger, conditions->item[i], err))
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
		*process = (struct allo_triggered){ .pid = pid, .state.since_ns = allo_clock_ns() };
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

/* Has a snapshot made for each kind of trigger that asked for one, one after the other. */
static void snapshot_owed(struct allo_triggers *triggers, struct allo_triggered *process,
			  const struct allo_trigger_look *look)
{
	for (unsigned kind = 0; process->owed >> kind; kind++) {
		if (process->owed >> kind & 1 &&
		    allo_auto_snapshot(&triggers->snapshots, process->pid, process->recording,
				       allo_trigger_name((enum allo_trigger_kind)kind),
				       look->memory.process.rss_bytes))
			process->owed &= ~(1u << kind);
	}
}

static void look_at(struct allo_triggers *triggers, struct allo_triggered *process,
		    const struct allo_trigger_look *look)
{
	for (size_t i = 0; i < triggers->all.len; i++) {
		const struct allo_trigger *trigger = &triggers->all.at[i];

		if (!allo_trigger_is_due(trigger, &process->state, look))
			continue;
		process->state.since_ns = look->now_ns;
		process->owed |= 1u << trigger->kind;
	}
	snapshot_owed(triggers, process, look);
}

static void plan_next(struct allo_triggers *triggers, uint64_t now)
{
	for (size_t i = 0; i < triggers->all.len; i++) {
		if (now >= triggers->all.at[i].next_ns)
			triggers->all.at[i].next_ns = now + triggers->all.at[i].period_ns;
	}
}

static bool see(struct allo_trigger_look *look, pid_t pid)
{
	struct allo_snapshots shots;

	allo_snapshots_init(&shots, "", (uint64_t)pid);
	shots.page_budget_ns = 0;
	return allo_snapshots_take(&shots, 0, &look->memory) &&
	       look->memory.process.rss_bytes != ALLO_UNKNOWN;
}

void allo_triggers_look(struct allo_triggers *triggers, int signal)
{
	struct allo_trigger_look look = { .now_ns = allo_clock_ns(), .signal = signal };

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
	plan_next(triggers, look.now_ns);
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
