/* recording_switch.c - see recording_switch.h. */
#include "serve/recording_switch.h"

#include "base/defer.h"
#include "serve/errand.h"
#include "watch/speak.h"

#include <stdio.h>
#include <stdlib.h>

unsigned allo_recording_switch(const void *what, int out, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_answer *answer = malloc(sizeof(*answer));
	const struct allo_switch_wish *wish = what;
	const struct allo_served *served = wish->served;
	struct allo_message request;
	const char *file;
	char whom[96];

	if (!answer) {
		allo_fail_memory(err);
		return ALLO_BROKEN;
	}
	snprintf(whom, sizeof(whom), "%s (%d)", served->program, (int)served->pid);
	if (!served->socket[0]) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s does not have the runtime", whom);
		return ALLO_UNAVAILABLE;
	}
	allo_message_begin(&request, wish->is_on ? "start" : "stop");
	allo_message_end(&request);
	if (!allo_speak_or_fail(served->socket, whom, &request, answer, err))
		return allo_served_has_ended(served) ? ALLO_GONE : ALLO_UNAVAILABLE;
	file = allo_answer_text(answer, "file");
	dprintf(out, "%s: %s%s%s\n", whom, wish->is_on ? "recording" : "stopped",
		file ? (wish->is_on ? " to " : ": ") : "", file ? file : "");
	return ALLO_DONE;
}
