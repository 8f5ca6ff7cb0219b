/*
 * desktop.h - opens files and pages in a window of the desktop.
 */
#ifndef ALLO_CLI_DESKTOP_H
#define ALLO_CLI_DESKTOP_H

#include <stdbool.h>

/* Whether the user sits in front of a desktop: a terminal in one. */
bool allo_has_desktop(void);

/* Starts the desktop's program for a file or URL, and does not wait for it. */
bool allo_open_window(char *target);

#endif
