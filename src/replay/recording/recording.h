/*
 * recording.h - a recording, raw (wire/layout.h) or packed (wire/packed.h).
 *
 * Opening finds all pages and reads the tables of stacks, modules and threads.  Memory use grows
 * with those and never with the events, which a replay reads (event_stream.h).  The file is not
 * trusted.  Files that a killed process or a full disk left behind, and truncated files, open as
 * well: `gaps` tells which parts are missing.
 *
 * A stream is a sequence of pages: up to 64 KiB of events, stacks or facts with a header, which is
 * a struct allo_wire_slot.  A raw file has one page per slot; a packed file has several per chunk.
 */
#ifndef ALLO_REPLAY_RECORDING_H
#define ALLO_REPLAY_RECORDING_H

#include "base/arena.h"
#include "base/io/random_access.h"
#include "base/vec.h"
#include "wire/layout.h"
#include "wire/resident_samples.h"

/* Consecutive pages of one stream that lie together in the file: a slot of a raw recording, or a
 * chunk of stacks or facts of a packed one. */
struct allo_piece {
	uint64_t offset;
	uint64_t first_ticks; /* time before its first event; this and `dropped` are for events only
			       */
	uint64_t dropped;     /* events lost so far, by the header of its last page */
	uint32_t stream, sequence, pages;
	uint32_t file_len, raw_len; /* bytes in the file; bytes of all pages with their headers */
	uint32_t thread;
	uint8_t kind;
	bool is_sealed;
	bool is_cut;   /* the file ends inside it */
	char name[16]; /* of the thread; without a NUL if it is full */
};

/* A chunk of events of a packed recording. */
struct allo_event_chunk {
	uint64_t offset;
	uint32_t sequence, count;
	uint32_t raw_len, file_len;
};

/* A chunk of names, or of the index, of a packed recording. */
struct allo_plain_chunk {
	uint64_t offset;
	uint32_t raw_len, packed_len;
};

struct allo_stream {
	uint32_t number, thread;
	enum allo_stream_kind kind;
	size_t first_piece, piece_count; /* in the order of their sequence numbers */
	uint64_t dropped;
	struct allo_text name; /* of the thread; may be empty */
};

enum allo_recorded_node_flag {
	ALLO_NODE_KNOWN = 1,
	ALLO_NODE_GUESSED = 2,   /* found by frame pointer alone */
	ALLO_NODE_CUT = 4,       /* its callers are not known */
	ALLO_NODE_EXACT_PC = 8,  /* its pc is not a return address */
	ALLO_NODE_PARTIAL = 16,  /* it, or one of its callers, is cut or not known */
	ALLO_NODE_FUNCTION = 32, /* of an interpreter: `pc` is a function and a line */
};

/* A frame of a stack.  Its parent is the caller, so a node stands for a whole stack. */
struct allo_recorded_node {
	uint64_t pc;     /* of ALLO_NODE_FUNCTION: the number of the function << 32 | line */
	uint32_t parent; /* smaller than its own number; 0 for the outermost frame */
	uint32_t generation : 24, flags : 8;
};

/* A module comes or goes at an address; in the order of the file. */
struct allo_module_change {
	uint64_t start;
	uint32_t order;
	uint32_t module;     /* 1 + its index; 0 if one goes */
	uint32_t generation; /* where it goes */
};

struct allo_loaded_module {
	uint64_t bias, start, end;
	uint32_t generation, gone; /* loaded in generations [generation, gone) */
	struct allo_text path, build_id;
};

/* A function of an interpreter. */
struct allo_recorded_function {
	struct allo_text name, file;
	uint32_t first_line; /* 0 if unknown */
	uint32_t language;   /* enum allo_language; 0: its record is missing */
};

/* An interpreter that was in the process. */
struct allo_recorded_interpreter {
	struct allo_text version;
	uint32_t language, state; /* enum allo_language, enum allo_interpreter_state */
	bool has_objects;         /* its objects are recorded */
	uint64_t address;         /* in its program or library */
};

