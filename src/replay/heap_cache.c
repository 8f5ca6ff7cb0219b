/* heap_cache.c - see heap_cache.h. */
#include "replay/heap_cache.h"

#include "base/cache_file.h"
#include "base/defer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xxhash.h>

#define MAGIC "ALLOhep2"

static const char kind[] = "replays";

/* Replaying fewer events takes no time that anybody would notice. */
static const uint64_t least_events = 1 << 20;

enum {
	FILE_MOST = 64 << 20, /* bytes of a file, */
	ALL_MOST = 256 << 20, /* and of all of them */
};

/* Which file it is of, and what was asked. */
struct key {
	char magic[8], version[16]; /* of the program: others may count otherwise */
	uint64_t size, written_ns, changed_ns, inode, device, head_hash;
	uint64_t by_thread, keeps_first, has_marks;
	uint64_t steps_most; /* 0: no timeline */
};

/* Numbers that live_blocks.h has when all is over. */
struct totals {
	uint64_t allocations, resizes, frees, failed_resizes, unknown_frees, late_frees, overflows;
	uint64_t missing_stacks, partial_stacks, total_bytes, bytes, count;
	uint64_t peak_bytes, peak_blocks, peak_ns, last_ns;
	uint64_t marks, own_events, own_units;
	uint64_t events, has_long_lifetimes;
};

/* The recording's struct allo_lacks, once it was read. */
struct lacks {
	uint64_t is_cut, has_no_clock, has_no_trailer;
	uint64_t missing_blocks, missing_streams, damaged_blocks, damaged_at, unread_blocks;
	uint64_t missing_stacks, dropped_events;
};

struct steps {
	uint64_t from_ns, step_ns, end_ns, peak_bytes, peak_blocks, peak_ns, count;
};

/* What a file begins with; the steps, the sites, sums of the program's own events and marks follow.
 */
struct head {
	struct key key;
	struct totals totals;
	struct lacks lacks;
	struct steps steps;
	uint64_t site_count, own_count, mark_count;
	uint64_t hash; /* XXH64 of all before and of what follows */
};

struct stored_site {
	struct allo_site_key key;
	uint64_t made, alloc_bytes, live_bytes, max_bytes, peak_bytes;
	uint32_t live_blocks, max_blocks, peak_blocks, unused;
	uint64_t lifetime_ns, temporary_blocks;
};

struct stored_own {
	struct allo_site_key key;
	struct allo_own_sum sum;
};

static uint64_t hash_of(const struct head *head, const void *rest, size_t len)
{
	return XXH64(rest, len, XXH64(head, offsetof(struct head, hash), 0));
}

