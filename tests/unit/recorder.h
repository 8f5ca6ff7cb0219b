/*
 * recorder.h - writes raw recordings in memory like the capture runtime does.
 */
#ifndef ALLO_TESTS_RECORDER_H
#define ALLO_TESTS_RECORDER_H

#include "wire/allocator_state.h"
#include "wire/events.h"
#include "wire/layout.h"
#include "wire/stacks.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDER_STREAMS = 16 };

struct recorder_stream {
	size_t slot; /* offset of its tail */
	struct allo_event_state state;
	bool is_timed;
};

struct recorder {
	uint8_t *file;
	size_t slots;
	struct recorder_stream streams[RECORDER_STREAMS]; /* by number; [0] is unused */
	uint32_t stream_count;
	uint32_t nodes;
	uint64_t pc; /* of the last node */
};

/* Every recording has these streams; threads follow. */
enum { RECORDER_STACKS = 1, RECORDER_FACTS = 2 };

static inline struct allo_wire_head *recorder_head(struct recorder *recorder)
{
	return (struct allo_wire_head *)recorder->file;
}

static inline struct allo_wire_slot *recorder_slot(struct recorder *recorder, size_t slot)
{
	return (struct allo_wire_slot *)(recorder->file + slot * ALLO_SLOT_SIZE);
}

static inline struct allo_wire_slot *recorder_tail(struct recorder *recorder, uint32_t stream)
{
	return recorder_slot(recorder, recorder->streams[stream].slot);
}

static inline size_t recorder_add_slot(struct recorder *recorder)
{
	recorder->file = realloc(recorder->file, (recorder->slots + 1) * ALLO_SLOT_SIZE);
	if (!recorder->file)
		abort();
	memset(recorder->file + recorder->slots * ALLO_SLOT_SIZE, 0, ALLO_SLOT_SIZE);
	recorder->slots++;
	recorder_head(recorder)->slots = recorder->slots;
	return recorder->slots - 1;
}

static inline size_t recorder_size(const struct recorder *recorder)
{
	return recorder->slots * ALLO_SLOT_SIZE;
}

static inline uint32_t recorder_stream(struct recorder *recorder, enum allo_stream_kind kind,
				       uint32_t thread, const char *name)
{
	uint32_t number = ++recorder->stream_count;
	struct allo_wire_slot *tail;

	if (number >= RECORDER_STREAMS)
		abort();
	recorder->streams[number].slot = recorder_add_slot(recorder);
	tail = recorder_tail(recorder, number);
	tail->magic = ALLO_SLOT_MAGIC;
	tail->kind = (uint8_t)kind;
	tail->stream = number;
	tail->thread = thread;
	tail->is_fresh = 1;
	tail->from[0] = kind == ALLO_STREAM_STACKS ? 1 : 0;
	strncpy(tail->name, name, sizeof(tail->name) - 1);
	recorder_head(recorder)->streams = number;
	return number;
}

static inline struct allo_wire_text recorder_text(struct recorder *recorder, uint32_t *at,
						  const char *text, size_t len)
{
	struct allo_wire_text place = { *at, (uint32_t)len };

	memcpy(recorder->file + *at, text, len);
	*at += (uint32_t)len;
	return place;
}

/* 1 tick is 1 ns, and the program runs from tick 1000 to tick 1000000. */
static inline void recorder_init(struct recorder *recorder)
{
	static const char arguments[] = "server\0--port\00080";
	uint32_t at = sizeof(struct allo_wire_head);
	struct allo_wire_head *head;

	*recorder = (struct recorder){ 0 };
	recorder_add_slot(recorder);
	head = recorder_head(recorder);
	memcpy(head->magic, ALLO_HEAD_MAGIC, sizeof(head->magic));
	head->version = ALLO_WIRE_VERSION;
	head->byte_order = ALLO_BYTE_ORDER;
	head->slot_size = ALLO_SLOT_SIZE;
	head->arch = ALLO_ARCH_X86_64;
	head->pid = 4711;
	head->parent_pid = 4700;
	head->start_realtime_ns = 1700000000000000000;
	head->first = (struct allo_wire_moment){ 1000, 5000000 };
	head->last = (struct allo_wire_moment){ 1000000, 5999000 };
	head->end = ALLO_END_EXIT;
	head->program = recorder_text(recorder, &at, "/usr/bin/server", 15);
	head->folder = recorder_text(recorder, &at, "/srv", 4);
	head->host = recorder_text(recorder, &at, "box", 3);
	head->arguments = recorder_text(recorder, &at, arguments, sizeof(arguments));
	recorder_stream(recorder, ALLO_STREAM_STACKS, 0, "");
	recorder_stream(recorder, ALLO_STREAM_FACTS, 0, "");
}

