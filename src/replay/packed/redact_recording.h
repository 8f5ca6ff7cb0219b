/*
 * redact_recording.h - copies a packed recording and changes its texts.
 *
 * Texts are in the head, in the facts, in the threads, in the names and in the headers of pages.
 * Events are numbers; they are copied.  Chunks of unknown kinds are left out, since they may hold
 * texts.
 */
#ifndef ALLO_REPLAY_REDACT_RECORDING_H
#define ALLO_REPLAY_REDACT_RECORDING_H

#include "base/io/output.h"
#include "replay/packed/stored_names.h"

/* Kinds of texts that tell something about a program, its machine or its user. */
enum allo_private_text {
	ALLO_PRIVATE_FUNCTION,
	ALLO_PRIVATE_MODULE, /* path of a program or library, or of a folder */
	ALLO_PRIVATE_FILE,   /* path of a source file */
	ALLO_PRIVATE_ARGUMENT,
	ALLO_PRIVATE_HOST,
	ALLO_PRIVATE_LABEL, /* names of threads and marks, keys and values of labels */
};

struct allo_text_change {
	/* The text to write instead, valid as long as the context.  Sets `err` when out of memory.
	 */
	struct allo_text (*text)(void *context, enum allo_private_text kind, struct allo_text text,
				 struct allo_error *err);
	void *context;
	bool drops_arguments, drops_build_ids;
};

/* `path` is packed and intact.  The file `out_path` is replaced; its names are `names`. */
bool allo_recording_redact(const char *path, const char *out_path,
			   const struct allo_text_change *change,
			   const struct allo_name_tables *names, struct allo_error *err);

#endif