static uint64_t in_ns(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* False for what no file would be of use for: parts, pipes, what may still be written to, and
 * sampled recordings, which are short. */
static bool make_key(struct key *key, const struct allo_recording *recording,
		     const struct allo_heap_options *options)
{
	const struct allo_window *window = &options->window;
	struct allo_weighing weighing = allo_weighing_of(recording);
	struct stat facts;

	if (!recording->is_packed || allo_is_sampled(&weighing) || window->from_ns > 0 ||
	    window->to_ns > 0 || window->threads || recording->source.memory ||
	    recording->source.owns_fd || fstat(recording->source.fd, &facts) != 0)
		return false;
	memset(key, 0, sizeof(*key));
	memcpy(key->magic, MAGIC, sizeof(key->magic));
	snprintf(key->version, sizeof(key->version), "%s", ALLO_VERSION);
	key->size = (uint64_t)facts.st_size;
	key->written_ns = in_ns(facts.st_mtim);
	key->changed_ns = in_ns(facts.st_ctim);
	key->inode = facts.st_ino;
	key->device = facts.st_dev;
	key->head_hash = XXH64(recording->head_bytes.data, recording->head_bytes.len, 0);
	key->by_thread = options->by_thread;
	key->keeps_first = options->keeps_first;
	key->has_marks = options->marks != NULL;
	key->steps_most = options->timeline ? options->timeline->most : 0;
	return true;
}

/* To be freed; NULL: there is no place for it. */
static char *path_of(const struct key *key)
{
	char name[24];

	snprintf(name, sizeof(name), "%016llx", (unsigned long long)XXH64(key, sizeof(*key), 0));
	return allo_cache_path(kind, name);
}

/* Writing. */

static void get_totals(struct totals *totals, const struct allo_heap *heap, uint64_t events)
{
	const struct allo_live_blocks *blocks = &heap->blocks;

	*totals = (struct totals){
		.allocations = blocks->allocations,
		.resizes = blocks->resizes,
		.frees = blocks->frees,
		.failed_resizes = blocks->failed_resizes,
		.unknown_frees = blocks->unknown_frees,
		.late_frees = blocks->late_frees,
		.overflows = blocks->overflows,
		.missing_stacks = blocks->missing_stacks,
		.partial_stacks = blocks->partial_stacks,
		.total_bytes = blocks->total_bytes,
		.bytes = blocks->bytes,
		.count = blocks->count,
		.peak_bytes = blocks->peak_bytes,
		.peak_blocks = blocks->peak_blocks,
		.peak_ns = blocks->peak_ns,
		.last_ns = blocks->last_ns,
		.marks = blocks->marks,
		.own_events = blocks->own_events,
		.own_units = blocks->own_units,
		.events = events,
		.has_long_lifetimes = heap->has_long_lifetimes,
	};
}

static void get_lacks(struct lacks *to, const struct allo_lacks *from)
{
	*to = (struct lacks){
		.is_cut = from->is_cut,
		.has_no_clock = from->has_no_clock,
		.has_no_trailer = from->has_no_trailer,
		.missing_blocks = from->missing_blocks,
		.missing_streams = from->missing_streams,
		.damaged_blocks = from->damaged_blocks,
		.damaged_at = from->damaged_at,
		.unread_blocks = from->unread_blocks,
		.missing_stacks = from->missing_stacks,
		.dropped_events = from->dropped_events,
	};
}

static void get_steps(struct steps *steps, const struct allo_timeline *timeline)
{
	*steps = (struct steps){
		.from_ns = timeline->from_ns,
		.step_ns = timeline->step_ns,
		.end_ns = timeline->end_ns,
		.peak_bytes = timeline->peak_bytes,
		.peak_blocks = timeline->peak_blocks,
		.peak_ns = timeline->peak_ns,
		.count = timeline->steps.len,
	};
}

static struct stored_site get_site(const struct allo_heap *heap, size_t number)
{
	const struct allo_site *site = &heap->sites[number];
	struct allo_peak peak = allo_heap_peak(heap, site);

	return (struct stored_site){
		.key = heap->ids ? heap->ids->keys.at.at[number]
				 : (struct allo_site_key){ .stack = (uint32_t)number },
		.made = heap->blocks.made[number],
		.alloc_bytes = site->alloc_bytes,
		.live_bytes = site->live_bytes,
		.live_blocks = site->live_blocks,
		.max_bytes = site->max_bytes,
		.max_blocks = site->max_blocks,
		.peak_bytes = peak.bytes,
		.peak_blocks = (uint32_t)peak.blocks,
		.lifetime_ns = site->lifetime_ns,
		.temporary_blocks = site->temporary_blocks,
	};
}

static bool add_bytes(allo_cache_bytes *bytes, const void *more, size_t len)
{
	return bytes->len + len <= FILE_MOST && allo_vec_append(bytes, (const char *)more, len);
}

static bool store(allo_cache_bytes *bytes, struct head *head, const struct allo_heap *heap,
		  const struct allo_heap_options *options)
{
	const struct allo_timeline *timeline = options->timeline;
	const struct allo_marks *marks = options->marks;

	if (!add_bytes(bytes, head, sizeof(*head)) ||
	    (timeline && !add_bytes(bytes, timeline->steps.at,
				    timeline->steps.len * sizeof(*timeline->steps.at))))
		return false;
	for (size_t i = 0; i < heap->blocks.stack_count; i++) {
		struct stored_site site;

		if (!allo_heap_has_site(heap, i))
			continue;
		site = get_site(heap, i);
		if (!add_bytes(bytes, &site, sizeof(site)))
			return false;
		head->site_count++;
	}
	for (size_t i = 1; i < heap->own.sums.len; i++) {
		struct stored_own own = { heap->own.keys.at.at[i], heap->own.sums.at[i] };

		if (!add_bytes(bytes, &own, sizeof(own)))
			return false;
		head->own_count++;
	}
	head->mark_count = marks ? marks->list.len : 0;
	if (head->mark_count > 0 &&
	    !add_bytes(bytes, marks->list.at, marks->list.len * sizeof(*marks->list.at)))
		return false;
	head->hash = hash_of(head, bytes->at + sizeof(*head), bytes->len - sizeof(*head));
	memcpy(bytes->at, head, sizeof(*head));
	return true;
}

void allo_heap_remember(const struct allo_heap *heap, const struct allo_recording *recording,
			const struct allo_heap_options *options, uint64_t event_count)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	allo_cache_bytes bytes = { 0 };
	struct head head;

	memset(&head, 0, sizeof(head));
	if (event_count < least_events || !make_key(&head.key, recording, options))
		return;
	path = path_of(&head.key);
	get_totals(&head.totals, heap, event_count);
	get_lacks(&head.lacks, &recording->lacks);
	if (options->timeline)
		get_steps(&head.steps, options->timeline);
	if (path && store(&bytes, &head, heap, options) &&
	    allo_cache_write(path, bytes.at, bytes.len))
		allo_cache_trim(kind, ALL_MOST);
	allo_vec_done(&bytes);
}

