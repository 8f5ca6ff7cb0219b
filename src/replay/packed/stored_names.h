/*
 * stored_names.h - names of frames that are kept in a packed recording.
 *
 * They make it readable where the programs and libraries are not, or not any more.  Only what the
 * recording's own frames need is stored: functions, files, lines and inlined calls.
 */
#ifndef ALLO_REPLAY_STORED_NAMES_H
#define ALLO_REPLAY_STORED_NAMES_H

#include "base/output.h"
#include "profile/name_table.h"
#include "replay/recording.h"

enum allo_stored_choice {
	ALLO_STORED_ALL,
	ALLO_STORED_WITH_LINES, /* only where a line is known, so that others are looked for anew */
};

/* Gives the names that a recording has to the frames of its profile that have none.  What is
 * damaged counts among the recording's lacks. */
bool allo_stored_names_use(struct allo_recording *recording, struct allo_profile *profile,
			   enum allo_stored_choice choice, struct allo_error *err);

/* Names as they go into a recording: tables of profile/name_table.h, one behind the other. */
struct allo_name_table_size {
	size_t len;
	uint32_t rows;
};

/* All zeros is empty. */
struct allo_name_tables {
	allo_name_bytes bytes;
	ALLO_VEC(struct allo_name_table_size) tables;
	size_t frames, with_line; /* that they name */
};

void allo_name_tables_done(struct allo_name_tables *tables);

/* Those of all frames that have an address and names. */
bool allo_name_tables_of(struct allo_name_tables *tables, const struct allo_profile *profile,
			 struct allo_error *err);

struct allo_chunk_writer;

/* Writes a chunk for each. */
bool allo_name_tables_write(const struct allo_name_tables *tables, struct allo_chunk_writer *writer,
			    struct allo_error *err);

/*
 * Stores names in a recording, in place of those that it has: `out_path` is a packed recording with
 * all that `path`, raw or packed, has.  Both may be the same.  A packed one that is damaged or cut
 * is refused.
 */
bool allo_recording_store_names(const char *path, const char *out_path,
				const struct allo_output_options *output,
				const struct allo_name_tables *tables,
				const struct allo_progress *progress, struct allo_error *err);

#endif
