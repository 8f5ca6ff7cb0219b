/* attach_obstacles.c - reads /proc/PID/status, and the settings of the kernel. */
#include "attach/attach_obstacles.h"

#include "base/text.h"
#include "watch/program_name.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_SIZE = 8192 };

/* Reads a file of /proc; empty if that fails. */
static void read_text(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t len = file ? fread(text, 1, size - 1, file) : 0;

	text[len] = '\0';
	if (file)
		fclose(file);
}

static bool read_status(pid_t pid, char status[STATUS_SIZE])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	read_text(path, status, STATUS_SIZE);
	return status[0] != '\0';
}

/* The rest of the line that begins with a word; empty if there is none. */
static struct allo_text line_of(const char *status, const char *word)
{
	const char *at = strstr(status, word);

	if (!at)
		return (struct allo_text){ 0 };
	at += strlen(word);
	return allo_text_trim((struct allo_text){ at, strcspn(at, "\n") });
}

static uint64_t number_of(const char *status, const char *word)
{
	uint64_t number = 0;

	allo_text_u64(line_of(status, word), &number);
	return number;
}

static bool fail_traced(pid_t pid, uint64_t tracer, struct allo_error *err)
{
	char name[ALLO_PROGRAM_NAME_SIZE];

	allo_program_name_read((pid_t)tracer, name);
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d is already traced, by %s (%d)", (int)pid,
		  name[0] ? name : "another program", (int)tracer);
	return allo_hint(err, "detach the debugger first");
}

static bool check_state(pid_t pid, const char *status, struct allo_error *err)
{
	struct allo_text state = line_of(status, "\nState:");

	if (state.len > 0 && (state.data[0] == 'Z' || state.data[0] == 'X'))
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d has ended", (int)pid);
	if (state.len > 0 && state.data[0] == 'T') {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d is stopped", (int)pid);
		return allo_hint(err, "'kill -CONT %d' lets it go on", (int)pid);
	}
	return true;
}

bool allo_attach_check_process(pid_t pid, struct allo_error *err)
{
	char status[STATUS_SIZE];
	uint64_t tracer;

	if (pid == getpid())
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "allo cannot attach to itself");
	if (!read_status(pid, status))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no process %d", (int)pid);
	tracer = number_of(status, "\nTracerPid:");
	if (tracer != 0)
		return fail_traced(pid, tracer, err);
	if (number_of(status, "\nSeccomp:") != 0) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			  "process %d has a seccomp filter, which may kill it for the system calls "
			  "of the runtime",
			  (int)pid);
		return allo_hint(err, "start it with 'allo run', which knows the filter before");
	}
	if (allo_text_find(line_of(status, "\nx86_Thread_features:"), ALLO_TEXT("shstk")) <
	    line_of(status, "\nx86_Thread_features:").len) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			  "process %d has a shadow stack, which forbids to make it call functions",
			  (int)pid);
		return allo_hint(err, "start it with 'allo run'");
	}
	return check_state(pid, status, err);
}

static bool fail_program(pid_t pid, const char *what, struct allo_error *err)
{
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d %s", (int)pid, what);
	return allo_hint(err, "'allo mem %d' explains its memory without the runtime", (int)pid);
}

bool allo_attach_check_modules(const struct allo_tracee_modules *modules, pid_t pid,
			       struct allo_error *err)
{
	const struct allo_tracee_module *library = allo_tracee_module_named(modules, "libc.so.6");
	bool is_dynamic = false;

	for (size_t i = 0; i < modules->all.len; i++) {
		const struct allo_tracee_module *module = &modules->all.at[i];

		if (strstr(module->path, "/ld-musl-"))
			return fail_program(pid, "uses musl; the runtime needs glibc", err);
		if (module->machine != EM_X86_64)
			return fail_program(pid, "is of another architecture", err);
		is_dynamic |= strncmp(module->name, "ld-linux", 8) == 0;
	}
	if (modules->all.len == 0)
		return fail_program(pid, "has no 64-bit program", err);
	if (library)
		return true;
	return fail_program(pid,
			    is_dynamic ? "does not use glibc"
				       : "is statically linked: nothing can be loaded into it",
			    err);
}

static uid_t user_of(pid_t pid)
{
	struct stat status;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &status) == 0 ? status.st_uid : (uid_t)-1;
}

static bool fail_forbidden(pid_t pid, const char *hint, struct allo_error *err)
{
	*err = (struct allo_error){ 0 };
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "may not attach to process %d", (int)pid);
	return allo_hint(err, "%s", hint);
}

bool allo_attach_explain(pid_t pid, struct allo_error *err)
{
	char scope[16], status[STATUS_SIZE];

	if (!read_status(pid, status)) {
		*err = (struct allo_error){ 0 };
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d has ended", (int)pid);
	}
	read_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (geteuid() != 0 && user_of(pid) != geteuid())
		return fail_forbidden(pid, "it belongs to another user: run allo as root", err);
	if (scope[0] == '3')
		return fail_forbidden(pid,
				      "kernel.yama.ptrace_scope is 3: nobody may attach until the "
				      "next boot",
				      err);
	if (scope[0] == '2' || (scope[0] == '1' && geteuid() != 0))
		return fail_forbidden(pid,
				      "kernel.yama.ptrace_scope forbids it: run allo as root, or "
				      "start the program with 'allo run'",
				      err);
	return fail_forbidden(pid,
			      "a container needs the capability SYS_PTRACE; programs with more "
			      "rights than their user need root",
			      err);
}
