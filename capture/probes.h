/*
 * probes.h - OpenTelemetry's memory probes: otel_memory:alloc and otel_memory:free.
 *
 * Each is a nop and a note in this library that says where it is; a tracer that wants to know of
 * sampled blocks puts a breakpoint there.  `readelf -n` shows them.
 */
#ifndef ALLO_CAPTURE_PROBES_H
#define ALLO_CAPTURE_PROBES_H

#include <stddef.h>
#include <stdint.h>

/* What a sampled block was got, and stands for. */
void allo_probe_alloc(const void *block, uint64_t size, uint64_t weighted_bytes);

/* One of those is given back. */
void allo_probe_free(const void *block);

#endif
