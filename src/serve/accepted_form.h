/*
 * accepted_form.h - which form of metrics somebody would rather have.
 */
#ifndef ALLO_SERVE_ACCEPTED_FORM_H
#define ALLO_SERVE_ACCEPTED_FORM_H

#include <allo.h>

/* By the header Accept, which may be NULL: Prometheus's text, which everybody reads, unless
 * OpenMetrics is asked for and nothing else is wanted more. */
enum allo_metrics_format allo_accepted_form(const char *accept);

#endif
