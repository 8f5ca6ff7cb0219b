/*
 * hooks_rights.h - the hook of syscall().
 */
#ifndef ALLO_CAPTURE_HOOKS_RIGHTS_H
#define ALLO_CAPTURE_HOOKS_RIGHTS_H

/* Lets the hook call allo_real.syscall from now on. */
void allo_hooks_found_syscall(void);

#endif
