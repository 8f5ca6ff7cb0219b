/* walk.c - functions with frames of all kinds, and libgcc's view of the stack. */
#include "walk.h"
#include "random.h"

/* Functions that call each other at random and look at the stack; each has another kind of frame.
 */
struct trip {
	uint64_t random;
	unsigned depth;
	unsigned looks; /* left */
};

static void go_on(struct trip *trip);

static NOINLINE void go_plain(struct trip *trip)
{
	go_on(trip);
	BARRIER();
}

static NOINLINE void go_from_two_places(struct trip *trip)
{
	if (draw(&trip->random, 2)) {
		go_on(trip);
		BARRIER();
	} else {
		KEEP_APART();
		go_on(trip);
		KEEP_APART();
	}
}

static NOINLINE void go_with_alloca(struct trip *trip)
{
	char *some = alloca(16 + draw(&trip->random, 4) * 64);

	USE(some);
	go_on(trip);
	BARRIER();
}

static NOINLINE void go_large(struct trip *trip)
{
	char some[9000];

	USE(some);
	go_on(trip);
	BARRIER();
}

static NOINLINE void go_aligned(struct trip *trip)
{
	char some[64] __attribute__((aligned(64)));

	USE(some);
	go_on(trip);
	BARRIER();
}

/* With a variable-length array, gcc also saves the caller's stack pointer on the stack. */
static NOINLINE void go_aligned_with_alloca(struct trip *trip)
{
	char some[64] __attribute__((aligned(64)));
	char *more = alloca(16 + draw(&trip->random, 4) * 64);

	USE(some);
	USE(more);
	go_on(trip);
	BARRIER();
}

/* More values than registers can hold across calls. */
static NOINLINE unsigned go_busy(struct trip *trip, unsigned a, unsigned b, unsigned c, unsigned d,
				 unsigned e)
{
	char some[64] __attribute__((aligned(64)));
	char *more = alloca(16 + draw(&trip->random, 4) * 64);

	USE(some);
	USE(more);
	go_on(trip);
	BARRIER();
	return a * 3 + b * 5 + c * 7 + d * 11 + e * 13;
}

static void go_down(struct trip *trip)
{
	volatile unsigned sum;

	switch (draw(&trip->random, 7)) {
	case 0:
		go_plain(trip);
		break;
	case 1:
		go_from_two_places(trip);
		break;
	case 2:
		go_with_alloca(trip);
		break;
	case 3:
		go_large(trip);
		break;
	case 4:
		go_aligned(trip);
		break;
	case 5:
		go_aligned_with_alloca(trip);
		break;
	default:
		sum = go_busy(trip, 1, 2, 3, trip->depth, trip->looks);
		(void)sum;
	}
}

/* Looks at the stack and calls down a few times. */
static NOINLINE void go_on(struct trip *trip)
{
	for (unsigned times = 1 + draw(&trip->random, 4); times > 0; times--) {
		if (trip->looks == 0)
			return;
		if (trip->depth > 0 && draw(&trip->random, 3)) {
			trip->depth--;
			go_down(trip);
			trip->depth++;
		} else {
			trip->looks--;
			look();
			BARRIER();
		}
	}
}

/* Many random walks. */
void go_about(uint64_t random, unsigned looks)
{
	struct trip trip = { .random = random, .depth = 30, .looks = looks };

	while (trip.looks > 0) {
		go_on(&trip);
		BARRIER();
	}
}
