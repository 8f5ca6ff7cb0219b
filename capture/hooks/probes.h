/*
 * probes.h - OpenTelemetry's memory probes: otel_memory:alloc and otel_memory:free.
 *
 * Each probe is a nop and an ELF note with its address; a tracer that wants sampled blocks puts a
 * breakpoint there.  `readelf -n` shows them.
 */
#ifndef ALLO_CAPTURE_PROBES_H
#define ALLO_CAPTURE_PROBES_H

#include <stddef.h>
#include <stdint.h>

/* A sampled block of `size` bytes was allocated; it represents `weighted_bytes`. */
void allo_probe_alloc(const void *block, uint64_t size, uint64_t weighted_bytes);

/* A sampled block is freed. */
void allo_probe_free(const void *block);

#endif