/* Reading. */

static void set_totals(struct allo_heap *heap, const struct totals *totals)
{
	struct allo_live_blocks *blocks = &heap->blocks;

	blocks->allocations = totals->allocations;
	blocks->resizes = totals->resizes;
	blocks->frees = totals->frees;
	blocks->failed_resizes = totals->failed_resizes;
	blocks->unknown_frees = totals->unknown_frees;
	blocks->late_frees = totals->late_frees;
	blocks->overflows = totals->overflows;
	blocks->missing_stacks = totals->missing_stacks;
	blocks->partial_stacks = totals->partial_stacks;
	blocks->total_bytes = totals->total_bytes;
	blocks->bytes = totals->bytes;
	blocks->count = totals->count;
	blocks->peak_bytes = totals->peak_bytes;
	blocks->peak_blocks = totals->peak_blocks;
	blocks->peak_ns = totals->peak_ns;
	blocks->last_ns = totals->last_ns;
	blocks->marks = totals->marks;
	blocks->own_events = totals->own_events;
	blocks->own_units = totals->own_units;
	heap->has_long_lifetimes = totals->has_long_lifetimes != 0;
}

static void set_lacks(struct allo_lacks *to, const struct lacks *from)
{
	*to = (struct allo_lacks){
		.is_cut = from->is_cut != 0,
		.has_no_clock = from->has_no_clock != 0,
		.has_no_trailer = from->has_no_trailer != 0,
		.missing_blocks = from->missing_blocks,
		.missing_streams = from->missing_streams,
		.damaged_blocks = from->damaged_blocks,
		.damaged_at = from->damaged_at,
		.unread_blocks = from->unread_blocks,
		.missing_stacks = from->missing_stacks,
		.dropped_events = from->dropped_events,
	};
}

static bool set_timeline(struct allo_timeline *timeline, const struct steps *steps, const char *at,
			 struct allo_error *err)
{
	timeline->from_ns = steps->from_ns;
	timeline->step_ns = steps->step_ns;
	timeline->end_ns = steps->end_ns;
	timeline->peak_bytes = steps->peak_bytes;
	timeline->peak_blocks = steps->peak_blocks;
	timeline->peak_ns = steps->peak_ns;
	if (!allo_vec_cover(&timeline->steps, steps->count))
		return allo_fail_memory(err);
	memcpy(timeline->steps.at, at, steps->count * sizeof(*timeline->steps.at));
	return true;
}

static void set_site(struct allo_heap *heap, size_t number, const struct stored_site *stored)
{
	heap->blocks.made[number] = stored->made;
	heap->sites[number] = (struct allo_site){
		.alloc_bytes = stored->alloc_bytes,
		.live_bytes = stored->live_bytes,
		.live_blocks = stored->live_blocks,
		.max_bytes = stored->max_bytes,
		.max_blocks = stored->max_blocks,
		.kept_bytes = stored->peak_bytes,
		.kept_blocks = stored->peak_blocks,
		.of_peak = heap->peaks,
		.lifetime_ns = stored->lifetime_ns,
		.temporary_blocks = stored->temporary_blocks,
	};
}

/* Makes room for sites: by stack or, where they are more than that, by their own numbers. */
static bool make_room(struct allo_heap *heap, const struct allo_recording *recording,
		      uint64_t site_count, bool has_ids, struct allo_error *err)
{
	size_t room = has_ids ? site_count + 1 : recording->nodes.len;

	heap->peaks = 1;
	heap->blocks.stack_count = room;
	heap->blocks.made = calloc(room, sizeof(*heap->blocks.made));
	heap->sites = calloc(room, sizeof(*heap->sites));
	if (has_ids)
		heap->ids = calloc(1, sizeof(*heap->ids));
	return (heap->blocks.made && heap->sites &&
		(!has_ids || (heap->ids && allo_vec_cover(&heap->ids->keys.at, room)))) ||
	       allo_fail_memory(err);
}

