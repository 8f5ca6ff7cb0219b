/*
 * show_ledger.h - what the memory of a process is made of, as `allo mem` prints it.
 */
#ifndef ALLO_CLI_SHOW_LEDGER_H
#define ALLO_CLI_SHOW_LEDGER_H

#include "cli/common.h"
#include "ledger/ledger.h"
#include "report/terminal.h"

/* A process as it was looked at. */
struct allo_shown_process {
	const struct allo_memory_snapshot *snapshot;
	const struct allo_ledger *ledger;
	const struct allo_vmas *vmas;
	const char *program;    /* its name */
	const char *live_why;   /* nothing is known of live blocks; NULL: it is */
	bool is_live_estimated; /* it was sampled */
};

bool allo_show_process(struct allo_output *out, const struct allo_shown_process *process,
		       const struct allo_common *common, struct allo_error *err);

/* What could not be told, and why: on standard error, or as lines of a page. */
void allo_show_process_notes(const struct allo_shown_process *process, struct allo_output *page);

/* One object, in one line. */
void allo_show_process_json(struct allo_output *out, const struct allo_shown_process *process);

/* All figures: how they are called and what they mean. */
bool allo_show_figures(struct allo_output *out, const struct allo_common *common,
		       struct allo_error *err);

#endif
