/*
 * top.h - sums by call site, function, file or module.
 *
 * Samples may be added in portions, if all portions share the same tables.
 */
#ifndef ALLO_ANALYSIS_TOP_H
#define ALLO_ANALYSIS_TOP_H

#include "analysis/sites/attribution.h"
#include "analysis/sum.h"

enum allo_by { ALLO_BY_FUNCTION, ALLO_BY_SITE, ALLO_BY_FILE, ALLO_BY_MODULE, ALLO_BY_ADDRESS };

/* Names of a row: "function", "functions", ...; NULL ends the table. */
extern const char *const allo_by_names[], *const allo_by_plurals[];

/* The identity of a row; parts that the view ignores are 0. */
struct allo_top_key {
	allo_string_id function, file, module;
	uint64_t number;         /* line or address */
	allo_function_id script; /* instead of a module: a function of the package */
};

struct allo_top_row {
	struct allo_values total; /* of samples that pass through */
	uint64_t last_sample;     /* private: the last sample counted in `total` */
	struct allo_values self;  /* of samples that end here */
	struct allo_top_key key;
	allo_frame_id frame; /* with `call`: an example of the row's calls */
	uint32_t call;
	/* The wrapper that the row calls for all its own samples, or a function without a name far
	 * from the allocations; 0: none, or several. */
	allo_string_id via;
	bool has_via; /* private: `via` is set */
	/* All own samples are of runtime_memory.h. */
	bool is_runtime;
};

/* The row of one of the profile's calls. */
struct allo_top_call {
	uint32_t row; /* index + 1; 0 before the first lookup */
};

/* All zeros with `by` set is ready for use. */
struct allo_top {
	enum allo_by by;
	/* A sample belongs to its site.  NULL: to its innermost call. */
	struct allo_attribution *attribution;
	/* Samples without values have rows too: several metrics have the same rows. */
	bool has_all_rows;
	const bool *only; /* by stack: whether its samples count; NULL: all do */
	ALLO_VEC(struct allo_top_row) rows;
	struct allo_values sum;       /* of all samples */
	struct allo_values frameless; /* of samples with empty stacks, which have no row */

	/* Private. */
	struct allo_map map;
	ALLO_VEC(struct allo_top_call) frames; /* by frame, for the many frames of one call */
	ALLO_VEC(struct allo_top_call) lines;  /* by line of the profile, for the others */
	uint64_t samples;
	uint64_t steps; /* calls that walks along stacks have passed */
};

void allo_top_done(struct allo_top *top);

bool allo_top_add(struct allo_top *top, const struct allo_profile *profile,
		  const struct allo_metric_columns *columns, struct allo_error *err);

/* Takes out the samples of runtime_memory.h, which were added before; `taken` is their sum. */
bool allo_top_take_runtime(struct allo_top *top, const struct allo_profile *profile,
			   const struct allo_metric_columns *columns, struct allo_values *taken,
			   struct allo_error *err);

/* Makes room for the calls of a profile, as allo_top_add() does. */
bool allo_top_cover(struct allo_top *top, const struct allo_profile *profile,
		    struct allo_error *err);

/* Whether the samples of a stack count. */
static inline bool allo_top_counts(const struct allo_top *top, allo_stack_id stack)
{
	return !top->only || top->only[stack];
}

/* The entry of one of a frame's calls; its row is 0 when no sample has it. */
static inline const struct allo_top_call *allo_top_call_of(const struct allo_top *top,
							   const struct allo_profile *profile,
							   allo_frame_id id, uint32_t call)
{
	const struct allo_frame *frame = &profile->frames.at[id];

	return frame->line_count <= 1 ? &top->frames.at[id]
				      : &top->lines.at[frame->first_line + call];
}

/* The same; adds the call's row if it is missing.  NULL when out of memory. */
const struct allo_top_call *allo_top_look_up(struct allo_top *top,
					     const struct allo_profile *profile, allo_frame_id id,
					     uint32_t call);

enum allo_top_order { ALLO_TOP_BY_SELF, ALLO_TOP_BY_TOTAL, ALLO_TOP_BY_CHANGE };

/* Sorts rows, largest first, then by name, and drops rows without samples. */
void allo_top_sort(struct allo_top *top, const struct allo_profile *profile,
		   enum allo_top_order order);

/* The display name of a row; made in `scratch` when it has no name. */
enum { ALLO_TOP_SCRATCH = 128 };
struct allo_text allo_top_name(const struct allo_top *top, const struct allo_profile *profile,
			       const struct allo_top_row *row, char scratch[ALLO_TOP_SCRATCH]);

#endif