/* An allocator in the process that is the program's own, not recorded, or not from the start. */
struct allo_recorded_allocator {
	struct allo_text name, path; /* path: of its module */
	uint32_t state;              /* enum allo_allocator_state */
};

/* From `ns` on, blocks are sampled with another interval. */
struct allo_rate_change {
	uint64_t ns; /* since the start; no block is sampled within some microseconds of it */
	uint64_t rate;
};

/* Converts ticks to nanoseconds since the start. */
struct allo_tick_scale {
	uint64_t first, factor; /* nanoseconds per tick, times 2^32 */
};

/* A text from the program: the name of a mark, the key of a label. */
struct allo_noted_text {
	struct allo_text text;
	uint32_t same; /* number of the first equal text; 0 if this one is missing */
};

/* A label of a thread: numbers of texts, each the first of its equals. */
struct allo_noted_label {
	uint32_t key, value;
};

/* A mark that another process has added. */
struct allo_outside_mark {
	uint64_t ns; /* since the start */
	uint32_t text;
};

struct allo_noted_set {
	uint32_t first, count; /* in allo_recording.labels, sorted by key */
	uint32_t same; /* number of the first set with equal labels; 0 if it has no labels */

	/* Private from here on. */
	uint32_t parent; /* smaller than its own number; 0: none */
	struct allo_noted_label added;
	bool is_known;
};

/* Missing and damaged parts of a recording. */
struct allo_gaps {
	bool is_cut;              /* the file ends before the recording does */
	bool has_no_clock;        /* ticks are taken as nanoseconds */
	bool has_no_trailer;      /* of a packed file */
	uint64_t missing_pages;   /* by gaps in the sequence numbers */
	uint64_t missing_streams; /* streams that the head counts and that have no page */
	uint64_t damaged_pages;   /* present, but with invalid content */
	uint64_t damaged_at;      /* file offset of the first damaged page */
	uint64_t unread_pages;    /* pages of events that cannot be decoded without a missing one */
	uint64_t missing_stacks;  /* allocations whose stack is not in the file */
	uint64_t dropped_events;  /* counted by the runtime */
};

/* The new place of a tail that was sealed after the pieces were found. */
struct allo_moved_slot {
	uint64_t offset;
	uint32_t stream, sequence;
};

/* All zeros is a closed recording. */
struct allo_recording {
	const char *name;
	bool is_packed;
	struct allo_wire_head head;                /* zeros beyond the end of a cut file */
	struct allo_text head_bytes;               /* slot 0 without trailing zeros */
	const struct allo_wire_resident *resident; /* NULL: none */
	struct allo_text program, folder, host;
	ALLO_VEC(struct allo_text) arguments;
	ALLO_VEC(struct allo_stream) streams;      /* raw: by number; packed: threads come first */
	ALLO_VEC(struct allo_recorded_node) nodes; /* by number; [0] is no node */
	ALLO_VEC(struct allo_loaded_module) modules;       /* by start */
	ALLO_VEC(struct allo_recorded_function) functions; /* by number; [0] is none */
	ALLO_VEC(struct allo_recorded_interpreter) interpreters;
	ALLO_VEC(struct allo_recorded_allocator) allocators;
	ALLO_VEC(struct allo_rate_change) rate_changes; /* by time */
	ALLO_VEC(struct allo_noted_text) texts;         /* by number; [0] is none */
	ALLO_VEC(struct allo_noted_set) label_sets;     /* by number; [0] is none */
	ALLO_VEC(struct allo_noted_label) labels;
	/* By time.  A packed recording has them among its events as well. */
	ALLO_VEC(struct allo_outside_mark) outside_marks;
	struct allo_gaps gaps;
	uint64_t size;          /* of the file; decompressed if it is compressed as a whole */
	bool leaves_addresses;  /* set it to ignore stored names */
	bool keeps_interpreter; /* set it to keep an interpreter's own frames between functions */
	bool has_bad_index;     /* its stored index was not of use */
	uint64_t trailing;      /* bytes after the end of a packed recording, which are ignored */
	/* Of a bounded recording: the sums of events that it no longer has (replay/ring/earlier.h);
	 * NULL: it has all. */
	struct allo_earlier *earlier;

