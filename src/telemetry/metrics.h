/*
 * metrics.h - snapshots as text for monitoring systems.
 */
#ifndef ALLO_TELEMETRY_METRICS_H
#define ALLO_TELEMETRY_METRICS_H

#include "telemetry/text_buffer.h"

#include <allo.h>

/* A process among several. */
struct allo_metrics_of {
	const struct allo_memory_snapshot *snapshot;
	/* In front of all others: pid="123",program="server"; "" where there is one process. */
	const char *labels;
};

/* Prometheus's text, or OpenMetrics's. */
void allo_metrics_put(struct allo_text_buffer *buffer, enum allo_metrics_format form,
		      const struct allo_metrics_of *processes, size_t count);

/* One snapshot as a JSON object. */
void allo_metrics_put_json(struct allo_text_buffer *buffer,
			   const struct allo_memory_snapshot *snapshot);

/* The members of that object, for those who have more to say in it. */
void allo_metrics_put_members(struct allo_text_buffer *buffer,
			      const struct allo_memory_snapshot *snapshot);

/* What to send a text as. */
const char *allo_metrics_content_type(enum allo_metrics_format form);

#endif
