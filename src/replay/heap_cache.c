/*
 * heap_cache.c - the file format of the heap cache.
 *
 * A file is a struct head and these arrays: steps of the timeline, sites, weighed sites (of a
 * sampled recording), sums of the program's own events, marks, birth times.  Integers are in the
 * byte order of the machine: the files never leave it.
 */
#include "replay/heap_cache.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/io/cache_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xxhash.h>

#define MAGIC "ALLOhep3"

static const char kind[] = "replays";

enum {
	FILE_MOST = 64 << 20, /* bytes of one file */
	ALL_MOST = 256 << 20, /* bytes of all files */
	BIRTHS_MOST = 4 << 20,
};

/* Fields of struct allo_live_blocks after the last event. */
#define BLOCK_TOTALS(field)                                                                        \
	field(allocations) field(resizes) field(frees) field(failed_resizes) field(unknown_frees)  \
		field(late_frees) field(overflows) field(missing_stacks) field(partial_stacks)     \
			field(total_bytes) field(bytes) field(count) field(peak_bytes)             \
				field(peak_blocks) field(peak_ns) field(last_ns) field(marks)      \
					field(own_events) field(own_units)

/* Fields of struct allo_gaps: flags and numbers. */
#define GAP_FLAGS(field) field(is_cut) field(has_no_clock) field(has_no_trailer)
#define GAP_COUNTS(field)                                                                          \
	field(missing_pages) field(missing_streams) field(damaged_pages) field(damaged_at)         \
		field(unread_pages) field(missing_stacks) field(dropped_events)

/* Fields of struct allo_timeline beside its steps. */
#define TIMELINE(field)                                                                            \
	field(from_ns) field(step_ns) field(end_ns) field(peak_bytes) field(peak_blocks)           \
		field(peak_ns)

#define DECLARE(name) uint64_t name;

struct totals {
	BLOCK_TOTALS(DECLARE)
	uint64_t events, has_long_lifetimes;
	struct allo_weighed_totals weighed; /* all zeros unless the recording is sampled */
	allo_parts weighed_peak_bytes, weighed_peak_blocks;
};

struct gaps {
	GAP_FLAGS(DECLARE) GAP_COUNTS(DECLARE)
};

struct steps {
	TIMELINE(DECLARE)
	uint64_t most; /* as in struct allo_timeline; 0: the file has no timeline */
	uint64_t count;
};

