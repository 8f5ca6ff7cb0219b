/* attach_none.c - for processors whose registers the other files do not know. */
#include "attach/attach.h"

static bool fail(struct allo_error *err)
{
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "attaching needs an x86-64 processor");
	return allo_hint(err, "start the program with 'allo run'");
}

bool allo_attach(pid_t pid, const char *library, struct allo_attach_result *result,
		 struct allo_error *err)
{
	(void)pid;
	(void)library;
	(void)result;
	return fail(err);
}

bool allo_detach(pid_t pid, struct allo_attach_result *result, struct allo_error *err)
{
	(void)pid;
	(void)result;
	return fail(err);
}

bool allo_is_attached(pid_t pid)
{
	(void)pid;
	return false;
}
