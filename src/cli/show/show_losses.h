/*
 * show_losses.h - the events, stacks and processes that a recording does not contain, with reasons.
 */
#ifndef ALLO_CLI_SHOW_LOSSES_H
#define ALLO_CLI_SHOW_LOSSES_H

#include "replay/summary.h"
#include "report/report.h"

enum { ALLO_LOSS_SIZE = 240, ALLO_LOSSES_MOST = 7 };

/* One line per reason: "12 events of ...". */
struct allo_loss_lines {
	size_t count;
	char text[ALLO_LOSSES_MOST][ALLO_LOSS_SIZE];
};

void allo_show_losses(const struct allo_summary *summary, struct allo_loss_lines *lines);

/* The field "losses", if there are any. */
void allo_report_field_losses(struct allo_report *report, const struct allo_summary *summary);

#endif
