/*
 * legacy_cpu.c - CPU profiles of gperftools: binary words of 4 or 8 bytes in the program's byte
 * order.
 *
 *     0 3 0 PERIOD 0           the head; PERIOD is in microseconds, the third word is 1 for Java
 *     COUNT DEPTH ADDRESS...   a stack
 *     0 1 0                    the end; then the mapped files, or Java's names, as text
 */
#include "base/assert.h"
#include "readers/legacy/legacy_profile.h"

#include <endian.h>

enum { HEAD_WORDS = 5, MOST_DEPTH = 1 << 16 };

struct words {
	size_t size; /* bytes of a word */
	bool is_big_endian;
};

static const struct words kinds[] = { { 8, false }, { 8, true }, { 4, false }, { 4, true } };

static uint64_t word_at(const char *data, size_t index, const struct words *words)
{
	uint64_t wide;
	uint32_t narrow;

	if (words->size == 8) {
		memcpy(&wide, data + index * 8, 8);
		return words->is_big_endian ? be64toh(wide) : le64toh(wide);
	}
	memcpy(&narrow, data + index * 4, 4);
	return words->is_big_endian ? be32toh(narrow) : le32toh(narrow);
}

/* The kind of words of a file with this head; NULL if it is none. */
static const struct words *words_of(struct allo_text head)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct words *words = &kinds[i];

		if (head.len >= HEAD_WORDS * words->size && word_at(head.data, 0, words) == 0 &&
		    word_at(head.data, 1, words) == 3 && word_at(head.data, 2, words) <= 1 &&
		    word_at(head.data, 3, words) > 0 && word_at(head.data, 4, words) == 0)
			return words;
	}
	return NULL;
}

bool allo_legacy_is_cpu(struct allo_text head)
{
	return words_of(head) != NULL;
}

struct cpu {
	struct allo_legacy *legacy;
	const struct words *words;
	bool is_java;
	int64_t period_ns;
};

static bool fail_cut(const struct cpu *cpu, struct allo_error *err)
{
	struct allo_input *in = cpu->legacy->text.in;

	if (allo_failed(err))
		return false;
	allo_fail(err, ALLO_FORMAT, allo_input_pos_at(in, in->end),
		  "the file ends in the middle of a stack");
	return allo_hint(err, "the file is truncated; copy it again");
}

/* Whether `count` words are at the front of the input. */
static bool has_words(const struct cpu *cpu, size_t count, struct allo_error *err)
{
	struct allo_input *in = cpu->legacy->text.in;

	return allo_input_want(in, count * cpu->words->size, err) &&
	       allo_input_unread(in) >= count * cpu->words->size;
}

static bool read_head(struct cpu *cpu, struct allo_error *err)
{
	struct allo_input *in = cpu->legacy->text.in;
	uint64_t period;

	cpu->words = words_of((struct allo_text){ in->next, allo_input_unread(in) });
	ALLO_ASSERT(cpu->words != NULL);
	cpu->is_java = word_at(in->next, 2, cpu->words) == 1;
	period = word_at(in->next, 3, cpu->words);
	if (period > INT64_MAX / 1000)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(in),
				 "a period of %llu microseconds is impossible",
				 (unsigned long long)period);
	cpu->period_ns = (int64_t)period * 1000;
	in->next += HEAD_WORDS * cpu->words->size;
	return allo_legacy_add_metric(cpu->legacy, ALLO_TEXT("samples"), ALLO_TEXT("count"), err) &&
	       allo_legacy_add_metric(cpu->legacy, ALLO_TEXT("cpu"), ALLO_TEXT("nanoseconds"),
				      err) &&
	       allo_legacy_set_period(cpu->legacy, ALLO_TEXT("cpu"), ALLO_TEXT("nanoseconds"),
				      cpu->period_ns, err);
}

