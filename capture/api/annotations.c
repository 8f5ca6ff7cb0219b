/* annotations.c - interns strings and label sets, and writes labels, marks and events. */
#include "capture/api/annotations.h"
#include "base/assert.h"
#include "capture/api/last_error.h"
#include "capture/file/metadata_stream.h"
#include "capture/file/record.h"
#include "capture/process.h"
#include "capture/spin.h"
#include "capture/thread_rest.h"

#include <string.h>

enum {
	NAMES_BITS = 18, /* log2 of the slots of the table */
	NAMES_MAX = 3 << (NAMES_BITS - 2),
	TEXT_MAX = 4096,       /* bytes; longer texts are truncated */
	TEXTS_SIZE = 32 << 20, /* bytes of all texts; untouched pages cost nothing */
};

/* An interned text, or an interned set of labels. */
struct name {
	uint64_t hash;   /* 0: unused slot */
	uint32_t told;   /* the last session that defined it, plus 1 */
	uint32_t number; /* its id in that session */
	union {
		struct {
			uint32_t at, len;
		} text;
		struct {
			uint32_t outer, key, value; /* slots; 0 means no slot */
		} set;
	};
};

/* The intern table, in memory that is empty in a child after fork(). */
struct names {
	uint32_t is_locked;
	uint32_t count, used;
	uint32_t session, texts, sets;   /* ids given out in `session`; under the stacks' lock */
	struct name at[1 << NAMES_BITS]; /* by hash; slot 0 is never used */
	char bytes[TEXTS_SIZE];
};

static struct names *names;

/* Interning. */

