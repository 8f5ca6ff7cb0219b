/*
 * finding_state.h - the state of the viewer that shows a finding, as a query string.
 *
 *     view=leaks&t=0.000000000s..0.000400000s&f=focus%3Afn%3A%3Dmain
 */
#ifndef ALLO_FINDINGS_FINDING_STATE_H
#define ALLO_FINDINGS_FINDING_STATE_H

#include "base/io/output.h"
#include "findings/findings.h"

/* Opens `out` in memory and finishes it; the caller drops it. */
bool allo_finding_state(struct allo_output *out, const struct allo_profile *profile,
			const struct allo_finding *found, struct allo_error *err);

#endif
