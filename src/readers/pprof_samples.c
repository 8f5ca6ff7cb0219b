/* pprof_samples.c - the parser of one batch, and the table of ids that it looks locations up in. */
#include "readers/pprof_samples.h"

#include "base/assert.h"

enum { SMALL_NUMBERS = 1 << 20 };

void allo_pprof_ids_done(struct allo_pprof_ids *table)
{
	allo_vec_done(&table->small);
	allo_vec_done(&table->large);
	allo_map_done(&table->map);
}

static uint64_t hash_of(uint64_t number)
{
	return allo_hash_pair(number, 1, allo_hash_seed());
}

bool allo_pprof_ids_put(struct allo_pprof_ids *table, uint64_t number, uint32_t id)
{
	struct allo_pprof_large_id large = { number, id };

	ALLO_ASSERT(id != 0 && allo_pprof_ids_find(table, number) == 0);
	if (number >= SMALL_NUMBERS)
		return allo_vec_append(&table->large, &large, 1) &&
		       allo_map_put(&table->map, hash_of(number), (uint32_t)table->large.len);
	if (!allo_vec_cover(&table->small, (size_t)number + 1))
		return false;
	table->small.at[number] = id;
	return true;
}

uint32_t allo_pprof_ids_find_large(const struct allo_pprof_ids *table, uint64_t number)
{
	struct allo_probe probe = allo_map_probe(&table->map, hash_of(number));
	uint32_t index;

	while ((index = allo_map_next(&table->map, &probe)) != 0) {
		if (table->large.at[index - 1].number == number)
			return table->large.at[index - 1].id;
	}
	return 0;
}

void allo_pprof_batch_done(struct allo_pprof_batch *batch)
{
	allo_vec_done(&batch->samples);
	allo_vec_done(&batch->frames);
	allo_vec_done(&batch->values);
	allo_vec_done(&batch->labels);
	allo_vec_done(&batch->locations);
}

static bool take_field(struct allo_pprof_batch *batch, const struct allo_field *field)
{
	switch (field->number) {
	case 1:
		return allo_field_numbers(field, &batch->locations, &batch->failure);
	case 2:
		return allo_field_numbers(field, &batch->values, &batch->failure);
	case 3:
		if (field->wire != ALLO_WIRE_BYTES)
			return allo_fail(&batch->failure, ALLO_FORMAT, ALLO_NOWHERE,
					 "damaged label");
		return allo_vec_append(&batch->labels, &field->bytes, 1) ||
		       allo_fail_memory(&batch->failure);
	default:
		return true;
	}
}

static bool find_frames(struct allo_pprof_batch *batch)
{
	size_t count = batch->locations.len;

	if (!allo_vec_reserve(&batch->frames, count))
		return allo_fail_memory(&batch->failure);
	for (size_t i = 0; i < count; i++) {
		uint64_t number = batch->locations.at[i];
		allo_frame_id frame = allo_pprof_ids_find(batch->frame_ids, number);

		if (frame == 0)
			return allo_fail(&batch->failure, ALLO_FORMAT, ALLO_NOWHERE,
					 "a sample refers to location %llu, which does not exist",
					 (unsigned long long)number);
		batch->frames.at[batch->frames.len++] = frame;
	}
	return true;
}

static bool parse_sample(struct allo_pprof_batch *batch, struct allo_text message)
{
	struct allo_pprof_sample sample = { .message = message };
	size_t values = batch->values.len, labels = batch->labels.len;

	batch->locations.len = 0;
	while (message.len > 0) {
		struct allo_field field = { 0 };

		if (!allo_take_field(&message, &field))
			return allo_fail(&batch->failure, ALLO_FORMAT, ALLO_NOWHERE,
					 "damaged sample");
		if (!take_field(batch, &field))
			return false;
	}
	if (!find_frames(batch))
		return false;
	sample.frame_count = (uint32_t)batch->locations.len;
	sample.value_count = (uint32_t)(batch->values.len - values);
	sample.label_count = (uint32_t)(batch->labels.len - labels);
	return allo_vec_append(&batch->samples, &sample, 1) || allo_fail_memory(&batch->failure);
}

void allo_pprof_batch_parse(void *work)
{
	struct allo_pprof_batch *batch = work;

	batch->samples.len = batch->frames.len = batch->values.len = batch->labels.len = 0;
	/* Readers of a batch keep pointers into these arrays, even if they are empty. */
	if (!allo_vec_reserve(&batch->frames, 1) || !allo_vec_reserve(&batch->values, 1) ||
	    !allo_vec_reserve(&batch->labels, 1)) {
		allo_fail_memory(&batch->failure);
		return;
	}
	for (size_t i = 0; i < batch->count; i++) {
		if (!parse_sample(batch, batch->messages[i]))
			return;
	}
}