static bool add_stack(struct cpu *cpu, uint64_t count, size_t depth, struct allo_error *err)
{
	const char *data = cpu->legacy->text.in->next;
	enum allo_legacy_addresses kind = cpu->is_java ? ALLO_LEGACY_CALLS
						       : ALLO_LEGACY_RETURNS_ABOVE_LEAF;
	struct allo_heap_sample sample = { 0 };

	allo_heap_text_begin_stack(&cpu->legacy->text);
	for (size_t i = 0; i < depth; i++) {
		if (!allo_legacy_add_address(cpu->legacy, word_at(data, 2 + i, cpu->words), i, kind,
					     err))
			return false;
	}
	sample.stack = allo_heap_text_end_stack(&cpu->legacy->text, err);
	sample.counts.live.blocks = (int64_t)count;
	sample.counts.live.bytes = allo_legacy_times(cpu->legacy, (int64_t)count, cpu->period_ns);
	return !allo_failed(err) && allo_legacy_add_sample(cpu->legacy, &sample, err);
}

/* Reads stacks up to the end mark, or to the end of the file, where some programs write none. */
static bool read_stacks(struct cpu *cpu, struct allo_error *err)
{
	struct allo_input *in = cpu->legacy->text.in;

	for (;;) {
		uint64_t count, depth;

		if (!has_words(cpu, 2, err))
			return allo_input_unread(in) == 0 ? !allo_failed(err) : fail_cut(cpu, err);
		count = word_at(in->next, 0, cpu->words);
		depth = word_at(in->next, 1, cpu->words);
		if (depth > MOST_DEPTH || count > INT64_MAX)
			return allo_fail(err, ALLO_FORMAT, allo_input_pos(in),
					 "a stack of %llu frames, seen %llu times, is impossible",
					 (unsigned long long)depth, (unsigned long long)count);
		if (!has_words(cpu, 2 + (size_t)depth, err))
			return fail_cut(cpu, err);
		if (count == 0 && depth == 1 && word_at(in->next, 2, cpu->words) == 0) {
			in->next += 3 * cpu->words->size;
			return true;
		}
		if (!add_stack(cpu, count, (size_t)depth, err))
			return false;
		in->next += (2 + depth) * cpu->words->size;
	}
}

/* The address that called the leaf of nearly all samples; 0: there is none. */
static bool find_handler(const struct allo_legacy *legacy, uint32_t *handler,
			 struct allo_error *err)
{
	enum { SAMPLES_PER_EXCEPTION = 32 };
	const struct allo_heap_text *text = &legacy->text;
	ALLO_VEC(uint32_t) counts = { 0 }; /* by number of the address */
	size_t samples = text->samples.len;

	*handler = 0;
	if (!allo_vec_cover(&counts, text->addresses.len + 1)) {
		allo_vec_done(&counts);
		return allo_fail_memory(err);
	}
	for (size_t i = 0; i < samples; i++)
		counts.at[allo_legacy_caller(legacy, &text->samples.at[i])]++;
	for (uint32_t number = 1; number <= text->addresses.len && *handler == 0; number++) {
		if (counts.at[number] > 0 &&
		    counts.at[number] >= samples - samples / SAMPLES_PER_EXCEPTION)
			*handler = number;
	}
	allo_vec_done(&counts);
	return true;
}

/*
 * The profiler's signal handler may be in the stacks as the caller of the leaf, which comes from
 * the signal's own data.  As pprof does, drops such frames, at most two of each stack.
 */
static bool drop_handlers(struct allo_legacy *legacy, struct allo_error *err)
{
	for (int round = 0; round < 2; round++) {
		uint32_t handler;

		if (!find_handler(legacy, &handler, err))
			return false;
		for (size_t i = 0; handler != 0 && i < legacy->text.samples.len; i++) {
			struct allo_heap_sample *sample = &legacy->text.samples.at[i];

			if (allo_legacy_caller(legacy, sample) == handler &&
			    !allo_legacy_drop_caller(legacy, sample, err))
				return false;
		}
	}
	return true;
}

bool allo_legacy_read_cpu(struct allo_legacy *legacy, struct allo_error *err)
{
	struct cpu cpu = { .legacy = legacy };
	struct allo_input *in = legacy->text.in;

	allo_input_set_binary(in);
	if (!read_head(&cpu, err) || !read_stacks(&cpu, err))
		return false;
	if (cpu.is_java)
		return allo_legacy_read_java_names(legacy, (struct allo_text){ in->next, 0 }, err);
	return drop_handlers(legacy, err) && allo_legacy_drop_second_leaves(legacy, err) &&
	       allo_heap_text_read_maps(&legacy->text, err);
}
