#include "replay/packed/event_model.h"

#include "base/assert.h"
#include "replay/packed/live_numbers.h"

#include <stdlib.h>

enum {
	RANKS = 3,       /* candidates of a context */
	SLOT_BITS = 16,  /* of the tables of events and of sizes */
	RESIZED = -1,    /* context of the new stack of a realloc */
	BACK_PARTS = 8,  /* contexts by the share of live blocks before the last one that ended */
	NEAR_HALVES = 8, /* halvings of a distance that have a context */
};

/* The symbols that followed in a context, in the order of their first occurrence.  Each has the
 * chance that it is the one, if none of the earlier ones is. */
struct slot {
	uint32_t tag;            /* of the context; 0 if unused */
	uint32_t symbols[RANKS]; /* 0 if unused */
	allo_chance chances[RANKS];
};

/* The state of a stack. */
struct site {
	struct allo_live_numbers numbers;
	uint32_t made; /* blocks, modulo 2^32 */
	uint32_t size; /* of the last block, modulo 2^32 */
	allo_chance is_kept;
	allo_chance is_next;
	allo_chance is_as_far; /* the distance is that of allo_event_model.far */
	allo_chance is_back[BACK_PARTS];
	allo_chance is_near[2][NEAR_HALVES]; /* by direction */
};

/* Chances that a number has more than 0, 1, 2 ... bits. */
struct lengths {
	allo_chance is_longer[64];
};

struct allo_event_model {
	size_t stacks;
	uint32_t *places; /* by stack: index in `sites` + 1; 0 if it has none yet */
	ALLO_VEC(struct site) sites;
	struct slot *events, *sizes;
	uint64_t path;              /* hash of the symbols of the last four events */
	uint32_t symbol;            /* of the last event */
	uint32_t size;              /* of the last new block, modulo 2^32 */
	struct allo_number_way far; /* to the last block that was not the next one of its stack */
	struct lengths symbol_lengths, size_lengths, age_lengths;
	bool is_short; /* of memory */
};

static void set_even(allo_chance *chances, size_t count)
{
	for (size_t i = 0; i < count; i++)
		chances[i] = ALLO_CHANCE_EVEN;
}

struct allo_event_model *allo_event_model_new(size_t stacks)
{
	struct allo_event_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->stacks = stacks;
	model->places = calloc(stacks + 1, sizeof(*model->places));
	model->events = calloc((size_t)1 << SLOT_BITS, sizeof(*model->events));
	model->sizes = calloc((size_t)1 << SLOT_BITS, sizeof(*model->sizes));
	if (!model->places || !model->events || !model->sizes) {
		allo_event_model_free(model);
		return NULL;
	}
	set_even(model->symbol_lengths.is_longer, 64);
	set_even(model->size_lengths.is_longer, 64);
	set_even(model->age_lengths.is_longer, 64);
	return model;
}

void allo_event_model_free(struct allo_event_model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->sites.len; i++)
		allo_live_numbers_done(&model->sites.at[i].numbers);
	allo_vec_done(&model->sites);
	free(model->places);
	free(model->events);
	free(model->sizes);
	free(model);
}

static __attribute__((noinline)) struct site *add_site(struct allo_event_model *model,
						       uint32_t stack)
{
	struct site *site = allo_vec_push(&model->sites);

	if (!site) {
		model->is_short = true;
		return NULL;
	}
	*site = (struct site){ .is_kept = ALLO_CHANCE_SURE + 1 };
	set_even(&site->is_next, 1);
	set_even(&site->is_as_far, 1);
	set_even(site->is_back, BACK_PARTS);
	set_even(site->is_near[0], 2 * NEAR_HALVES);
	model->places[stack] = (uint32_t)model->sites.len;
	return site;
}

/* Valid until the next call; NULL when memory is short. */
static inline struct site *site_of(struct allo_event_model *model, uint32_t stack)
{
	uint32_t place = model->places[stack];

	ALLO_ASSERT(stack < model->stacks && place <= model->sites.len);
	return __builtin_expect(place > 0, 1) ? &model->sites.at[place - 1]
					      : add_site(model, stack);
}

