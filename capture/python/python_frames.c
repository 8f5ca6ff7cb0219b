/* python_frames.c - walking, verifying and naming Python frames. */
#include "capture/python/python_frames.h"
#include "base/assert.h"
#include "capture/python/python.h"
#include "capture/python/python_objects.h"
#include "capture/stacks/function_intern.h"
#include "capture/system.h"
#include "capture/thread.h"
#include "capture/time/clock.h"

enum {
	FIRST_CAPACITY = 256,
	OWNED_BY_C = 3, /* the least owner of a frame that the interpreter adds */
};

#define ALWAYS_INLINE static inline __attribute__((always_inline))

uint32_t allo_python_generation;
uint32_t allo_python_bucket_generations[ALLO_PYTHON_CODE_BUCKETS];

/* Memory. */

bool allo_python_array_grow(void *array, size_t item, size_t from, size_t to)
{
	void **memory = array;
	void *larger = *memory ? allo_remap(*memory, from * item, to * item)
			       : allo_map_private(to * item);

	if (larger)
		*memory = larger;
	return larger != NULL;
}

static __attribute__((noinline)) bool grow(struct allo_python_thread *thread)
{
	size_t from = thread->capacity, to = from ? 2 * from : FIRST_CAPACITY;

	if (to > ALLO_STACK_MAX ||
	    !allo_python_array_grow(&thread->frames, sizeof(*thread->frames), from, to) ||
	    !allo_python_array_grow(&thread->fresh, sizeof(*thread->fresh), from, to) ||
	    !allo_python_array_grow(&thread->sites, sizeof(*thread->sites), from, to) ||
	    !allo_python_array_grow(&thread->hashes, sizeof(*thread->hashes), from, to) ||
	    !allo_python_array_grow(&thread->groups, sizeof(*thread->groups), from, to))
		return false;
	thread->capacity = to;
	return true;
}

void allo_python_thread_clear(struct allo_python_thread *thread)
{
	thread->count = thread->mixed_count = 0;
	memset(thread->known_sites, 0, sizeof(thread->known_sites));
	memset(&thread->ids, 0, sizeof(thread->ids));
}

/* Sites. */

/* The layout holds for code objects only. */
static bool is_code(uint64_t code)
{
	return code &&
	       allo_python_word(code + allo_python.layout->type) == (uint64_t)allo_python.code_type;
}

static __attribute__((noinline)) struct allo_python_site read_site(
	struct allo_python_thread *thread, uint64_t code, uint64_t instruction)
{
	struct allo_python_function *function = &thread->function;
	struct allo_python_site site = { 0 };

	if (!is_code(code) || allo_python_is_shim(allo_python.layout, code))
		return site;
	allo_python_function_read(allo_python.layout, code, function);
	site.function = allo_function_intern(&(struct allo_function_text){
		.language = ALLO_LANGUAGE_PYTHON,
		.first_line = function->first_line,
		.name = function->name,
		.file = function->file,
		.name_len = function->name_len,
		.file_len = function->file_len,
	});
	site.line = allo_python_line_read(allo_python.layout, code, instruction);
	return site;
}

ALWAYS_INLINE struct allo_python_site find_site(struct allo_python_thread *thread, uint64_t code,
						uint64_t instruction)
{
	uint64_t key = ((code >> 4) + instruction) * 0x9e3779b97f4a7c15;
	struct allo_python_known_site *known = &thread->known_sites[key >> 51];
	uint32_t generation = __atomic_load_n(
		&allo_python_bucket_generations[allo_python_bucket(code)], __ATOMIC_RELAXED);

	_Static_assert(ALLO_PYTHON_SITES == 1 << (64 - 51), "the hash has the bits of an index");
	if (__builtin_expect(known->code != code || known->instruction != instruction ||
				     known->generation != generation || known->site.function == 0,
			     0))
		*known = (struct allo_python_known_site){ code, instruction,
							  read_site(thread, code, instruction),
							  generation };
	return known->site;
}

/* Frames. */

ALWAYS_INLINE unsigned place_of(uint64_t address)
{
	return (unsigned)(address >> 4 ^ address >> 12) % ALLO_PYTHON_PLACES;
}

ALWAYS_INLINE struct allo_python_frame read_frame(struct allo_python_frame_fields fields,
						  uint64_t address)
{
	uint64_t instruction = address + fields.instruction;

	return (struct allo_python_frame){
		.address = address,
		.code = allo_python_word(address + fields.code),
		.instruction = fields.is_short ? allo_python_half(instruction)
					       : allo_python_word(instruction),
		.previous = allo_python_word(address + fields.previous),
	};
}

/* The code is read only where the instruction does not tell it: elsewhere, that is an address
 * inside of the code object, and the frames are forgotten when one of these is freed. */
