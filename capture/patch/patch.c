/* patch.c - finds the code of functions, and writes jumps to it. */
#include "capture/patch/patch.h"
#include "capture/patch/machine.h"
#include "capture/patch/trampolines.h"
#include "capture/stacks/program_headers.h"
#include "capture/system.h"

#include <sys/auxv.h>

#if defined(__x86_64__)
#define MACHINE allo_machine_x86
#elif defined(__aarch64__)
#define MACHINE allo_machine_arm64
#endif

enum {
	JUMPS = 4,          /* that are followed to a function */
	LONGEST = 64 << 10, /* bytes of functions of unknown size */
};

/* The segment of code that has an address; empty if that is no readable code, or in a segment that
 * is writable as well. */
static struct allo_patch_code segment_of(const void *address)
{
	struct allo_patch_code code = { address, 0, (uint64_t)address };
	struct allo_program_headers headers;
	struct allo_code_module module;

	if (!allo_module_find((uint64_t)address, &module) ||
	    !allo_program_headers_find(&module, &headers))
		return code;
	for (size_t i = 0; i < headers.count; i++) {
		const ElfW(Phdr) *part = &headers.table[i];
		const uint8_t *start = (const uint8_t *)allo_segment_start(&headers, i);

		if (part->p_type == PT_LOAD &&
		    (part->p_flags & (PF_R | PF_W | PF_X)) == (PF_R | PF_X) &&
		    (uint64_t)address - (uint64_t)start < part->p_memsz)
			code = (struct allo_patch_code){ start, part->p_memsz, (uint64_t)start };
	}
	return code;
}

/* The code from an address to the end of its segment. */
static struct allo_patch_code code_at(const void *address)
{
	struct allo_patch_code code = segment_of(address);
	uint64_t offset = (uint64_t)address - code.address;

	return (struct allo_patch_code){ code.bytes + offset, code.size - offset,
					 code.address + offset };
}

static void skip_landing(struct allo_patch_code *code)
{
	size_t size = MACHINE.landing_size(code);

	code->bytes += size;
	code->address += size;
	code->size -= size;
}

const void *allo_patch_target(const void *function)
{
	for (unsigned i = 0; i < JUMPS; i++) {
		struct allo_patch_code code = code_at(function);
		uint64_t target;

		skip_landing(&code);
		target = MACHINE.jump_target(&code);
		if (!target)
			break;
		function = (const void *)target;
	}
	return function;
}

/* The code to patch.  A jump at the start leads to a function of unknown size. */
static struct allo_patch_code find_code(const void *function, size_t size)
{
	const void *target = allo_patch_target(function);
	struct allo_patch_code code = code_at(target);
	bool is_known = target == function && size > 0;

	if (!is_known)
		size = LONGEST;
	if (size < code.size)
		code.size = size;
	skip_landing(&code);
	if (!is_known)
		code.size = MACHINE.function_size(&code);
	return code;
}

static bool prepare(struct allo_patch *patch, const void *function, size_t size, void *replacement,
		    const uint64_t *context, void **original)
{
	struct allo_patch_code code = find_code(function, size);
	struct allo_trampoline found;
	uint8_t *trampoline;

	*patch = (struct allo_patch){ .entry = code.address, .refusal = ALLO_PATCH_FAR };
	if (!allo_trampoline_find(&found, code.address, MACHINE.reach, ALLO_TRAMPOLINE_SIZE))
		return false;
	trampoline = found.start;
	patch->refusal = MACHINE.move(&code, trampoline + ALLO_TRAMPOLINE_MOVED,
				      (uint64_t)trampoline + ALLO_TRAMPOLINE_MOVED);
	if (patch->refusal != ALLO_PATCH_FINE)
		return false;
	MACHINE.write_way(trampoline, (uint64_t)replacement, context);
	patch->length = (uint32_t)MACHINE.write_entry(patch->new_bytes, patch->entry,
						      (uint64_t)trampoline);
	memcpy(patch->old_bytes, code.bytes, patch->length);
	allo_trampoline_keep(&found);
	*original = trampoline + ALLO_TRAMPOLINE_MOVED;
	return true;
}

bool allo_patch_prepare(struct allo_patch *patch, const void *function, size_t size,
			void *replacement, void **original)
{
	return prepare(patch, function, size, replacement, NULL, original);
}

bool allo_patch_prepare_with(struct allo_patch *patch, const void *function, size_t size,
			     void *replacement, void *context, void **original)
{
	return prepare(patch, function, size, replacement, &(uint64_t){ (uint64_t)context },
		       original);
}

bool allo_patch_may_change_registers(const void *function)
{
	struct allo_patch_code segment = segment_of(function);

	return !MACHINE.calls_unknown_code ||
	       MACHINE.calls_unknown_code(&segment, (uint64_t)function);
}

bool allo_patch_seal(void)
{
	return allo_trampolines_seal();
}

/* The pages stay executable: this code may be in one of them.  A process that may not have memory
 * that is both writable and executable fails here, with nothing changed. */
static bool write_bytes(struct allo_patch *patch, const uint8_t *bytes)
{
	uint64_t last_bit = getauxval(AT_PAGESZ) - 1;
	uint64_t page = patch->entry & ~last_bit;
	uint64_t size = (patch->entry + patch->length - page + last_bit) & ~last_bit;

	if (ALLO_SYSCALL3(SYS_mprotect, page, size, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) {
		patch->refusal = ALLO_PATCH_NO_EXEC;
		return false;
	}
	memcpy((void *)patch->entry, bytes, patch->length);
	__builtin___clear_cache((char *)patch->entry, (char *)patch->entry + patch->length);
	/* As they were: see code_at(). */
	ALLO_SYSCALL3(SYS_mprotect, page, size, PROT_READ | PROT_EXEC);
	return true;
}

bool allo_patch_apply(struct allo_patch *patch)
{
	return write_bytes(patch, patch->new_bytes);
}

bool allo_patch_undo(struct allo_patch *patch)
{
	return write_bytes(patch, patch->old_bytes);
}

const char *allo_patch_refusal_text(enum allo_patch_refusal refusal)
{
	static const char *const texts[ALLO_PATCH_REFUSALS] = {
		[ALLO_PATCH_FINE] = "can be patched",
		[ALLO_PATCH_CALL] = "calls another function at once",
		[ALLO_PATCH_LOOP] = "begins with a branch that cannot be moved",
		[ALLO_PATCH_END] = "is shorter than a jump",
		[ALLO_PATCH_BRANCH] = "branches back to its first instructions",
		[ALLO_PATCH_UNKNOWN] = "begins with an unknown instruction",
		[ALLO_PATCH_LANDING] = "begins with an instruction that must stay there",
		[ALLO_PATCH_FAR] = "has no free memory near it",
		[ALLO_PATCH_LEAF] = "may keep registers that its callers rely on",
		[ALLO_PATCH_NO_EXEC] = "is in a process that may not change code",
	};

	return texts[refusal];
}