/* The slot of a context.  It evicts another context. */
static inline struct slot *slot_of(struct slot *slots, uint64_t context)
{
	uint64_t hash = context * 0xbf58476d1ce4e5b9;
	struct slot *slot = &slots[hash >> (64 - SLOT_BITS)];
	uint32_t tag = (uint32_t)(hash >> 8) | 1;

	if (__builtin_expect(slot->tag != tag, 0))
		*slot = (struct slot){ .tag = tag,
				       .chances = { ALLO_CHANCE_EVEN, ALLO_CHANCE_EVEN,
						    ALLO_CHANCE_EVEN } };
	return slot;
}

/* A context of two values; their order matters. */
static inline uint64_t both(uint64_t one, uint64_t other)
{
	return (one * 0x9e3779b97f4a7c15 ^ one >> 32) + other;
}

/* Codes a symbol that is in the slot; false if it is not. */
ALLO_RANGE_INLINE bool code_known(struct allo_range_coder *coder, bool reads, struct slot *slot,
				  uint32_t *symbol)
{
	for (int i = 0; i < RANKS && slot->symbols[i] != 0; i++) {
		if (allo_range_bit(coder, reads, &slot->chances[i], slot->symbols[i] == *symbol)) {
			*symbol = slot->symbols[i];
			return true;
		}
	}
	return false;
}

/* Adds a symbol to a slot; if it is full, in place of the last one. */
static void learn(struct slot *slot, uint32_t symbol)
{
	int i = 0;

	while (i < RANKS - 1 && slot->symbols[i] != 0)
		i++;
	slot->symbols[i] = symbol;
	slot->chances[i] = ALLO_CHANCE_EVEN;
}

/* Codes any number. */
static inline uint64_t code_number(struct allo_range_coder *coder, bool reads,
				   struct lengths *lengths, uint64_t number)
{
	unsigned length = number ? 64 - (unsigned)__builtin_clzll(number) : 0, bits = 0;
	uint64_t found;

	while (bits < 64 && allo_range_bit(coder, reads, &lengths->is_longer[bits], bits < length))
		bits++;
	/* The highest bit is set, and all others are even. */
	found = bits > 0;
	while (bits > 1) {
		unsigned some = bits - 1 < 16 ? bits - 1 : 16;

		bits -= some;
		found = found << some |
			allo_range_even(coder, reads, 1 << some,
					(uint32_t)(number >> (bits - 1)) & ((1 << some) - 1));
	}
	return found;
}

/* Codes a symbol by its slot, else by the slot of a shorter context, else as a number. */
ALLO_RANGE_INLINE void code_symbol(struct allo_range_coder *coder, bool reads, struct slot *slot,
				   struct slot *slots, uint64_t context, struct lengths *lengths,
				   uint32_t *symbol)
{
	struct slot *other;

	if (code_known(coder, reads, slot, symbol))
		return;
	other = slot_of(slots, context);
	if (!code_known(coder, reads, other, symbol)) {
		*symbol = (uint32_t)code_number(coder, reads, lengths, *symbol);
		learn(other, *symbol);
	}
	if (other != slot)
		learn(slot, *symbol);
}

/* Sizes.  The context is the stack, its last size, and the size of the last block of any stack. */

#define LARGE UINT32_MAX /* the symbol of all sizes that do not fit one */

ALLO_RANGE_INLINE uint64_t code_size(struct allo_event_model *model, struct allo_range_coder *coder,
				     bool reads, uint32_t stack, uint32_t last, uint64_t size)
{
	uint64_t sizes = (uint64_t)last << 32 | model->size;
	uint32_t symbol = size < LARGE - 1 ? (uint32_t)size + 1 : LARGE;

	code_symbol(coder, reads, slot_of(model->sizes, both(sizes, stack)), model->sizes, stack,
		    &model->size_lengths, &symbol);
	if (__builtin_expect(symbol == LARGE, 0))
		size = code_number(coder, reads, &model->size_lengths, size);
	else
		size = symbol - 1;
	model->size = (uint32_t)size;
	return size;
}

/* Codes a new block and gives it a name. */
ALLO_RANGE_INLINE bool code_created(struct allo_event_model *model, struct allo_range_coder *coder,
				    bool reads, struct allo_event *event)
{
	struct site *site = site_of(model, event->stack);

	if (!site)
		return false;
	event->size = code_size(model, coder, reads, event->stack, site->size, event->size);
	site->size = (uint32_t)event->size;
	event->pointer = allo_block_key(event->stack, ++site->made);
	if (!allo_live_numbers_add(&site->numbers, site->made))
		model->is_short = true;
	return !model->is_short;
}

/* Blocks that end. */

