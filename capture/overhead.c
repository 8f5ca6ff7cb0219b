/* overhead.c - measuring the cost of samples, and changing the interval. */
#include "capture/overhead.h"
#include "capture/debug_log.h"
#include "capture/file/metadata_stream.h"
#include "capture/process.h"
#include "capture/sampler.h"
#include "capture/spin.h"
#include "capture/system.h"

#include <string.h>

enum {
	LOOK_NS = 50000000,     /* between looks */
	ENOUGH_NS = 5000000,    /* of processor time, to compare with */
	CHANGES_PER_LIMIT = 10, /* changes take at most this part of the limit: a tenth */
	QUIET_BEFORE_NS = 8000, /* more than the 4 us that packing rounds times by */
	QUIET_NS = 45000,       /* the same behind it, and time stamps that are left out: pace.h */
	ROUNDS = 8,
	PASSES = 512,
};

/* Shares of the limit to aim at, and that are left to samples if the rest of the recorder takes
 * more than the limit. */
static const double aim = 0.8, least_share = 0.25;

/* The interval stays if it is off by less: changes have a cost, and few samples are inaccurate. */
static const double least_raise = 1.2, least_cut = 0.6;
static const double most_raise = 16, most_cut = 0.125; /* at a time */
static const double rate_most = 0x1p40;

uint64_t allo_overhead_next_rate(uint64_t rate, uint64_t limit_ppm, double cost_ns, double fixed_ns,
				 double cpu_ns)
{
	double allowed = cpu_ns * (double)limit_ppm / 1e6, left = allowed * aim - fixed_ns, factor,
	       next;

	if (left < allowed * least_share)
		left = allowed * least_share;
	factor = cost_ns / left;
	if (factor > least_cut && factor < least_raise)
		return rate;
	factor = factor > most_raise ? most_raise : factor < most_cut ? most_cut : factor;
	next = (double)rate * factor;
	return (uint64_t)(next < ALLO_OVERHEAD_RATE_LEAST ? ALLO_OVERHEAD_RATE_LEAST
			  : next > rate_most              ? rate_most
							  : next);
}

/* Measuring. */