/* Creates the table if needed. */
static bool have_names(void)
{
	struct names *none = NULL, *made;

	if (__atomic_load_n(&names, __ATOMIC_ACQUIRE))
		return true;
	made = allo_map_private(sizeof(*made));
	if (made && !__atomic_compare_exchange_n(&names, &none, made, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
		allo_unmap(made, sizeof(*made));
	return names != NULL;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return allo_stack_hash(hash + 1, value);
}

static uint64_t hash_text(const char *text, size_t len)
{
	uint64_t hash = len, word;

	for (; len >= sizeof(word); len -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	memcpy(&word, text, len);
	return mix(mix(hash, word), 1) | 1;
}

/* The slot of a name, or a free one.  The table is at most 3/4 full, so there always is one. */
static uint32_t slot_of(uint64_t hash)
{
	uint32_t mask = (1 << NAMES_BITS) - 1, at = (uint32_t)(hash >> 32) & mask;

	ALLO_ASSERT(hash != 0 && names->count <= NAMES_MAX);
	while (at == 0 || (names->at[at].hash != 0 && names->at[at].hash != hash))
		at = (at + 1) & mask;
	return at;
}

/* Interns a text, with the lock.  Returns its slot, or 0 if the table is full. */
static uint32_t add_text(const char *text)
{
	size_t len = strnlen(text, TEXT_MAX);
	uint64_t hash = hash_text(text, len);
	uint32_t at = slot_of(hash), start;

	if (names->at[at].hash)
		return at;
	start = names->used;
	if (names->count >= NAMES_MAX || start + len > TEXTS_SIZE)
		return 0;
	memcpy(names->bytes + start, text, len);
	names->used += (uint32_t)len;
	names->count++;
	names->at[at] = (struct name){ .hash = hash, .text = { start, (uint32_t)len } };
	return at;
}

/* Interns a set, with the lock: `outer` and one more label.  Returns its slot, or 0. */
static uint32_t add_set(uint32_t outer, const char *key, const char *value)
{
	uint32_t key_at = add_text(key), value_at = add_text(value), at;
	uint64_t hash = mix(mix(mix(2, outer), key_at), value_at) | 1;

	at = slot_of(hash);
	if (names->at[at].hash)
		return at;
	if (!key_at || !value_at || names->count >= NAMES_MAX)
		return 0;
	names->count++;
	names->at[at] = (struct name){ .hash = hash, .set = { outer, key_at, value_at } };
	return at;
}

/* Interns a set and returns its slot; `outer` if the table is full. */
static uint32_t set_with(uint32_t outer, const char *key, const char *value)
{
	uint32_t at;

	if (!have_names())
		return outer;
	allo_spin_lock(&names->is_locked);
	at = add_set(outer, key, value);
	allo_spin_unlock(&names->is_locked);
	return at ? at : outer;
}

/* Definitions in the recording. */

static bool is_defined(const struct name *name)
{
	return __atomic_load_n(&name->told, __ATOMIC_ACQUIRE) == allo_session + 1;
}

/* Begins the definition of a name with a new id; NULL if the stream is full. */
static uint8_t *define_begin(struct name *name, uint32_t *count)
{
	uint8_t *at = allo_metadata_begin(allo_stacks_metadata());

	if (!at)
		return NULL;
	name->number = ++*count;
	return allo_varint_put(at, name->number);
}

static void define_end(struct name *name, enum allo_fact fact, const uint8_t *end)
{
	allo_metadata_end(allo_stacks_metadata(), fact, end);
	__atomic_store_n(&name->told, allo_session + 1, __ATOMIC_RELEASE);
}

static void define_text(uint32_t place)
{
	struct name *name = &names->at[place];
	uint8_t *at = is_defined(name) ? NULL : define_begin(name, &names->texts);

	if (!at)
		return;
	memcpy(at, names->bytes + name->text.at, name->text.len);
	define_end(name, ALLO_FACT_TEXT, at + name->text.len);
}

/* Defines the outer sets first: a definition may only refer to earlier ids. */
static void define_set(uint32_t place)
{
	struct name *name = &names->at[place];
	uint8_t *at;

	if (is_defined(name))
		return;
	if (name->set.outer)
		define_set(name->set.outer);
	define_text(name->set.key);
	define_text(name->set.value);
	at = define_begin(name, &names->sets);
	if (!at)
		return;
	at = allo_varint_put(at, name->set.outer ? names->at[name->set.outer].number : 0);
	at = allo_varint_put(at, names->at[name->set.key].number);
	at = allo_varint_put(at, names->at[name->set.value].number);
	define_end(name, ALLO_FACT_LABELS, at);
}

/* The id of a name in the recording, which it defines if needed; 0 if that fails. */
static uint32_t number_of(struct allo_thread_state *thread, uint32_t place,
			  void (*define)(uint32_t))
{
	struct name *name;

	/* A child made by fork() has an empty table. */
	if (place == 0 || !names || names->at[place].hash == 0)
		return 0;
	ALLO_ASSERT(place < 1 << NAMES_BITS);
	name = &names->at[place];
	if (!is_defined(name) && allo_stacks_lock(thread->is_nested)) {
		if (names->session != allo_session) {
			names->session = allo_session;
			names->texts = names->sets = 0;
		}
		define(place);
		allo_stacks_unlock();
	}
	return is_defined(name) ? name->number : 0;
}

/* Begins a note with the current time. */
static uint8_t *note_begin(struct allo_thread_state *thread, enum allo_wire_note note)
{
	uint8_t *at = allo_event_time(thread, allo_event_begin(thread), 0);

	*at++ = 0;
	*at++ = ALLO_ESCAPE_NOTE;
	return allo_varint_put(at, note);
}

static void write_labels(struct allo_thread_state *thread, uint32_t set)
{
	uint32_t number;

	if (!thread->tail)
		return;
	number = number_of(thread, set, define_set);
	allo_event_end(thread, allo_varint_put(note_begin(thread, ALLO_NOTE_LABELS), number));
}

/* Labels. */

/* The slot of the calling thread's current set; 0 if it has no labels. */
static uint32_t innermost(void)
{
	const struct allo_thread_rest *rest = allo_thread_rest_find();
	uint32_t depth = rest ? rest->label_depth : 0;

	if (depth > ALLO_LABELS_DEEP)
		depth = ALLO_LABELS_DEEP;
	return depth > 0 ? rest->label_sets[depth - 1] : 0;
}

static void labels_changed(void)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return;
	write_labels(thread, innermost());
	allo_leave(thread);
}

void allo_label_push(const char *key, const char *value)
{
	uint32_t set = set_with(innermost(), key, value);
	struct allo_thread_rest *rest = allo_thread_rest_get();

	if (!rest || rest->label_depth++ >= ALLO_LABELS_DEEP)
		return;
	rest->label_sets[rest->label_depth - 1] = set;
	labels_changed();
}

void allo_label_pop(void)
{
	struct allo_thread_rest *rest = allo_thread_rest_find();

	if (!rest || rest->label_depth == 0)
		return;
	if (rest->label_depth-- <= ALLO_LABELS_DEEP)
		labels_changed();
}

void allo_annotations_write_labels(struct allo_thread_state *thread)
{
	if (innermost())
		write_labels(thread, innermost());
}

void allo_annotations_set_heap(struct allo_thread_state *thread, const char *heap)
{
	write_labels(thread, heap ? set_with(innermost(), "heap", heap) : innermost());
}

/* Marks and events. */

/* Interns a text and returns its slot, or 0. */
static uint32_t text_of(const char *text)
{
	uint32_t at;

	if (!text || !have_names())
		return 0;
	allo_spin_lock(&names->is_locked);
	at = add_text(text);
	allo_spin_unlock(&names->is_locked);
	return at;
}

static void write_mark(struct allo_thread_state *thread, uint32_t text)
{
	uint32_t number;

	if (!thread->tail)
		return;
	number = number_of(thread, text, define_text);
	allo_pace_want_time(&thread->pace);
	allo_event_end(thread, allo_varint_put(note_begin(thread, ALLO_NOTE_MARK), number));
}

void allo_mark(const char *name)
{
	uint32_t text = text_of(name);
	struct allo_thread_state *thread = text ? allo_enter() : NULL;

	if (!thread)
		return;
	write_mark(thread, text);
	allo_leave(thread);
}

/* A thread that is in the recording and outside of all hooks, or NULL. */
static struct allo_thread_state *find_idle(void)
{
	struct allo_thread_state *thread = __atomic_load_n(&allo_process->threads,
							   __ATOMIC_ACQUIRE);

	while (thread && (thread->session != allo_session || !thread->tail || thread->is_nested ||
			  __atomic_load_n(&thread->phase, __ATOMIC_ACQUIRE) != ALLO_THREAD_IDLE))
		thread = thread->next;
	return thread;
}

/* Freezes all hooks, so it may write into the stream of any thread.  A stream for the control
 * thread would make the recording multi-threaded, and then every event needs a time. */
bool allo_annotations_mark(const char *name)
{
	uint32_t text = text_of(name);
	struct allo_thread_state *thread;

	if (!text)
		return allo_set_error("too many labels and marks: the table of names is full");
	if (!allo_safepoint_freeze(NULL))
		return allo_set_error("nothing is being recorded");
	thread = find_idle();
	if (thread)
		write_mark(thread, text);
	else if (allo_process->marks_waiting < ALLO_MARKS_WAITING)
		allo_process->waiting_marks[allo_process->marks_waiting++] = text;
	allo_safepoint_thaw();
	return true;
}

void allo_annotations_write_pending_marks(struct allo_thread_state *thread)
{
	uint32_t count = __atomic_exchange_n(&allo_process->marks_waiting, 0, __ATOMIC_ACQ_REL);

	for (uint32_t i = 0; i < count; i++)
		write_mark(thread, allo_process->waiting_marks[i]);
}

/* Inlined, because the caller's frame must exist while the stack is walked. */
static inline __attribute__((always_inline)) void write_event(const char *name, uint64_t weight,
							      struct allo_hook_frame frame)
{
	uint32_t text = text_of(name), number, stack;
	struct allo_thread_state *thread = allo_enter();
	uint8_t *at;

	if (!thread)
		return;
	allo_count(&allo_process->events, 1);
	allo_count(&allo_process->units, weight);
	if (thread->tail) {
		number = number_of(thread, text, define_text);
		stack = allo_record_stack(thread, frame);
		at = allo_varint_put(note_begin(thread, ALLO_NOTE_EVENT), number);
		at = allo_varint_put(at, stack);
		allo_event_end(thread, allo_varint_put(at, weight));
	}
	allo_leave(thread);
}

void allo_event(uint64_t weight)
{
	write_event(NULL, weight, ALLO_FRAME());
}

void allo_event_named(const char *name, uint64_t weight)
{
	write_event(name, weight, ALLO_FRAME());
}

bool allo_get_event_stats(struct allo_event_stats *stats)
{
	*stats = (struct allo_event_stats){ 0 };
	if (!allo_is_recording())
		return allo_set_error("nothing is being recorded");
	stats->total_events = __atomic_load_n(&allo_process->events, __ATOMIC_RELAXED);
	stats->total_units = __atomic_load_n(&allo_process->units, __ATOMIC_RELAXED);
	return true;
}
