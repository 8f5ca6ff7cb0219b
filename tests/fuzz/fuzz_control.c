/*
 * fuzz_control.c - any bytes as a message over the control socket of a process.
 *
 * The client reads it as a reply.  The runtime reads requests with the same functions, and what it
 * reads can be written again.
 */
#include "watch/control_client.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes what was read: reading that again must give the same. */
static void write_again(const struct allo_control_reply *reply)
{
	static struct allo_control_reply again;

	again = (struct allo_control_reply){ 0 };
	allo_message_begin(&again.text, reply->what);
	for (size_t i = 0; i < reply->count; i++)
		allo_message_add(&again.text, reply->lines[i].key, reply->lines[i].value);
	allo_message_end(&again.text);
	if (again.text.is_cut)
		return;
	if (!allo_control_reply_parse(&again) || strcmp(again.what, reply->what) != 0 ||
	    again.count != reply->count)
		abort();
	for (size_t i = 0; i < reply->count; i++) {
		if (strcmp(again.lines[i].value, reply->lines[i].value) != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct allo_control_reply reply;
	uint64_t number;

	reply = (struct allo_control_reply){ 0 };
	allo_message_put(&reply.text, (const char *)data, size);
	if (!allo_control_reply_parse(&reply))
		return 0;
	if (reply.count > ALLO_CONTROL_REPLY_LINES)
		abort();
	allo_control_reply_text(&reply, "file");
	allo_control_reply_number(&reply, "rate", &number);
	write_again(&reply);
	return 0;
}
