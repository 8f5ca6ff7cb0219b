#include "run/elf_gnu_hash.h"

#include "run/elf_symbols.h"

/* The section begins with these; filter words, buckets and chains follow. */
struct head {
	uint32_t bucket_count, first, filter_count, filter_shift;
};

/* Reads a 32-bit word inside of the section. */
static bool read_word(const struct allo_elf_hash *hash, uint64_t at, uint32_t *word)
{
	return at <= hash->end - sizeof(*word) &&
	       allo_elf_read(hash->fd, at, word, sizeof(*word)) == sizeof(*word);
}

bool allo_elf_hash_open(struct allo_elf_hash *hash, int fd, const Elf64_Shdr *section)
{
	struct head head;
	uint64_t filter_bytes, bucket_bytes;

	if (section->sh_size < sizeof(head) || section->sh_offset > INT64_MAX ||
	    section->sh_size > INT64_MAX - section->sh_offset ||
	    allo_elf_read(fd, section->sh_offset, &head, sizeof(head)) != sizeof(head))
		return false;
	filter_bytes = head.filter_count * sizeof(uint64_t);
	bucket_bytes = head.bucket_count * sizeof(uint32_t);
	*hash = (struct allo_elf_hash){
		.fd = fd,
		.buckets_at = section->sh_offset + sizeof(head) + filter_bytes,
		.chains_at = section->sh_offset + sizeof(head) + filter_bytes + bucket_bytes,
		.end = section->sh_offset + section->sh_size,
		.bucket_count = head.bucket_count,
		.first = head.first,
	};
	return head.bucket_count > 0 && head.first > 0 &&
	       filter_bytes + bucket_bytes <= section->sh_size - sizeof(head);
}

/* The hash function of the format. */
static uint32_t code_of(const char *name)
{
	uint32_t code = 5381;

	for (; *name; name++)
		code = code * 33 + (unsigned char)*name;
	return code;
}

struct allo_elf_chain allo_elf_hash_look_up(const struct allo_elf_hash *hash, const char *name)
{
	struct allo_elf_chain chain = { .hash = hash, .code = code_of(name) };
	uint32_t bucket = chain.code % hash->bucket_count, symbol;

	if (read_word(hash, hash->buckets_at + bucket * sizeof(symbol), &symbol) &&
	    symbol >= hash->first)
		chain.symbol = symbol;
	return chain;
}

/* A word of a chain is the symbol's hash; its lowest bit marks the end of the chain instead. */
bool allo_elf_chain_next(struct allo_elf_chain *chain, uint64_t *symbol)
{
	const struct allo_elf_hash *hash = chain->hash;
	uint32_t word;

	while (chain->symbol != 0) {
		*symbol = chain->symbol;
		if (!read_word(hash, hash->chains_at + (*symbol - hash->first) * sizeof(word),
			       &word)) {
			chain->symbol = 0;
			return false;
		}
		chain->symbol = word & 1 ? 0 : *symbol + 1;
		if ((word | 1) == (chain->code | 1))
			return true;
	}
	return false;
}
