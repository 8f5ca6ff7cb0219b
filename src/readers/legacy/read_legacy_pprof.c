/* read_legacy_pprof.c - profiles of pprof's older formats, other than heaps of C++ and Go. */
#include "base/defer.h"
#include "readers/legacy/legacy_profile.h"

struct kind {
	const char *name;
	bool (*is_it)(struct allo_text head); /* takes the first line, or the head of a binary */
	bool (*read)(struct allo_legacy *legacy, struct allo_error *err);
	bool is_binary;
};

static const struct kind kinds[] = {
	{ "cpu", allo_legacy_is_cpu, allo_legacy_read_cpu, true },
	{ "contention", allo_legacy_is_contention, allo_legacy_read_contention, false },
	{ "threads", allo_legacy_is_threads, allo_legacy_read_threads, false },
	{ "counts", allo_legacy_is_counts, allo_legacy_read_counts, false },
};

/* The first line that is neither blank nor a comment. */
static struct allo_text first_line(struct allo_text head)
{
	struct allo_text line = { 0 };

	while (allo_text_next(&head, '\n', &line)) {
		line = allo_text_trim(line);
		if (line.len > 0 && line.data[0] != '#')
			break;
	}
	return line;
}

static const struct kind *kind_of(struct allo_text head)
{
	struct allo_text line = first_line(head);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (kinds[i].is_it(kinds[i].is_binary ? head : line))
			return &kinds[i];
	}
	return NULL;
}

static bool read_legacy(struct allo_input *in, const struct allo_read_options *options,
			struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_legacy_done)
	struct allo_legacy legacy = { .text = { .in = in, .profile = profile } };
	const struct kind *kind = kind_of((struct allo_text){ in->next, allo_input_unread(in) });

	(void)options;
	if (!kind) {
		allo_fail(err, ALLO_FORMAT, allo_input_pos(in),
			  "expected a CPU, lock, thread or Java profile of pprof");
		return allo_hint(err, "heaps of C++ and Go are the format gperftools, and files of "
				      "today's pprof the format pprof");
	}
	profile->meta.dialect = allo_profile_add_string(profile, allo_text_of(kind->name), err);
	return !allo_failed(err) && kind->read(&legacy, err) &&
	       allo_heap_text_finish(&legacy.text, NULL, err);
}

static enum allo_guess probe_legacy(struct allo_text head)
{
	return kind_of(head) ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_legacy_pprof = {
	.name = "legacy-pprof",
	.title = "older pprof profiles: CPU, locks, threads, Java's heap",
	.about = "CPU profiles of gperftools (binary; samples and cpu), lock profiles of C++, Go "
		 "and Java (contentions and delay), stacks of threads (threadz), Go's text of "
		 "goroutines and other counts (debug=1), and Java's heap (live_blocks and "
		 "live_bytes). Sampled numbers become estimates, the same as pprof's. Frames are "
		 "addresses in modules; those of Go and Java have names, files and lines. The "
		 "signal handler of a CPU profiler is dropped from its stacks, as pprof does.",
	.probe = probe_legacy,
	.read = read_legacy,
};
