/*
 * write_massif.c - massif's snapshots of the heap, for ms_print and massif-visualizer.
 *
 * The heap over time becomes snapshots with one number each.  The snapshot that the stacks of the
 * profile add up to has a tree of them, and so has the last one.  Frames are identified by their
 * texts, so stacks that print the same are added up first.
 */
#include "analysis/tree.h"
#include "base/assert.h"
#include "base/defer.h"
#include "writers/printable.h"
#include "writers/writer.h"

enum {
	MOST_SNAPSHOTS = 100, /* massif's default */
	SHORT_NS = 100000000, /* 1 ms for each of them: shorter runs need fractions */
	MOST_DEPTH = 200,     /* massif's limit; it also bounds the width of the indentation */
};

/* Trees: of the preferred metric, usually the peak, and of the end. */
enum { MAIN, END, TREES };

struct massif {
	struct allo_write_job *w;
	const struct allo_profile *profile;
	size_t metrics[TREES];           /* of the profile */
	bool has_end;                    /* the profile has a metric for the end besides the peak */
	struct allo_printable printable; /* its samples have a value for each tree */
	struct allo_tree trees[TREES];
	uint64_t sums[TREES];
	uint64_t number; /* of the next snapshot */
};

static void massif_done(struct massif *massif)
{
	allo_printable_done(&massif->printable);
	for (int i = 0; i < TREES; i++)
		allo_tree_done(&massif->trees[i]);
}

/* Trees. */

/* A frame ends its line, so it must not contain a line break. */
static bool print_frame(const void *context, const struct allo_profile *profile,
			const struct allo_frame *frame, uint32_t call, struct allo_chars *out)
{
	(void)context;
	if (!allo_chars_add_valgrind_frame(out, profile, frame, call, ALLO_FRAME_MASSIF))
		return false;
	allo_chars_make_line(out);
	return true;
}

/* The empty stack gets a frame, because readers drop a place without one. */
static allo_stack_id printed_stack(struct massif *massif, allo_stack_id stack,
				   struct allo_error *err)
{
	struct allo_profile *to = &massif->printable.profile;
	allo_frame_id frame;

	if (stack != 0)
		return massif->printable.stacks[stack];
	frame = allo_profile_add_named_frame(to, ALLO_TEXT("0x0: ???"), err);
	return frame ? allo_profile_add_stack(to, 0, frame, err) : 0;
}

static bool add_samples(struct massif *massif, struct allo_error *err)
{
	const struct allo_profile *profile = massif->profile;
	struct allo_profile *to = &massif->printable.profile;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		allo_stack_id stack = printed_stack(massif, profile->sample_stacks.at[i], err);
		uint64_t *row = stack ? allo_profile_add_sample(to, stack, 0, NULL, err) : NULL;

		if (!row)
			return false;
		for (size_t tree = 0; tree < to->metrics.len; tree++) {
			size_t metric = massif->metrics[tree];
			uint64_t value = allo_profile_row(profile, i)[metric];

			if (allo_value_of(&profile->metrics.at[metric], value) < 0)
				allo_note(&massif->w->notes, ALLO_NOTE_NEGATIVE, ALLO_NOWHERE);
			else
				allo_profile_add_value(to, tree, &row[tree], value);
		}
	}
	return true;
}

