/* call_state_x86.c - the frame of a signal handler on x86-64, and the registers around it. */
#include "attach/call_state.h"

#include "base/assert.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum {
	RED_ZONE = 128,       /* bytes below the stack pointer that belong to the function */
	SCRATCH = 256,        /* bytes below the frame that must be writable */
	MASK_SIZE = 8,        /* bytes of a signal mask of the kernel */
	FX_SOFTWARE_AT = 464, /* in the vector registers: what the kernel says about them */
	FX_SIZE = 512,
	FX_MAGIC1 = 0x46505853,
	FX_MAGIC2 = 0x46505845,
	TILES = 3 << 17, /* features of AMX, which the kernel adds to frames on demand only */
	/* Flags of a frame: it has all vector registers, and the stack segment. */
	FRAME_FLAGS = 1 | 2 | 4,
	/* Of the alternate signal stack: an invalid value, so that it stays as it is. */
	STACK_UNCHANGED = 7,
	/* Results of interrupted system calls that only the kernel sees. */
	RESTART_ALWAYS = 512,  /* ERESTARTSYS */
	RESTART_QUIETLY = 513, /* ERESTARTNOINTR */
	RESTART_NO_HANDLER = 514,
	RESTART_BLOCK = 516,
};

/* What the kernel says about the vector registers in a frame. */
struct fx_software {
	uint32_t magic1, extended_size;
	uint64_t features;
	uint32_t size;
	uint32_t padding[7];
};

/* The frame, as the kernel lays it out. */
struct frame {
	uint64_t way_back;
	uint64_t flags, link;
	struct {
		uint64_t at;
		uint32_t flags, padding;
		uint64_t size;
	} stack;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
		eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2;
	uint64_t vector_registers;
	uint64_t reserved[8];
	uint64_t blocked;
};

bool allo_registers_read(pid_t thread, struct user_regs_struct *registers)
{
	return ptrace(PTRACE_GETREGS, thread, 0, registers) == 0;
}

bool allo_call_state_read(struct allo_call_state *state, pid_t thread)
{
	struct iovec vector = { state->xstate, sizeof(state->xstate) };

	if (!allo_registers_read(thread, &state->registers) ||
	    ptrace(PTRACE_GETSIGMASK, thread, MASK_SIZE, &state->blocked) != 0 ||
	    ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &vector) != 0)
		return false;
	state->xstate_size = vector.iov_len;
	return vector.iov_len >= FX_SIZE && vector.iov_len < sizeof(state->xstate);
}

/* In this order, the frame restores what is missing if this program is killed in between. */
bool allo_call_state_restore(const struct allo_call_state *state, pid_t thread)
{
	struct iovec vector = { (void *)state->xstate, state->xstate_size };

	return ptrace(PTRACE_SETREGSET, thread, NT_X86_XSTATE, &vector) == 0 &&
	       ptrace(PTRACE_SETSIGMASK, thread, MASK_SIZE, &state->blocked) == 0 &&
	       ptrace(PTRACE_SETREGS, thread, 0, &state->registers) == 0;
}

bool allo_call_block_signals(pid_t thread)
{
	/* Those that the processor raises must not be blocked: they would end the process. */
	uint64_t all = ~((uint64_t)1 << (SIGSEGV - 1) | (uint64_t)1 << (SIGBUS - 1) |
			 (uint64_t)1 << (SIGILL - 1) | (uint64_t)1 << (SIGFPE - 1) |
			 (uint64_t)1 << (SIGTRAP - 1) | (uint64_t)1 << (SIGSYS - 1));

	return ptrace(PTRACE_SETSIGMASK, thread, MASK_SIZE, &all) == 0;
}

/* System calls that fail with EINTR after any stop (signal(7)).  As their result, the kernel's own
 * code means: start again, or fail with EINTR if a signal handler runs before. */
