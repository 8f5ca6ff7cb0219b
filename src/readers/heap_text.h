/*
 * heap_text.h - what jemalloc's and gperftools' heap profiles have in common.
 *
 * Both are text: stacks of return addresses with numbers, and at the end the list of mapped files
 * that the addresses lie in.  So stacks wait for that list as a trie of addresses, and become
 * frames of the profile in the end.
 */
#ifndef ALLO_READERS_HEAP_TEXT_H
#define ALLO_READERS_HEAP_TEXT_H

#include "base/input.h"
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
 * An estimate of what was there, by what a sampler has seen that takes one byte in `rate`: a block
 * of s bytes is seen with the probability 1 - exp(-s / rate).  A rate of 0 or 1 means that all was
 * seen.  Fractions are cut off, as pprof does; what does not fit is cut to the largest number and
 * noted.
 */
struct allo_block_sum allo_unsample(struct allo_block_sum seen, int64_t rate,
				    struct allo_notes *notes);

/* An estimate, and how far off it may be, as the numbers that it is made of were rounded. */
struct allo_heap_estimate {
	double bytes;
	double off, off_squared; /* sums over the sites */
};

/* All zeros, with what is known about the header set, is ready for use. */
struct allo_heap_totals {
	bool is_stated; /* there is a header */
	struct allo_site_sums stated;
	struct allo_pos pos;   /* of the header */
	bool has_ever;         /* what was ever allocated counts, too */
	bool are_more_allowed; /* sites may hold what the header does not count */
	int64_t unbiased_rate; /* jemalloc's; 0: numbers are sums as they stand */

	/* Private: of the sites. */
	struct allo_site_sums found;
	struct allo_heap_estimate live, ever;
};

/* Adds a site, as the file has it. */
void allo_heap_totals_add(struct allo_heap_totals *totals, const struct allo_site_sums *site);

/* Notes it if the header and the sites contradict each other. */
void allo_heap_totals_check(const struct allo_heap_totals *totals, struct allo_notes *notes);

struct allo_heap_address {
	uint64_t address;                /* of the call */
	uint32_t first_line, line_count; /* in lines[] */
	allo_frame_id frame;             /* 0 until it is needed */
};

struct allo_heap_sample {
	struct allo_site_sums counts;
	int64_t block_bytes; /* becomes the label "bytes", as pprof has it; 0: none */
	allo_stack_id stack; /* of `waiting` */
};

/* All zeros with input and profile set is ready for use. */
struct allo_heap_text {
	struct allo_input *in;
	struct allo_profile *profile;
	struct allo_proc_maps maps;
	ALLO_VEC(struct allo_heap_sample) samples;

	/* Private from here on. */
	ALLO_VEC(struct allo_heap_address) addresses; /* number n is addresses.at[n - 1] */
	struct allo_map address_map;
	ALLO_VEC(struct allo_line) lines;
	uint32_t naming;                 /* the address that got its first line last */
	struct allo_profile waiting;     /* its stacks alone are used: frames are numbers */
	ALLO_VEC(allo_frame_id) numbers; /* of the stack at hand, leaf first */
	ALLO_VEC(allo_stack_id) stacks;  /* by stack of `waiting`: the profile's, once made */
	ALLO_VEC(allo_stack_id) to_make; /* stacks of `waiting` */
	struct allo_stack_builder builder;
};

void allo_heap_text_done(struct allo_heap_text *heap);

/* A stack of "0x1234 0x5678 ...", return addresses, the leaf first; 0 for none and at failure. */
allo_stack_id allo_heap_text_stack(struct allo_heap_text *heap, struct allo_text addresses,
				   struct allo_error *err);

/* Whether an address is in a stack and it has not been told yet what is there. */
bool allo_heap_text_wants_name(const struct allo_heap_text *heap, uint64_t address);

/* Tells what is at an address that wants to know; lines of the same address one after the other are
 * inlined calls, the innermost first. */
bool allo_heap_text_name(struct allo_heap_text *heap, uint64_t address,
			 const struct allo_line *line, struct allo_error *err);

/* Whether a line says that mapped files follow. */
bool allo_heap_text_is_maps_heading(struct allo_text line);

/* Reads the mapped files: all that is left of the input. */
bool allo_heap_text_read_maps(struct allo_heap_text *heap, struct allo_error *err);

/*
 * Gives all samples to the profile, whose metrics are there already: blocks and bytes of what was
 * live, and in front of them, if there are four, of all that was allocated.  Frames at the inner
 * end of stacks are left out where their module's name starts with `left_out`, which may be NULL.
 */
bool allo_heap_text_finish(struct allo_heap_text *heap, const char *left_out,
			   struct allo_error *err);

#endif
