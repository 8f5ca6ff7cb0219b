/* config_file.c - finds and parses allo.conf. */
#include "cli/config_file.h"

#include "base/defer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_SIZE_MAX = 64 << 10 };

/* Of the process: names live until it ends. */
static struct {
	bool is_read;
	char path[PATH_MAX];
	struct allo_arena arena;
	struct allo_settings_file config;
} state;

/* A file that is parsed. */
struct parser {
	struct allo_settings_file *config;
	struct allo_arena *arena; /* owns the names */
};

static bool set_wrappers(const struct parser *parser, struct allo_text value, struct allo_pos pos,
			 struct allo_error *err)
{
	for (int i = 0; allo_wrappers_names[i]; i++) {
		if (allo_text_equal(value, allo_text_of(allo_wrappers_names[i]))) {
			parser->config->wrappers = (enum allo_wrappers)i;
			return true;
		}
	}
	return allo_fail(err, ALLO_FORMAT, pos, "wrappers is auto, known or none, not \"%.*s\"",
			 ALLO_TEXT_ARG(value));
}

static bool add_alloc_fn(const struct parser *parser, struct allo_text value, struct allo_pos pos,
			 struct allo_error *err)
{
	struct allo_list *list = &parser->config->alloc_fns;
	const char *name;

	if (list->count == ALLO_LIST_MAX)
		return allo_fail(err, ALLO_FORMAT, pos, "more than %d lines of alloc-fn",
				 ALLO_LIST_MAX);
	if (value.len == 0 || memchr(value.data, '\0', value.len))
		return allo_fail(err, ALLO_FORMAT, pos, "alloc-fn needs the name of a function");
	name = allo_arena_copy(parser->arena, value.data, value.len);
	if (!name)
		return allo_fail_memory(err);
	list->item[list->count++] = name;
	return true;
}

static bool ignore_rule(const struct parser *parser, struct allo_text value, struct allo_pos pos,
			struct allo_error *err)
{
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		if (allo_text_equal(value, allo_text_of(allo_finding_rules[i]->id))) {
			parser->config->findings.is_ignored[i] = true;
			return true;
		}
	}
	allo_fail(err, ALLO_FORMAT, pos, "there is no rule \"%.*s\"", ALLO_TEXT_ARG(value));
	return allo_hint(err, "'allo findings --list-rules' lists the rules");
}

static const struct {
	const char *key;
	bool (*set)(const struct parser *parser, struct allo_text value, struct allo_pos pos,
		    struct allo_error *err);
} keys[] = {
	{ "wrappers", set_wrappers },
	{ "alloc-fn", add_alloc_fn },
	{ "findings.ignore", ignore_rule },
};

static bool parse_line(const struct parser *parser, struct allo_text line, struct allo_pos pos,
		       struct allo_error *err)
{
	struct allo_text key, value;

	line = allo_text_trim(line);
	if (line.len == 0 || line.data[0] == '#')
		return true;
	if (!allo_text_cut(line, '=', &key, &value))
		return allo_fail(err, ALLO_FORMAT, pos, "expected \"key = value\", found \"%.*s\"",
				 ALLO_TEXT_ARG(line));
	key = allo_text_trim(key);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (allo_text_equal(key, allo_text_of(keys[i].key)))
			return keys[i].set(parser, allo_text_trim(value), pos, err);
	}
	if (allo_text_skip(&key, ALLO_TEXT("findings.")))
		return allo_thresholds_set(&parser->config->findings.thresholds, key,
					   allo_text_trim(value), pos, err);
	allo_fail(err, ALLO_FORMAT, pos, "unknown key \"%.*s\"", ALLO_TEXT_ARG(key));
	return allo_hint(err, "the keys are wrappers, alloc-fn and findings.RULE.NUMBER");
}

bool allo_config_parse(struct allo_settings_file *config, struct allo_arena *arena,
		       struct allo_input *in, struct allo_error *err)
{
	const struct parser parser = { config, arena };
	struct allo_text line;

	for (uint64_t number = 1; allo_input_line(in, &line, err); number++) {
		struct allo_pos pos = { .file = in->name, .line = number, .byte = 1 };

		if (!parse_line(&parser, line, pos, err))
			return false;
	}
	return !allo_failed(err);
}

static bool parse_file(struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };

	return allo_input_open(&in, state.path, NULL, err) &&
	       allo_config_parse(&state.config, &state.arena, &in, err);
}

/* Whether state.path names a regular file of the user or of root that others cannot write, such as
 * in /tmp; a large one is a failure. */
static bool is_found(struct allo_error *err)
{
	struct stat status;

	if (stat(state.path, &status) != 0 || !S_ISREG(status.st_mode) ||
	    (status.st_uid != geteuid() && status.st_uid != 0) || (status.st_mode & S_IWOTH) != 0)
		return false;
	if (status.st_size > CONFIG_SIZE_MAX)
		allo_fail(err, ALLO_LIMIT, (struct allo_pos){ .file = state.path },
			  "larger than 64 KiB");
	return true;
}

/* In the current directory and its parents. */
static bool find_upwards(struct allo_error *err)
{
	char folder[PATH_MAX];

	if (!getcwd(folder, sizeof(folder) - strlen("/allo.conf")))
		return false;
	for (;;) {
		char *slash = strrchr(folder, '/');

		snprintf(state.path, sizeof(state.path), "%.*s/allo.conf",
			 (int)(sizeof(state.path) - sizeof("/allo.conf")),
			 slash == folder && !slash[1] ? "" : folder);
		if (is_found(err))
			return true;
		if (!slash || folder[0] == '\0')
			return false;
		*slash = '\0';
	}
}

static bool find_in_home(struct allo_error *err)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int len = -1;

	if (config && config[0] == '/')
		len = snprintf(state.path, sizeof(state.path), "%s/allotrope/allo.conf", config);
	else if (home && home[0] == '/')
		len = snprintf(state.path, sizeof(state.path), "%s/.config/allotrope/allo.conf",
			       home);
	return len > 0 && (size_t)len < sizeof(state.path) && is_found(err);
}

const struct allo_settings_file *allo_config_read(struct allo_error *err)
{
	if (!state.is_read)
		allo_thresholds_init(&state.config.findings.thresholds);
	if (!state.is_read && (find_upwards(err) || find_in_home(err)) && !allo_failed(err))
		parse_file(err);
	state.is_read = true;
	return allo_failed(err) ? NULL : &state.config;
}
