/*
 * source_path.h - the paths of source files, without "." and "..".
 */
#ifndef ALLO_SYMBOLS_SOURCE_PATH_H
#define ALLO_SYMBOLS_SOURCE_PATH_H

#include "base/text.h"
#include "base/vec.h"

/* All zeros is empty. */
struct allo_source_path {
	ALLO_VEC(char) bytes;
};

void allo_source_path_done(struct allo_source_path *path);

/*
 * Joins a file and the folder that it was compiled in, which may be empty.  "." and ".." are
 * resolved by name, because the folders may not exist here: a file has the same path whichever
 * folder it was compiled in.  The text stays until the next call.  False when memory is short.
 */
bool allo_source_path_join(struct allo_source_path *path, struct allo_text folder,
			   struct allo_text file, struct allo_text *joined);

#endif
