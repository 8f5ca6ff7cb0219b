/*
 * view_text.h - parts of a recording as people name them: 2s..5s, peak.
 */
#ifndef ALLO_CLI_VIEW_TEXT_H
#define ALLO_CLI_VIEW_TEXT_H

#include "base/text.h"
#include "replay/view.h"

/* "2s..5s"; without a time before the dots from the start, without one behind them to the end. What
 * is no time is the name of a mark. */
bool allo_view_parse_range(struct allo_view *view, struct allo_text text, struct allo_error *err);

/* "peak", "end", a time, or the name of a mark. */
bool allo_view_parse_instant(struct allo_view *view, struct allo_text text, struct allo_error *err);

/* Two of them, "2s..peak". */
bool allo_view_parse_instants(struct allo_view *first, struct allo_view *second,
			      struct allo_text text, struct allo_error *err);

#endif