/* Processor time of the process or of this thread. */
static uint64_t cpu_now(clockid_t clock)
{
	struct timespec time;

	if (ALLO_SYSCALL2(SYS_clock_gettime, clock, &time) < 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A filter may forbid the system calls. */
static bool is_possible(void)
{
	return allo_settings.max_overhead != 0 && !allo_is_confined &&
	       !allo_pace_avoids_system_calls();
}

/* Nanoseconds per tick. */
static double scale_now(const struct allo_overhead *overhead)
{
	uint64_t ticks = allo_now() - overhead->first.ticks;
	uint64_t ns = allo_monotonic_ns() - overhead->first.monotonic_ns;

	return ticks > 0 ? (double)ns / (double)ticks : 0;
}

/* Times the work of sampled hooks for a block without a sample.  The first rounds warm up. */
static uint64_t measure_passes(void)
{
	struct allo_sampler sampler = { .left = UINT64_MAX };
	uint64_t least_ns = UINT64_MAX, found = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = allo_monotonic_ns(), took;

		for (uintptr_t i = 0; i < PASSES; i++) {
			found += allo_size_may_be_sampled(0, i << 6);
			found += allo_sampler_passes(&sampler, 16);
			__asm__ volatile("" : "+r"(found) : : "memory");
		}
		took = allo_monotonic_ns() - begin;
		least_ns = took < least_ns ? took : least_ns;
	}
	return least_ns * 1000 / (2 * (uint64_t)PASSES);
}

void allo_overhead_start(void)
{
	struct allo_overhead *overhead = &allo_process->overhead;

	if (!is_possible())
		return;
	allo_safepoint_init();
	*overhead = (struct allo_overhead){ .first = allo_recorder->head->first,
					    .first_cpu_ns = cpu_now(CLOCK_PROCESS_CPUTIME_ID),
					    .last_cpu_ns = cpu_now(CLOCK_PROCESS_CPUTIME_ID),
					    .pass_ps = measure_passes() };
}

/* The thread may have been interrupted for much longer than its work takes. */
static uint64_t ticks_since(uint64_t begin)
{
	uint64_t ticks = allo_now() - begin, most = allo_recorder->ticks_50us;

	return ticks < most ? ticks : most;
}

void allo_overhead_add(struct allo_thread_state *thread, uint64_t begin)
{
	thread->sampler.sample_ticks += ticks_since(begin);
}

void allo_overhead_add_other(struct allo_thread_state *thread, uint64_t begin)
{
	thread->sampler.other_ticks += ALLO_OVERHEAD_LOOKS * ticks_since(begin);
}

static void add_to(double *sum, double more)
{
	double before, after;

	__atomic_load(sum, &before, __ATOMIC_RELAXED);
	do {
		after = before + more;
	} while (!__atomic_compare_exchange(sum, &before, &after, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

void allo_overhead_note_sample(uint64_t size, uint64_t weighted_bytes)
{
	struct allo_wire_overhead *head = &allo_recorder->head->overhead;
	double bytes = (double)weighted_bytes;

	if (allo_settings.max_overhead == 0)
		return;
	add_to(&head->bytes, bytes);
	/* w (w - 1) s^2, where w s is the estimate. */
	add_to(&head->bytes_variance, bytes * (bytes - (double)size));
}

/* Changing the interval. */

static double scaled(uint64_t left, uint64_t from, uint64_t to)
{
	double next = (double)left * (double)to / (double)from;

	return next < 1 ? 1 : next < 0x1p62 ? next : 0x1p62;
}

static void use_rate(struct allo_thread_state *thread)
{
	struct allo_sampler *sampler = &thread->sampler;

	sampler->left = (uint64_t)scaled(sampler->left, sampler->rate, allo_settings.rate);
	sampler->rate = allo_settings.rate;
	allo_pace_want_time(&thread->pace);
}

void allo_overhead_catch_up(struct allo_thread_state *thread)
{
	use_rate(thread);
	thread->open_safepoint = allo_safepoint_open_word();
}

/* Writes the fact.  False if there is no room for it. */
static bool write_rate(uint64_t ticks, uint64_t rate)
{
	struct allo_wire_slot *tail;
	uint8_t *at;

	if (!allo_stacks_lock(false))
		return false;
	tail = allo_stacks_metadata();
	at = tail ? allo_metadata_begin(tail) : NULL;
	if (at) {
		at = allo_varint_put(at, ticks - allo_recorder->head->first.ticks);
		allo_metadata_end(tail, ALLO_FACT_RATE, allo_varint_put(at, rate));
	}
	allo_stacks_unlock();
	return at != NULL;
}

/* Only while all hooks are frozen. */
static void set_rate(struct allo_thread_state *self, uint64_t rate, double ns_per_tick)
{
	uint64_t frozen = allo_now(), end = frozen + (uint64_t)(QUIET_NS / ns_per_tick);
	struct allo_wire_overhead *head = &allo_recorder->head->overhead;

	if (!write_rate(frozen + (uint64_t)(QUIET_BEFORE_NS / ns_per_tick), rate))
		return;
	while (allo_now() < end) {
	}
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "sampling interval: %lu, was %lu", (unsigned long)rate,
		   (unsigned long)allo_settings.rate);
	allo_settings.rate = rate;
	for (struct allo_thread_state *thread = allo_process->threads; thread;
	     thread = thread->next) {
		if (thread != self && thread->session == allo_session)
			__atomic_store_n(&thread->open_safepoint, ALLO_SAFEPOINT_STALE,
					 __ATOMIC_RELAXED);
	}
	use_rate(self);
	__atomic_store_n(&head->rate, rate, __ATOMIC_RELAXED);
	allo_count(&head->changes, 1);
}

/* Of the work that does not depend on the interval. */
static double fixed_ns(const struct allo_overhead *overhead, double ns_per_tick)
{
	const struct allo_wire_sampling *head = &allo_recorder->head->sampling;
	uint64_t blocks = head->alloc_blocks + head->freed_blocks;

	return (double)blocks * (double)overhead->pass_ps / 1000 +
	       (double)__atomic_load_n(&overhead->other_ticks, __ATOMIC_RELAXED) * ns_per_tick;
}

static void publish(const struct allo_overhead *overhead, uint64_t cpu_ns, double ns_per_tick)
{
	struct allo_wire_overhead *head = &allo_recorder->head->overhead;
	uint64_t samples = __atomic_load_n(&overhead->sample_ticks, __ATOMIC_RELAXED);
	double spent = (double)samples * ns_per_tick + fixed_ns(overhead, ns_per_tick);

	__atomic_store_n(&head->spent_ns, (uint64_t)spent, __ATOMIC_RELAXED);
	__atomic_store_n(&head->cpu_ns, cpu_ns - overhead->first_cpu_ns, __ATOMIC_RELAXED);
}

/* Uses another interval.  Waiting for other threads is no work. */
static void change_rate(struct allo_thread_state *self, uint64_t rate, double ns_per_tick)
{
	uint64_t begin = cpu_now(CLOCK_THREAD_CPUTIME_ID);

	if (!allo_safepoint_freeze(self))
		return;
	set_rate(self, rate, ns_per_tick);
	allo_safepoint_thaw();
	allo_count(&allo_process->overhead.other_ticks,
		   (uint64_t)((double)(cpu_now(CLOCK_THREAD_CPUTIME_ID) - begin) / ns_per_tick));
}

/* The least processor time between looks; see CHANGES_PER_LIMIT. */
static uint64_t enough_ns(void)
{
	uint64_t ns = (uint64_t)QUIET_NS * CHANGES_PER_LIMIT * 1000000 / allo_settings.max_overhead;

	return ns > ENOUGH_NS ? ns : ENOUGH_NS;
}

static void look(struct allo_thread_state *self, struct allo_overhead *overhead)
{
	uint64_t cpu_ns = cpu_now(CLOCK_PROCESS_CPUTIME_ID), samples, rate;
	double ns_per_tick = scale_now(overhead), fixed;

	if (cpu_ns < overhead->last_cpu_ns + enough_ns() || ns_per_tick <= 0)
		return;
	samples = __atomic_load_n(&overhead->sample_ticks, __ATOMIC_RELAXED);
	fixed = fixed_ns(overhead, ns_per_tick);
	rate = allo_overhead_next_rate(
		allo_settings.rate, allo_settings.max_overhead,
		(double)(samples - overhead->last_sample_ticks) * ns_per_tick,
		fixed - overhead->last_fixed_ns, (double)(cpu_ns - overhead->last_cpu_ns));
	overhead->last_sample_ticks = samples;
	overhead->last_fixed_ns = fixed;
	overhead->last_cpu_ns = cpu_ns;
	publish(overhead, cpu_ns, ns_per_tick);
	if (rate != allo_settings.rate)
		change_rate(self, rate, ns_per_tick);
}

/* Adds the thread's times to those of the process. */
static void gather(struct allo_sampler *sampler, struct allo_overhead *overhead)
{
	allo_count(&overhead->sample_ticks, sampler->sample_ticks);
	allo_count(&overhead->other_ticks, sampler->other_ticks);
	sampler->sample_ticks = sampler->other_ticks = 0;
}

/* A signal handler may have interrupted a hook, which the freeze would wait for. */
void allo_overhead_look(struct allo_thread_state *thread)
{
	struct allo_overhead *overhead = &allo_process->overhead;
	uint64_t now = allo_settings.max_overhead ? allo_now() : 0;

	if (allo_settings.max_overhead == 0)
		return;
	gather(&thread->sampler, overhead);
	if (now < __atomic_load_n(&overhead->due_ticks, __ATOMIC_RELAXED) || !is_possible() ||
	    thread->is_nested || !allo_spin_try(&overhead->is_looking))
		return;
	look(thread, overhead);
	__atomic_store_n(&overhead->due_ticks, now + LOOK_NS / 50000 * allo_recorder->ticks_50us,
			 __ATOMIC_RELAXED);
	allo_spin_unlock(&overhead->is_looking);
}

void allo_overhead_finish(void)
{
	struct allo_overhead *overhead = &allo_process->overhead;

	if (!is_possible())
		return;
	publish(overhead, cpu_now(CLOCK_PROCESS_CPUTIME_ID), scale_now(overhead));
}
