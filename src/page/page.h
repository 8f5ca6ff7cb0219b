/*
 * page.h - the page of `allo view` and `allo report`, which is embedded in the program.
 *
 * viewer/ holds its source; viewer/dist/viewer.html.gz is committed, so that a build needs no node.
 */
#ifndef ALLO_PAGE_PAGE_H
#define ALLO_PAGE_PAGE_H

#include "base/text.h"

/* HTML, compressed with gzip. */
struct allo_text allo_page_gzip(void);

#endif
