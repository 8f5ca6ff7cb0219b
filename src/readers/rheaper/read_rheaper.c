/*
 * read_rheaper.c - what rheaper has recorded: a directory of files, or an archive of it.
 */
#include "base/defer.h"
#include "base/tar.h"
#include "readers/reader.h"
#include "readers/rheaper/rheaper_profile.h"

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

static enum allo_guess probe_archive(struct allo_text head)
{
	return allo_is_tar(head) ? ALLO_MAYBE : ALLO_NO;
}

const struct allo_reader allo_read_rheaper = {
	.name = "rheaper",
	.title = "recordings of rheaper",
	.about =
		"What the Rust crate rheaper leaves behind: a directory, rip-..., with events/ and "
		"backtraces/ in it, the directory that it is in if there is no other, or a tar "
		"archive of it, packed or not. All events of all files are replayed in the order "
		"of their numbers, each file being taken for a thread; the metrics are those of "
		"Allotrope's own recordings. A block that is allocated where another one is live "
		"ends that one. Hashes at the end of Rust's names are left out. What a program "
		"that was killed has left can be read as well: 'allo verify' says what lacks. A "
		"rate of sampling is not in the files: sums are those of what was recorded.",
	.probe = probe_archive,
	.read = read_archive,
	.is_binary = true,
	.has_rows = true,
	.probe_directory = allo_rheaper_is_directory,
	.read_directory = read_directory,
};
