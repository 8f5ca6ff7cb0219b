/* process_files.c - status, io, smaps_rollup, stat and limits. */
#include "telemetry/process_files.h"

#include "base/assert.h"

/* The key of a line, and where its number goes. */
struct field {
	struct allo_text key;
	size_t offset;
};

static void put(void *out, size_t offset, uint64_t value)
{
	memcpy((char *)out + offset, &value, sizeof(value));
}

/* Takes the next word from *rest; any number of blanks separates words. */
static bool next_word(struct allo_text *rest, struct allo_text *word)
{
	*rest = allo_text_trim(*rest);
	if (rest->len == 0)
		return false;
	*word = *rest;
	for (size_t i = 0; i < rest->len; i++) {
		if (allo_is_space(rest->data[i])) {
			word->len = i;
			break;
		}
	}
	*rest = allo_text_from(*rest, word->len);
	return true;
}

static bool next_number(struct allo_text *rest, uint64_t *number)
{
	struct allo_text word;

	return next_word(rest, &word) && allo_text_u64(word, number);
}

uint64_t allo_known_sum(uint64_t one, uint64_t other)
{
	return one == ALLO_UNKNOWN || other == ALLO_UNKNOWN ? ALLO_UNKNOWN : one + other;
}

bool allo_take_number_line(struct allo_text line, struct allo_text *key, uint64_t *number)
{
	struct allo_text rest;

	return allo_text_cut(line, ':', key, &rest) && next_number(&rest, number);
}

static const struct field *find_field(const struct field *fields, size_t count,
				      struct allo_text key)
{
	for (size_t i = 0; i < count; i++) {
		if (key.len == fields[i].key.len && key.data[0] == fields[i].key.data[0] &&
		    allo_text_equal(key, fields[i].key))
			return &fields[i];
	}
	return NULL;
}

/* Reads "Key: 123" lines; each number is multiplied by `unit`. */
static void read_fields(struct allo_proc_reader *reader, const struct field *fields, size_t count,
			uint64_t unit, void *out)
{
	struct allo_text line, key, rest;
	uint64_t number;

	while (allo_proc_reader_next(reader, &line)) {
		const struct field *field;

		if (!allo_text_cut(line, ':', &key, &rest))
			continue;
		field = key.len > 0 ? find_field(fields, count, key) : NULL;
		if (field && next_number(&rest, &number) && number <= UINT64_MAX / unit)
			put(out, field->offset, number * unit);
	}
}

#define COUNT(fields) (sizeof(fields) / sizeof(*(fields)))
#define FIELD(type, name, key)                                                                     \
	{                                                                                          \
		ALLO_TEXT_INIT(key), offsetof(struct type, name)                                   \
	}

void allo_read_status(struct allo_proc_reader *reader, struct allo_process_memory *process)
{
#define IN(name, key) FIELD(allo_process_memory, name, key)
	/* clang-format off */
	static const struct field fields[] = {
		IN(threads, "Threads"),
		IN(virtual_peak_bytes, "VmPeak"),
		IN(virtual_bytes, "VmSize"),
		IN(locked_bytes, "VmLck"),
		IN(pinned_bytes, "VmPin"),
		IN(rss_peak_bytes, "VmHWM"),
		IN(rss_bytes, "VmRSS"),
		IN(rss_anon_bytes, "RssAnon"),
		IN(rss_file_bytes, "RssFile"),
		IN(rss_shmem_bytes, "RssShmem"),
		IN(data_bytes, "VmData"),
		IN(stack_bytes, "VmStk"),
		IN(text_bytes, "VmExe"),
		IN(library_bytes, "VmLib"),
		IN(pagetable_bytes, "VmPTE"),
		IN(swap_bytes, "VmSwap"),
		IN(hugetlb_bytes, "HugetlbPages"),
	};
	/* clang-format on */
#undef IN
	read_fields(reader, fields, COUNT(fields), 1024, process);
	/* The only field that is not in kilobytes. */
	if (process->threads != ALLO_UNKNOWN)
		process->threads /= 1024;
}

