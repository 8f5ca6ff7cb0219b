/*
 * verdict_files.h - the results of 'allo budget' for CI systems.
 */
#ifndef ALLO_CLI_VERDICT_FILES_H
#define ALLO_CLI_VERDICT_FILES_H

#include "cli/show/show_verdicts.h"

typedef void allo_verdict_writer(const struct allo_judgement *judgement, struct allo_output *out);

/* JUnit XML: a test case for each limit. */
allo_verdict_writer allo_verdicts_junit;

/* A heading and a table. */
allo_verdict_writer allo_verdicts_markdown;

/* SARIF: a rule for each limit, and a result for each that is exceeded. */
allo_verdict_writer allo_verdicts_sarif;

/* Annotations: a line for each limit that is exceeded, which GitHub's runner reads. */
allo_verdict_writer allo_verdicts_github;

/* The measured numbers as series: customSmallerIsBetter of github-action-benchmark, and Bencher
 * Metric Format. */
allo_verdict_writer allo_verdicts_bench;
allo_verdict_writer allo_verdicts_bencher;

#endif
