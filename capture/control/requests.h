/*
 * requests.h - executes the requests of wire/control_message.h.
 */
#ifndef ALLO_CAPTURE_REQUESTS_H
#define ALLO_CAPTURE_REQUESTS_H

#include "wire/control_message.h"

/* Executes a request, whose text it modifies, and writes the answer.  False, and there is no
 * answer, if the control thread is asked to end, which only this process may do (`is_from_within`).
 */
bool allo_control_answer(char *request, bool is_from_within, struct allo_message *answer);

/* Writes an answer that refuses a request. */
void allo_control_refuse(struct allo_message *answer, const char *why);

#endif
