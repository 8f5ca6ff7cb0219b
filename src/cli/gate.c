#include "cli/gate.h"

#include "report/messages.h"

bool allo_gate_check(bool is_complete, const char *name, struct allo_error *err)
{
	struct allo_error failure = { 0 };

	if (is_complete)
		return true;
	allo_fail(&failure, ALLO_UNMET, (struct allo_pos){ .file = name },
		  "is incomplete, so the check has failed");
	allo_hint(&failure, "record it again; 'allo verify' lists the gaps, and "
			    "--allow-incomplete checks the rest");
	allo_say_error(&failure);
	return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "the input is incomplete");
}
