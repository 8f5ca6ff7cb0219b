/*
 * call_state.h - the registers of a thread of another process, and how to make it call a function.
 *
 * A call looks like a signal handler: a frame on the stack holds all registers, and the function
 * returns to the system call that restores them.  So the thread goes on as before even if nobody is
 * left to watch it.
 */
#ifndef ALLO_ATTACH_CALL_STATE_H
#define ALLO_ATTACH_CALL_STATE_H

#include "attach/tracee_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

enum {
	ALLO_XSTATE_MAX = 16 << 10, /* bytes of vector registers; 11 KiB with all extensions */
	ALLO_CALL_ARGUMENTS = 6,
};

struct allo_call_state {
	struct user_regs_struct registers;
	uint64_t blocked; /* signals */
	uint64_t xstate_size;
	uint8_t xstate[ALLO_XSTATE_MAX] __attribute__((aligned(64)));
};

/* Reads or writes all registers and the signal mask of a stopped thread. */
bool allo_call_state_read(struct allo_call_state *state, pid_t thread);
bool allo_call_state_restore(const struct allo_call_state *state, pid_t thread);

/* The same without the vector registers and the mask, which are much more work. */
bool allo_registers_read(pid_t thread, struct user_regs_struct *registers);

/* Lets a system call start again that a thread has left because of our interrupt alone.  Most do so
 * anyway. */
void allo_call_hide_interrupt(pid_t thread);

/* The registers as the thread finds them after a signal handler: a system call that was interrupted
 * starts again or, if only the kernel knows how, fails with EINTR. */
struct user_regs_struct allo_call_registers_after_signal(const struct user_regs_struct *registers);

/* Size of a frame, and of the memory around it that a call may use for itself. */
uint64_t allo_call_frame_size(const struct allo_call_state *state);

/* Writes a frame whose memory ends at `end`.  The function returns to `way_back`.  Returns its
 * address; 0 if the memory cannot be written. */
uint64_t allo_call_frame_write(const struct allo_call_state *state,
			       const struct allo_tracee_memory *memory, uint64_t end,
			       uint64_t way_back);

/* Makes a stopped thread call a function. */
bool allo_call_begin(const struct allo_call_state *state, pid_t thread, uint64_t frame,
		     uint64_t function, const uint64_t arguments[ALLO_CALL_ARGUMENTS]);

/* Lets a thread that is about to restore the registers of a frame take another frame. */
bool allo_call_change_frame(pid_t thread, uint64_t frame);

/* Keeps the signals from a stopped thread that it can wait for. */
bool allo_call_block_signals(pid_t thread);

/* Whether the thread is about to restore the registers of a frame; stores the result of the
 * function, if the way back was written by allo_call_way_back(). */
bool allo_call_is_returning(const struct user_regs_struct *registers, uint64_t frame,
			    uint64_t *result);

/* The frame of a signal handler has a word with the segment registers, which nothing else on a
 * stack looks like; the interrupted address lies so many words before. */
enum { ALLO_RIP_BEFORE_SEGMENTS = 2 };
bool allo_call_are_segments(uint64_t word);

/* Instructions that keep the result of a function for allo_call_is_returning(), and then restore
 * the registers. */
enum { ALLO_CALL_WAY_SIZE = 16 };
void allo_call_way_back(uint8_t code[ALLO_CALL_WAY_SIZE]);

/* Finds such instructions, without the first part, in a module: every C library has them.  0: there
 * are none. */
uint64_t allo_call_find_way_back(const struct allo_tracee_memory *memory, const char *path);

/* The result of the system call that a thread has made; false if it is in none. */
bool allo_call_system_result(const struct user_regs_struct *registers, uint64_t *result);

#endif
