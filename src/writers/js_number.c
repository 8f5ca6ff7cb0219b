/* js_number.c - see js_number.h. */
#include "writers/js_number.h"

uint64_t allo_js_weight(struct allo_writing *w, const struct allo_metric *metric, uint64_t value)
{
	if (metric->is_signed && (int64_t)value < 0) {
		allo_note(&w->notes, ALLO_NOTE_NEGATIVE, ALLO_NOWHERE);
		return 0;
	}
	if (value > ALLO_JS_NUMBER_MAX) {
		allo_note(&w->notes, ALLO_NOTE_ABOVE_2_53, ALLO_NOWHERE);
		return ALLO_JS_NUMBER_MAX;
	}
	return value;
}
