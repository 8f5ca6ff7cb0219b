#include "analysis/histogram.h"

#include "base/assert.h"

#include <math.h>

/* Adds a bin from the end of the last one up to `to`. */
static void add_bin(struct allo_histogram *histogram, uint64_t to)
{
	struct allo_bin *bin = &histogram->bins[histogram->count];

	ALLO_ASSERT(histogram->count < ALLO_HISTOGRAM_BINS);
	ALLO_ASSERT(histogram->count == 0 || bin[-1].to < to);
	*bin = (struct allo_bin){ .from = histogram->count ? bin[-1].to + 1 : 0, .to = to };
	histogram->count++;
}

void allo_histogram_by_two(struct allo_histogram *histogram)
{
	*histogram = (struct allo_histogram){ 0 };
	add_bin(histogram, 0);
	for (unsigned shift = 0; shift < 64; shift++)
		add_bin(histogram, 1ull << shift);
	add_bin(histogram, UINT64_MAX);
}

void allo_histogram_by_ten(struct allo_histogram *histogram)
{
	static const uint64_t most = 1000000000000;

	*histogram = (struct allo_histogram){ 0 };
	for (uint64_t border = 1000; border <= most; border *= 10)
		add_bin(histogram, border - 1);
	add_bin(histogram, UINT64_MAX);
}

bool allo_histogram_by_list(struct allo_histogram *histogram, const char *list,
			    bool (*parse)(struct allo_text text, uint64_t *value),
			    struct allo_error *err)
{
	struct allo_text rest = allo_text_of(list), word;
	uint64_t border, last = 0;
	bool is_first = true;

	*histogram = (struct allo_histogram){ 0 };
	while (allo_text_next(&rest, ',', &word)) {
		if (!parse(word, &border))
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "--bins: '%.*s' is not a number", ALLO_TEXT_ARG(word));
		if (border <= last && !(is_first && border == 0))
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "--bins: the numbers must ascend; '%.*s' does not",
					 ALLO_TEXT_ARG(word));
		if (histogram->count + 2 > ALLO_HISTOGRAM_BINS)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--bins: more than %d bins",
					 ALLO_HISTOGRAM_BINS);
		if (border > 0)
			add_bin(histogram, border - 1);
		last = border;
		is_first = false;
	}
	add_bin(histogram, UINT64_MAX);
	return true;
}

static void add_up(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

static size_t bin_of(const struct allo_histogram *histogram, uint64_t value)
{
	size_t first = 0, last = histogram->count - 1;

	while (first < last) {
		size_t middle = (first + last) / 2;

		if (value > histogram->bins[middle].to)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

static void add_to_bin(struct allo_histogram *histogram, struct allo_bin *bin, uint64_t blocks,
		       uint64_t bytes)
{
	add_up(&bin->blocks, blocks);
	add_up(&bin->bytes, bytes);
	add_up(&histogram->blocks, blocks);
	add_up(&histogram->bytes, bytes);
}

void allo_histogram_add(struct allo_histogram *histogram, uint64_t value, uint64_t blocks,
			uint64_t bytes)
{
	add_to_bin(histogram, &histogram->bins[bin_of(histogram, value)], blocks, bytes);
}

/* Rounds to the nearest integer and keeps the remainder for the next call. */
static uint64_t carry(double *rest, double more)
{
	double sum = *rest + more, whole = floor(sum + 0.5);

	*rest = sum - whole;
	return whole < 0x1p64 ? (uint64_t)whole : UINT64_MAX;
}

void allo_histogram_estimate(struct allo_histogram *histogram, uint64_t value, double blocks,
			     double bytes)
{
	struct allo_bin *bin = &histogram->bins[bin_of(histogram, value)];

	add_to_bin(histogram, bin, carry(&bin->blocks_rest, blocks),
		   carry(&bin->bytes_rest, bytes));
}

void allo_histogram_estimate_never(struct allo_histogram *histogram, double blocks, double bytes)
{
	allo_histogram_add_never(histogram, carry(&histogram->never_blocks_rest, blocks),
				 carry(&histogram->never_bytes_rest, bytes));
}

void allo_histogram_add_never(struct allo_histogram *histogram, uint64_t blocks, uint64_t bytes)
{
	add_up(&histogram->never_blocks, blocks);
	add_up(&histogram->never_bytes, bytes);
}

void allo_histogram_used(const struct allo_histogram *histogram, size_t *first, size_t *end)
{
	*first = *end = 0;
	for (size_t i = 0; i < histogram->count; i++) {
		if (histogram->bins[i].blocks == 0)
			continue;
		if (*end == 0)
			*first = i;
		*end = i + 1;
	}
}
