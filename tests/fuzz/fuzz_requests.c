/*
 * fuzz_requests.c - any bytes as a request to the control thread of a recorded program.
 *
 * The functions behind the requests are replaced here: nothing is recorded, and no file is made.
 * Settings are read by the real function.
 */
#include "capture/api/annotations.h"
#include "capture/api/memory_api.h"
#include "capture/control/control.h"
#include "capture/control/requests.h"
#include "capture/counts.h"
#include "capture/process.h"
#include "capture/safepoint.h"
#include "capture/session.h"
#include "capture/settings.h"

#include <allo.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct allo_recorder recorder = { .path = "/tmp/recording.allo" };
struct allo_recorder *allo_recorder = &recorder;

const char *allo_error(void)
{
	return "the request is refused";
}

struct allo_session_status allo_session_status(void)
{
	return (struct allo_session_status){ .state = ALLO_SESSION_RECORDING,
					     .path = allo_settings.output };
}

/* Every text of the settings must end, and name a file in a folder. */
const char *allo_session_start_whole(const struct allo_start_request *request)
{
	if (!allo_settings_reset(request))
		return NULL;
	if (!memchr(allo_settings.output, '\0', sizeof(allo_settings.output)) ||
	    allo_settings.output[0] != '/' || allo_settings.mode > ALLO_AD_HOC)
		abort();
	return allo_settings.output;
}

const char *allo_session_stop_whole(void)
{
	return "";
}

bool allo_session_is_on(void)
{
	return true;
}

bool allo_annotations_mark(const char *name)
{
	return name[0] != 'x';
}

bool allo_get_heap_stats(struct allo_heap_stats *stats)
{
	*stats = (struct allo_heap_stats){ .total_blocks = UINT64_MAX, .current_bytes = -1 };
	return true;
}

void allo_memory_answer(struct allo_message *answer)
{
	allo_message_add(answer, "rss", "1");
}

void allo_safepoint_init(void)
{
}

void allo_control_close(void)
{
}

/* An answer is a whole message of lines with a key each. */
static void check(struct allo_message *answer)
{
	char *rest = answer->at, *line;
	const char *what;

	if (answer->len != strlen(answer->at) || answer->is_cut)
		abort();
	what = allo_message_what(allo_message_line(&rest));
	if (!what || (strcmp(what, "ok") != 0 && strcmp(what, "error") != 0))
		abort();
	while ((line = allo_message_line(&rest)) != NULL) {
		allo_message_value(line);
		if (!line[0])
			abort();
	}
	if (strcmp(rest, "\n") != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct allo_message answer;
	char request[ALLO_MESSAGE_MAX + 1];
	bool is_from_within = size > 0 && data[0] % 2;

	if (size > ALLO_MESSAGE_MAX)
		return 0;
	memcpy(request, data, size);
	request[size] = '\0';
	answer = (struct allo_message){ 0 };
	if (allo_control_answer(request, is_from_within, &answer))
		check(&answer);
	else if (!is_from_within)
		abort();
	return 0;
}
