/* lib_write.c - profiles in any form; see allotrope.h. */
#include "base/defer.h"
#include "engine/convert.h"
#include "lib/lib_common.h"
#include "writers/writers.h"

#include <stdio.h>

/* What the caller's options come to. */
struct plan {
	const struct allo_writer *writer;
	struct allo_output_options output;
	struct allo_write_options writing;
};

static bool plan_writer(struct plan *plan, const struct allotrope_write_options *options,
			const char *path, struct allo_error *err)
{
	if (!options->to && !path)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "no format is given to write");
	plan->writer = options->to ? allo_writer_find(options->to, err)
				   : allo_writer_find_by_path(path);
	if (plan->writer && plan->writer->takes_rows) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "the format %s is not written by this library", plan->writer->name);
		return allo_hint(err, "'allo convert' writes it");
	}
	if (plan->writer || options->to)
		return plan->writer;
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = path },
		  "the name says nothing about the format to write");
	return allo_hint(err, "name the format, or end the file's name in .pb.gz or the like");
}

static bool plan_packing(struct plan *plan, const char *packing, const char *path,
			 struct allo_error *err)
{
	static const char *const names[] = {
		[ALLO_PLAIN] = "none", [ALLO_GZIP] = "gzip", [ALLO_ZSTD] = "zstd"
	};

	if (!packing) {
		plan->output.packing = allo_writer_packing(plan->writer, path ? path : "");
		return true;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(packing, names[i]) == 0) {
			plan->output.packing = (enum allo_packing)i;
			return true;
		}
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no packing \"%.80s\"", packing);
	return allo_hint(err, "known are: none, gzip, zstd");
}

static bool check_losses(const struct plan *plan, const struct allo_profile *profile,
			 struct allo_error *err)
{
	unsigned lost = allo_profile_holds(profile) & ~plan->writer->holds;
	char names[200];

	if (lost == 0)
		return true;
	allo_holds_names(lost, names, sizeof(names));
	return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "%s cannot hold %s", plan->writer->name,
			 names);
}

/* `path` is NULL where the output has no name that says anything. */
static bool plan_init(struct plan *plan, const struct allo_profile *profile,
		      const struct allotrope_write_options *options, const char *path,
		      struct allo_error *err)
{
	static const struct allotrope_write_options defaults;

	if (!options)
		options = &defaults;
	*plan = (struct plan){
		.output = { .replace = options->replace, .fast = options->fast },
		.writing = { .title = options->title },
	};
	return plan_writer(plan, options, path, err) &&
	       plan_packing(plan, options->packing, path, err) &&
	       (!options->strict || !profile || check_losses(plan, profile, err));
}

static bool is_clear(const struct allotrope_write_options *options, struct allotrope_error *err)
{
	return !options || allo_lib_is_clear(options, err);
}

static bool write_to(struct allo_output *out, const struct plan *plan,
		     const struct allo_profile *profile, struct allo_error *err)
{
	return allo_write(plan->writer, profile, &plan->writing, out, NULL, err) &&
	       allo_output_finish(out, err);
}

/* Hints name options of a command. */
static void hint_replace(struct allo_error *failure)
{
	if (failure->code == ALLO_USAGE)
		snprintf(failure->hint, sizeof(failure->hint),
			 "set `replace` in the options, or choose another name");
}

bool allotrope_write_file(const struct allotrope_profile *profile, const char *path,
			  const struct allotrope_write_options *options,
			  struct allotrope_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error failure = { 0 };
	struct plan plan;

	if (!allo_lib_begin(profile, err) || !is_clear(options, err))
		return false;
	if (!path)
		return allo_lib_misuse(err, "no file is given to write");
	/* Only on a command line is this standard output. */
	if (strcmp(path, "-") == 0)
		path = "./-";
	if (!plan_init(&plan, &profile->data, options, path, &failure))
		return allo_lib_fail(err, &failure);
	if (!allo_output_open(&out, path, &plan.output, &failure)) {
		hint_replace(&failure);
		return allo_lib_fail(err, &failure);
	}
	return write_to(&out, &plan, &profile->data, &failure) || allo_lib_fail(err, &failure);
}

bool allotrope_write_fd(const struct allotrope_profile *profile, int fd, const char *name,
			const struct allotrope_write_options *options, struct allotrope_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error failure = { 0 };
	struct plan plan;
	char made_up[40];

	if (!allo_lib_begin(profile, err) || !is_clear(options, err))
		return false;
	if (fd < 0)
		return allo_lib_misuse(err, "%d is no file descriptor", fd);
	snprintf(made_up, sizeof(made_up), "file descriptor %d", fd);
	return (plan_init(&plan, &profile->data, options, NULL, &failure) &&
		allo_output_open_fd(&out, fd, name ? name : made_up, &plan.output, &failure) &&
		write_to(&out, &plan, &profile->data, &failure)) ||
	       allo_lib_fail(err, &failure);
}

char *allotrope_write_memory(const struct allotrope_profile *profile,
			     const struct allotrope_write_options *options, size_t *len,
			     struct allotrope_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error failure = { 0 };
	struct plan plan;
	char *memory = NULL;

	if (!allo_lib_begin(profile, err) || !is_clear(options, err))
		return NULL;
	if (!len) {
		allo_lib_misuse(err, "there is no place for the length of the output");
		return NULL;
	}
	if (plan_init(&plan, &profile->data, options, NULL, &failure) &&
	    allo_output_open_memory(&out, &plan.output, &failure) &&
	    write_to(&out, &plan, &profile->data, &failure))
		memory = allo_output_take_memory(&out, len, &failure);
	if (!memory)
		allo_lib_fail(err, &failure);
	return memory;
}

bool allotrope_convert(const char *input, const char *output,
		       const struct allotrope_read_options *reading,
		       const struct allotrope_write_options *writing, struct allotrope_error *err)
{
	struct allo_filter everything = { 0 };
	struct allo_error failure = { 0 };
	struct allo_source_options source;
	struct allo_conversion conversion;
	struct allo_host host;
	struct plan plan;

	if (err && err->code != ALLOTROPE_OK)
		return false;
	if (!input || !output)
		return allo_lib_misuse(err, "no file is given to %s", input ? "write" : "read");
	if (!is_clear(writing, err) || !allo_lib_source_options(reading, &host, &source, err))
		return false;
	/* Only on a command line is "-" standard input or output. */
	if (strcmp(input, "-") == 0)
		input = "./-";
	if (strcmp(output, "-") == 0)
		output = "./-";
	if (!plan_init(&plan, NULL, writing, output, &failure))
		return allo_lib_fail(err, &failure);
	conversion = (struct allo_conversion){
		.source = &source,
		.files = (char *[]){ (char *)input, NULL },
		.writer = plan.writer,
		.output = output,
		.filter = &everything,
		.write_options = plan.writing,
		.output_options = plan.output,
		.has_packing = true,
		.strict = writing && writing->strict,
	};
	if (allo_convert(&conversion, &failure))
		return true;
	if (failure.code == ALLO_LIMIT && conversion.lost)
		failure.hint[0] = '\0'; /* it names an option of a command */
	if (failure.pos.file && strcmp(failure.pos.file, output) == 0)
		hint_replace(&failure);
	return allo_lib_fail(err, &failure);
}
