/*
 * top.h - what holds most: sites, functions, files, modules.
 *
 * Samples may come in portions; the tables that they refer to must be the same throughout.
 */
#ifndef ALLO_ANALYSIS_TOP_H
#define ALLO_ANALYSIS_TOP_H

#include "analysis/sum.h"

enum allo_by { ALLO_BY_FUNCTION, ALLO_BY_SITE, ALLO_BY_FILE, ALLO_BY_MODULE, ALLO_BY_ADDRESS };

/* "function", "functions", ...: what one row stands for, and what several do; NULL ends. */
extern const char *const allo_by_names[], *const allo_by_plurals[];

/* What a row stands for; parts that do not tell rows apart are 0. */
struct allo_top_key {
	allo_string_id function, file, module;
	uint64_t number; /* line or address */
};

struct allo_top_row {
	struct allo_values total; /* of samples that pass through */
	uint64_t last_sample;     /* private: the last one that counted in `total` */
	struct allo_values self;  /* of samples that end here */
	struct allo_top_key key;
};

/* Which row one of the profile's calls belongs to. */
struct allo_top_call {
	uint32_t row; /* + 1; 0 until it is looked up */
	bool is_allocator;
};

/* All zeros with `by` set is ready for use. */
struct allo_top {
	enum allo_by by;
	bool trims_allocator; /* takes malloc() and its like for a part of whoever called it */
	ALLO_VEC(struct allo_top_row) rows;
	struct allo_values sum;       /* of all samples */
	struct allo_values frameless; /* of those whose stacks have no frame, and so no row */

	/* Private. */
	struct allo_map map;
	ALLO_VEC(struct allo_top_call) frames; /* by frame, for those that are one call: most */
	ALLO_VEC(struct allo_top_call) lines;  /* by line of the profile, for the others */
	uint64_t samples;
};

void allo_top_done(struct allo_top *top);

bool allo_top_add(struct allo_top *top, const struct allo_profile *profile,
		  const struct allo_columns *columns, struct allo_error *err);

/* What was found out about one of a frame's calls: its row is 0 where no sample has it. */
static inline const struct allo_top_call *allo_top_call_of(const struct allo_top *top,
							   const struct allo_profile *profile,
							   allo_frame_id id, uint32_t call)
{
	const struct allo_frame *frame = &profile->frames.at[id];

	return frame->line_count <= 1 ? &top->frames.at[id]
				      : &top->lines.at[frame->first_line + call];
}

enum allo_top_order { ALLO_TOP_BY_SELF, ALLO_TOP_BY_TOTAL, ALLO_TOP_BY_CHANGE };

/* Largest first, equal ones by name; rows that nothing passes through are dropped. */
void allo_top_sort(struct allo_top *top, const struct allo_profile *profile,
		   enum allo_top_order order);

/* What to call a row; made up in `scratch` where there is no name. */
enum { ALLO_TOP_SCRATCH = 128 };
struct allo_text allo_top_name(const struct allo_top *top, const struct allo_profile *profile,
			       const struct allo_top_row *row, char scratch[ALLO_TOP_SCRATCH]);

#endif
