/*
 * list.h - the values of an option that may be given several times.
 */
#ifndef ALLO_BASE_LIST_H
#define ALLO_BASE_LIST_H

#include <stddef.h>

enum { ALLO_LIST_MAX = 16 };

struct allo_list {
	const char *item[ALLO_LIST_MAX];
	size_t count;
};

#endif
