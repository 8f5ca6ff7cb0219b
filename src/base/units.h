/*
 * units.h - formats numbers for people: 412.7 MiB, 8,214,330, 7.83 s, 48.8%; and parses them.
 */
#ifndef ALLO_BASE_UNITS_H
#define ALLO_BASE_UNITS_H

#include "base/text.h"

/* Buffer size for every function below. */
enum { ALLO_NUMBER_SIZE = 40 };

/* Units that have a notation; all others print as counts. */
enum allo_unit { ALLO_UNIT_COUNT, ALLO_UNIT_BYTES, ALLO_UNIT_NS };

enum allo_unit allo_unit_of(struct allo_text name);

/* Sign and magnitude, so that differences of 64-bit numbers fit. */
struct allo_number {
	uint64_t magnitude;
	bool is_negative;
	bool is_estimated; /* "~412.7 MiB" */
};

/* Formats into `out` and returns it.  With `is_plain`: an integer without separators and unit. */
const char *allo_format(struct allo_number number, enum allo_unit unit, bool is_plain,
			char out[ALLO_NUMBER_SIZE]);

/* The same with a '+' before positive numbers. */
const char *allo_format_change(struct allo_number number, enum allo_unit unit, bool is_plain,
			       char out[ALLO_NUMBER_SIZE]);

/* 8,214,330 */
const char *allo_format_count(uint64_t count, char out[ALLO_NUMBER_SIZE]);

/* 412.7 MiB */
const char *allo_format_bytes(uint64_t bytes, char out[ALLO_NUMBER_SIZE]);

/* 48.8%, or a dash when `whole` is 0. */
const char *allo_format_share(double part, double whole, char out[ALLO_NUMBER_SIZE]);

/* Parse numbers that people type: 4096, 64K, 64KiB or 1.5G (by 1024), 64KB (by 1000), 1e6; and
 * 10ms, 2.5s, 3m, 1h, with seconds as the default unit.  False when the text is not such a number,
 * or the value does not fit 64 bits. */
bool allo_parse_bytes(struct allo_text text, uint64_t *bytes);
bool allo_parse_ns(struct allo_text text, uint64_t *ns);

#endif