struct head {
	struct allo_heap_cache_key key;
	struct totals totals;
	struct gaps gaps;
	struct steps steps;
	uint64_t site_count, weighed_count, own_count, mark_count;
	uint64_t has_births, birth_count;
	uint64_t hash; /* XXH64 of all other bytes of the file */
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

bool allo_heap_cache_key_of(struct allo_heap_cache_key *key, const struct allo_recording *recording,
			    const struct allo_heap_options *options)
{
	const struct allo_window *window = &options->window;
	struct stat facts;

	if (!recording->is_packed || window->from_ns > 0 || window->to_ns > 0 || window->threads ||
	    recording->source.memory || recording->source.owns_fd ||
	    fstat(recording->source.fd, &facts) != 0)
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
	return true;
}

char *allo_heap_cache_path(const struct allo_heap_cache_key *key)
{
	char name[24];

	snprintf(name, sizeof(name), "%016llx", (unsigned long long)XXH64(key, sizeof(*key), 0));
	return allo_cache_path(kind, name);
}

void allo_heap_cache_trim(void)
{
	allo_cache_trim(kind, ALL_MOST);
}

/* The bytes of the arrays after the head, or UINT64_MAX if that is more than `most`. */
static uint64_t array_bytes(const struct head *head, uint64_t most)
{
	const struct {
		uint64_t count, size;
	} arrays[] = {
		{ head->steps.count, sizeof(struct allo_timeline_step) },
		{ head->site_count, sizeof(struct stored_site) },
		{ head->weighed_count, sizeof(struct allo_weighed_site) },
		{ head->own_count, sizeof(struct stored_own) },
		{ head->mark_count, sizeof(struct allo_mark) },
		{ head->birth_count, sizeof(uint64_t) },
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		if (arrays[i].count > most / arrays[i].size)
			return UINT64_MAX;
		sum += arrays[i].count * arrays[i].size;
	}
	return sum;
}

/* Storing. */

static void get_totals(struct totals *totals, const struct allo_heap *heap, uint64_t events)
{
	const struct allo_live_blocks *blocks = &heap->blocks;

#define GET(name) totals->name = blocks->name;
	BLOCK_TOTALS(GET)
#undef GET
	totals->events = events;
	totals->has_long_lifetimes = heap->has_long_lifetimes;
	totals->weighed = blocks->weighed;
	totals->weighed_peak_bytes = blocks->weighed_peak_bytes;
	totals->weighed_peak_blocks = blocks->weighed_peak_blocks;
}

static void get_gaps(struct gaps *to, const struct allo_gaps *from)
{
#define GET(name) to->name = from->name;
	GAP_FLAGS(GET) GAP_COUNTS(GET)
#undef GET
}

static void get_steps(struct steps *steps, const struct allo_timeline *timeline)
{
#define GET(name) steps->name = timeline->name;
	TIMELINE(GET)
#undef GET
	steps->most = timeline->most;
	steps->count = timeline->steps.len;
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
	return bytes->len + len <= FILE_MOST &&
	       (len == 0 || allo_vec_append(bytes, (const char *)more, len));
}

static bool add_sites(allo_cache_bytes *bytes, struct head *head, const struct allo_heap *heap)
{
	for (size_t i = 0; i < heap->blocks.stack_count; i++) {
		struct stored_site site;

		if (!allo_heap_has_site(heap, i))
			continue;
		site = get_site(heap, i);
		if (!add_bytes(bytes, &site, sizeof(site)))
			return false;
		head->site_count++;
	}
	return true;
}

/* Member by member, so that no padding of unknown content gets into the file. */
static bool add_weighed(allo_cache_bytes *bytes, struct head *head, const struct allo_heap *heap)
{
	for (size_t i = 0; heap->weighed && i < heap->blocks.stack_count; i++) {
		const struct allo_weighed_site *from = &heap->weighed[i];
		struct allo_weighed_site site;

		if (!allo_heap_has_site(heap, i))
			continue;
		memset(&site, 0, sizeof(site));
		site.alloc = from->alloc;
		site.live = from->live;
		site.max = from->max;
		site.kept = allo_weighed_site_peak(from, heap->peaks);
		site.lifetime_ns = from->lifetime_ns;
		site.lifetime_variance = from->lifetime_variance;
		if (!add_bytes(bytes, &site, sizeof(site)))
			return false;
		head->weighed_count++;
	}
	return true;
}

static bool add_own(allo_cache_bytes *bytes, struct head *head, const struct allo_heap *heap)
{
	for (size_t i = 1; i < heap->own.sums.len; i++) {
		struct stored_own own = { heap->own.keys.at.at[i], heap->own.sums.at[i] };

		if (!add_bytes(bytes, &own, sizeof(own)))
			return false;
		head->own_count++;
	}
	return true;
}

static int compare_births(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Birth times of live blocks, grouped by site in the order of the sites, each group sorted. */
static void list_births(const struct allo_heap *heap, uint64_t *births, size_t *ends)
{
	const struct allo_block_table *table = &heap->blocks.table;
	size_t count = heap->blocks.stack_count, first = 0;

	for (size_t i = 0; i < count; i++) {
		ends[i] = first;
		first += heap->sites[i].live_blocks;
	}
	ALLO_ASSERT(first == heap->blocks.count);
	for (size_t i = 0; i < allo_block_places(table); i++) {
		if (table->at[i].pointer != 0)
			births[ends[table->at[i].stack]++] = table->at[i].birth_ns;
	}
	for (size_t i = 0; i < count; i++) {
		size_t live = heap->sites[i].live_blocks;

		if (live > 1)
			qsort(births + ends[i] - live, live, sizeof(*births), compare_births);
	}
}

/* Too many births are left out: then the cache does not serve allo_heap_options.wants_births. */
static bool add_births(allo_cache_bytes *bytes, struct head *head, const struct allo_heap *heap)
{
	size_t count = heap->blocks.count;
	ALLO_DEFER(allo_free_pointer) uint64_t *births = NULL;
	ALLO_DEFER(allo_free_pointer) size_t *ends = NULL;

	if (count > BIRTHS_MOST)
		return true;
	births = calloc(count + 1, sizeof(*births));
	ends = calloc(heap->blocks.stack_count, sizeof(*ends));
	if (!births || !ends)
		return false;
	list_births(heap, births, ends);
	head->has_births = true;
	head->birth_count = count;
	return add_bytes(bytes, births, count * sizeof(*births));
}

static bool store(allo_cache_bytes *bytes, struct head *head, const struct allo_heap *heap,
		  const struct allo_heap_options *options)
{
	const struct allo_timeline *timeline = options->timeline;
	const struct allo_marks *marks = options->marks;

	if (!add_bytes(bytes, head, sizeof(*head)) ||
	    (timeline && !add_bytes(bytes, timeline->steps.at,
				    timeline->steps.len * sizeof(*timeline->steps.at))) ||
	    !add_sites(bytes, head, heap) || !add_weighed(bytes, head, heap) ||
	    !add_own(bytes, head, heap) ||
	    !add_bytes(bytes, marks->list.at, marks->list.len * sizeof(*marks->list.at)) ||
	    !add_births(bytes, head, heap))
		return false;
	head->mark_count = marks->list.len;
	ALLO_ASSERT(array_bytes(head, bytes->len) == bytes->len - sizeof(*head));
	head->hash = hash_of(head, bytes->at + sizeof(*head), bytes->len - sizeof(*head));
	memcpy(bytes->at, head, sizeof(*head));
	return true;
}

void allo_heap_cache_store(const struct allo_heap *heap, const struct allo_recording *recording,
			   const struct allo_heap_options *options, uint64_t event_count)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	allo_cache_bytes bytes = { 0 };
	struct head head;

	ALLO_ASSERT(options->marks);
	memset(&head, 0, sizeof(head));
	if (event_count < ALLO_CACHED_EVENTS_LEAST ||
	    !allo_heap_cache_key_of(&head.key, recording, options))
		return;
	path = allo_heap_cache_path(&head.key);
	get_totals(&head.totals, heap, event_count);
	get_gaps(&head.gaps, &recording->gaps);
	if (options->timeline)
		get_steps(&head.steps, options->timeline);
	if (path && store(&bytes, &head, heap, options) &&
	    allo_cache_write(path, bytes.at, bytes.len))
		allo_heap_cache_trim();
	allo_vec_done(&bytes);
}

/* Loading. */

static void set_totals(struct allo_heap *heap, const struct allo_recording *recording,
		       const struct totals *totals)
{
	struct allo_live_blocks *blocks = &heap->blocks;

#define SET(name) blocks->name = totals->name;
	BLOCK_TOTALS(SET)
#undef SET
	heap->has_long_lifetimes = totals->has_long_lifetimes != 0;
	blocks->weighing = allo_weighing_of(recording);
	blocks->weighed = totals->weighed;
	blocks->weighed_peak_bytes = totals->weighed_peak_bytes;
	blocks->weighed_peak_blocks = totals->weighed_peak_blocks;
}

static void set_gaps(struct allo_gaps *to, const struct gaps *from)
{
#define SET(name)      to->name = from->name;
#define SET_FLAG(name) to->name = from->name != 0;
	GAP_FLAGS(SET_FLAG) GAP_COUNTS(SET)
#undef SET_FLAG
#undef SET
}

static bool set_timeline(struct allo_timeline *timeline, const struct allo_recording *recording,
			 const struct steps *steps, const char *at, struct allo_error *err)
{
	size_t most = timeline->most;

#define SET(name) timeline->name = steps->name;
	TIMELINE(SET)
#undef SET
	timeline->weighing = allo_weighing_of(recording);
	if (!allo_vec_cover(&timeline->steps, steps->count))
		return allo_fail_memory(err);
	memcpy(timeline->steps.at, at, steps->count * sizeof(*timeline->steps.at));
	timeline->most = steps->most;
	allo_timeline_coarsen(timeline, most);
	return true;
}

static void set_site(struct allo_heap *heap, size_t number, const struct stored_site *stored)
{
	ALLO_ASSERT(number < heap->blocks.stack_count);
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

/* Makes room for sites: by stack, or by site number if there are labels or threads. */
static bool make_room(struct allo_heap *heap, const struct allo_recording *recording,
		      const struct head *head, bool has_ids, struct allo_error *err)
{
	size_t room = has_ids ? head->site_count + 1 : recording->nodes.len;

	heap->peaks = 1;
	heap->blocks.stack_count = room;
	heap->blocks.made = calloc(room, sizeof(*heap->blocks.made));
	heap->sites = calloc(room, sizeof(*heap->sites));
	if (head->weighed_count > 0)
		heap->weighed = calloc(room, sizeof(*heap->weighed));
	if (has_ids)
		heap->ids = calloc(1, sizeof(*heap->ids));
	return (heap->blocks.made && heap->sites && (head->weighed_count == 0 || heap->weighed) &&
		(!has_ids || (heap->ids && allo_vec_cover(&heap->ids->keys.at, room)))) ||
	       allo_fail_memory(err);
}

static bool set_sites(struct allo_heap *heap, const struct allo_recording *recording,
		      const struct head *head, const char *at, bool has_ids, struct allo_error *err)
{
	const char *weighed = at + head->site_count * sizeof(struct stored_site);

	if (!make_room(heap, recording, head, has_ids, err))
		return false;
	for (uint64_t i = 0; i < head->site_count; i++) {
		struct stored_site stored;
		size_t number;

		memcpy(&stored, at + i * sizeof(stored), sizeof(stored));
		if (!allo_site_key_is_known(recording, &stored.key))
			return false;
		number = has_ids ? i + 1 : stored.key.stack;
		if (has_ids)
			heap->ids->keys.at.at[number] = stored.key;
		set_site(heap, number, &stored);
		if (heap->weighed) {
			memcpy(&heap->weighed[number], weighed + i * sizeof(*heap->weighed),
			       sizeof(*heap->weighed));
			heap->weighed[number].of_peak = heap->peaks;
		}
	}
	return true;
}

static bool set_own_events(struct allo_heap *heap, const struct allo_recording *recording,
			   const char *at, uint64_t count, struct allo_error *err)
{
	for (uint64_t i = 0; i < count; i++) {
		struct stored_own own;

		memcpy(&own, at + i * sizeof(own), sizeof(own));
		if (!allo_site_key_is_known(recording, &own.key) ||
		    !allo_own_events_add(&heap->own, &own.key, own.sum, err))
			return false;
	}
	return true;
}

static bool are_marks_known(const struct allo_recording *recording, const char *at, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct allo_mark mark;

		memcpy(&mark, at + i * sizeof(mark), sizeof(mark));
		if (mark.stream >= recording->streams.len)
			return false;
	}
	return true;
}

static bool set_marks(struct allo_marks *marks, const char *at, uint64_t count,
		      struct allo_error *err)
{
	return count == 0 || allo_vec_append(&marks->list, at, count) || allo_fail_memory(err);
}

/* There is one birth for each live block of each site. */
static bool set_births(struct allo_heap *heap, const char *at, uint64_t count,
		       struct allo_error *err)
{
	uint64_t live = 0;

