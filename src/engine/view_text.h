/*
 * view_text.h - parts of a recording as users write them: 2s..5s, load..serve, peak.
 */
#ifndef ALLO_ENGINE_VIEW_TEXT_H
#define ALLO_ENGINE_VIEW_TEXT_H

#include "base/text.h"
#include "replay/view.h"

/* "2s..5s".  Either time may be missing: the start or the end of the recording.  A word that is not
 * a time is the name of a mark. */
bool allo_view_parse_range(struct allo_view *view, struct allo_text text, struct allo_error *err);

/* "peak", "end", a time, or the name of a mark. */
bool allo_view_parse_instant(struct allo_view *view, struct allo_text text, struct allo_error *err);

/* Two instants: "2s..peak". */
bool allo_view_parse_instants(struct allo_view *first, struct allo_view *second,
			      struct allo_text text, struct allo_error *err);

#endif
