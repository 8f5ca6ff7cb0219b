/* recording_switch.c - see recording_switch.h. */
#include "serve/recording_switch.h"

#include "base/defer.h"
#include "serve/worker.h"
#include "watch/control_client.h"

#include <stdio.h>
#include <stdlib.h>

unsigned allo_recording_switch(const void *what, int out, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *reply = malloc(sizeof(*reply));
	const struct allo_switch_wish *wish = what;
	const struct allo_served_process *process = wish->process;
	struct allo_message request;
	const char *file;
	char whom[96];

	if (!reply) {
		allo_fail_memory(err);
		return ALLO_BROKEN;
	}
	snprintf(whom, sizeof(whom), "%s (%d)", process->program, (int)process->pid);
	if (!process->socket[0]) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s does not have the runtime", whom);
		return ALLO_UNAVAILABLE;
	}
	allo_message_begin(&request, wish->is_on ? "start" : "stop");
	allo_message_end(&request);
	if (!allo_control_request(process->socket, whom, &request, reply, err))
		return allo_served_process_has_ended(process) ? ALLO_GONE : ALLO_UNAVAILABLE;
	file = allo_control_reply_text(reply, "file");
	dprintf(out, "%s: %s%s%s\n", whom, wish->is_on ? "recording" : "stopped",
		file ? (wish->is_on ? " to " : ": ") : "", file ? file : "");
	return ALLO_DONE;
}