static bool make_trees(struct massif *massif, struct allo_error *err)
{
	static const struct allo_tree_options options = { .is_inverted = true,
							  .least_share = 0.01 };
	struct allo_profile *printable = &massif->printable.profile;
	size_t count = massif->has_end ? TREES : 1;

	for (size_t i = 0; i < count; i++) {
		if (!allo_profile_add_metric_like(printable, &(struct allo_metric){ 0 }, err))
			return false;
	}
	if (!add_samples(massif, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct allo_metric_columns columns = { .metric = i };

		if (!allo_tree_from_profile(&massif->trees[i], printable, &columns, &options, err))
			return false;
		massif->sums[i] = allo_sum_number(massif->trees[i].nodes.at[0].width).magnitude;
		if (massif->trees[i].nodes.at[0].width > UINT64_MAX)
			allo_note(&printable->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	}
	allo_notes_add(&massif->w->notes, &printable->notes);
	return true;
}

static void put_node_start(struct massif *massif, unsigned depth, uint64_t children, uint64_t bytes)
{
	struct allo_output *out = massif->w->out;

	for (unsigned i = 0; i < depth; i++)
		allo_output_byte(out, ' ');
	allo_output_byte(out, 'n');
	allo_output_u64(out, children);
	allo_output_string(out, ": ");
	allo_output_u64(out, bytes);
	allo_output_byte(out, ' ');
}

/* The bytes of a node that no written child holds: callers that are left out, and stacks that end
 * here while others go on, which count as one place. */
struct rest {
	uint64_t bytes, places;
};

static struct rest rest_of(const struct allo_tree *tree, const struct allo_tree_node *node,
			   uint64_t bytes, uint64_t *children)
{
	bool is_root = node == tree->nodes.at;
	struct rest rest = { bytes, node->left_out + (node->self.value > 0 && !is_root) };

	*children = 0;
	for (allo_node_id id = node->first_child; id != 0; id = tree->nodes.at[id].next_sibling) {
		uint64_t has = allo_sum_number(tree->nodes.at[id].width).magnitude;

		rest.bytes -= has < rest.bytes ? has : rest.bytes;
		*children += 1;
	}
	/* Without children, all stacks end here. */
	if (*children == 0 && node->left_out == 0)
		rest.bytes = 0;
	*children += rest.bytes > 0;
	return rest;
}

static void put_rest(struct massif *massif, unsigned depth, const struct rest *rest)
{
	put_node_start(massif, depth, 0, rest->bytes);
	if (rest->places > 1)
		allo_output_printf(massif->w->out, "in %llu places, all",
				   (unsigned long long)rest->places);
	else
		allo_output_string(massif->w->out, "in 1 place,");
	allo_output_string(massif->w->out, " below massif's threshold (1.00%)\n");
}

static void put_node(struct massif *massif, const struct allo_tree *tree, allo_node_id id,
		     unsigned depth, uint64_t bytes);

/* Writes the callers of a node, the largest first; the rest has its place among them.  Saturated
 * sums are cut to the bytes of the node. */
static void put_callers(struct massif *massif, const struct allo_tree *tree,
			const struct allo_tree_node *node, unsigned depth, uint64_t bytes,
			struct rest rest)
{
	for (allo_node_id id = node->first_child; id != 0; id = tree->nodes.at[id].next_sibling) {
		uint64_t has = allo_sum_number(tree->nodes.at[id].width).magnitude;

		has = has < bytes ? has : bytes;
		bytes -= has;
		if (rest.bytes > has) {
			put_rest(massif, depth, &rest);
			rest.bytes = 0;
		}
		put_node(massif, tree, id, depth, has);
	}
	if (rest.bytes > 0)
		put_rest(massif, depth, &rest);
}

static void put_node(struct massif *massif, const struct allo_tree *tree, allo_node_id id,
		     unsigned depth, uint64_t bytes)
{
	const struct allo_tree_node *node = &tree->nodes.at[id];
	bool goes_on = depth < MOST_DEPTH && bytes > 0;
	struct rest rest = { 0 };
	uint64_t children = 0;

	if (goes_on)
		rest = rest_of(tree, node, bytes, &children);
	ALLO_ASSERT(depth <= MOST_DEPTH && id < tree->nodes.len);
	put_node_start(massif, depth, children, bytes);
	if (id == 0)
		allo_output_string(massif->w->out, "(heap allocation functions) malloc/new/new[], "
						   "--alloc-fns, etc.");
	else
		allo_output_text(massif->w->out,
				 allo_printable_text(&massif->printable, node->frame));
	allo_output_byte(massif->w->out, '\n');
	if (goes_on)
		put_callers(massif, tree, node, depth + 1, bytes, rest);
}

/* Snapshots. */

/* Writes a time in the unit of the header.  massif writes whole milliseconds, but its readers take
 * fractions, and a short run needs them. */
static void put_time(const struct massif *massif, uint64_t time)
{
	const struct allo_meta *meta = &massif->profile->meta;
	struct allo_output *out = massif->w->out;

	allo_output_u64(out, meta->clock == ALLO_CLOCK_NS ? time / 1000000 : time);
	if (meta->clock == ALLO_CLOCK_NS && meta->duration < SHORT_NS)
		allo_output_printf(out, ".%03u", (unsigned)(time / 1000 % 1000));
}

static void put_snapshot(struct massif *massif, uint64_t time, uint64_t bytes, const char *kind)
{
	struct allo_output *out = massif->w->out;

	allo_output_printf(out, "#-----------\nsnapshot=%llu\n#-----------\ntime=",
			   (unsigned long long)massif->number);
	put_time(massif, time);
	allo_output_printf(out, "\nmem_heap_B=%llu\nmem_heap_extra_B=0\nmem_stacks_B=0\n",
			   (unsigned long long)bytes);
	allo_output_printf(out, "heap_tree=%s\n", kind);
	massif->number++;
	ALLO_ASSERT(massif->number <= MOST_SNAPSHOTS);
}

/* A snapshot without bytes has no tree. */
static void put_detailed(struct massif *massif, uint64_t time, int tree, const char *kind)
{
	put_snapshot(massif, time, massif->sums[tree], massif->sums[tree] > 0 ? kind : "empty");
	if (massif->sums[tree] > 0)
		put_node(massif, &massif->trees[tree], 0, 0, massif->sums[tree]);
}

static bool is_live(enum allo_meaning meaning)
{
	return meaning == ALLO_PEAK_BYTES || meaning == ALLO_LIVE_BYTES ||
	       meaning == ALLO_END_BYTES;
}

/* Finds the moment when the live bytes were the sum of all stacks: the last moment for live_bytes,
 * else the first one.  False if the stacks are about something else. */
static bool find_moment(const struct massif *massif, size_t *found)
{
	const struct allo_profile *profile = massif->profile;
	size_t count = profile->history.len;
	enum allo_meaning meaning = profile->metrics.at[massif->metrics[MAIN]].meaning;

	if (meaning == ALLO_LIVE_BYTES && count > 0 &&
	    profile->history.at[count - 1].live_bytes == massif->sums[MAIN]) {
		*found = count - 1;
		return true;
	}
	if (!is_live(meaning))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (profile->history.at[i].live_bytes == massif->sums[MAIN]) {
			*found = i;
			return true;
		}
	}
	return false;
}

static bool is_largest(const struct massif *massif, size_t moment)
{
	const struct allo_profile *profile = massif->profile;

	for (size_t i = 0; i < profile->history.len; i++) {
		if (profile->history.at[i].live_bytes > profile->history.at[moment].live_bytes)
			return false;
	}
	return true;
}

/* The last snapshot has a tree, too, if the stacks add up to it. */
static void put_moment(struct massif *massif, size_t index, size_t detailed)
{
	const struct allo_profile *profile = massif->profile;
	const struct allo_level *moment = &profile->history.at[index];
	bool is_last = index + 1 == profile->history.len;

	if (index == detailed)
		put_detailed(massif, moment->time, MAIN,
			     is_largest(massif, index) ? "peak" : "detailed");
	else if (is_last && massif->has_end && moment->live_bytes == massif->sums[END])
		put_detailed(massif, moment->time, END, "detailed");
	else
		put_snapshot(massif, moment->time, moment->live_bytes, "empty");
}

/* Writes evenly chosen moments, at most MOST_SNAPSHOTS, and the one with the tree. */
static void put_history(struct massif *massif, size_t detailed)
{
	size_t count = massif->profile->history.len, next = 0;
	size_t wanted = count < MOST_SNAPSHOTS ? count : MOST_SNAPSHOTS - 1;

	for (size_t i = 0; i < wanted; i++) {
		size_t index = wanted > 1 ? i * (count - 1) / (wanted - 1) : 0;

		if (next <= detailed && detailed < index)
			put_moment(massif, detailed, detailed);
		put_moment(massif, index, detailed);
		next = index + 1;
	}
}

/* Writes the start, the stacks and the end.  Without a clock, bytes stand in for time. */
static void put_single(struct massif *massif)
{
	const struct allo_meta *meta = &massif->profile->meta;
	bool is_peak = massif->profile->metrics.at[massif->metrics[MAIN]].meaning ==
		       ALLO_PEAK_BYTES;
	uint64_t end = meta->duration, time = is_peak && meta->peak_time ? meta->peak_time : end;

	if (meta->clock == ALLO_CLOCK_NONE)
		time = end = massif->sums[MAIN];
	put_snapshot(massif, 0, 0, "empty");
	put_detailed(massif, time, MAIN, "peak");
	if (massif->has_end)
		put_detailed(massif, end > time ? end : time, END, "detailed");
}

/* The whole file. */

static bool put_header(struct massif *massif, struct allo_error *err)
{
	const struct allo_meta *meta = &massif->profile->meta;
	ALLO_DEFER(allo_chars_done) struct allo_chars command = { 0 };
	const char *unit = meta->clock == ALLO_CLOCK_NS             ? "ms"
			   : meta->clock == ALLO_CLOCK_INSTRUCTIONS ? "i"
								    : "B";

	if (!allo_chars_add(&command, allo_profile_text(massif->profile, meta->command)))
		return allo_fail_memory(err);
	allo_chars_make_line(&command);
	allo_output_string(massif->w->out, "desc: allo " ALLO_VERSION "\ncmd: ");
	allo_output_utf8(massif->w->out, allo_chars_text(&command));
	allo_output_printf(massif->w->out, "\ntime_unit: %s\n", unit);
	return true;
}

/* Readers take the tree for the heap at an instant.  A metric that the producer prefers may be
 * something else, such as all memory that a Go program ever allocated. */
static size_t find_main_metric(const struct allo_profile *profile)
{
	static const enum allo_meaning live[] = { ALLO_LIVE_BYTES, ALLO_PEAK_BYTES,
						  ALLO_END_BYTES };
	size_t metric = allo_default_metric(profile), found;

	for (size_t i = 0; !is_live(profile->metrics.at[metric].meaning) && i < 3; i++) {
		if (allo_profile_find_metric(profile, live[i], &found))
			metric = found;
	}
	return metric;
}

static void choose_metrics(struct massif *massif)
{
	const struct allo_profile *profile = massif->profile;

	massif->metrics[MAIN] = find_main_metric(profile);
	if (profile->metrics.at[massif->metrics[MAIN]].meaning == ALLO_ALLOC_BYTES)
		allo_note(&massif->w->notes, ALLO_NOTE_NOT_LIVE, ALLO_NOWHERE);
	massif->has_end = profile->metrics.at[massif->metrics[MAIN]].meaning == ALLO_PEAK_BYTES &&
			  allo_profile_find_metric(profile, ALLO_END_BYTES, &massif->metrics[END]);
}

static bool write_massif(struct allo_write_job *w, const struct allo_profile *profile,
			 struct allo_error *err)
{
	ALLO_DEFER(massif_done) struct massif massif = { .w = w, .profile = profile };
	size_t detailed;

	if (profile->metrics.len > 0) {
		choose_metrics(&massif);
		if (!allo_print_stacks(&massif.printable, profile, print_frame, NULL, err) ||
		    !make_trees(&massif, err))
			return false;
	}
	if (!put_header(&massif, err))
		return false;
	if (profile->metrics.len == 0)
		put_snapshot(&massif, 0, 0, "empty");
	else if (find_moment(&massif, &detailed))
		put_history(&massif, detailed);
	else
		put_single(&massif);
	return true;
}

const struct allo_writer allo_write_massif = {
	.name = "massif",
	.title = "massif, for ms_print and massif-visualizer",
	.about = "The output of 'valgrind --tool=massif': the heap over time in at most 100 "
		 "snapshots, with trees of callers that start at the allocating functions. The "
		 "snapshot of the peak has a tree of peak_bytes, the last one a tree of "
		 "end_bytes, if the profile has these metrics; else the tree is of live_bytes "
		 "or of the only metric that -M leaves. A profile "
		 "without a time line has three snapshots: the start, the peak and the end. As "
		 "in massif, callers with less than 1 % of a snapshot become one line with "
		 "their number and their bytes, so that sums are exact, and stacks end after "
		 "200 calls. Times are milliseconds, with fractions in runs shorter than 100 "
		 "ms, or instructions.\n\n"
		 "Negative values are left out. In names control characters become spaces. A "
		 "frame names its module only if it has no line.",
	.endings = ".massif massif.out.*",
	.holds = ALLO_HOLDS_MODULES | ALLO_HOLDS_ADDRESSES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES |
		 ALLO_HOLDS_INLINES | ALLO_HOLDS_COMMAND | ALLO_HOLDS_HISTORY,
	.write = write_massif,
};