	/* Private from here on. */
	struct allo_input in;
	struct allo_random_access source;
	struct allo_arena arena;
	struct allo_arena table_arena;      /* texts of modules, build ids and labels */
	ALLO_VEC(struct allo_piece) pieces; /* by stream and sequence */
	/* Of a raw file: offsets of tails and of blank slots; the end of the scanned part; the new
	 * places of sealed tails. */
	ALLO_VEC(uint64_t) tails, blanks;
	uint64_t scanned;
	ALLO_VEC(struct allo_moved_slot) moved;
	uint64_t moved_scanned, moved_last;
	ALLO_VEC(uint64_t) covered; /* offsets of sealed pages that `earlier` covers */
	uint32_t packed_version;    /* 0 if it is raw, or cut before the version */
	/* Of all chunks of a packed file: bytes of tables once unpacked, and events. */
	uint64_t chunk_table_bytes, chunk_events;
	ALLO_VEC(struct allo_event_chunk) event_chunks;
	ALLO_VEC(struct allo_plain_chunk) name_chunks, index_chunks, sum_chunks;
	uint64_t content_hash; /* of the hashes of all chunks but names, index and trailer */
	size_t text_count, set_count, function_count; /* without missing ones */
	/* Of the first reading, which events have as well: the head's clock moves on. */
	struct allo_tick_scale rate_scale;
	ALLO_VEC(struct allo_module_change) module_changes; /* while tables are read */
	struct allo_summary *stored_summary; /* from the trailer of a packed file; may be NULL */
	struct allo_gaps stored_gaps;        /* the same: gaps of the raw recording */
	struct allo_zstd_unpacker *unpacker;
	uint64_t loaded; /* bytes of the file, for progress */
	const struct allo_progress *progress;
};

/* The time from which on the recording has all events; 0: from the start. */
uint64_t allo_recording_exact_ns(const struct allo_recording *recording);

/* The size of the file; of a bounded raw one without the parts that were freed. */
uint64_t allo_recording_file_bytes(const struct allo_recording *recording);

/* Whether a file that starts with these bytes is a recording. */
bool allo_recording_probe(struct allo_text head);

/* Opens an input, which must stay open as long; or a file, or standard input for "-". */
bool allo_recording_open(struct allo_recording *recording, struct allo_input *in,
			 struct allo_error *err);
bool allo_recording_open_file(struct allo_recording *recording, const char *path,
			      const struct allo_progress *progress, struct allo_error *err);

/* Finds streams, pages, stacks and modules that were written since.  Readers of events continue
 * with allo_events_resume(). */
bool allo_recording_refresh(struct allo_recording *recording, struct allo_error *err);

/* Frees the contents of all nodes.  Events can still be read: they need the number of nodes. */
void allo_recording_free_nodes(struct allo_recording *recording);

void allo_recording_close(struct allo_recording *recording);

/* The bytes of a piece: for each page its header and its used bytes.  ALLO_EVENT_MAX zeros follow,
 * so that decoding an event never reads beyond the buffer. */
struct allo_piece_bytes {
	ALLO_VEC(uint8_t) bytes;
	ALLO_VEC(uint8_t) packed; /* compressed bytes, while they are unpacked */
	size_t next;              /* offset of the next page header */
};

void allo_piece_bytes_done(struct allo_piece_bytes *bytes);

/* Reads a piece.  A damaged or vanished one has no pages, and counts in `gaps`. */
bool allo_recording_load(struct allo_recording *recording, const struct allo_piece *piece,
			 struct allo_piece_bytes *bytes, struct allo_error *err);

