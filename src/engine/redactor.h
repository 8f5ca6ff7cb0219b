/*
 * redactor.h - replaces texts that tell something about a program, its machine or its user.
 *
 * Functions, files and modules get pseudonyms that depend on the original alone, so they are equal
 * in all reports and two of them can be compared.  A pseudonym keeps the part that the analysis
 * needs: wrappers of allocators, containers and libraries stay recognisable as such, and so does
 * own code.  A pseudonym is a hash: a name that is known can be recognised.
 */
#ifndef ALLO_ENGINE_REDACTOR_H
#define ALLO_ENGINE_REDACTOR_H

#include "analysis/sites/ownership.h"
#include "replay/packed/redact_recording.h"

enum allo_redacted {
	ALLO_REDACT_NAMES = 1, /* of functions, threads, marks and labels */
	ALLO_REDACT_PATHS = 2, /* of source files, programs, libraries and folders */
	ALLO_REDACT_ARGS = 4,  /* the command line */
	ALLO_REDACT_HOST = 8,  /* host and user */
};

/* Set `what`; all else is zero at first. */
struct allo_redactor {
	unsigned what; /* enum allo_redacted */

	/* Private. */
	struct allo_arena arena; /* of all results */
	ALLO_VEC(struct allo_secret_word) words;
	ALLO_VEC(struct allo_module_pseudonym) modules;
};

void allo_redactor_done(struct allo_redactor *redactor);

/* Collects the texts that are to be found inside of others: host, user and program. */
bool allo_redactor_learn(struct allo_redactor *redactor, const struct allo_recording *recording,
			 struct allo_error *err);

/* Replaces all texts of a profile.  Its modules may not be known from elsewhere. */
bool allo_redactor_change_profile(struct allo_redactor *redactor, struct allo_profile *profile,
				  struct allo_error *err);

/* For the texts of a recording whose profile has been changed. */
struct allo_text_change allo_redactor_change(struct allo_redactor *redactor);

#endif
