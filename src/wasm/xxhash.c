/* xxhash.c - the functions of xxhash.h: there is no libxxhash for this platform. */
#define XXH_IMPLEMENTATION
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>
