/*
 * pprof_samples.h - samples of a pprof file, parsed in batches on other cores.
 *
 * Samples are nearly all of a large file, and each can be parsed alone once the locations are
 * known.
 */
#ifndef ALLO_READERS_PPROF_SAMPLES_H
#define ALLO_READERS_PPROF_SAMPLES_H

#include "base/encoding/protobuf.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"

/* Maps the file's ids to ours.  Nearly all files count from 1, but none has to.  All zeros is
 * empty. */
struct allo_pprof_ids {
	ALLO_VEC(uint32_t) small; /* our ids by the file's; 0: none */
	struct allo_map map;      /* of large ids, to indices of `large` + 1 */
	ALLO_VEC(struct allo_pprof_large_id {
		uint64_t number;
		uint32_t id;
	})
	large;
};

void allo_pprof_ids_done(struct allo_pprof_ids *table);

/* Adds a number that has no id yet; false when memory is short. */
bool allo_pprof_ids_put(struct allo_pprof_ids *table, uint64_t number, uint32_t id);

uint32_t allo_pprof_ids_find_large(const struct allo_pprof_ids *table, uint64_t number);

/* Our id, or 0 if the file does not define the number. */
static inline uint32_t allo_pprof_ids_find(const struct allo_pprof_ids *table, uint64_t number)
{
	return number < table->small.len ? table->small.at[number]
					 : allo_pprof_ids_find_large(table, number);
}

struct allo_pprof_sample {
	struct allo_text message;
	uint32_t frame_count, value_count, label_count;
};

struct allo_pprof_batch {
	/* In. */
	const struct allo_text *messages;
	size_t count;
	const struct allo_pprof_ids *frame_ids; /* of locations */

	/* Out: the parts of all samples, in the order of the samples. */
	ALLO_VEC(struct allo_pprof_sample) samples;
	ALLO_VEC(allo_frame_id) frames; /* leaf first */
	allo_numbers values;
	ALLO_VEC(struct allo_text) labels; /* each a message */
	struct allo_error failure; /* without a position: it concerns the sample after the last of
				      `samples` */

	/* Private: the file's ids of one sample's locations. */
	allo_numbers locations;
};

void allo_pprof_batch_done(struct allo_pprof_batch *batch);

/* Parses the messages; an error is stored in the batch.  An allo_job. */
void allo_pprof_batch_parse(void *batch);

#endif
