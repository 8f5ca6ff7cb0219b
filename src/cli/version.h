/*
 * version.h - which Allotrope this is.
 */
#ifndef ALLO_CLI_VERSION_H
#define ALLO_CLI_VERSION_H

#ifndef ALLO_VERSION
#error "the build defines ALLO_VERSION"
#endif

#endif
