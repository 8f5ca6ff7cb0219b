/*
 * rust_names.h - names of Rust functions as other programs write them.
 */
#ifndef ALLO_ANALYSIS_RUST_NAMES_H
#define ALLO_ANALYSIS_RUST_NAMES_H

#include "base/text.h"

/* Longer names are returned as they are. */
enum { ALLO_PLAIN_NAME_MAX = 1024 };

/* The name without the hashes of crates: __rustc[5224e6b81cd82a8f]::__rust_alloc, which some
 * demanglers print, is __rustc::__rust_alloc.  Returns `name` itself or a text in `room`. */
struct allo_text allo_rust_name_plain(struct allo_text name, char room[ALLO_PLAIN_NAME_MAX]);

#endif
