/*
 * invariant.h - ALLO_INVARIANT: assertions about the runtime itself, on in test builds only.
 *
 * include/allo.h has a public macro ALLO_ASSERT with another meaning, so the runtime uses neither.
 *
 * A signal handler may fork inside of a hook, and the child then finds the runtime's memory zeroed.
 * So an invariant on the hot path must hold for zeroed memory, too.
 */
#ifndef ALLO_CAPTURE_INVARIANT_H
#define ALLO_CAPTURE_INVARIANT_H

#include "base/assert.h"

#undef ALLO_ASSERT

#endif