void allo_call_hide_interrupt(pid_t thread)
{
	static const long calls[] = { SYS_epoll_wait,   SYS_epoll_pwait, SYS_epoll_pwait2,
				      SYS_semop,        SYS_semtimedop,  SYS_rt_sigtimedwait,
				      SYS_io_getevents, SYS_read,        SYS_io_uring_enter };
	struct user_regs_struct registers;

	if (!allo_registers_read(thread, &registers) || registers.rax != (unsigned long long)-EINTR)
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (registers.orig_rax == (unsigned long long)calls[i])
			ptrace(PTRACE_POKEUSER, thread, offsetof(struct user_regs_struct, rax),
			       -(long)RESTART_NO_HANDLER);
	}
}

struct user_regs_struct allo_call_registers_after_signal(const struct user_regs_struct *registers)
{
	struct user_regs_struct after = *registers;

	if ((int64_t)after.orig_rax < 0)
		return after;
	switch (-(int64_t)after.rax) {
	case RESTART_ALWAYS:
	case RESTART_QUIETLY:
	case RESTART_NO_HANDLER:
		after.rax = after.orig_rax;
		after.rip -= 2; /* the length of the instruction `syscall` */
		break;
	case RESTART_BLOCK:
		after.rax = (uint64_t)-EINTR;
		break;
	default:
		break;
	}
	after.orig_rax = (uint64_t)-1;
	return after;
}

/* The size of the vector registers in a frame of a thread without AMX: their end in the standard
 * format, from the processor. */
static uint32_t size_of_features(uint64_t features)
{
	uint32_t size = FX_SIZE + 64, a, b, c, d; /* with the header of the format */

	for (unsigned i = 2; i < 63; i++) {
		if (features >> i & 1) {
			__cpuid_count(0xd, i, a, b, c, d);
			if (a + b > size)
				size = a + b;
		}
	}
	return size;
}

/* Completes the vector registers for a frame; returns their size with the mark at the end. */
static size_t make_vector_registers(const struct allo_call_state *state, uint8_t *out)
{
	struct fx_software software = { .magic1 = FX_MAGIC1 };
	const uint32_t end = FX_MAGIC2;
	uint64_t enabled, in_use;
	uint32_t size;

	memcpy(out, state->xstate, state->xstate_size);
	memcpy(&enabled, state->xstate + FX_SOFTWARE_AT, sizeof(enabled));
	memcpy(&in_use, state->xstate + FX_SIZE, sizeof(in_use));
	if (!(in_use & TILES))
		enabled &= ~(uint64_t)TILES;
	size = size_of_features(enabled);
	if (size > state->xstate_size)
		size = (uint32_t)state->xstate_size;
	software.features = enabled;
	software.size = size;
	software.extended_size = size + (uint32_t)sizeof(end);
	memcpy(out + FX_SOFTWARE_AT, &software, sizeof(software));
	memcpy(out + size, &end, sizeof(end));
	return size + sizeof(end);
}

static struct frame make_frame(const struct allo_call_state *state)
{
	struct user_regs_struct after = allo_call_registers_after_signal(&state->registers);

	return (struct frame){
		.flags = FRAME_FLAGS,
		.stack = { .flags = STACK_UNCHANGED },
		.r8 = after.r8,
		.r9 = after.r9,
		.r10 = after.r10,
		.r11 = after.r11,
		.r12 = after.r12,
		.r13 = after.r13,
		.r14 = after.r14,
		.r15 = after.r15,
		.rdi = after.rdi,
		.rsi = after.rsi,
		.rbp = after.rbp,
		.rbx = after.rbx,
		.rdx = after.rdx,
		.rax = after.rax,
		.rcx = after.rcx,
		.rsp = after.rsp,
		.rip = after.rip,
		.eflags = after.eflags,
		.cs = (uint16_t)after.cs,
		.ss = (uint16_t)after.ss,
		.blocked = state->blocked,
	};
}

uint64_t allo_call_frame_size(const struct allo_call_state *state)
{
	return RED_ZONE + state->xstate_size + sizeof(uint32_t) + 64 + sizeof(struct frame) + 16 +
	       SCRATCH;
}

