/*
 * show_stack.h - the calls of a stack, for people and for programs.
 */
#ifndef ALLO_CLI_SHOW_STACK_H
#define ALLO_CLI_SHOW_STACK_H

#include "report/report.h"

/* The JSON list "frames": all calls, the innermost first. */
void allo_report_field_frames(struct allo_report *report, const struct allo_profile *profile,
			      allo_stack_id stack);

/* A line for a call: its name and place.  Names are cut, so that the place fits. */
void allo_draw_call(struct allo_report *report, struct allo_output *out,
		    const struct allo_profile *profile, const struct allo_frame *frame,
		    uint32_t call);

/* Says that all calls of a stack will be shown, as in allo_report_add_name(). */
void allo_report_add_stack_names(struct allo_report *report, const struct allo_profile *profile,
				 allo_stack_id stack);

#endif
