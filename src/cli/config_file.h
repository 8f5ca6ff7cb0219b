/*
 * config_file.h - allo.conf, which stores options of a project or user.
 *
 *     # comment
 *     wrappers = known
 *     alloc-fn = my_alloc
 *     findings.tiny.size = 8
 *     findings.ignore = late-free
 *
 * The file is searched in the current directory and its parents, then in
 * $XDG_CONFIG_HOME/allotrope or ~/.config/allotrope.  The first one found is read.
 */
#ifndef ALLO_CLI_CONFIG_FILE_H
#define ALLO_CLI_CONFIG_FILE_H

#include "analysis/sites/attribution.h"
#include "base/arena.h"
#include "base/io/input.h"
#include "cli/command.h"
#include "findings/findings.h"

struct allo_settings_file {
	enum allo_wrappers wrappers;
	struct allo_list alloc_fns;
	struct allo_findings_options findings; /* thresholds and ignored rules */
};

/* The configuration, read once; NULL, with a failure, if the file is wrong. */
const struct allo_settings_file *allo_config_read(struct allo_error *err);

/* Adds the settings of an open file to `config`; the arena owns the names in it. */
bool allo_config_parse(struct allo_settings_file *config, struct allo_arena *arena,
		       struct allo_input *in, struct allo_error *err);

#endif
