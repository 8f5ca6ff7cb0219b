/*
 * pprof_samples.h - the samples of a pprof file, taken apart in batches on other cores.
 *
 * Samples are nearly all of a large file, and each stands on its own once the locations are known.
 */
#ifndef ALLO_READERS_PPROF_SAMPLES_H
#define ALLO_READERS_PPROF_SAMPLES_H

#include "base/protobuf.h"
#include "profile/profile.h"
#include "readers/number_table.h"

struct allo_pprof_sample {
	struct allo_text message;
	uint32_t frame_count, value_count, label_count;
};

struct allo_pprof_batch {
	/* In. */
	const struct allo_text *messages;
	size_t count;
	const struct allo_number_table *frame_ids; /* of locations */

	/* Out; what belongs to the samples lies one after the other. */
	ALLO_VEC(struct allo_pprof_sample) samples;
	ALLO_VEC(allo_frame_id) frames; /* leaf first */
	allo_numbers values;
	ALLO_VEC(struct allo_text) labels; /* messages of their own */
	struct allo_error failure; /* without a place: it is the sample behind those above */

	/* Private: the locations of one sample, as the file numbers them. */
	allo_numbers locations;
};

void allo_pprof_batch_done(struct allo_pprof_batch *batch);

/* Takes the messages apart; what went wrong is in the batch.  An allo_job. */
void allo_pprof_batch_parse(void *batch);

#endif
