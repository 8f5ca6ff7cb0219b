/*
 * answers.h - the answers of the view engine, one function per ask.  ask.c has the table.
 */
#ifndef ALLO_VIEW_ANSWERS_H
#define ALLO_VIEW_ANSWERS_H

#include "view/dataset.h"
#include "view/reply.h"

/* Adds members to the head of the reply, and columns. */
typedef bool allo_answer(struct allo_dataset *dataset, const struct allo_request *request,
			 struct allo_reply *reply, struct allo_error *err);

allo_answer allo_answer_open, allo_answer_names, allo_answer_timeline, allo_answer_tree,
	allo_answer_table, allo_answer_peek, allo_answer_search, allo_answer_leaks,
	allo_answer_stack, allo_answer_sizes, allo_answer_lifetimes, allo_answer_heat,
	allo_answer_threads, allo_answer_blocks, allo_answer_findings, allo_answer_lines,
	allo_answer_dhat, allo_answer_generations, allo_answer_history;

/* The number of rows of a page: from `offset` on, at most `most` or else `usual`. */
size_t allo_page_rows(const struct allo_request *request, size_t rows, size_t usual);

/* Fails unless the dataset is a recording, or a comparison of two. */
bool allo_needs_recording(const struct allo_dataset *dataset, const char *data,
			  struct allo_error *err);

#endif