static inline void recorder_done(struct recorder *recorder)
{
	free(recorder->file);
	*recorder = (struct recorder){ 0 };
}

/* Copies the tail to a new slot, sealed; `reuses_tail` is false if the process is killed before it
 * reuses the tail. */
static inline void recorder_seal(struct recorder *recorder, uint32_t stream, bool reuses_tail)
{
	size_t slot = recorder_add_slot(recorder);
	struct allo_wire_slot *tail = recorder_tail(recorder, stream);

	memcpy(recorder_slot(recorder, slot), tail, ALLO_SLOT_SIZE);
	recorder_slot(recorder, slot)->is_sealed = 1;
	if (!reuses_tail)
		return;
	tail->sequence++;
	tail->used = 0;
	tail->is_fresh = 0;
	if (tail->kind == ALLO_STREAM_EVENTS) {
		tail->from[0] = recorder->streams[stream].state.ticks;
		tail->from[1] = recorder->streams[stream].state.pointer;
	} else if (tail->kind == ALLO_STREAM_STACKS) {
		tail->from[0] = recorder->nodes + 1;
		tail->from[1] = recorder->pc;
	}
}

/* Appends the bytes [bytes, end). */
static inline void recorder_put(struct recorder *recorder, uint32_t stream, const uint8_t *bytes,
				const uint8_t *end)
{
	struct allo_wire_slot *tail = recorder_tail(recorder, stream);

	memcpy((uint8_t *)(tail + 1) + tail->used, bytes, (size_t)(end - bytes));
	tail->used += (uint32_t)(end - bytes);
}

/* Seals the tail if `len` more bytes do not fit. */
static inline void recorder_want(struct recorder *recorder, uint32_t stream, size_t bytes)
{
	if (recorder_tail(recorder, stream)->used + bytes > ALLO_SLOT_ROOM)
		recorder_seal(recorder, stream, true);
}

/* Stacks and facts. */

/* Returns the number of the node; `escape` may be 0. */
static inline uint32_t recorder_node(struct recorder *recorder, uint32_t parent, uint64_t pc,
				     enum allo_stack_escape escape)
{
	uint8_t bytes[ALLO_EVENT_MAX], *at = bytes;

	recorder_want(recorder, RECORDER_STACKS, ALLO_EVENT_MAX);
	recorder->nodes++;
	if (escape) {
		*at++ = 0;
		*at++ = (uint8_t)escape;
	}
	at = allo_varint_put(at, recorder->nodes - parent);
	at = allo_varint_put(at, allo_zigzag(pc - recorder->pc));
	recorder->pc = pc;
	recorder_put(recorder, RECORDER_STACKS, bytes, at);
	return recorder->nodes;
}

/* A frame of an interpreter. */
static inline uint32_t recorder_function_node(struct recorder *recorder, uint32_t parent,
					      uint32_t function, uint32_t line)
{
	uint8_t bytes[ALLO_EVENT_MAX] = { 0, ALLO_STACK_FUNCTION }, *at = bytes + 2;

	recorder_want(recorder, RECORDER_STACKS, ALLO_EVENT_MAX);
	recorder->nodes++;
	at = allo_varint_put(at, recorder->nodes - parent);
	at = allo_varint_put(at, function);
	recorder_put(recorder, RECORDER_STACKS, bytes, allo_varint_put(at, line));
	return recorder->nodes;
}

static inline void recorder_generation(struct recorder *recorder, uint64_t generation)
{
	uint8_t bytes[ALLO_EVENT_MAX] = { 0, ALLO_STACK_GENERATION };

	recorder_put(recorder, RECORDER_STACKS, bytes, allo_varint_put(bytes + 2, generation));
}

static inline void recorder_fact(struct recorder *recorder, enum allo_fact fact,
				 const uint8_t *rest, size_t len)
{
	uint8_t bytes[ALLO_EVENT_MAX] = { (uint8_t)fact };

	recorder_put(recorder, RECORDER_FACTS, bytes, allo_varint_put(bytes + 1, len));
	recorder_put(recorder, RECORDER_FACTS, rest, rest + len);
}

