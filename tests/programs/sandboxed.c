/*
 * sandboxed.c - allocates in a seccomp sandbox that kills it at an unexpected system call.
 *
 * sandboxed prctl|syscall|strict|loose [EVENTS]   the way in which it enters the sandbox
 * sandboxed uncopied [EVENTS]                     forbids only to copy memory of processes
 * sandboxed unseen|refusing [EVENTS]              by a system call of its own; the second filter
 *                                                 refuses other calls with EPERM
 * sandboxed thread                                a thread starts in the sandbox
 * sandboxed fork                                  processes start in the sandbox
 */
#include "blocks.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 200000, CHILDREN = 3, MOST = 64 };

/* The calls of libc for allocations, threads and children of this program. */
static const int allowed[] = {
	SYS_write,        SYS_exit,   SYS_exit_group,     SYS_brk,
	SYS_futex,        SYS_mmap,   SYS_munmap,         SYS_mprotect,
	SYS_clone,        SYS_clone3, SYS_wait4,          SYS_set_robust_list,
	SYS_madvise,      SYS_rseq,   SYS_rt_sigprocmask, SYS_rt_sigaction,
	SYS_rt_sigreturn,
};

static struct sock_filter filter[MOST];
static struct sock_fprog program = { .filter = filter };

static void add(struct sock_filter instruction)
{
	filter[program.len++] = instruction;
}

/* Kills the process at all other calls, or refuses them. */
static void make_filter(unsigned otherwise)
{
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0,
						 1));
		add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	}
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise));
}

/* Allows all calls but one. */
static void make_loose_filter(unsigned call)
{
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

/* As seccomp(), but nothing in libc sees the call. */
static long seccomp_unseen(unsigned operation, const void *argument)
{
#if defined(__x86_64__)
	long result = SYS_seccomp;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"((long)operation), "S"(0L), "d"(argument)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long number __asm__("x8") = SYS_seccomp;
	register long first __asm__("x0") = operation;
	register long second __asm__("x1") = 0;
	register long third __asm__("x2") = (long)argument;

	__asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second), "r"(third) : "memory");
	return first;
#endif
}

static void enter(const char *how)
{
	bool is_refusing = strcmp(how, "refusing") == 0;

	if (strcmp(how, "loose") == 0)
		make_loose_filter(SYS_ptrace);
	else if (strcmp(how, "uncopied") == 0)
		make_loose_filter(SYS_process_vm_readv);
	else
		make_filter(is_refusing ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
	if (strcmp(how, "strict") == 0)
		must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0, "strict mode");
	else if (is_refusing || strcmp(how, "unseen") == 0)
		must(seccomp_unseen(SECCOMP_SET_MODE_FILTER, &program) == 0, "a filter");
	else if (strcmp(how, "syscall") == 0)
		must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "a filter");
	else
		must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0, "a filter");
}

APART static void allocate(int events)
{
	for (int i = 0; i < events / 2; i++)
		free(held(malloc((size_t)(i % 977))));
	stay();
}

static void *run(void *argument)
{
	allocate(EVENTS);
	return argument;
}

static void start_thread(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, run, NULL) == 0, "a thread starts");
	pthread_join(thread, NULL);
}

static void start_children(void)
{
	int status;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (child == 0) {
			allocate(EVENTS);
			syscall(SYS_exit_group, 7);
		}
		must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7,
		     "a child ends well");
	}
}

int main(int argc, char **argv)
{
	static const char done[] = "done\n";

	must(argc > 1, "sandboxed WAY [EVENTS]");
	/* The strict mode forbids a growing heap. */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	free(held(malloc(64 << 10)));
	enter(argv[1]);
	if (strcmp(argv[1], "thread") == 0)
		start_thread();
	else if (strcmp(argv[1], "fork") == 0)
		start_children();
	allocate(argc > 2 ? atoi(argv[2]) : EVENTS);
	must(write(1, done, sizeof(done) - 1) > 0, "it can write");
	/* The strict mode forbids exit_group. */
	syscall(strcmp(argv[1], "strict") == 0 ? SYS_exit : SYS_exit_group, 0);
}
