#include "replay/recording/resident.h"

#include "profile/naming.h"
#include "replay/recording/recording.h"

/* Samples miss short peaks: one that is clearly above all of them lies between two. */
static bool is_sampled(uint64_t peak, uint64_t largest)
{
	return largest > 0 && largest >= peak - peak / 20;
}

/* Parts of a much smaller process say nothing about the peak. */
static bool is_near(uint64_t peak, uint64_t parts)
{
	return parts >= peak - peak / 4;
}

/* Saturates: the file is not trusted. */
static uint64_t sum_of_parts(const struct allo_wire_resident *wire)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ALLO_RESIDENT_PARTS; i++) {
		if (__builtin_add_overflow(sum, wire->parts[i], &sum))
			return UINT64_MAX;
	}
	return sum;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The runtime is known by the program or library that contains it. */
static uint64_t find_mapped_heap(const struct allo_recording *recording)
{
	static const struct {
		struct allo_text name;
		bool is_whole; /* a version may follow otherwise */
		enum allo_mapped_heap heap;
	} known[] = {
		{ ALLO_TEXT_INIT("node"), true, ALLO_MAPPED_HEAP_V8 },
		{ ALLO_TEXT_INIT("libnode.so"), false, ALLO_MAPPED_HEAP_V8 },
		{ ALLO_TEXT_INIT("libv8.so"), false, ALLO_MAPPED_HEAP_V8 },
		{ ALLO_TEXT_INIT("libjvm.so"), true, ALLO_MAPPED_HEAP_JAVA },
		{ ALLO_TEXT_INIT("luajit"), false, ALLO_MAPPED_HEAP_LUAJIT },
		{ ALLO_TEXT_INIT("libluajit"), false, ALLO_MAPPED_HEAP_LUAJIT },
	};

	for (size_t i = 0; i < recording->modules.len; i++) {
		struct allo_text name = allo_basename(recording->modules.at[i].path);

		for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
			if (known[k].is_whole ? allo_text_equal(name, known[k].name)
					      : allo_text_starts(name, known[k].name))
				return known[k].heap;
		}
	}
	return ALLO_MAPPED_HEAP_NONE;
}

struct allo_resident allo_resident_of(const struct allo_recording *recording)
{
	const struct allo_wire_resident *wire = recording->resident;
	struct allo_resident resident = { .peak_ns = UINT64_MAX };
	uint64_t largest, parts;

	if (!wire)
		return resident;
	largest = (uint64_t)allo_resident_largest(wire) * 1024;
	parts = wire->parts_ns > 0 ? sum_of_parts(wire) : 0;
	resident.peak_bytes = larger(larger(wire->own_peak, wire->seen_peak), largest);
	resident.tracks_mappings = recording->head.tracks_mappings;
	resident.mapped_heap = find_mapped_heap(recording);
	if (is_sampled(resident.peak_bytes, largest))
		resident.peak_ns = wire->largest_ns;
	if (parts > 0 && is_near(resident.peak_bytes, parts)) {
		resident.parts_bytes = parts;
		for (unsigned i = 0; i < ALLO_RESIDENT_PARTS; i++)
			resident.parts[i] = wire->parts[i];
	}
	return resident;
}

uint64_t allo_resident_within(const struct allo_recording *recording, uint64_t from_ns,
			      uint64_t to_ns)
{
	const struct allo_wire_resident *wire = recording->resident;
	uint64_t first, last, largest = 0;

	if (!wire)
		return 0;
	first = from_ns / wire->step_ns;
	last = to_ns > from_ns ? (to_ns - 1) / wire->step_ns : first;
	if (last >= ALLO_RESIDENT_SAMPLES)
		last = ALLO_RESIDENT_SAMPLES - 1;
	for (uint64_t i = first; i <= last; i++)
		largest = larger(largest, wire->kib[i]);
	/* Steps of the samples may be longer, and some have no sample. */
	for (uint64_t i = first <= last ? first : last + 1; i-- > 0 && largest == 0;)
		largest = wire->kib[i];
	return largest * 1024;
}