/* Codes a distance below `count`: whether it is in the first half, in the first half of that, and
 * so on; the rest is even. */
ALLO_RANGE_INLINE uint32_t code_distance(struct allo_range_coder *coder, bool reads,
					 allo_chance *is_near, uint32_t count, uint32_t distance)
{
	ALLO_ASSERT(count > 0 && (reads || distance < count));
	for (int i = 0; i < NEAR_HALVES && count > 1; i++) {
		uint32_t half = count / 2;

		if (!allo_range_bit(coder, reads, &is_near[i], distance < half))
			return half + allo_range_even(coder, reads, count - half, distance - half);
		count = half;
	}
	return allo_range_even(coder, reads, count, distance);
}

/* Codes the way to a block that is not the next one. */
ALLO_RANGE_INLINE struct allo_number_way code_way(struct allo_event_model *model,
						  struct allo_range_coder *coder, bool reads,
						  struct site *site, struct allo_number_way way)
{
	const struct allo_live_numbers *numbers = &site->numbers;
	uint32_t behind = allo_live_numbers_side(numbers, true), side;
	struct allo_number_way far = model->far;

	if (far.passed < allo_live_numbers_side(numbers, far.is_back) &&
	    allo_range_bit(coder, reads, &site->is_as_far,
			   way.is_back == far.is_back && way.passed == far.passed))
		return far;
	if (behind == 0 || numbers->after == 0)
		way.is_back = behind > 0;
	else
		way.is_back = allo_range_bit(
			coder, reads, &site->is_back[(uint64_t)behind * BACK_PARTS / numbers->live],
			way.is_back);
	side = allo_live_numbers_side(numbers, way.is_back);
	way.passed = code_distance(coder, reads, site->is_near[way.is_back], side, way.passed);
	return way;
}

/* Codes the number of a live block, and removes it if it ends. */
ALLO_RANGE_INLINE uint32_t code_live(struct allo_event_model *model, struct allo_range_coder *coder,
				     bool reads, struct site *site, uint32_t number, bool ends)
{
	struct allo_live_numbers *numbers = &site->numbers;
	struct allo_number_way way = { 0 };
	bool is_next;

	if (!reads)
		way = allo_live_numbers_way(numbers, number);
	is_next = numbers->after > 0 &&
		  allo_range_bit(coder, reads, &site->is_next, !way.is_back && way.passed == 0);
	if (is_next)
		way = (struct allo_number_way){ 0 };
	else
		model->far = way = code_way(model, coder, reads, site, way);
	if (reads)
		number = is_next ? allo_live_numbers_next(numbers)
				 : allo_live_numbers_at(numbers, way);
	if (ends)
		allo_live_numbers_end(numbers, number, way);
	return number;
}

ALLO_RANGE_INLINE bool code_ended(struct allo_event_model *model, struct allo_range_coder *coder,
				  bool reads, uint32_t stack, bool ends, uint64_t *key)
{
	struct site *site = site_of(model, stack);
	uint32_t number = allo_block_number(*key);

	if (!site)
		return false;
	if (site->numbers.live > 0 &&
	    allo_range_bit(coder, reads, &site->is_kept,
			   !reads && allo_live_numbers_has(&site->numbers, number)))
		number = code_live(model, coder, reads, site, number, ends);
	else
		number = site->made - (uint32_t)code_number(coder, reads, &model->age_lengths,
							    site->made - number);
	*key = allo_block_key(stack, number);
	return true;
}

/* Events. */

static inline bool creates(enum allo_event_kind kind)
{
	return kind == ALLO_EVENT_ALLOC || kind == ALLO_EVENT_RESIZE;
}

/* Whether the event refers to an existing block. */
static inline bool has_block(enum allo_event_kind kind)
{
	return kind == ALLO_EVENT_FREE || kind == ALLO_EVENT_RESIZE ||
	       kind == ALLO_EVENT_RESIZE_FAILED || kind == ALLO_EVENT_RETIRE;
}

static inline uint64_t *key_of(struct allo_event *event)
{
	return event->kind == ALLO_EVENT_RESIZE ? &event->old : &event->pointer;
}

