/*
 * dropin.h - `allo` under the names of programs that it stands in for.
 */
#ifndef ALLO_CLI_DROPIN_H
#define ALLO_CLI_DROPIN_H

#include "base/error.h"

/* dhat-pprof [INPUT [OUTPUT]] */
bool allo_dropin_dhat_pprof(char **arguments, struct allo_error *err);

#endif