/* Reports that `more` bytes of the file have been read. */
void allo_recording_add_progress(struct allo_recording *recording, uint64_t more);

/* The next page of a piece; false at the end. */
bool allo_piece_next(struct allo_piece_bytes *bytes, struct allo_wire_slot *slot,
		     const uint8_t **at, const uint8_t **end);

/* Counts damaged pages.  A page that is cut by the end of the file does not count. */
void allo_recording_damage(struct allo_recording *recording, uint64_t offset, uint64_t pages);

struct allo_tick_scale allo_recording_scale(const struct allo_recording *recording);

static inline uint64_t allo_ticks_to_ns(struct allo_tick_scale scale, uint64_t ticks)
{
	uint64_t since = ticks - scale.first;

	if ((int64_t)since < 0)
		return 0;
	return (uint64_t)((unsigned __int128)since * scale.factor >> 32);
}

/* Number of allocators that are recorded since some moment, or not at all. */
uint64_t allo_recording_count_allocators(const struct allo_recording *recording, bool is_recorded);

/* Whether the program contains an allocator, which is recorded. */
bool allo_recording_has_own_allocator(const struct allo_recording *recording);

/* The first tick of a time, since the start. */
static inline uint64_t allo_ns_to_ticks(struct allo_tick_scale scale, uint64_t ns)
{
	return (uint64_t)((((unsigned __int128)ns << 32) + scale.factor - 1) / scale.factor);
}

/* Number of threads with events. */
size_t allo_recording_thread_count(const struct allo_recording *recording);

/* From the start to the last time in the head, in nanoseconds. */
uint64_t allo_recording_duration(const struct allo_recording *recording);

/* The number of the first equal text or label set; 0 if it is missing. */
static inline uint32_t allo_recording_same_text(const struct allo_recording *recording,
						uint64_t number)
{
	return number < recording->texts.len ? recording->texts.at[number].same : 0;
}

static inline uint32_t allo_recording_same_set(const struct allo_recording *recording,
					       uint64_t number)
{
	return number < recording->label_sets.len ? recording->label_sets.at[number].same : 0;
}

static inline struct allo_text allo_recording_text(const struct allo_recording *recording,
						   uint32_t number)
{
	return allo_recording_same_text(recording, number) != 0 ? recording->texts.at[number].text
								: (struct allo_text){ "", 0 };
}

/* Whether any thread may have labels. */
static inline bool allo_recording_has_labels(const struct allo_recording *recording)
{
	return recording->labels.len > 0;
}

/* Of a frame of an interpreter: its function, with a language of 0 if that is missing, and its
 * line. */
static inline struct allo_recorded_function allo_recorded_node_function(
	const struct allo_recording *recording, const struct allo_recorded_node *node)
{
	uint64_t number = node->pc >> 32;

	return number < recording->functions.len ? recording->functions.at[number]
						 : (struct allo_recorded_function){ 0 };
}

static inline uint32_t allo_recorded_node_line(const struct allo_recorded_node *node)
{
	return (uint32_t)node->pc;
}

/* The address of the call instruction, not the return address; 0 of a frame of an interpreter. */
static inline uint64_t allo_recorded_node_address(const struct allo_recorded_node *node)
{
	if (node->flags & ALLO_NODE_FUNCTION)
		return 0;
	return node->flags & ALLO_NODE_EXACT_PC || node->pc == 0 ? node->pc : node->pc - 1;
}

/* "exact", "sampled", "events", "ad-hoc"; "unknown" for anything else. */
const char *allo_mode_name(uint32_t mode);

/* "exit", "stopped", ... */
const char *allo_end_name(enum allo_wire_end end);

/* The name of the program: the last part of its first argument or, without arguments, of the path
 * of its file. */
struct allo_text allo_recording_program_name(const struct allo_recording *recording);

/* Whether the recording ended before the program although nobody asked for that. */
bool allo_end_is_early(enum allo_wire_end end);

#endif