ALWAYS_INLINE uint64_t change_of(struct allo_python_frame_fields fields,
				 const struct allo_python_frame *frame)
{
	struct allo_python_frame now = read_frame(fields, frame->address);

	return (fields.tells_code ? 0 : now.code ^ frame->code) |
	       (now.instruction ^ frame->instruction) | (now.previous ^ frame->previous);
}

/* The innermost changed frame outward of `end`, down to `first`; NULL if none has changed.  `end`
 * is in the thread's chain of frames, and unchanged.
 *
 * Frames that have returned may lie in memory that CPython has unmapped: it keeps frames in chunks,
 * and those of generators in objects.  So the order of reading is part of the proof.  An unchanged
 * frame of the chain has the caller that it had, so the next frame outward is in the chain, too,
 * and can be read.  Beyond the first change, the addresses of frames are not known to be valid. The
 * loads need not wait for each other, since the branches are predicted. */
ALWAYS_INLINE const struct allo_python_frame *find_change(struct allo_python_frame_fields fields,
							  const struct allo_python_frame *first,
							  const struct allo_python_frame *end)
{
	for (const struct allo_python_frame *last = first + 4; end >= last; end -= 4) {
		if (change_of(fields, end - 1))
			return end - 1;
		if (change_of(fields, end - 2))
			return end - 2;
		if (change_of(fields, end - 3))
			return end - 3;
		if (change_of(fields, end - 4))
			return end - 4;
	}
	for (; end > first; end--) {
		if (change_of(fields, end - 1))
			return end - 1;
	}
	return NULL;
}

/* The same in a deep stack, without the frames that cannot have changed: see stack_cache.h.  A
 * frame changes only after all frames inward of it have returned.  Time that the program does not
 * have changes nothing: neither that of the native stack's verification counts here, nor that of
 * this one there.  Otherwise each would make the other one longer. */
ALWAYS_INLINE const struct allo_python_frame *find_change_deep(
	struct allo_python_frame_fields fields, const struct allo_python_thread *thread,
	uint32_t index)
{
	struct allo_stack_cache *native = thread->native;
	uint64_t begun = allo_counter(),
		 valid_at = thread->valid_at + native->spent - thread->spent;
	uint32_t from = native->has_counter
				? allo_stack_first_doubtful(index, thread->valid_count, valid_at)
				: 0;
	const struct allo_python_frame *changed = find_change(fields, thread->frames + from,
							      thread->frames + index);

	native->valid_at += allo_counter() - begun;
	return changed;
}

/* Appends the new frames to the kept ones, the outermost first. */
ALWAYS_INLINE void push(struct allo_python_thread *thread, uint32_t fresh,
			const struct allo_python_layout *layout)
{
	uint64_t hash = thread->count ? thread->hashes[thread->count - 1] : 1;

	while (fresh-- > 0) {
		const struct allo_python_frame *frame = &thread->fresh[fresh];
		uint32_t at = thread->count++;
		struct allo_python_site site = { .line = ALLO_PYTHON_ENTRY };

		if (layout->shape != ALLO_PYTHON_ENTRY_FRAMES ||
		    *(const uint8_t *)(frame->address + layout->owner) < OWNED_BY_C)
			site = find_site(thread, frame->code & ~(uint64_t)3, frame->instruction);
		hash = allo_stack_hash(hash, (uint64_t)site.function << 32 | site.line);
		thread->frames[at] = *frame;
		thread->sites[at] = site;
		thread->hashes[at] = hash;
		thread->groups[at] = allo_python_is_entry(site) ? thread->count
				     : at > 0                   ? thread->groups[at - 1]
								: 0;
		thread->where[place_of(frame->address)] = at;
	}
}

static void note_valid(struct allo_python_thread *thread)
{
	thread->valid_count = thread->count;
	thread->valid_at = allo_counter();
	thread->spent = thread->native->spent;
}

void allo_python_note(struct allo_python_thread *thread)
{
	if (thread->count > ALLO_STACK_SHORT)
		note_valid(thread);
}

/* Reads the frames from `address` outwards.  False if there are none, or no room for them. */
ALWAYS_INLINE bool capture(struct allo_python_thread *thread, uint64_t address,
			   const struct allo_python_layout *layout,
			   struct allo_python_frame_fields fields)
{
	uint32_t fresh = 0, kept = 0;