	for (size_t i = 0; i < heap->blocks.stack_count; i++)
		live += heap->sites[i].live_blocks;
	if (live != count)
		return false;
	if (!allo_vec_cover(&heap->births, count))
		return allo_fail_memory(err);
	if (count > 0)
		memcpy(heap->births.at, at, count * sizeof(*heap->births.at));
	return true;
}

/* Whether the file belongs to the recording and is whole. */
static bool is_valid(struct allo_text bytes, const struct allo_heap_cache_key *key)
{
	struct head head;

	if (bytes.len < sizeof(head))
		return false;
	memcpy(&head, bytes.data, sizeof(head));
	return memcmp(&head.key, key, sizeof(*key)) == 0 &&
	       head.hash == hash_of(&head, bytes.data + sizeof(head), bytes.len - sizeof(head));
}

/* Whether a stored timeline is as fine as the wanted one. */
static bool has_steps(const struct steps *steps, const struct allo_timeline *wanted)
{
	return wanted->step_ns == 0 && steps->step_ns > 0 && steps->count > 0 &&
	       steps->count <= steps->most && steps->most % 2 == 0 && wanted->most <= steps->most;
}

/* Whether the arrays fill the file, and it holds all that the caller needs. */
static bool is_of_use(const struct head *head, size_t rest, const struct allo_heap_options *options)
{
	return array_bytes(head, rest) == rest &&
	       (head->weighed_count == 0 || head->weighed_count == head->site_count) &&
	       head->totals.partial_stacks <= head->totals.allocations &&
	       (!options->timeline || has_steps(&head->steps, options->timeline)) &&
	       (!options->wants_births || head->has_births);
}

static bool fill(struct allo_heap *heap, struct allo_recording *recording,
		 const struct allo_heap_options *options, const struct head *head, const char *rest,
		 struct allo_error *err)
{
	const char *sites = rest + head->steps.count * sizeof(struct allo_timeline_step);
	const char *own = sites + head->site_count * sizeof(struct stored_site) +
			  head->weighed_count * sizeof(struct allo_weighed_site);
	const char *marks = own + head->own_count * sizeof(struct stored_own);
	const char *births = marks + head->mark_count * sizeof(struct allo_mark);

