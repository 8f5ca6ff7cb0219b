/* sampler.c - random distances between sampling points, and the weights of samples. */
#include "capture/sampler.h"
#include "capture/process.h"
#include "capture/settings.h"

#include <string.h>

static const double ln_2 = 0.69314718055994530942;

/* The natural logarithm of a number in (0, 1], to about 1e-10, without libm. */
static double log_of(double x)
{
	uint64_t bits;
	int exponent;
	double m, t, t2, sum = 0;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1022;
	bits = (bits & 0xfffffffffffff) | (uint64_t)1022 << 52;
	memcpy(&m, &bits, sizeof(m)); /* in [1/2, 1) */
	if (m < 0.70710678118654752440) {
		m *= 2;
		exponent--;
	}
	/* ln m = 2 artanh t, where |t| < 0.1716 */
	t = (m - 1) / (m + 1);
	t2 = t * t;
	for (int i = 13; i >= 1; i -= 2)
		sum = sum * t2 + 1.0 / i;
	return 2 * t * sum + exponent * ln_2;
}

/* 1 - exp(-x), for x >= 0. */
static double chance_of(double x)
{
	int halved = 0;
	double p;

	for (; x > 0.0625; x /= 2)
		halved++;
	p = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))));
	while (halved-- > 0)
		p *= 2 - p;
	return p;
}

uint64_t allo_sampler_weighted(uint64_t size)
{
	double rate = (double)allo_settings.rate, bytes = (double)(size ? size : 1);

	if (size == 0)
		return 0;
	if (allo_settings.mode == ALLO_SAMPLED_EVENTS)
		return size * allo_settings.rate;
	return (uint64_t)(bytes / chance_of(bytes / rate) + 0.5);
}

/* xorshift64*; its state is never 0. */
static uint64_t next_random(struct allo_sampler *sampler)
{
	uint64_t x = sampler->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	sampler->random = x;
	return x * 0x2545f4914f6cdd1d;
}

/* -ln(1 - 1/rate), which is 1/rate + 1/(2 rate^2) + ...; the series is exact enough for large
 * rates. */
static double rate_of_events(double rate)
{
	return rate < 1e6 ? -log_of(1 - 1 / rate) : 1 / rate + 0.5 / (rate * rate);
}

uint64_t allo_sampler_draw(struct allo_sampler *sampler)
{
	/* In (0, 1]: 53 bits, and never 0. */
	double uniform = (double)((next_random(sampler) >> 11) + 1) * 0x1p-53;
	double rate = (double)allo_settings.rate, distance;

	if (rate <= 1)
		return 1;
	distance = -log_of(uniform);
	distance = allo_settings.mode == ALLO_SAMPLED_EVENTS ? distance / rate_of_events(rate)
							     : distance * rate;
	return distance < 0x1p62 ? (uint64_t)distance + 1 : (uint64_t)1 << 62;
}

static void flush(struct allo_thread_state *thread)
{
	struct allo_sampler *sampler = &thread->sampler;
	struct allo_wire_sampling *head = &allo_recorder->head->sampling;

	allo_count(&head->alloc_blocks, sampler->alloc_blocks);
	allo_count(&head->alloc_bytes, sampler->alloc_bytes);
	allo_count(&head->freed_blocks, sampler->freed_blocks);
	sampler->alloc_blocks = sampler->alloc_bytes = sampler->freed_blocks = 0;
}

void allo_sampler_taken(struct allo_thread_state *thread)
{
	flush(thread);
	thread->sampler.left = allo_sampler_draw(&thread->sampler);
}

void allo_sampler_start(struct allo_thread_state *thread)
{
	struct allo_sampler *sampler = &thread->sampler;

	if (allo_settings.rate == 0)
		return;
	/* A different seed for every thread of every process. */
	sampler->random = (allo_counter() ^ (uint64_t)thread->thread_number << 40 ^
			   allo_monotonic_ns() << 8) *
				  0x9e3779b97f4a7c15 |
			  1;
	next_random(sampler);
	sampler->left = allo_sampler_draw(sampler);
	sampler->rate = allo_settings.rate;
}

void allo_sampler_flush_all(void)
{
	for (struct allo_thread_state *thread = allo_process->threads; thread;
	     thread = thread->next) {
		if (thread->session == allo_session)
			flush(thread);
	}
}
