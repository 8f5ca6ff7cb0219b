#include "replay/packed/modelled_columns.h"

#include "base/assert.h"

#include <zstd.h>

enum {
	EVENTS_LEAST = 1 << 16,
	/* At least one in 24 events ends a block that is far from the predicted one. */
	FAR_SHARE = 24,
	SAMPLE = 1 << 14, /* bytes */
};

bool allo_event_columns_want_model(const struct allo_event_columns *columns, size_t stacks)
{
	char packed[ZSTD_COMPRESSBOUND(SAMPLE)];
	size_t far = columns->column[ALLO_COLUMN_ENDED_LOW].len,
	       sample = far < SAMPLE ? far : SAMPLE;

	if (columns->count < EVENTS_LEAST || far < columns->count / FAR_SHARE ||
	    stacks > ALLO_MODEL_STACKS_MAX)
		return false;
	return ZSTD_compress(packed, sizeof(packed), columns->column[ALLO_COLUMN_ENDED_LOW].at,
			     sample, 1) > sample - sample / 8;
}

bool allo_column_modeller_init(struct allo_column_modeller *modeller, size_t stacks, size_t threads,
			       struct allo_error *err)
{
	modeller->threads = threads;
	modeller->model = allo_event_model_new(stacks);
	return modeller->model ? allo_column_state_init(&modeller->state, stacks, err)
			       : allo_fail_memory(err);
}

void allo_column_modeller_done(struct allo_column_modeller *modeller)
{
	allo_event_model_free(modeller->model);
	allo_column_state_done(&modeller->state);
	*modeller = (struct allo_column_modeller){ 0 };
}

/* Makes room for the bytes of `events` events. */
static bool make_room(struct allo_event_columns *columns, struct allo_range_coder *coder,
		      size_t events)
{
	const size_t room = events * ALLO_MODEL_EVENT_MAX + ALLO_RANGE_END_MAX;

	for (int c = ALLO_COLUMN_MODELLED; c <= ALLO_COLUMN_SURE_RUNS; c++) {
		if (!allo_vec_reserve(&columns->column[c], room))
			return false;
	}
	coder->out = columns->column[ALLO_COLUMN_MODELLED].at +
		     columns->column[ALLO_COLUMN_MODELLED].len;
	coder->runs_out = columns->column[ALLO_COLUMN_SURE_RUNS].at +
			  columns->column[ALLO_COLUMN_SURE_RUNS].len;
	return true;
}

static void note_lengths(struct allo_event_columns *columns, const struct allo_range_coder *coder)
{
	columns->column[ALLO_COLUMN_MODELLED].len =
		(size_t)(coder->out - columns->column[ALLO_COLUMN_MODELLED].at);
	columns->column[ALLO_COLUMN_SURE_RUNS].len =
		(size_t)(coder->runs_out - columns->column[ALLO_COLUMN_SURE_RUNS].at);
	for (int c = ALLO_COLUMN_MODELLED; c <= ALLO_COLUMN_SURE_RUNS; c++)
		ALLO_ASSERT(columns->column[c].len <= columns->column[c].cap);
}

static bool write_steps(struct allo_event_columns *columns, struct allo_column_modeller *modeller,
			struct allo_range_coder *coder, const struct allo_model_step *steps,
			size_t count)
{
	const struct allo_model_step *end = steps + count;

	while (steps < end) {
		if (!make_room(columns, coder, ALLO_EVENTS_AT_ONCE))
			return false;
		steps = allo_event_model_write(modeller->model, coder, steps, end);
		if (!steps)
			return false;
		note_lengths(columns, coder);
	}
	return true;
}

/* Models the first chunk, whose events are in columns: it was made before the decision. */
static bool write_columns(struct allo_event_columns *columns, struct allo_column_modeller *modeller,
			  struct allo_range_coder *coder)
{
	struct allo_column_reader reader = { 0 };
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
	struct allo_model_step steps[ALLO_EVENTS_AT_ONCE * ALLO_MODEL_STEPS_MAX], *end;
	size_t count;

	if (!allo_event_columns_look(&reader, columns))
		return false;
	while ((count = allo_event_columns_take(&reader, &modeller->state, events,
						ALLO_EVENTS_AT_ONCE, modeller->threads)) > 0) {
		end = steps;
		for (size_t i = 0; i < count; i++)
			end = allo_model_put_event(end, &events[i]);
		if (!write_steps(columns, modeller, coder, steps, (size_t)(end - steps)))
			return false;
	}
	/* The columns are ours: the reader consumes them exactly. */
	ALLO_ASSERT(!reader.is_damaged && reader.left == 0);
	for (int c = 0; c < ALLO_COLUMN_MODELLED; c++)
		ALLO_ASSERT(reader.at[c] == reader.end[c]);
	return true;
}

bool allo_event_columns_model(struct allo_event_columns *columns,
			      struct allo_column_modeller *modeller)
{
	struct allo_range_coder coder;

	allo_range_begin_writing(&coder);
	if (!(columns->is_for_model ? write_steps(columns, modeller, &coder, columns->steps.at,
						  columns->steps.len)
				    : write_columns(columns, modeller, &coder)) ||
	    !make_room(columns, &coder, 0))
		return false;
	allo_range_end_writing(&coder);
	note_lengths(columns, &coder);
	for (int c = ALLO_COLUMN_KINDS; c < ALLO_COLUMN_TIME_GAPS; c++)
		columns->column[c].len = 0;
	return true;
}
