/*
 * count_steps.c - preloaded: counts the instructions of a program, and writes their number to the
 * file $COUNT_STEPS.
 *
 * The processor's trap flag raises SIGTRAP before each instruction.  Time passes by instructions,
 * and the words by which the kernel shows ticks and sleeps are ours (capture/time/kernel_tick.h,
 * capture/time/sleep_sign.h): the runtime behaves as at full speed on an idle machine, and the
 * number does not depend on the machine.  valgrind has neither these words nor that speed, so that
 * every event would read the clock.
 *
 * For single-threaded programs on x86-64.  Preload it behind the runtime: its constructor then runs
 * first.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
	PAGE = 4096,
	TRAP_FLAG = 1 << 8,
	TICK_NS = 4000000,
	TIMES = 2,        /* word of the first clock's time; a sequence and a counter come before */
	SYSCALL = 0x050f, /* instructions, as 16-bit words */
	RDTSC = 0x310f,
};

/* As glibc declares them: the runtime finds the struct rseq of a thread by these. */
unsigned int __rseq_size;
ptrdiff_t __rseq_offset;

static struct {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs;
} rseq;

/* The data of a vDSO, which would follow. */
static uint64_t data[PAGE / sizeof(uint64_t)] __attribute__((aligned(PAGE)));

static uint64_t steps, start_ticks;

unsigned long getauxval(unsigned long type)
{
	static unsigned long (*real)(unsigned long type);

	if (!real)
		real = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
	return type == AT_SYSINFO_EHDR ? (unsigned long)data + PAGE : real(type);
}

/* The kernel ticks whenever its coarse clock is read. */
static void tick(struct timespec *time)
{
	static uint64_t ns = 1000000007;
	uint64_t *coarse = &data[TIMES + 2 * CLOCK_MONOTONIC_COARSE];

	ns += TICK_NS;
	data[0] += 2;
	data[1] = ns;
	coarse[0] = ns / 1000000000;
	coarse[1] = ns % 1000000000;
	*time = (struct timespec){ (time_t)coarse[0], (long)coarse[1] };
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static int (*real)(clockid_t clock, struct timespec * time);

	if (clock == CLOCK_MONOTONIC_COARSE) {
		tick(time);
		return 0;
	}
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock, time);
}

/* Before each instruction: the counter of the processor counts instructions, and a sleep shows. */
static void step(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t ticks = start_ticks + ++steps;
	uint16_t instruction;

	(void)number;
	(void)info;
	memcpy(&instruction, (const void *)registers[REG_RIP], sizeof(instruction));
	if (instruction == RDTSC) {
		registers[REG_RIP] += sizeof(instruction);
		registers[REG_RAX] = (uint32_t)ticks;
		registers[REG_RDX] = ticks >> 32;
	} else if (instruction == SYSCALL && registers[REG_RAX] == SYS_nanosleep) {
		rseq.rseq_cs = 0;
	}
}

static void set_trap_flag(void)
{
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}

static void clear_trap_flag(void)
{
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
}

__attribute__((constructor)) static void begin(void)
{
	static char room[1 << 16];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGTRAP, &action, NULL);
	__rseq_size = 32;
	__rseq_offset = (char *)&rseq - (char *)__builtin_thread_pointer();
	start_ticks = __rdtsc();
	set_trap_flag();
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("COUNT_STEPS");
	FILE *file;

	clear_trap_flag();
	file = path ? fopen(path, "w") : NULL;
	if (!file || fprintf(file, "%lu\n", steps) < 0 || fclose(file) != 0)
		abort();
}