/* A module whose load bias is its start. */
static inline void recorder_module(struct recorder *recorder, uint64_t generation, uint64_t start,
				   uint64_t end, const char *path)
{
	static const uint8_t id[] = { 0xde, 0xad, 0xbe, 0xef };
	uint8_t rest[256], *at = rest;

	at = allo_varint_put(at, generation);
	at = allo_varint_put(at, start);
	at = allo_varint_put(at, start);
	at = allo_varint_put(at, end);
	at = allo_varint_put(at, sizeof(id));
	memcpy(at, id, sizeof(id));
	at += sizeof(id);
	memcpy(at, path, strlen(path));
	at += strlen(path);
	recorder_fact(recorder, ALLO_FACT_MODULE, rest, (size_t)(at - rest));
}

/* A function of Python. */
static inline void recorder_function(struct recorder *recorder, uint64_t number,
				     uint32_t first_line, const char *file, const char *name)
{
	uint8_t rest[256], *at = allo_varint_put(rest, number);

	at = allo_varint_put(at, ALLO_LANGUAGE_PYTHON);
	at = allo_varint_put(at, first_line);
	at = allo_varint_put(at, strlen(file));
	memcpy(at, file, strlen(file));
	at += strlen(file);
	memcpy(at, name, strlen(name));
	recorder_fact(recorder, ALLO_FACT_FUNCTION, rest, (size_t)(at - rest) + strlen(name));
}

/* A Python whose functions are recorded, in the module at an address. */
static inline void recorder_interpreter(struct recorder *recorder,
					enum allo_interpreter_state state, uint64_t address)
{
	uint8_t rest[64], *at = allo_varint_put(rest, ALLO_LANGUAGE_PYTHON);

	at = allo_varint_put(at, state);
	at = allo_varint_put(at, true);
	at = allo_varint_put(at, address);
	memcpy(at, "3.13.1", 6);
	recorder_fact(recorder, ALLO_FACT_INTERPRETER, rest, (size_t)(at - rest) + 6);
}

/* An allocator "mimalloc" of a library. */
static inline void recorder_allocator(struct recorder *recorder, enum allo_allocator_state state,
				      const char *path)
{
	uint8_t rest[128], *at = allo_varint_put(rest, state);

	at = allo_varint_put(at, 8);
	memcpy(at, "mimalloc", 8);
	memcpy(at + 8, path, strlen(path));
	recorder_fact(recorder, ALLO_FACT_ALLOCATOR, rest, (size_t)(at - rest) + 8 + strlen(path));
}

/* A text for notes. */
static inline void recorder_noted_text(struct recorder *recorder, uint64_t number, const char *text)
{
	uint8_t rest[256], *at = allo_varint_put(rest, number);

	memcpy(at, text, strlen(text));
	recorder_fact(recorder, ALLO_FACT_TEXT, rest, (size_t)(at - rest) + strlen(text));
}

/* A set of labels: a parent set and one more label, by the numbers of its texts. */
static inline void recorder_noted_set(struct recorder *recorder, uint64_t number, uint64_t parent,
				      uint64_t key, uint64_t value)
{
	uint8_t rest[4 * ALLO_VARINT_MAX], *at = rest;

	at = allo_varint_put(at, number);
	at = allo_varint_put(at, parent);
	at = allo_varint_put(at, key);
	at = allo_varint_put(at, value);
	recorder_fact(recorder, ALLO_FACT_LABELS, rest, (size_t)(at - rest));
}

/* Events. */

static inline uint32_t recorder_thread(struct recorder *recorder, uint32_t thread, const char *name)
{
	uint32_t stream = recorder_stream(recorder, ALLO_STREAM_EVENTS, thread, name);

	recorder->streams[stream].state.ticks = recorder_head(recorder)->first.ticks;
	recorder_tail(recorder, stream)->from[0] = recorder_head(recorder)->first.ticks;
	return stream;
}

static inline void recorder_escape(struct recorder *recorder, uint32_t stream,
				   enum allo_escape escape)
{
	uint8_t bytes[2] = { 0, (uint8_t)escape };