uint64_t allo_call_frame_write(const struct allo_call_state *state,
			       const struct allo_tracee_memory *memory, uint64_t end,
			       uint64_t way_back)
{
	uint8_t vectors[ALLO_XSTATE_MAX + sizeof(uint32_t)], nothing[SCRATCH] = { 0 };
	size_t size = make_vector_registers(state, vectors);
	struct frame frame = make_frame(state);
	uint64_t vectors_at = (end - RED_ZONE - size) & ~(uint64_t)63;
	/* A function finds the stack pointer 8 above a multiple of 16. */
	uint64_t at = ((vectors_at - sizeof(frame)) & ~(uint64_t)15) - 8;

	/* The kernel restores vector registers only from such an address. */
	ALLO_ASSERT(vectors_at % 64 == 0 && vectors_at + size <= end - RED_ZONE);
	ALLO_ASSERT(end - (at - SCRATCH) <= allo_call_frame_size(state));
	frame.way_back = way_back;
	frame.vector_registers = vectors_at;
	if (!allo_tracee_write_data(memory, vectors_at, vectors, size) ||
	    !allo_tracee_write_data(memory, at, &frame, sizeof(frame)) ||
	    !allo_tracee_write_data(memory, at - SCRATCH, nothing, sizeof(nothing)))
		return 0;
	return at;
}

bool allo_call_begin(const struct allo_call_state *state, pid_t thread, uint64_t frame,
		     uint64_t function, const uint64_t arguments[ALLO_CALL_ARGUMENTS])
{
	struct user_regs_struct registers = state->registers;

	registers.rsp = frame;
	registers.rip = function;
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.rcx = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	registers.rax = 0;
	registers.eflags &= ~(uint64_t)0x500; /* the direction and trap flags */
	registers.orig_rax = (uint64_t)-1;    /* this is no interrupted system call */
	return ptrace(PTRACE_SETREGS, thread, 0, &registers) == 0;
}

bool allo_call_is_returning(const struct user_regs_struct *registers, uint64_t frame,
			    uint64_t *result)
{
	*result = registers->rdi;
	return registers->orig_rax == SYS_rt_sigreturn && registers->rsp == frame + 8;
}

bool allo_call_change_frame(pid_t thread, uint64_t frame)
{
	return ptrace(PTRACE_POKEUSER, thread, offsetof(struct user_regs_struct, rsp), frame + 8) ==
	       0;
}

bool allo_call_are_segments(uint64_t word)
{
	enum { CODE = 0x33, STACK = 0x2b }; /* of 64-bit programs */

	return (word & 0xffff) == CODE && word >> 48 == STACK;
}

/* mov %rax, %rdi; mov $15, %rax; syscall */
static const uint8_t way_back[ALLO_CALL_WAY_SIZE] = {
	0x48, 0x89, 0xc7, 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0xcc, 0xcc, 0xcc, 0xcc
};
enum { RESTORE_AT = 3, RESTORE_SIZE = 9 };

void allo_call_way_back(uint8_t code[ALLO_CALL_WAY_SIZE])
{
	memcpy(code, way_back, sizeof(way_back));
}

uint64_t allo_call_find_way_back(const struct allo_tracee_memory *memory, const char *path)
{
	uint64_t found = 0;

	for (size_t i = 0; i < memory->mappings.len && !found; i++) {
		const struct allo_tracee_mapping *mapping = &memory->mappings.at[i];
		size_t size = mapping->end - mapping->start;
		const uint8_t *at;
		uint8_t *code;

		if (!mapping->is_executable || strcmp(mapping->path, path) != 0)
			continue;
		code = malloc(size);
		at = code && allo_tracee_read(memory, mapping->start, code, size)
			     ? memmem(code, size, way_back + RESTORE_AT, RESTORE_SIZE)
			     : NULL;
		if (at)
			found = mapping->start + (uint64_t)(at - code);
		free(code);
	}
	return found;
}

bool allo_call_system_result(const struct user_regs_struct *registers, uint64_t *result)
{
	*result = registers->rax;
	return (int64_t)registers->orig_rax >= 0;
}
