/*
 * fuzz_columns.c - any bytes as the columns of a packed recording's events.
 *
 * In a file they are packed and have checksums, which no fuzzer would ever find: here each column
 * is a byte for its length and the bytes.  Where there are modelled events, there are always as
 * many.
 */
#include "replay/packed/event_columns.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SITES = 40, STREAMS = 3, MODELLED = 1000 };

/* Invariants of the events that a reader returns. */
static void check(const struct allo_event *event)
{
	bool is_note = event->kind >= ALLO_EVENT_LABELS;

	if (event->stack >= SITES || event->kind > ALLO_EVENT_OWN ||
	    allo_block_stack(event->pointer) >= SITES ||
	    (!is_note && allo_block_stack(event->old) >= SITES))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct allo_column_reader reader = { .model = allo_event_model_new(SITES) };
	struct allo_event_columns columns = { 0 };
	struct allo_column_state state = { 0 };
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
	struct allo_error err = { 0 };
	size_t got;

	for (int c = 0; c < ALLO_COLUMNS; c++) {
		size_t len = size > 0 ? data[0] : 0;

		data += size > 0;
		size -= size > 0;
		if (len > size)
			len = size;
		columns.column[c].at = (uint8_t *)data;
		columns.column[c].len = len;
		data += len;
		size -= len;
	}
	columns.count = (uint32_t)columns.column[ALLO_COLUMN_KINDS].len;
	if (columns.column[ALLO_COLUMN_MODELLED].len > 0)
		columns.count = MODELLED;
	if (!reader.model || !allo_column_state_init(&state, SITES, &err) ||
	    !allo_event_columns_look(&reader, &columns))
		reader.left = 0;
	while ((got = allo_event_columns_take(&reader, &state, events, ALLO_EVENTS_AT_ONCE,
					      STREAMS)) > 0) {
		for (size_t i = 0; i < got; i++)
			check(&events[i]);
	}
	allo_column_state_done(&state);
	allo_event_model_free(reader.model);
	return 0;
}