/* Codes an event.  The writer passes its symbol and fields. */
ALLO_RANGE_INLINE bool code_event(struct allo_event_model *model, struct allo_range_coder *coder,
				  bool reads, uint32_t symbol, struct allo_event *event)
{
	uint32_t stack, kind;

	code_symbol(coder, reads, slot_of(model->events, model->path), model->events, model->symbol,
		    &model->symbol_lengths, &symbol);
	model->path = model->path << 16 ^ symbol * (uint64_t)0x9e3779b1;
	model->symbol = symbol;
	stack = (symbol - 1) >> ALLO_MODEL_KIND_BITS;
	kind = (symbol - 1) % (1 << ALLO_MODEL_KIND_BITS);
	event->kind = kind % ALLO_MODEL_UNKNOWN;
	if (reads && (symbol == 0 || stack >= model->stacks))
		return false;
	ALLO_ASSERT(stack < model->stacks);
	if (has_block(event->kind) && !(kind & ALLO_MODEL_UNKNOWN) &&
	    !code_ended(model, coder, reads, stack, event->kind != ALLO_EVENT_RESIZE_FAILED,
			key_of(event)))
		return false;
	if (!creates(event->kind))
		return true;
	if (event->kind == ALLO_EVENT_RESIZE) {
		uint32_t resized = event->stack + 1;

		code_symbol(coder, reads, slot_of(model->events, both(symbol, RESIZED)),
			    model->events, RESIZED, &model->symbol_lengths, &resized);
		stack = resized - 1;
		if (stack >= model->stacks)
			return false;
	}
	event->stack = stack;
	return code_created(model, coder, reads, event);
}

struct allo_model_step *allo_model_put_event(struct allo_model_step *step,
					     const struct allo_event *event)
{
	uint64_t key = event->kind == ALLO_EVENT_RESIZE ? event->old : event->pointer;
	uint32_t kind = event->kind;

	if (event->kind == ALLO_EVENT_ALLOC)
		return allo_model_put_created(step, allo_model_symbol(kind, event->stack),
					      event->size);
	if (!has_block(event->kind))
		key = 0;
	else if (key == 0)
		kind |= ALLO_MODEL_UNKNOWN;
	*step++ = (struct allo_model_step){ allo_model_symbol(kind, allo_block_stack(key)),
					    allo_block_number(key) };
	return creates(event->kind) ? allo_model_put_created(step, event->stack, event->size)
				    : step;
}

/* The size of a step; a large one is in the next step. */
static inline uint64_t take_size(const struct allo_model_step **step)
{
	uint32_t size = (*step)++->number;

	if (__builtin_expect(size != UINT32_MAX, 1))
		return size;
	++*step;
	return (uint64_t)(*step)[-1].symbol << 32 | (*step)[-1].number;
}

/* Takes the steps of an event, and returns its symbol. */
static inline uint32_t take_steps(const struct allo_model_step **step, struct allo_event *event)
{
	uint32_t symbol = (*step)->symbol;

	event->kind = (symbol - 1) % ALLO_MODEL_UNKNOWN;
	if (event->kind == ALLO_EVENT_ALLOC) {
		event->size = take_size(step);
		return symbol;
	}
	*key_of(event) = (*step)++->number;
	if (event->kind == ALLO_EVENT_RESIZE) {
		event->stack = (*step)->symbol;
		event->size = take_size(step);
	}
	return symbol;
}

/* Both work on a copy of the coder, which stays in registers: stores of bytes may alias anything in
 * memory. */

const struct allo_model_step *allo_event_model_write(struct allo_event_model *model,
						     struct allo_range_coder *shared,
						     const struct allo_model_step *steps,
						     const struct allo_model_step *end)
{
	struct allo_range_coder coder = *shared;

	for (size_t i = 0; i < ALLO_EVENTS_AT_ONCE && steps < end; i++) {
		struct allo_event event;
		uint32_t symbol = take_steps(&steps, &event);

		ALLO_ASSERT(steps <= end && symbol > 0);
		if (!code_event(model, &coder, false, symbol, &event))
			return NULL;
	}
	*shared = coder;
	return steps;
}

size_t allo_event_model_read(struct allo_event_model *model, struct allo_range_coder *shared,
			     struct allo_event *events, size_t count)
{
	struct allo_range_coder coder = *shared;
	size_t taken = 0;

	for (; taken < count; taken++) {
		events[taken] = (struct allo_event){ 0 };
		if (!code_event(model, &coder, true, 0, &events[taken]))
			break;
	}
	*shared = coder;
	return taken;
}

bool allo_event_model_is_short(const struct allo_event_model *model)
{
	return model->is_short;
}
