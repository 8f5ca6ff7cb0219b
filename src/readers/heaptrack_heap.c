/* heaptrack_heap.c - the loop over events, and the lazy update of peak counts. */
#include "readers/heaptrack_heap.h"

#include "base/assert.h"
#include "replay/peak.h"

static inline void save_peak(const struct allo_heaptrack_heap *heap,
			     struct allo_heaptrack_info *info)
{
	if (ALLO_PEAK_SAVE(info, heap->peaks))
		info->live_at_peak = info->live;
}

static inline bool allocate(struct allo_heaptrack_heap *heap, uint64_t number)
{
	struct allo_heaptrack_info *info = &heap->infos.at[number];
	uint64_t live_bytes;

	ALLO_ASSERT(number < heap->infos.len && info->live <= info->allocated);
	if (__builtin_add_overflow(heap->live_bytes, info->size, &live_bytes))
		return false;
	save_peak(heap, info);
	info->allocated++;
	info->live++;
	heap->live_bytes = live_bytes;
	heap->last = number;
	if (live_bytes > heap->peak_bytes) {
		heap->peak_bytes = live_bytes;
		heap->peak_time_ms = heap->time_ms;
		heap->peaks++;
	}
	return true;
}

static inline bool release(struct allo_heaptrack_heap *heap, uint64_t number)
{
	struct allo_heaptrack_info *info = &heap->infos.at[number];

	if (info->live == 0)
		return false;
	save_peak(heap, info);
	ALLO_ASSERT(heap->live_bytes >= info->size && heap->live_bytes <= heap->peak_bytes);
	info->live--;
	info->temporary += heap->last == number;
	heap->live_bytes -= info->size;
	heap->last = 0;
	return true;
}

bool allo_heaptrack_allocate(struct allo_heaptrack_heap *heap, uint64_t number)
{
	return allocate(heap, number);
}

bool allo_heaptrack_free(struct allo_heaptrack_heap *heap, uint64_t number)
{
	return release(heap, number);
}

static inline unsigned hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

const char *allo_heaptrack_read_events(struct allo_heaptrack_heap *heap, const char *at,
				       const char *end, uint64_t *line_count)
{
	struct allo_heaptrack_heap local = *heap; /* in registers while the loop runs */
	uint64_t lines = 0;

	while (at < end && (*at == '+' || *at == '-') && at[1] == ' ') {
		const char *digits = at + 2, *next = digits;
		uint64_t number = 0;
		unsigned digit;

		while ((digit = hex_digit(*next)) < 16) {
			number = number << 4 | digit;
			next++;
		}
		/* A number with more digits may have overflowed. */
		if (*next != '\n' || next == digits || next - digits > 15 ||
		    number >= local.infos.len)
			break;
		if (*at == '+' ? !allocate(&local, number) : !release(&local, number))
			break;
		at = next + 1;
		lines++;
	}
	*heap = local;
	*line_count += lines;
	return at;
}

void allo_heaptrack_start_over(struct allo_heaptrack_heap *heap)
{
	heap->live_bytes = heap->peak_bytes = heap->peaks = heap->peak_time_ms = heap->last = 0;
	for (size_t i = 0; i < heap->infos.len; i++) {
		struct allo_heaptrack_info *info = &heap->infos.at[i];

		*info = (struct allo_heaptrack_info){ .size = info->size, .stack = info->stack };
	}
}

uint64_t allo_heaptrack_live_at_peak(const struct allo_heaptrack_heap *heap, uint64_t number)
{
	const struct allo_heaptrack_info *info = &heap->infos.at[number];

	ALLO_ASSERT(number < heap->infos.len);
	return ALLO_PEAK_IS_SAVED(info, heap->peaks) ? info->live_at_peak : info->live;
}