/* Whether the recording has all that a site's key refers to. */
static bool is_known(const struct allo_recording *recording, const struct allo_site_key *key)
{
	return key->stack < recording->nodes.len && key->stream < recording->streams.len &&
	       (key->labels == 0 || key->labels < recording->label_sets.len);
}

static bool set_sites(struct allo_heap *heap, const struct allo_recording *recording,
		      const char *at, uint64_t count, bool has_ids, struct allo_error *err)
{
	if (!make_room(heap, recording, count, has_ids, err))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		struct stored_site stored;

		memcpy(&stored, at + i * sizeof(stored), sizeof(stored));
		if (!is_known(recording, &stored.key))
			return false;
		if (has_ids)
			heap->ids->keys.at.at[i + 1] = stored.key;
		set_site(heap, has_ids ? i + 1 : stored.key.stack, &stored);
	}
	return true;
}

static bool set_own_events(struct allo_heap *heap, const struct allo_recording *recording,
			   const char *at, uint64_t count, struct allo_error *err)
{
	for (uint64_t i = 0; i < count; i++) {
		struct stored_own own;

		memcpy(&own, at + i * sizeof(own), sizeof(own));
		if (!is_known(recording, &own.key) ||
		    !allo_own_events_add(&heap->own, &own.key, own.sum, err))
			return false;
	}
	return true;
}

static bool set_marks(struct allo_marks *marks, const struct allo_recording *recording,
		      const char *at, uint64_t count, struct allo_error *err)
{
	if (!allo_vec_append(&marks->list, at, count))
		return allo_fail_memory(err);
	for (uint64_t i = 0; i < count; i++) {
		if (marks->list.at[i].stream >= recording->streams.len)
			return false;
	}
	return true;
}

/* Whether the bytes are what was once kept of the same file. */
static bool is_of_use(const allo_cache_bytes *bytes, const struct key *key, struct head *head)
{
	size_t rest = bytes->len - sizeof(*head);

	if (bytes->len < sizeof(*head))
		return false;
	memcpy(head, bytes->at, sizeof(*head));
	return memcmp(&head->key, key, sizeof(*key)) == 0 &&
	       head->hash == hash_of(head, bytes->at + sizeof(*head), rest) &&
	       head->steps.count <= rest / sizeof(struct allo_step) &&
	       head->site_count <= rest / sizeof(struct stored_site) &&
	       head->own_count <= rest / sizeof(struct stored_own) &&
	       head->mark_count <= rest / sizeof(struct allo_mark) &&
	       head->steps.count * sizeof(struct allo_step) +
			       head->site_count * sizeof(struct stored_site) +
			       head->own_count * sizeof(struct stored_own) +
			       head->mark_count * sizeof(struct allo_mark) ==
		       rest &&
	       head->totals.partial_stacks <= head->totals.allocations;
}

static bool fill(struct allo_heap *heap, struct allo_recording *recording,
		 const struct allo_heap_options *options, const struct head *head, const char *rest,
		 struct allo_error *err)
{
	const char *sites = rest + head->steps.count * sizeof(struct allo_step);
	const char *own = sites + head->site_count * sizeof(struct stored_site);
	const char *marks = own + head->own_count * sizeof(struct stored_own);

	if (!set_sites(heap, recording, sites, head->site_count,
		       allo_heap_wants_ids(recording, options), err) ||
	    !set_own_events(heap, recording, own, head->own_count, err))
		return false;
	if (options->marks && !set_marks(options->marks, recording, marks, head->mark_count, err))
		return false;
	if (options->timeline && !set_timeline(options->timeline, &head->steps, rest, err))
		return false;
	set_totals(heap, &head->totals);
	set_lacks(&recording->lacks, &head->lacks);
	return true;
}

bool allo_heap_recall(struct allo_heap *heap, struct allo_recording *recording,
		      const struct allo_heap_options *options, uint64_t *event_count,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	allo_cache_bytes bytes = { 0 };
	struct head head;
	struct key key;
	bool ok = false;

	if (!make_key(&key, recording, options))
		return false;
	path = path_of(&key);
	if (!path)
		return false;
	*heap = (struct allo_heap){ 0 };
	allo_cache_read(path, FILE_MOST, &bytes);
	if (is_of_use(&bytes, &key, &head))
		ok = fill(heap, recording, options, &head, bytes.at + sizeof(head), err);
	if (ok)
		*event_count = head.totals.events;
	else
		allo_heap_done(heap);
	allo_vec_done(&bytes);
	return ok;
}