	while (address) {
		uint32_t at = thread->where[place_of(address)];

		if (at < thread->count && thread->frames[at].address == address &&
		    !change_of(fields, &thread->frames[at])) {
			const struct allo_python_frame *changed =
				__builtin_expect(at <= ALLO_STACK_SHORT, 1)
					? find_change(fields, thread->frames, thread->frames + at)
					: find_change_deep(fields, thread, at);

			if (!changed) {
				kept = at + 1;
				break;
			}
			/* The frames outward of it may still be right: the walk finds them. */
			thread->count = (uint32_t)(changed - thread->frames);
		}
		/* `fresh` and the frames that may be kept behind it. */
		if (__builtin_expect(fresh + thread->count >= thread->capacity, 0) && !grow(thread))
			return false;
		thread->fresh[fresh] = read_frame(fields, address);
		address = thread->fresh[fresh++].previous;
	}
	thread->count = kept;
	push(thread, fresh, layout);
	if (__builtin_expect(thread->count > ALLO_STACK_SHORT, 0))
		note_valid(thread);
	return thread->count > 0;
}

/* Stacks. */

/*
 * Options of the interpreter replace its allocators when it starts, and with them our hooks.  It
 * allocates some blocks by malloc() between that and the first object, so each such call is an
 * opportunity to put the hooks back, until a function of Python runs.  A program may contain an
 * interpreter that it never starts: it is spared this after some calls.
 */
enum { LOOKS = 1 << 16 };

static uint32_t looks;

static inline void look_at_start(void)
{
	if (__builtin_expect(__atomic_load_n(&looks, __ATOMIC_RELAXED) < LOOKS, 0)) {
		__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
		allo_python_objects_hook();
	}
}

static __attribute__((noinline)) struct allo_python_thread *begin(struct allo_thread_state *thread)
{
	static bool was_looked_at;

	if (!__atomic_exchange_n(&was_looked_at, true, __ATOMIC_RELAXED)) {
		__atomic_store_n(&looks, LOOKS, __ATOMIC_RELAXED);
		allo_python_objects_hook();
	}
	thread->python = allo_map_private(sizeof(*thread->python));
	if (thread->python)
		thread->python->native = &thread->cache;
	return thread->python;
}

static inline uint64_t find_state(void)
{
	uint64_t state = (uint64_t)allo_python.current();

	return __builtin_expect(state != 0, 1) ? state : (uint64_t)allo_python.bound();
}

static inline uint64_t find_top(const struct allo_python_layout *layout, uint64_t state)
{
	uint64_t top = state ? allo_python_word(state + layout->top) : 0;

	/* Of 3.11 and 3.12, the frame is a C frame, which has the top one. */
	return top && layout->c_frame == layout->top
		       ? allo_python_word(top + layout->top_in_c_frame)
		       : top;
}

/* Inlined for each shape. */
ALWAYS_INLINE uint32_t find_stack(struct allo_thread_state *thread, uint32_t native,
				  const struct allo_registers *caller,
				  const struct allo_python_layout *layout,
				  struct allo_python_frame_fields fields)
{
	struct allo_python_thread *python = thread->python;
	uint64_t state = find_state(), top = find_top(layout, state), key;
	uint32_t id, generation;

	if (!top) {
		look_at_start();
		return native;
	}
	if (__builtin_expect(!python, 0) && !(python = begin(thread)))
		return native;
	generation = __atomic_load_n(&allo_python_generation, __ATOMIC_ACQUIRE);
	if (__builtin_expect(python->generation != generation, 0)) {
		python->generation = generation;
		python->count = 0;
	}
	if (!capture(python, top, layout, fields))
		return native;
	key = allo_stack_hash(python->hashes[python->count - 1], native);
	key += key == 0;
	id = allo_intern_cache_find(&python->ids, key);
	return __builtin_expect(id != 0, 1) ? id
					    : allo_python_merge(thread, native, state, key, caller);
}

uint32_t allo_python_stack(struct allo_thread_state *thread, uint32_t native,
			   const struct allo_registers *caller)
{
	const struct allo_python_layout *layout = allo_python.layout;
	struct allo_python_frame_fields fields;

	/* A signal handler may have interrupted the interpreter between two stores. */
	if (native == 0 || thread->is_nested ||
	    __builtin_expect(__atomic_load_n(allo_python.finalizing, __ATOMIC_RELAXED) != 0, 0))
		return native;
	switch (layout->shape) {
	case ALLO_PYTHON_FRAME_OBJECTS:
		fields = allo_python_frame_fields(ALLO_PYTHON_FRAME_OBJECTS);
		return find_stack(thread, native, caller, layout, fields);
	case ALLO_PYTHON_ENTRY_FLAGS:
		fields = allo_python_frame_fields(ALLO_PYTHON_ENTRY_FLAGS);
		return find_stack(thread, native, caller, layout, fields);
	default:
		fields = allo_python_frame_fields(ALLO_PYTHON_ENTRY_FRAMES);
		if (__builtin_expect(layout->copies == 0, 1))
			return find_stack(thread, native, caller, layout, fields);
		/* Copies of code are not inside of it. */
		fields.tells_code = false;
		return find_stack(thread, native, caller, layout, fields);
	}
}
