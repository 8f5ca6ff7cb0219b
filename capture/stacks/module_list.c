/* module_list.c - see module_list.h. */
#include "capture/stacks/module_list.h"
#include "capture/stacks/memory_maps.h"
#include "capture/stacks/rules.h"
#include "capture/stacks/stack_bounds.h"
#include "capture/system.h"
#include "capture/time/clock.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>

enum {
	MODULES_MAX = 1024,
	NAMES_SIZE = 64 << 10, /* bytes for the paths of the start's modules */
	PAGE = 4096,           /* the smallest page size */
	PIECE = 32,            /* words that are copied at once */
	BEGIN = 16,            /* words that are copied for each lookup, with little stack */
	UNNAMED = UINT32_MAX,
	FREE_SEARCHES = 64, /* without a result, before there are pauses */
	PAUSE = 20,         /* times the duration of such a search: it takes 5 % of the time */
};

struct entry {
	uint32_t sequence; /* odd: a writer has it */
	uint32_t name;     /* offset in `names`, or UNNAMED: it was not there at the start */
	uint64_t start, end, bias, unwind_header, identity;
	uint64_t begin;   /* a hash of its ELF header and the first program header in memory */
	uint64_t headers; /* a hash of all its headers; 0: they are not checked */
};

/* Not wiped at fork: a child has the modules of its parent. */
static struct entry entries[MODULES_MAX];
static uint32_t used, next_replaced;
static char names[NAMES_SIZE];
static uint32_t names_used;

/* Entries. */

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Copies an entry; false if a writer has it. */
static bool copy_entry(const struct entry *from, struct entry *to)
{
	to->sequence = __atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE);
	to->name = __atomic_load_n(&from->name, __ATOMIC_RELAXED);
	to->start = load(&from->start);
	to->end = load(&from->end);
	to->bias = load(&from->bias);
	to->unwind_header = load(&from->unwind_header);
	to->identity = load(&from->identity);
	to->begin = load(&from->begin);
	to->headers = load(&from->headers);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return to->sequence % 2 == 0 &&
	       to->sequence == __atomic_load_n(&from->sequence, __ATOMIC_RELAXED);
}

/* Replaces an entry that was copied, unless another writer has changed it since. */
static void write_entry(struct entry *to, uint32_t sequence, const struct entry *from)
{
	if (sequence % 2 == 1 ||
	    !__atomic_compare_exchange_n(&to->sequence, &sequence, sequence + 1, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&to->name, from->name, __ATOMIC_RELAXED);
	store(&to->start, from->start);
	store(&to->end, from->end);
	store(&to->bias, from->bias);
	store(&to->unwind_header, from->unwind_header);
	store(&to->identity, from->identity);
	store(&to->begin, from->begin);
	store(&to->headers, from->headers);
	__atomic_store_n(&to->sequence, sequence + 2, __ATOMIC_RELEASE);
}

static uint32_t used_entries(void)
{
	uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);

	return count < MODULES_MAX ? count : MODULES_MAX;
}

/* The entry whose module contains an address, or NULL; *found is a copy. */
static struct entry *find_entry(uint64_t address, struct entry *found)
{
	uint32_t count = used_entries();

	for (uint32_t i = 0; i < count; i++) {
		if (address - load(&entries[i].start) <
			    load(&entries[i].end) - load(&entries[i].start) &&
		    copy_entry(&entries[i], found) &&
		    address - found->start < found->end - found->start)
			return &entries[i];
	}
	return NULL;
}

static struct entry *free_entry(void)
{
	for (uint32_t i = 0, count = used_entries(); i < count; i++) {
		if (load(&entries[i].end) == 0)
			return &entries[i];
	}
	if (used_entries() < MODULES_MAX) {
		uint32_t last = __atomic_fetch_add(&used, 1, __ATOMIC_RELEASE);

		if (last < MODULES_MAX)
			return &entries[last];
	}
	return &entries[__atomic_fetch_add(&next_replaced, 1, __ATOMIC_RELAXED) % MODULES_MAX];
}

static void add_entry(const struct entry *entry)
{
	struct entry *place = free_entry();

	write_entry(place, __atomic_load_n(&place->sequence, __ATOMIC_RELAXED), entry);
}

static void remove_entry(struct entry *entry, const struct entry *copy)
{
	write_entry(entry, copy->sequence, &(struct entry){ 0 });
}

/* Headers. */

static bool avoids_copies;

void allo_module_list_avoid_copies(void)
{
	__atomic_store_n(&avoids_copies, true, __ATOMIC_RELAXED);
}

