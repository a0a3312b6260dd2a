/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Runs something again and again, and kills it, or lets a system call fail, at
 * each of its calls. */

#ifndef COSCHED_CALLPOINTS_H
#define COSCHED_CALLPOINTS_H

/* Concept
 *
 * A scripted life (park, continue, save, ...) is the same each time.  It runs
 * in a process that ptrace(2) stops at each system call.  At one of them, the
 * callpoint, it is killed before the call is made, or the call is not made and
 * fails.  A test walks over all of them:
 *
 *     struct callpoint at = {.call = CALLPOINT_ANY};
 *     struct callpoints_result result;
 *     do {
 *         at.number++;
 *         assert_int_equal(callpoints_run(life, &world, &at, &result), 0);
 *         ... is everything as it should be after that?
 *     } while (result.struck);
 *
 * The life says what counts of it by callpoints_begin() and callpoints_end(),
 * so setting up is not part of it.  Its threads are part of it, the processes
 * that it forks are not.  Those that it acts on are made before by the test,
 * whose children they are; as PR_SET_CHILD_SUBREAPER the test can also wait for
 * what the killed process leaves.
 *
 * The program tests/support/at_call does the same with whole programs:
 *
 *     at_call [--call NAME] [--number N] [--times N] [--error EMFILE]
 *             [--while FILE] [--report FILE] -- PROGRAM [ARGUMENT...]
 *
 * NAME "changing" stands for CALLPOINT_CHANGING.  PROGRAM has the pid that was
 * at_call's.  Calls count while FILE of --while exists.  The report is
 * rewritten at each strike and at the end: {"struck": 1, "matched": 34,
 * "calls":
 * {"openat": 12, ...}}; without --number it tells what there is to walk over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CALLPOINT_ANY      (-1)
/* Those that may change something outside the process: between two of them it
 * is the same when it is killed, so a walk over these is as good as one over
 * all. */
#define CALLPOINT_CHANGING (-2)
#define CALLPOINT_KINDS    1024 /* numbers of system calls are below */

struct callpoint {
    long call;       /* SYS_openat, ...; or one of the above */
    unsigned number; /* of the call among those that match, from 1 on; 0: only
                        count */
    unsigned times;  /* so many in a row fail, 0 is 1 */
    int error;       /* errno that it fails with; 0: the process is killed */
};

struct callpoints_result {
    unsigned struck;  /* so often killed or failed */
    unsigned matched; /* calls that counted and were of the wanted kind */
    unsigned
        calls[CALLPOINT_KINDS]; /* made while they counted, by their number */
    int status;                 /* of the life, as waitpid(2) has it */
};

/* False where this processor's registers are not known here. */
bool callpoints_supported(void);

/* Run LIFE(ARG) in a process of its own, which ends with status 0 after it.  -1
 * with errno: tracing failed. */
int callpoints_run(void (*life)(void *arg), void *arg,
                   const struct callpoint *point,
                   struct callpoints_result *result);

/* In a life: calls from here on count; no more.  They do nothing elsewhere. */
void callpoints_begin(void);
void callpoints_end(void);

/* Trace PID, which is in callpoints_wait() until READY, the other end of its
 * pipe, is closed.  With FILE the calls made while it exists count, else those
 * between the marks above.  STRUCK (may be NULL) is called at each strike.  The
 * caller has no other children.  -1 with errno. */
int callpoints_trace(pid_t pid, int ready, const struct callpoint *point,
                     const char *file,
                     void (*struck)(const struct callpoints_result *result,
                                    void *arg),
                     void *arg, struct callpoints_result *result);
void callpoints_wait(int ready);

#endif /* COSCHED_CALLPOINTS_H */
