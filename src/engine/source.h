/*
 * source.h - an input, opened once: a file, a directory, a pipe, memory, or a growing recording.
 *
 * Commands, the server and liballotrope read every profile and every recording through
 * allo_source_open().  A source answers three requests: its profile (allo_source_profile), its
 * individual allocations (engine/rows.h) and its events (allo_source_events).
 */
#ifndef ALLO_ENGINE_SOURCE_H
#define ALLO_ENGINE_SOURCE_H

#include "readers/readers.h"
#include "replay/block_rows.h"
#include "replay/recording_profile.h"
#include "symbols/demangle.h"
#include "symbols/symbols.h"

/* The caller's side of a long operation.  The engine itself never prints. */
struct allo_host {
	/* Progress through `title`, in bytes or in `unit` (NULL: bytes), begins and ends. */
	void (*begin)(void *context, const char *title, const char *unit);
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void (*end)(void *context);
	/* A sentence for the user, without a full stop. */
	void (*note)(void *context, const char *text);
	void *context;
};

/* Progress through the host, which may be NULL. */
struct allo_host_progress {
	const struct allo_host *host; /* NULL: nothing is shown */
	struct allo_progress progress;
};

/* Returns the progress for a reader, or NULL. */
const struct allo_progress *allo_host_begin(struct allo_host_progress *shown,
					    const struct allo_host *host, const char *title,
					    const char *unit);
void allo_host_end(struct allo_host_progress *shown);

/* Tells the host, which may be NULL. */
void allo_host_note(const struct allo_host *host, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* How to read an input.  All zeros: detect the format, read everything, add symbol names, use the
 * caches, stay silent. */
struct allo_source_options {
	const char *format;                   /* a reader's name; NULL: detect it */
	struct allo_view view;                /* which part of a recording */
	struct allo_trace_options trace;      /* .namer is set by the engine */
	struct allo_symbol_options symbols;   /* where to look for debug information */
	bool no_symbols;                      /* leave frames as addresses */
	bool no_cache;                        /* neither replays nor names come from the cache */
	bool by_thread;                       /* label samples with their thread, for a filter */
	bool is_strict;                       /* refuse an input with bad parts */
	const struct allo_input_watch *watch; /* of a pipe; may be NULL */
	/* Downloads paths that are URLs, as engine/fetch.h does; NULL: they are names of files. */
	int (*fetch)(const char *url, struct allo_error *err);
	const struct allo_host *host; /* may be NULL */
};

/* Bytes to read in place of a path.  `data` NULL: the descriptor, which stays open. */
struct allo_source_bytes {
	const char *name; /* for messages */
	const void *data;
	size_t len;
	int fd;
};

/* All zeros: nothing to close. */
struct allo_source {
	const char *path; /* the caller's */
	struct allo_source_options options;
	const struct allo_reader *reader;
	struct allo_input in; /* unless the path is a directory */

	bool is_recording; /* then: */
	struct allo_recording recording;
	struct allo_replay replay; /* of the view */

	/* Private from here on. */
	bool is_directory, is_fetched;
	int fetched; /* the descriptor, if it is fetched */
	struct allo_host_progress progress;
	struct allo_demangler demangler;
	struct allo_namer namer;
};

/* Opens a path, a URL, or standard input for "-".  The source must not move while it is open. */
bool allo_source_open(struct allo_source *source, const char *path,
		      const struct allo_source_options *options, struct allo_error *err);

bool allo_source_open_bytes(struct allo_source *source, const struct allo_source_bytes *bytes,
			    const struct allo_source_options *options, struct allo_error *err);

/* For requests that only a recording can answer.  `needed` completes the hint that other files
 * get: "only recordings have ...". */
bool allo_source_open_recording(struct allo_source *source, const char *path,
				const struct allo_source_options *options, const char *needed,
				struct allo_error *err);

void allo_source_close(struct allo_source *source);

/* Ends the display of progress: the rest is quick. */
void allo_source_end_progress(struct allo_source *source);

/* The requested contents of a profile.  All zeros: sums by stack and label, with symbol names. */
struct allo_profile_request {
	bool keep_accesses; /* DHAT's access counts */
	bool by_thread;     /* label samples with their thread */
	bool wants_history;
	bool wants_changes;
	bool wants_times; /* individual samples of a trace, ordered by time within a thread */
	bool no_names;    /* skip symbolisation */
	bool describes;   /* the file, not its numbers: they may be missing */
	bool checks_all;  /* read all events and the index, whatever a cache or the index knows */
	const struct allo_drain *drain; /* takes the samples in portions; may be NULL */
	struct allo_symbols *symbols;   /* receives the state of each module's symbols; or NULL */

	/* Filled for recordings only; each may be NULL. */
	struct allo_timeline *timeline;
	struct allo_marks *marks;
	struct allo_summary *summary;
	const bool *nodes;      /* as in struct allo_replay */
	allo_stack_id **stacks; /* the same */
	bool (*take_live)(void *context, allo_stack_id stack, allo_labels_id labels,
			  uint64_t birth_ns, struct allo_error *err);
	void *live_context;
	const struct allo_heap_observer *observer; /* sees all events; as in struct allo_replay */
};

/* Reads the profile into `profile`, which is empty, and validates it.  `request` may be NULL. */
bool allo_source_profile(struct allo_source *source, const struct allo_profile_request *request,
			 struct allo_profile *profile, struct allo_error *err);

/* Sets the moment of a profile of a running process to now, and the length of its range. */
void allo_set_moment(struct allo_profile *profile);

/* Adds symbol names to the frames of a profile that has addresses.  `symbols` may be NULL. */
bool allo_add_names(const struct allo_source_options *options, struct allo_profile *profile,
		    struct allo_symbols *symbols, struct allo_error *err);

/* Opens the path, reads its profile and closes it. */
bool allo_read_profile(const char *path, const struct allo_source_options *options,
		       const struct allo_profile_request *request, struct allo_profile *profile,
		       struct allo_error *err);

/* All stacks of a recording with their names, in a profile without samples.  `stacks` receives the
 * stack of each node; the caller frees it. */
bool allo_source_stacks(struct allo_source *source, struct allo_profile *profile,
			allo_stack_id **stacks, struct allo_error *err);

/* Takes events in the order of time; false stops. */
typedef bool allo_take_events(void *context, const struct allo_event_span *span,
			      struct allo_error *err);

/* All events of the view, for recordings. */
bool allo_source_events(struct allo_source *source, allo_take_events *take, void *context,
			struct allo_error *err);

/* The recording's rows (replay/block_rows.h) of the view: of a range, or of an instant. */
bool allo_source_block_rows(struct allo_source *source, allo_take_rows *take, void *context,
			    struct allo_error *err);

/* Fails if the input is a recording that was truncated before its first event: its numbers would
 * all be 0.  Requests for a profile, rows or events check it as well. */
bool allo_source_check_events(struct allo_source *source, struct allo_error *err);

/* Notes to the host that the recording lacks events, if it does. */
void allo_source_note_gaps(const struct allo_source *source);

#endif
