/*
 * heap_text.h - the common part of jemalloc's and gperftools' heap profiles.
 *
 * Both are text: stacks of return addresses with numbers, and at the end the list of mapped files
 * that the addresses lie in.  Until then, stacks are kept as a trie
 * of addresses; they become frames of the profile at the end.
 *
 * Counts are printed as "blocks: bytes [blocks: bytes]": live memory and, in brackets, everything
 * that was ever allocated.  Samplers print the numbers of their samples.
 */
#ifndef ALLO_READERS_HEAP_TEXT_H
#define ALLO_READERS_HEAP_TEXT_H

#include "base/io/input.h"
#include "base/text.h"
#include "profile/notes.h"
#include "profile/stack_builder.h"
#include "readers/proc_maps.h"

struct allo_block_sum {
	int64_t blocks, bytes; /* negative only in differences */
};

struct allo_site_sums {
	struct allo_block_sum live, ever;
};

/* Takes "blocks: bytes [blocks: bytes]" off the front of *text; numbers may be padded with spaces.
 */
bool allo_site_sums_take(struct allo_text *text, struct allo_site_sums *counts);

/*
 * Estimates the true numbers from those of a sampler that samples one byte in `rate`: a block of s
 * bytes is sampled with probability 1 - exp(-s / rate).  A rate of 0 or 1 means that nothing was
 * missed.  Fractions are cut off, as pprof does; numbers that do not fit are clamped and noted.
 */
struct allo_block_sum allo_unsample(struct allo_block_sum seen, int64_t rate,
				    struct allo_notes *notes);

/* An estimate, and its error from the rounding of the printed numbers. */
struct allo_heap_estimate {
	double bytes;
	double off, off_squared; /* sums over the sites */
};

/* Compares the totals in the header with the sum of the sites: a file that was cut at the end of a
 * line reads well otherwise.  Set the fields of the header, leave the rest zero. */
struct allo_heap_totals {
	bool is_stated; /* there is a header */
	struct allo_site_sums stated;
	struct allo_pos pos;   /* of the header */
	bool has_ever;         /* compare the numbers in brackets, too */
	bool are_more_allowed; /* the sites may add up to more than the header */
	int64_t unbiased_rate; /* jemalloc's; 0: the header is the plain sum */

	/* Private: sums over the sites. */
	struct allo_site_sums found;
	struct allo_heap_estimate live, ever;
};

/* Adds a site with the numbers of the file. */
void allo_heap_totals_add(struct allo_heap_totals *totals, const struct allo_site_sums *site);

/* Adds a note if the header and the sites contradict each other. */
void allo_heap_totals_check(const struct allo_heap_totals *totals, struct allo_notes *notes);

struct allo_heap_address {
	uint64_t address;                /* of the call */
	uint32_t first_line, line_count; /* in lines[] */
	allo_frame_id frame;             /* 0 until needed */
};

struct allo_heap_sample {
	struct allo_site_sums counts;
	int64_t block_bytes; /* becomes the label "bytes", as in pprof; 0: none */
	allo_stack_id stack; /* of `waiting` */
};

/* Set input and profile, leave the rest zero. */
struct allo_heap_text {
	struct allo_input *in;
	struct allo_profile *profile;
	bool drops_addresses; /* of frames with names: they are numbers without meaning */
	struct allo_proc_maps maps;
	ALLO_VEC(struct allo_heap_sample) samples;

	/* Private from here on. */
	ALLO_VEC(struct allo_heap_address) addresses; /* address number n is addresses.at[n - 1] */
	struct allo_map address_map;
	ALLO_VEC(struct allo_line) lines;
	uint32_t naming;                 /* the address whose names are being read */
	struct allo_profile waiting;     /* only its stacks are used; frames are address numbers */
	ALLO_VEC(allo_frame_id) numbers; /* of the current stack, leaf first */
	ALLO_VEC(allo_stack_id)
	stacks; /* by stack of `waiting`: the profile's stack; 0: not added yet */
	ALLO_VEC(allo_stack_id) to_make; /* stacks of `waiting` */
	struct allo_stack_builder builder;
};

void allo_heap_text_done(struct allo_heap_text *heap);

/* A stack from addresses of calls, the leaf first.  The last function returns 0 for none and at
 * failure. */
void allo_heap_text_begin_stack(struct allo_heap_text *heap);
bool allo_heap_text_add_address(struct allo_heap_text *heap, uint64_t address,
				struct allo_error *err);
allo_stack_id allo_heap_text_end_stack(struct allo_heap_text *heap, struct allo_error *err);

/* A stack of "0x1234 0x5678 ...", return addresses, the leaf first; 0 for none and at failure. */
allo_stack_id allo_heap_text_stack(struct allo_heap_text *heap, struct allo_text addresses,
				   struct allo_error *err);

/* Whether an address is in a stack and has no name yet. */
bool allo_heap_text_wants_name(const struct allo_heap_text *heap, uint64_t address);

/* Names an address that wants a name; consecutive lines of one address are inlined calls, the
 * innermost first. */
bool allo_heap_text_name(struct allo_heap_text *heap, uint64_t address,
			 const struct allo_line *line, struct allo_error *err);

/* Reads a comment of Go, which names a frame: "#	0x4b3f95	main.churn+0x55 main.go:33".
 */
bool allo_heap_text_read_comment(struct allo_heap_text *heap, struct allo_text text,
				 struct allo_error *err);

/* Whether a line is the heading of the mapped files. */
bool allo_heap_text_is_maps_heading(struct allo_text line);

/* Reads the mapped files, up to the end of the input. */
bool allo_heap_text_read_maps(struct allo_heap_text *heap, struct allo_error *err);

/*
 * Adds all samples to the profile, whose metrics must exist: live blocks and bytes, preceded by
 * allocated blocks and bytes if there are four; or one, in place of live bytes.  Frames at the
 * inner end of stacks are dropped if their module's name starts with `left_out`, which may be NULL.
 */
bool allo_heap_text_finish(struct allo_heap_text *heap, const char *left_out,
			   struct allo_error *err);

#endif