	/* Timeline and marks belong to the caller, who replays the events if the file is invalid:
	 * they are filled last. */
	if (!set_sites(heap, recording, head, sites, allo_heap_wants_ids(recording, options),
		       err) ||
	    !set_own_events(heap, recording, own, head->own_count, err) ||
	    (options->wants_births && !set_births(heap, births, head->birth_count, err)) ||
	    !are_marks_known(recording, marks, head->mark_count))
		return false;
	if ((options->timeline &&
	     !set_timeline(options->timeline, recording, &head->steps, rest, err)) ||
	    (options->marks && !set_marks(options->marks, marks, head->mark_count, err)))
		return false;
	set_totals(heap, recording, &head->totals);
	set_gaps(&recording->gaps, &head->gaps);
	return true;
}

bool allo_heap_cache_fill(struct allo_heap *heap, struct allo_recording *recording,
			  const struct allo_heap_options *options, struct allo_text bytes,
			  uint64_t *event_count, struct allo_error *err)
{
	struct head head;

	*heap = (struct allo_heap){ 0 };
	if (bytes.len < sizeof(head))
		return false;
	memcpy(&head, bytes.data, sizeof(head));
	if (!is_of_use(&head, bytes.len - sizeof(head), options) ||
	    !fill(heap, recording, options, &head, bytes.data + sizeof(head), err)) {
		allo_heap_done(heap);
		return false;
	}
	*event_count = head.totals.events;
	return true;
}

bool allo_heap_cache_load(struct allo_heap *heap, struct allo_recording *recording,
			  const struct allo_heap_options *options, uint64_t *event_count,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	allo_cache_bytes bytes = { 0 };
	struct allo_text text;
	struct allo_heap_cache_key key;
	bool ok;

	if (!allo_heap_cache_key_of(&key, recording, options))
		return false;
	path = allo_heap_cache_path(&key);
	if (!path)
		return false;
	allo_cache_read(path, FILE_MOST, &bytes);
	text = (struct allo_text){ bytes.at, bytes.len };
	ok = is_valid(text, &key) &&
	     allo_heap_cache_fill(heap, recording, options, text, event_count, err);
	allo_vec_done(&bytes);
	return ok;
}
