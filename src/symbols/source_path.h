/*
 * source_path.h - the names of source files, as compilers write them and as people know them.
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
 * The file as seen from `folder`, in which it was compiled; that may be empty.  "." and ".." are
 * resolved by their names alone, since the folders may not be here: the same file has the same name
 * whichever folder it was compiled in.  The text stays until the next call; false when memory is
 * short.
 */
bool allo_source_path_join(struct allo_source_path *path, struct allo_text folder,
			   struct allo_text file, struct allo_text *joined);

#endif
