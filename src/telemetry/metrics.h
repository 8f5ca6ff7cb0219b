/*
 * metrics.h - writes memory snapshots as Prometheus text, OpenMetrics text or JSON.
 */
#ifndef ALLO_TELEMETRY_METRICS_H
#define ALLO_TELEMETRY_METRICS_H

#include "telemetry/text_buffer.h"

#include <allo.h>

/* A snapshot and the labels of its process. */
struct allo_metrics_of {
	const struct allo_memory_snapshot *snapshot;
	/* Put in front of all other labels: pid="123",program="server"; "" for a single process. */
	const char *labels;
};

/* Writes Prometheus or OpenMetrics text. */
void allo_metrics_put(struct allo_text_buffer *buffer, enum allo_metrics_format format,
		      const struct allo_metrics_of *processes, size_t count);

/* Writes a JSON object. */
void allo_metrics_put_json(struct allo_text_buffer *buffer,
			   const struct allo_memory_snapshot *snapshot);

/* Writes the members of that object, for callers that add others. */
void allo_metrics_put_members(struct allo_text_buffer *buffer,
			      const struct allo_memory_snapshot *snapshot);

/* The Content-Type of a format. */
const char *allo_metrics_content_type(enum allo_metrics_format format);

#endif