static long copy_by_kernel(uint64_t from, void *to, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)from, size };

	if (__atomic_load_n(&avoids_copies, __ATOMIC_RELAXED))
		return -EPERM;
	return allo_syscall(SYS_process_vm_readv, allo_process_number(), (long)&here, 1,
			    (long)&there, 1, 0);
}

/* Copies memory that another thread may unmap at any time.  False if some of it is not mapped. */
static bool copy_memory(uint64_t from, void *to, size_t size)
{
	const uint64_t page = ~(uint64_t)(PAGE - 1);
	long copied = copy_by_kernel(from, to, size);

	if (copied >= 0 || copied == -EFAULT)
		return copied == (long)size;
	/* A filter refuses the call, or the kernel does not have it.  Now the memory must not go
	 * before it is read. */
	if (!allo_page_is_readable(from & page) || !allo_page_is_readable((from + size - 1) & page))
		return false;
	memcpy(to, (const void *)from, size);
	return true;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

static bool is_elf(const ElfW(Ehdr) * head)
{
	return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0;
}

/* A hash of the first words; 0: not an ELF file, or not mapped. */
static __attribute__((noinline)) uint64_t hash_begin(uint64_t start)
{
	union {
		ElfW(Ehdr) head;
		uint64_t words[BEGIN];
	} begin;
	uint64_t hash = 0;

	if (!copy_memory(start, &begin, sizeof(begin)) || !is_elf(&begin.head))
		return 0;
	for (unsigned i = 0; i < BEGIN; i++)
		hash = mix(hash, begin.words[i]);
	return hash | 1;
}

/* A hash of the ELF header and the program headers, up to the end of the page; 0: not an ELF file,
 * or not mapped. */
static __attribute__((noinline)) uint64_t hash_headers(uint64_t start)
{
	union {
		ElfW(Ehdr) head;
		uint64_t words[PIECE];
	} piece;
	uint64_t hash = 0, size;

	if (!copy_memory(start, &piece, sizeof(piece)) || !is_elf(&piece.head))
		return 0;
	size = piece.head.e_phoff + piece.head.e_phnum * sizeof(ElfW(Phdr));
	size = size < PAGE ? size : PAGE;
	for (uint64_t i = 0; i < size / sizeof(*piece.words); i++) {
		if (i > 0 && i % PIECE == 0 &&
		    !copy_memory(start + i * sizeof(*piece.words), &piece, sizeof(piece)))
			return 0;
		hash = mix(hash, piece.words[i % PIECE]);
	}
	return hash | 1;
}

static void note_headers(struct entry *entry)
{
	entry->begin = hash_begin(entry->start);
	entry->headers = hash_headers(entry->start);
}

/* In a sandbox the kernel cannot be asked; modules are closed there, but others seldom take their
 * place, and allo_module_list_check() has removed those that the program has closed. */
static bool is_loaded(const struct entry *entry)
{
	return entry->headers == 0 || allo_is_confined ||
	       hash_headers(entry->start) == entry->headers;
}

/* The same for each lookup of an address: it needs one system call, and hardly ever errs, since the
 * ELF header tells the size of the file. */
static bool seems_loaded(const struct entry *entry)
{
	return entry->headers == 0 || allo_is_confined || hash_begin(entry->start) == entry->begin;
}

static void begin_segments(struct entry *entry, uint64_t bias)
{
	*entry = (struct entry){ .start = UINT64_MAX, .bias = bias, .name = UNNAMED };
}

static void add_segment(struct entry *entry, const ElfW(Phdr) * part)
{
	uint64_t start = part->p_vaddr + entry->bias, end = start + part->p_memsz;

	if (part->p_type == PT_GNU_EH_FRAME)
		entry->unwind_header = start;
	if (part->p_type != PT_LOAD)
		return;
	start &= ~(uint64_t)(PAGE - 1);
	entry->start = start < entry->start ? start : entry->start;
	entry->end = end > entry->end ? end : entry->end;
}

static bool is_program(const struct entry *entry)
{
	uint64_t headers = getauxval(AT_PHDR);

	return headers - entry->start < entry->end - entry->start;
}

static void take_entry(const struct entry *entry, struct allo_code_module *module)
{
	*module = (struct allo_code_module){
		.start = entry->start,
		.end = entry->end,
		.bias = entry->bias,
		.unwind_header = (const uint8_t *)entry->unwind_header,
		.identity = entry->identity,
		.name = entry->name == UNNAMED ? NULL : names + entry->name,
		.is_program = is_program(entry),
	};
}

/* The modules of the start. */

static uint32_t add_name(const char *name)
{
	size_t len = strlen(name);
	uint32_t at = names_used;

	if (len >= NAMES_SIZE - at)
		return UNNAMED;
	memcpy(names + at, name, len + 1);
	names_used += (uint32_t)len + 1;
	return at;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct entry entry;

	(void)size;
	(void)context;
	begin_segments(&entry, info->dlpi_addr);
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		add_segment(&entry, &info->dlpi_phdr[i]);
	if (entry.start >= entry.end)
		return 0;
	note_headers(&entry);
	entry.identity = mix(entry.headers, entry.start);
	entry.name = add_name(info->dlpi_name);
	add_entry(&entry);
	return 0;
}

void allo_module_list_init(void)
{
	dl_iterate_phdr(add_module, NULL);
}

/* Looking up the others. */

struct search {
	uint64_t address;
	struct allo_maps_line head; /* the last mapping of the start of a file */
	uint64_t end;               /* of the mappings that follow it without a gap */
	struct entry found;
	bool has_head; /* it is that of the address */
};

static bool has_code_at(const ElfW(Phdr) * part, uint64_t bias, uint64_t address)
{
	uint64_t start = part->p_vaddr + bias;

	return part->p_type == PT_LOAD && part->p_flags & PF_X &&
	       address >= (start & ~(uint64_t)(PAGE - 1)) &&
	       address < ((start + part->p_memsz + PAGE - 1) & ~(uint64_t)(PAGE - 1));
}

/* The program headers of a mapping. */
struct table {
	uint64_t start;
	size_t count;
};

static bool copy_part(const struct table *table, size_t part, ElfW(Phdr) * copy)
{
	return copy_memory(table->start + part * sizeof(*copy), copy, sizeof(*copy));
}

static __attribute__((noinline)) bool find_table(const struct allo_maps_line *head,
						 struct table *table)
{
	uint64_t size = head->end - head->start;
	ElfW(Ehdr) copy;

	if (!copy_memory(head->start, &copy, sizeof(copy)) || !is_elf(&copy) ||
	    copy.e_phoff > size || copy.e_phnum > (size - copy.e_phoff) / sizeof(ElfW(Phdr)))
		return false;
	*table = (struct table){ head->start + copy.e_phoff, copy.e_phnum };
	return true;
}

static bool find_bias(const struct table *table, uint64_t start, uint64_t *bias)
{
	ElfW(Phdr) part;

	for (size_t i = 0; i < table->count && copy_part(table, i, &part); i++) {
		if (part.p_type == PT_LOAD) {
			*bias = start + part.p_offset - part.p_vaddr;
			return true;
		}
	}
	return false;
}

/* Reads the segments of the module that begins with a mapping; false if it is not one, or has no
 * code at `address`. */
static bool take_segments(const struct allo_maps_line *head, uint64_t address, struct entry *entry)
{
	bool has_code = false;
	struct table table;
	ElfW(Phdr) part;
	uint64_t bias;

	if (!find_table(head, &table) || !find_bias(&table, head->start, &bias))
		return false;
	begin_segments(entry, bias);
	for (size_t i = 0; i < table.count; i++) {
		if (!copy_part(&table, i, &part))
			return false;
		add_segment(entry, &part);
		has_code |= has_code_at(&part, bias, address);
	}
	return entry->start < entry->end && entry->start == head->start && has_code;
}

/* The module may go meanwhile, and another one take its place: then the hash changes. */
static bool take_head(const struct allo_maps_line *head, uint64_t address, struct entry *entry)
{
	uint64_t headers = hash_headers(head->start);

	if (headers == 0 || !take_segments(head, address, entry))
		return false;
	note_headers(entry);
	entry->identity = mix(headers, head->file);
	return entry->headers == headers;
}

/* Memory without a file may be code whose pages were replaced, as by Node's --use-largepages. */
static bool may_belong(const struct search *search, const struct allo_maps_line *mapping)
{
	return search->end != 0 && mapping->is_executable &&
	       (mapping->file ? mapping->file == search->head.file : mapping->end <= search->end);
}

static void note_mapping(struct search *search, const struct allo_maps_line *mapping)
{
	if (mapping->is_readable && ((mapping->offset == 0 && mapping->file) || mapping->is_vdso)) {
		search->head = *mapping;
		search->end = mapping->end;
	} else if (mapping->start == search->end) {
		search->end = mapping->end;
	}
}

static void search_address(struct allo_memory_maps *maps, void *context)
{
	struct search *search = context;
	struct allo_maps_line mapping;

	while (allo_memory_maps_next(maps, &mapping, NULL, 0)) {
		note_mapping(search, &mapping);
		if (search->address >= mapping.end)
			continue;
		search->has_head = search->address >= mapping.start && may_belong(search, &mapping);
		return;
	}
}

static struct {
	uint32_t useless; /* searches without a result */
	uint64_t next_ns; /* no search before this time */
	bool was_refused; /* an address may be called unknown that is not */
} searches;

/* Generated code, and words that only look like addresses, are in no module.  So that they do not
 * cost more than 5 % of the time, there are pauses after searches without a result. */
static bool may_search(uint64_t now)
{
	if (now >= __atomic_load_n(&searches.next_ns, __ATOMIC_RELAXED))
		return true;
	__atomic_store_n(&searches.was_refused, true, __ATOMIC_RELAXED);
	return false;
}

static void note_useless(uint64_t begin_ns)
{
	uint64_t now = allo_monotonic_ns();

	if (__atomic_add_fetch(&searches.useless, 1, __ATOMIC_RELAXED) > FREE_SEARCHES)
		__atomic_store_n(&searches.next_ns, now + PAUSE * (now - begin_ns),
				 __ATOMIC_RELAXED);
}

/* Never inlined: its variables would stay on the stack of the caller. */
static __attribute__((noinline)) bool search_module(uint64_t address, struct entry *entry)
{
	struct search search = { .address = address };
	uint64_t begin_ns;

	if (allo_is_confined)
		return false;
	begin_ns = allo_monotonic_ns();
	if (!may_search(begin_ns))
		return false;
	/* The headers are read when the lines of the map have left the stack. */
	if (!allo_memory_maps_read(search_address, &search) || !search.has_head ||
	    !take_head(&search.head, address, &search.found)) {
		note_useless(begin_ns);
		return false;
	}
	*entry = search.found;
	add_entry(entry);
	/* Addresses of this module may have got rules as if they were in none. */
	if (__atomic_exchange_n(&searches.was_refused, false, __ATOMIC_RELAXED))
		allo_rules_forget();
	return true;
}

bool allo_module_list_find(uint64_t address, struct allo_code_module *module)
{
	struct entry found, *entry = find_entry(address, &found);

	if (entry && !seems_loaded(&found)) {
		remove_entry(entry, &found);
		entry = NULL;
	}
	if (!entry && !search_module(address, &found))
		return false;
	take_entry(&found, module);
	return true;
}

bool allo_module_list_has(uint64_t start, uint64_t identity)
{
	struct entry found;

	return find_entry(start, &found) && found.start == start && found.identity == identity &&
	       is_loaded(&found);
}

struct naming {
	uint64_t start;
	char *path;
	size_t room, len;
};

static void find_name(struct allo_memory_maps *maps, void *context)
{
	struct naming *naming = context;
	struct allo_maps_line mapping;

	while (allo_memory_maps_next(maps, &mapping, naming->path, naming->room)) {
		if (mapping.start == naming->start) {
			naming->len = strlen(naming->path);
			return;
		}
	}
	naming->path[0] = '\0';
}

size_t allo_module_list_path(const struct allo_code_module *module, char *path, size_t room)
{
	struct naming naming = { module->start, path, room, 0 };

	if (!allo_is_confined)
		allo_memory_maps_read(find_name, &naming);
	return naming.len;
}

/* Modules that the program has closed.  In a sandbox, all that were not there at the start count as
 * closed. */
void allo_module_list_check(void)
{
	struct entry copy;

	for (uint32_t i = 0, count = used_entries(); i < count; i++) {
		if (load(&entries[i].end) == 0 || !copy_entry(&entries[i], &copy))
			continue;
		if (allo_is_confined ? copy.name == UNNAMED : !is_loaded(&copy))
			remove_entry(&entries[i], &copy);
	}
}

static void search_all(struct allo_memory_maps *maps, void *context)
{
	struct search *search = context;
	struct allo_maps_line mapping;
	struct entry known;

	while (allo_memory_maps_next(maps, &mapping, NULL, 0)) {
		note_mapping(search, &mapping);
		if (may_belong(search, &mapping) && !find_entry(mapping.start, &known) &&
		    take_head(&search->head, mapping.start, &search->found))
			add_entry(&search->found);
	}
}

void allo_module_list_complete(void)
{
	struct search search = { 0 };

	allo_memory_maps_read(search_all, &search);
}
