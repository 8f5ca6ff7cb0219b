/*
 * requests.h - what is done when the process is spoken to: see wire/control_message.h.
 */
#ifndef ALLO_CAPTURE_REQUESTS_H
#define ALLO_CAPTURE_REQUESTS_H

#include "wire/control_message.h"

/* Does what a request asks for, which is taken apart, and writes the answer.  False, and there is
 * none, where whoever answers is asked to go: only this process itself may (`is_from_within`). */
bool allo_control_answer(char *request, bool is_from_within, struct allo_message *answer);

/* The answer to those who may not ask, or have not asked anything. */
void allo_control_refuse(struct allo_message *answer, const char *why);

#endif
