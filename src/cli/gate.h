/*
 * gate.h - commands whose exit status decides whether a test passes.
 *
 * A test must not pass because data are missing: the figures of an incomplete input may be too
 * small, and its leaks may be hidden.
 */
#ifndef ALLO_CLI_GATE_H
#define ALLO_CLI_GATE_H

#include "cli/common.h"

/* The option that accepts incomplete inputs; a bool named allow_incomplete. */
#define OPT_ALLOW_INCOMPLETE(field)                                                                \
	OPT_FLAG(0, "allow-incomplete", field,                                                     \
		 "accept files that were truncated, or whose recording lost events")

/* Fails with ALLO_UNMET, after an error message with the name, if `is_complete` is false. */
bool allo_gate_check(bool is_complete, const char *name, struct allo_error *err);

#endif