void allo_read_io(struct allo_proc_reader *reader, struct allo_process_memory *process)
{
#define IN(name, key) FIELD(allo_process_memory, name, key)
	/* clang-format off */
	static const struct field fields[] = {
		IN(read_call_bytes, "rchar"),
		IN(write_call_bytes, "wchar"),
		IN(read_calls, "syscr"),
		IN(write_calls, "syscw"),
		IN(read_storage_bytes, "read_bytes"),
		IN(write_storage_bytes, "write_bytes"),
		IN(cancelled_write_bytes, "cancelled_write_bytes"),
	};
	/* clang-format on */
#undef IN
	read_fields(reader, fields, COUNT(fields), 1, process);
}

void allo_read_smaps_rollup(struct allo_proc_reader *reader, struct allo_page_memory *pages)
{
#define IN(name, key) FIELD(allo_page_memory, name, key)
	/* clang-format off */
	static const struct field fields[] = {
		IN(rss_bytes, "Rss"),
		IN(pss_bytes, "Pss"),
		IN(pss_dirty_bytes, "Pss_Dirty"),
		IN(pss_anon_bytes, "Pss_Anon"),
		IN(pss_file_bytes, "Pss_File"),
		IN(pss_shmem_bytes, "Pss_Shmem"),
		IN(shared_clean_bytes, "Shared_Clean"),
		IN(shared_dirty_bytes, "Shared_Dirty"),
		IN(private_clean_bytes, "Private_Clean"),
		IN(private_dirty_bytes, "Private_Dirty"),
		IN(referenced_bytes, "Referenced"),
		IN(anonymous_bytes, "Anonymous"),
		IN(ksm_bytes, "KSM"),
		IN(lazyfree_bytes, "LazyFree"),
		IN(anon_huge_bytes, "AnonHugePages"),
		IN(shmem_huge_bytes, "ShmemPmdMapped"),
		IN(file_huge_bytes, "FilePmdMapped"),
		IN(shared_hugetlb_bytes, "Shared_Hugetlb"),
		IN(private_hugetlb_bytes, "Private_Hugetlb"),
		IN(swap_bytes, "Swap"),
		IN(swap_pss_bytes, "SwapPss"),
		IN(locked_bytes, "Locked"),
	};
	/* clang-format on */
#undef IN
	read_fields(reader, fields, COUNT(fields), 1024, pages);
	pages->uss_bytes = allo_known_sum(pages->private_clean_bytes, pages->private_dirty_bytes);
}

/* The second field, the name in brackets, may hold anything, even brackets and newlines.  So the
 * third field begins after the last bracket. */
void allo_read_stat(struct allo_proc_reader *reader, uint64_t ticks_per_second,
		    struct allo_process_memory *process, uint64_t *start_ticks)
{
	enum { MINOR = 10, MAJOR = 12, USER = 14, SYSTEM = 15, START = 22 };
	uint64_t numbers[START + 1] = { 0 };
	struct allo_text name, rest, word;
	unsigned field = 3;

	ALLO_ASSERT(ticks_per_second > 0);
	if (!allo_text_cut_last(allo_proc_reader_rest(reader), ')', &name, &rest))
		return;
	for (; field <= START && next_word(&rest, &word); field++) {
		/* Some fields are negative; none of those that are used. */
		if (!allo_text_u64(word, &numbers[field]))
			numbers[field] = 0;
	}
	if (field <= START)
		return;
	process->minor_faults = numbers[MINOR];
	process->major_faults = numbers[MAJOR];
	process->cpu_ns = (numbers[USER] + numbers[SYSTEM]) * (1000000000 / ticks_per_second);
	*start_ticks = numbers[START];
}

/* "Max open files            1024                 1048576              files" */
void allo_read_limits(struct allo_proc_reader *reader, struct allo_process_memory *process)
{
	struct allo_text line;

	while (allo_proc_reader_next(reader, &line)) {
		/* "unlimited" is not a number and leaves the field unknown. */
		if (allo_text_skip(&line, ALLO_TEXT("Max open files ")))
			next_number(&line, &process->max_files);
		else if (allo_text_skip(&line, ALLO_TEXT("Max address space ")))
			next_number(&line, &process->virtual_max_bytes);
	}
}
