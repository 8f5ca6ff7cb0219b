/*
 * native_answers.h - the asks of the page that need files: source code and SQL.
 *
 * The view engine (view/ask.h) has neither, so that it also runs in a page.
 */
#ifndef ALLO_PAGE_NATIVE_ANSWERS_H
#define ALLO_PAGE_NATIVE_ANSWERS_H

#include "view/answers/answers.h"

/* NULL if there is no such ask. */
allo_answer *allo_native_answer_find(const char *ask);

#endif
