/*
 * sarif.h - results as SARIF 2.1.0, which code-scanning services read.
 *
 *     allo_sarif_begin(&sarif, out, root, input);
 *     allo_sarif_rule(&sarif, &rule);                  for each
 *     allo_sarif_begin_result(&sarif, &result);        for each, followed by its places:
 *     allo_sarif_location(&sarif, name, file, line);
 *     allo_sarif_begin_stack(&sarif);                  perhaps
 *     allo_sarif_frame(&sarif, name, file, line);
 *     allo_sarif_end_result(&sarif);
 *     allo_sarif_end(&sarif);
 */
#ifndef ALLO_REPORT_SARIF_H
#define ALLO_REPORT_SARIF_H

#include "base/encoding/json_write.h"

enum allo_sarif_level { ALLO_SARIF_NOTE, ALLO_SARIF_WARNING, ALLO_SARIF_ERROR };

struct allo_sarif_rule {
	const char *id, *title, *about, *help;
};

struct allo_sarif_result {
	const char *rule;
	size_t rule_index;
	enum allo_sarif_level level;
	const char *message;
};

struct allo_sarif {
	struct allo_json_out json;
	struct allo_text root, input;
	bool has_results, has_location, has_stack; /* private */
};

/* Source files below `root`, a path without a slash at its end, get URIs relative to it.  `input`
 * is the file that was read: the place of results that have no other one, since GitHub refuses all
 * results if one of them is in no file. */
void allo_sarif_begin(struct allo_sarif *sarif, struct allo_output *out, struct allo_text root,
		      struct allo_text input);
void allo_sarif_rule(struct allo_sarif *sarif, const struct allo_sarif_rule *rule);

/* The responsible call; name and file may be empty, and line 0. */
void allo_sarif_begin_result(struct allo_sarif *sarif, const struct allo_sarif_result *result);
void allo_sarif_location(struct allo_sarif *sarif, struct allo_text name, struct allo_text file,
			 uint64_t line);

/* The stack of the result, innermost call first. */
void allo_sarif_begin_stack(struct allo_sarif *sarif);
void allo_sarif_frame(struct allo_sarif *sarif, struct allo_text name, struct allo_text file,
		      uint64_t line);

void allo_sarif_end_result(struct allo_sarif *sarif);
void allo_sarif_end(struct allo_sarif *sarif);

/* Whether `path` is below `root`, or relative; then it is `path` from the root on. */
bool allo_path_below(struct allo_text *path, struct allo_text root);

#endif
