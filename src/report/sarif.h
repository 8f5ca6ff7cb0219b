/*
 * sarif.h - findings as SARIF 2.1.0, which code-scanning services read.
 */
#ifndef ALLO_REPORT_SARIF_H
#define ALLO_REPORT_SARIF_H

#include "base/output.h"
#include "findings/findings.h"

/* Source files below `root`, a path without a slash at its end, get URIs relative to it. */
void allo_sarif_write(struct allo_output *out, const struct allo_findings *findings,
		      const struct allo_evidence *evidence, struct allo_text root);

#endif
