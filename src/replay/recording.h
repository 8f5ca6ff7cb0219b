/*
 * recording.h - a recording, raw (wire/layout.h) or packed (wire/packed.h), and what is in it.
 *
 * Opening finds all blocks and reads the tables of stacks, modules and threads; memory grows with
 * those and never with the events, which are read when somebody replays them (event_stream.h).
 * Nothing in the file is trusted.  What a killed process or a full disk has left, or a part of a
 * file, opens as well: `gaps` says what is not there.
 */
#ifndef ALLO_REPLAY_RECORDING_H
#define ALLO_REPLAY_RECORDING_H

#include "base/arena.h"
#include "base/random_access.h"
#include "base/vec.h"
#include "wire/layout.h"

/* Blocks of one stream that follow each other and lie in one piece of the file: a slot of a raw
 * recording, or a chunk of a packed one's stacks or facts. */
struct allo_piece {
	uint64_t offset;
	uint64_t first_ticks; /* where its first block goes on from; this and the next for events */
	uint64_t dropped;     /* as its last block tells */
	uint32_t stream, sequence, blocks;
	uint32_t file_len, raw_len; /* as it lies in the file; of all blocks with their headers */
	uint32_t thread;
	uint8_t kind;
	bool is_sealed;
	bool is_cut;   /* the file ends within it */
	char name[16]; /* of the thread; may be full, without a NUL */
};

/* A chunk of a packed recording's events. */
struct allo_event_chunk {
	uint64_t offset;
	uint32_t sequence, count;
	uint32_t raw_len, file_len;
};

/* A chunk of a packed recording's names. */
struct allo_name_chunk {
	uint64_t offset;
	uint32_t raw_len;
};

struct allo_stream {
	uint32_t number, thread;
	enum allo_stream_kind kind;
	size_t first_piece, piece_count; /* by sequence */
	uint64_t dropped;
	struct allo_text name; /* of the thread; may be empty */
};

enum allo_stack_node_flag {
	ALLO_NODE_KNOWN = 1,
	ALLO_NODE_GUESSED = 2,  /* found by frame pointer alone */
	ALLO_NODE_CUT = 4,      /* what is outside of it is not known */
	ALLO_NODE_EXACT_PC = 8, /* its pc is no return address */
	ALLO_NODE_PARTIAL = 16, /* it, or one outside of it, is cut or not known */
};

/* A frame of a stack and, through its parent, the frames outside of it. */
struct allo_stack_node {
	uint64_t pc;
	uint32_t parent; /* smaller than its own number; 0: none */
	uint32_t generation : 24, flags : 8;
};

struct allo_loaded_module {
	uint64_t bias, start, end;
	uint32_t generation, gone; /* there from the one up to, but without, the other */
	struct allo_text path, build_id;
};

/* A text that the program has given: the name of a mark, a label's key. */
struct allo_noted_text {
	struct allo_text text;
	uint32_t same; /* the first that is equal; 0: it is not there */
};

/* A label of what a thread does: numbers of texts, each the first of those that are equal. */
struct allo_noted_label {
	uint32_t key, value;
};

struct allo_noted_set {
	uint32_t first, count; /* in the recording's labels, by key */
	uint32_t same;         /* the first set with the same labels; 0: it has none */

	/* Private from here on. */
	uint32_t parent; /* smaller than its own number; 0: none */
	struct allo_noted_label added;
	bool is_known;
};

/* What there should be and is not. */
struct allo_gaps {
	bool is_cut;              /* the file ends before the recording does */
	bool has_no_clock;        /* ticks are taken for nanoseconds */
	bool has_no_trailer;      /* a packed file's */
	uint64_t missing_pages;   /* that are not in the file, as others after them tell */
	uint64_t missing_streams; /* counted by the head, but nothing of them is there */
	uint64_t damaged_pages;   /* in the file, but not what they should be */
	uint64_t damaged_at;      /* where the first of them is */
	uint64_t unread_pages;    /* of events, which only make sense behind one that lacks */
	uint64_t missing_stacks;  /* allocations whose stack is not in the file */
	uint64_t dropped_events;  /* as the runtime counts them */
};

/* A tail that was sealed after the pieces had been found, and where it is now. */
struct allo_moved_slot {
	uint64_t offset;
	uint32_t stream, sequence;
};

/* All zeros: nothing to close. */
struct allo_recording {
	const char *name;
	bool is_packed;
	struct allo_wire_head head;  /* zeros from where the file is cut */
	struct allo_text head_bytes; /* all that slot 0 has, without the zeros behind it */
	struct allo_text program, folder, host;
	ALLO_VEC(struct allo_text) arguments;
	ALLO_VEC(struct allo_stream) streams;   /* raw: by number; packed: threads come first */
	ALLO_VEC(struct allo_stack_node) nodes; /* by number; [0] is no node */
	ALLO_VEC(struct allo_loaded_module) modules; /* by start */
	ALLO_VEC(struct allo_noted_text) texts;      /* by number; [0] is none */
	ALLO_VEC(struct allo_noted_set) label_sets;  /* by number; [0] is none */
	ALLO_VEC(struct allo_noted_label) labels;
	struct allo_gaps gaps;
	uint64_t size;         /* of the file, unpacked if it was packed as a whole */
	bool leaves_addresses; /* set it, and names that are stored are not used */

