/*
 * read_rheaper.c - recordings of rheaper: a directory of files, or a tar archive of it.
 */
#include "base/defer.h"
#include "readers/reader.h"
#include "readers/rheaper/rheaper_profile.h"
#include "readers/rheaper/rheaper_rows.h"
#include "readers/rheaper/tar.h"

static bool read_directory(const char *path, const struct allo_read_options *options,
			   struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };
	ALLO_DEFER(allo_rheaper_stacks_done) struct allo_rheaper_stacks stacks = { 0 };

	return allo_rheaper_open_directory(&files, path, options->progress, err) &&
	       allo_rheaper_profile(&files, &stacks, profile, err);
}

static bool read_archive(struct allo_input *in, const struct allo_read_options *options,
			 struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };
	ALLO_DEFER(allo_rheaper_stacks_done) struct allo_rheaper_stacks stacks = { 0 };

	(void)options;
	return allo_rheaper_open_archive(&files, in, err) &&
	       allo_rheaper_profile(&files, &stacks, profile, err);
}

static bool give_rows(struct allo_rheaper_files *files, const struct allo_allocation_sink *sink,
		      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_rheaper_stacks_done) struct allo_rheaper_stacks stacks = { 0 };

	return allo_rheaper_profile(files, &stacks, profile, err) &&
	       allo_profile_validate(profile, err) &&
	       sink->begin(sink->context, profile, NULL, NULL, NULL, 0, err) &&
	       allo_rheaper_rows(files, &stacks, sink->take, sink->context, err);
}

static bool read_directory_rows(const char *path, const struct allo_progress *progress,
				const struct allo_allocation_sink *sink,
				struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };

	return allo_rheaper_open_directory(&files, path, progress, err) &&
	       give_rows(&files, sink, profile, err);
}

static bool read_archive_rows(struct allo_input *in, const struct allo_allocation_sink *sink,
			      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };

	return allo_rheaper_open_archive(&files, in, err) && give_rows(&files, sink, profile, err);
}

static enum allo_guess probe_archive(struct allo_text head)
{
	return allo_is_tar(head) ? ALLO_MAYBE : ALLO_NO;
}

const struct allo_reader allo_read_rheaper = {
	.name = "rheaper",
	.title = "recordings of rheaper",
	.about = "Recordings of the Rust crate rheaper: a directory rip-... that holds "
		 "events/ and backtraces/, a directory with one such recording in it, or a "
		 "tar archive of it, packed or not. The events of all files are replayed "
		 "in the order of their numbers; each file counts as a thread. The metrics "
		 "are those of Allotrope's own recordings. An allocation at the address of "
		 "a live block ends that block. Hashes at the end of Rust names are "
		 "dropped. Recordings of a program that was killed can be read as well: "
		 "'allo verify' reports what is missing. The files do not hold a sampling "
		 "rate: sums are those of the recorded events.",
	.probe = probe_archive,
	.read = read_archive,
	.is_binary = true,
	.has_rows = true,
	.read_rows = read_archive_rows,
	.read_directory_rows = read_directory_rows,
	.probe_directory = allo_rheaper_is_directory,
	.read_directory = read_directory,
};
