/*
 * stored_names.h - names of frames that are stored in a packed recording.
 *
 * With them the recording can be read without the programs and libraries.  Functions, files, lines
 * and inlined calls are stored for the frames of the recording only.
 */
#ifndef ALLO_REPLAY_STORED_NAMES_H
#define ALLO_REPLAY_STORED_NAMES_H

#include "base/io/output.h"
#include "profile/name_table.h"
#include "replay/recording/recording.h"

enum allo_stored_choice {
	ALLO_STORED_ALL,
	ALLO_STORED_WITH_LINES, /* only names with a line; others are to be resolved again */
};

/* Gives stored names to frames of the profile that have none.  Damaged tables count in the gaps of
 * the recording. */
bool allo_stored_names_use(struct allo_recording *recording, struct allo_profile *profile,
			   enum allo_stored_choice choice, struct allo_error *err);

/* Names as they are stored: tables of profile/name_table.h, one after the other. */
struct allo_name_table_size {
	size_t len;
	uint32_t rows;
};

/* All zeros is empty. */
struct allo_name_tables {
	allo_name_bytes bytes;
	ALLO_VEC(struct allo_name_table_size) tables;
	size_t frames, with_line; /* with a name; of these, with a line */
};

void allo_name_tables_done(struct allo_name_tables *tables);

/* Makes the tables of all frames that have an address and names. */
bool allo_name_tables_of(struct allo_name_tables *tables, const struct allo_profile *profile,
			 struct allo_error *err);

struct allo_chunk;
struct allo_chunk_writer;

/* Copies a chunk of a packed recording as it is.  Fails if it is damaged. */
bool allo_recording_copy_chunk(struct allo_recording *recording, uint64_t offset,
			       const struct allo_chunk *chunk, struct allo_piece_bytes *bytes,
			       struct allo_chunk_writer *writer, struct allo_error *err);

/* Parts that copies may have or lack. */
enum allo_copied_part {
	ALLO_COPY_NAMES = 1,
	ALLO_COPY_INDEX = 2,
};

/* Copies all chunks but the trailer, also those of unknown kinds.  Of names and index, only what
 * `parts` has (enum allo_copied_part).  Fails if one is damaged. */
bool allo_recording_copy_chunks(struct allo_recording *recording, unsigned parts,
				struct allo_chunk_writer *writer, struct allo_error *err);

/* Writes a chunk for each table. */
bool allo_name_tables_write(const struct allo_name_tables *tables, struct allo_chunk_writer *writer,
			    struct allo_error *err);

/*
 * Stores names in a recording and replaces stored ones.  `path` is raw or packed, `out_path`
 * becomes packed; both may be the same file.  `parts` is 0, or ALLO_COPY_INDEX if a stored index
 * stays.  Fails for a packed recording that is damaged or cut.
 */
bool allo_recording_store_names(const char *path, const char *out_path,
				const struct allo_output_options *output,
				const struct allo_name_tables *tables, unsigned parts,
				const struct allo_progress *progress, struct allo_error *err);

#endif