	/* Private from here on. */
	struct allo_input in;
	struct allo_random_access source;
	struct allo_arena arena;
	struct allo_arena table_arena;      /* of what modules and texts are made of */
	ALLO_VEC(struct allo_piece) pieces; /* by stream and sequence */
	/* Of a raw file: where tails are, and slots that had nothing in them; up to where it was
	 * looked through; and where tails went since then. */
	ALLO_VEC(uint64_t) tails, blanks;
	uint64_t scanned;
	ALLO_VEC(struct allo_moved_slot) moved;
	uint64_t moved_scanned, moved_last;
	uint32_t packed_version; /* 0: it is not packed, or cut before it */
	ALLO_VEC(struct allo_event_chunk) event_chunks;
	ALLO_VEC(struct allo_name_chunk) name_chunks;
	size_t text_count, set_count;        /* that are known */
	ALLO_VEC(uint64_t) module_ends;      /* by module: the last end of it and those before */
	struct allo_summary *stored_summary; /* of a packed file's trailer; may be NULL */
	struct allo_gaps stored_gaps;        /* the same; what was missing when it was packed */
	struct ZSTD_DCtx_s *unpacker;
	uint64_t loaded; /* bytes of the file, for progress */
	const struct allo_progress *progress;
};

/* Whether a file that begins so is one. */
bool allo_recording_probe(struct allo_text head);

/* Opens what an input has, which stays open as long; or a file, or standard input for "-". */
bool allo_recording_open(struct allo_recording *recording, struct allo_input *in,
			 struct allo_error *err);
bool allo_recording_open_file(struct allo_recording *recording, const char *path,
			      const struct allo_progress *progress, struct allo_error *err);

/* Takes notice of what was written since: streams, blocks, stacks, modules.  Who reads events goes
 * on by allo_events_resume(). */
bool allo_recording_refresh(struct allo_recording *recording, struct allo_error *err);

void allo_recording_close(struct allo_recording *recording);

/* The bytes of a piece: for each block its header, a struct allo_wire_slot, and what it says is
 * used.  Behind them are ALLO_EVENT_MAX zeros more. */
struct allo_piece_bytes {
	ALLO_VEC(uint8_t) bytes;
	ALLO_VEC(uint8_t) packed; /* of use while unpacking */
	size_t next;              /* block's header */
};

void allo_piece_bytes_done(struct allo_piece_bytes *bytes);

/* Reads a piece.  One that is damaged, or is no longer there, has no blocks; that is counted in
 * `gaps`. */
bool allo_recording_load(struct allo_recording *recording, const struct allo_piece *piece,
			 struct allo_piece_bytes *bytes, struct allo_error *err);

/* So many bytes of the file have been read. */
void allo_recording_tell_progress(struct allo_recording *recording, uint64_t more);

/* The next block of a piece; false when there is none. */
bool allo_piece_next(struct allo_piece_bytes *bytes, struct allo_wire_slot *slot,
		     const uint8_t **at, const uint8_t **end);

/* Counts blocks of a piece as damaged; a block that the file ends within is not. */
void allo_recording_damage(struct allo_recording *recording, uint64_t offset, uint64_t blocks);

/* Nanoseconds since the start. */
struct allo_tick_scale {
	uint64_t first, factor; /* nanoseconds of a tick * 2^32 */
};

struct allo_tick_scale allo_recording_scale(const struct allo_recording *recording);

static inline uint64_t allo_ticks_to_ns(struct allo_tick_scale scale, uint64_t ticks)
{
	uint64_t since = ticks - scale.first;

	if ((int64_t)since < 0)
		return 0;
	return (uint64_t)((unsigned __int128)since * scale.factor >> 32);
}

/* Threads that have recorded anything. */
size_t allo_recording_thread_count(const struct allo_recording *recording);

/* From the start to the last moment that the head knows. */
uint64_t allo_recording_duration(const struct allo_recording *recording);

/* The module that has an address in a generation, or NULL. */
const struct allo_loaded_module *allo_recording_module(const struct allo_recording *recording,
						       uint64_t address, uint32_t generation);

/* The number of a text and of a set of labels as all equal ones have it; 0 for what is not there.
 */
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

/* Whether what threads do may have labels. */
static inline bool allo_recording_has_labels(const struct allo_recording *recording)
{
	return recording->labels.len > 0;
}

/* The address of a node's instruction, not of the one it returns to. */
static inline uint64_t allo_stack_node_address(const struct allo_stack_node *node)
{
	return node->flags & ALLO_NODE_EXACT_PC || node->pc == 0 ? node->pc : node->pc - 1;
}

/* "exact", "sampled", "events", "ad-hoc"; "unknown" for anything else. */
const char *allo_mode_name(uint32_t mode);

/* "exit", "stopped", ... */
const char *allo_end_name(enum allo_wire_end end);

#endif
