/*
 * fetch.h - downloads an input from a URL.
 *
 * libcurl is loaded on the first use.  Sizes and times are limited, redirections are few, and URLs
 * with credentials are refused: they would show in process lists and messages.
 */
#ifndef ALLO_ENGINE_FETCH_H
#define ALLO_ENGINE_FETCH_H

#include "base/error.h"

/* Downloads http:// or https:// into an unnamed temporary file.  Returns its descriptor, at the
 * start of the file, or -1. */
int allo_fetch(const char *url, struct allo_error *err);

#endif
