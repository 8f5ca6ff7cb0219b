/*
 * js_number.h - values for programs that are written in JavaScript, where every number is a double.
 */
#ifndef ALLO_WRITERS_JS_NUMBER_H
#define ALLO_WRITERS_JS_NUMBER_H

#include "writers/writer.h"

/* From here on, doubles skip whole numbers. */
#define ALLO_JS_NUMBER_MAX (UINT64_C(1) << 53)

/* A weight, which cannot be negative: 0 where it is, which is noted, as is what has been cut. */
uint64_t allo_js_weight(struct allo_writing *w, const struct allo_metric *metric, uint64_t value);

#endif