	recorder_want(recorder, stream, ALLO_EVENT_MAX);
	recorder_put(recorder, stream, bytes, bytes + 2);
	if (escape == ALLO_ESCAPE_TIMED || escape == ALLO_ESCAPE_UNTIMED)
		recorder->streams[stream].is_timed = escape == ALLO_ESCAPE_TIMED;
}

/* One of the functions below writes an event; its time comes before or after it. */
static inline uint8_t *recorder_begin(struct recorder *recorder, uint32_t stream, uint8_t *at,
				      uint64_t ticks)
{
	recorder_want(recorder, stream, ALLO_EVENT_MAX);
	if (recorder->streams[stream].is_timed)
		return at;
	return allo_put_lone_time(&recorder->streams[stream].state, at, ticks);
}

static inline void recorder_end(struct recorder *recorder, uint32_t stream, const uint8_t *bytes,
				uint8_t *at, uint64_t ticks)
{
	if (recorder->streams[stream].is_timed)
		at = allo_put_time(&recorder->streams[stream].state, at, ticks);
	recorder_put(recorder, stream, bytes, at);
}

static inline void recorder_alloc(struct recorder *recorder, uint32_t stream, uint64_t ticks,
				  uint64_t pointer, uint64_t size, uint32_t stack)
{
	uint8_t bytes[2 * ALLO_EVENT_MAX], *at = recorder_begin(recorder, stream, bytes, ticks);

	at = allo_put_alloc(&recorder->streams[stream].state, at, pointer, size, stack);
	recorder_end(recorder, stream, bytes, at, ticks);
}

static inline void recorder_free(struct recorder *recorder, uint32_t stream, uint64_t ticks,
				 uint64_t pointer)
{
	uint8_t bytes[2 * ALLO_EVENT_MAX], *at = recorder_begin(recorder, stream, bytes, ticks);

	at = allo_put_free(&recorder->streams[stream].state, at, pointer);
	recorder_end(recorder, stream, bytes, at, ticks);
}

/* Starts a realloc; an alloc or one of the ends below must follow. */
static inline void recorder_resize(struct recorder *recorder, uint32_t stream, uint64_t ticks,
				   uint64_t pointer)
{
	uint8_t bytes[2 * ALLO_EVENT_MAX], *at = recorder_begin(recorder, stream, bytes, ticks);

	at = allo_put_resize(&recorder->streams[stream].state, at, pointer);
	recorder_end(recorder, stream, bytes, at, ticks);
}

/* ALLO_ESCAPE_FAILED or ALLO_ESCAPE_GONE. */
static inline void recorder_resized(struct recorder *recorder, uint32_t stream, uint64_t ticks,
				    enum allo_escape outcome)
{
	uint8_t bytes[2 * ALLO_EVENT_MAX], *at = recorder_begin(recorder, stream, bytes, ticks);

	*at++ = 0;
	*at++ = (uint8_t)outcome;
	recorder_end(recorder, stream, bytes, at, ticks);
}

static inline void recorder_note(struct recorder *recorder, uint32_t stream, uint64_t ticks,
				 enum allo_wire_note note, const uint64_t *numbers, size_t count)
{
	uint8_t bytes[2 * ALLO_EVENT_MAX], *at = recorder_begin(recorder, stream, bytes, ticks);

	*at++ = 0;
	*at++ = ALLO_ESCAPE_NOTE;
	*at++ = (uint8_t)note;
	for (size_t i = 0; i < count; i++)
		at = allo_varint_put(at, numbers[i]);
	recorder_end(recorder, stream, bytes, at, ticks);
}

static inline void recorder_labels(struct recorder *recorder, uint32_t stream, uint64_t ticks,
				   uint64_t set)
{
	recorder_note(recorder, stream, ticks, ALLO_NOTE_LABELS, &set, 1);
}

static inline void recorder_mark(struct recorder *recorder, uint32_t stream, uint64_t ticks,
				 uint64_t text)
{
	recorder_note(recorder, stream, ticks, ALLO_NOTE_MARK, &text, 1);
}

static inline void recorder_own_event(struct recorder *recorder, uint32_t stream, uint64_t ticks,
				      uint64_t text, uint64_t stack, uint64_t weight)
{
	recorder_note(recorder, stream, ticks, ALLO_NOTE_EVENT,
		      (const uint64_t[]){ text, stack, weight }, 3);
}

#endif
