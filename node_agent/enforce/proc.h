/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Processes and threads as /proc shows them. */

#ifndef COSCHED_PROC_H
#define COSCHED_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the agent needs of /proc/PID/stat. */
struct proc_stat {
    pid_t pid;
    pid_t parent;
    pid_t group;
    pid_t session;
    char state;     /* R, S, D, T, Z, ...; of a thread that lives where the first has ended */
    bool forked;    /* it runs its maker's program still */
    bool exiting;   /* it runs none any more */
    bool kernel;    /* a thread of the kernel's */
    char comm[16];  /* name, cut to 15 characters */
    uint64_t ticks; /* CPU time used, in clock ticks */
    uint64_t threads; /* how many it has */
    uint64_t start; /* start time in clock ticks since boot */
};

/* Read one process.  0, or -1 with errno ESRCH (no such process, or a
 * zombie) or that of open(2). */
int proc_read(pid_t pid, struct proc_stat *stat);

/* Whether a process is stopped, and whether a SIGSTOP waits to take effect: of one that is stopped,
 * it was sent after the one that stopped it. */
struct proc_stop {
    bool stopped;
    bool pending;
    bool waits; /* for a device, or frozen: it cannot stop before that ends */
};

/* 0, or -1 with errno ESRCH or that of open(2). */
int proc_read_stop(pid_t pid, struct proc_stop *stop);

/* Decode the text of a stat file.  0, or -1 with errno EINVAL.  The name may
 * contain anything, spaces, parentheses and newlines included. */
int proc_parse(const char *text, struct proc_stat *stat);

/* Whose a process is. */
struct proc_identity {
    uid_t real, effective;
    pid_t inner; /* what it calls itself: its number in its own PID namespace */
};

/* 0, or -1 with errno ESRCH. */
int proc_identify(pid_t pid, struct proc_identity *identity);

/* The text of the cgroup file of process PID: lines ID:CONTROLLERS:PATH, of which the last
 * may be cut.  0, or -1 with errno ESRCH. */
int proc_cgroups(pid_t pid, char *text, size_t size);

/* How long thread TID of process PID has run and has waited for a CPU so far.  0, or -1 with
 * errno ESRCH: no such thread, or not counted by the kernel. */
int proc_waits(pid_t pid, pid_t tid, uint64_t *ran_ns, uint64_t *waited_ns);

/* CPU time that process PID has used, all its threads together, those that have ended, too; of a
 * running one perhaps up to the last tick of its CPU.  UINT64_MAX: not known. */
uint64_t proc_cpu_ns(pid_t pid);

/* Bytes of PID's resident memory, that of files included; 0: not known. */
uint64_t proc_resident(pid_t pid);

/* Path of the program of process PID, or the process' name where that is hidden.  0, or -1 with
 * errno. */
int proc_program(pid_t pid, char *path, size_t size);

/* The number that NAME, an entry of /proc, is; 0: none. */
pid_t proc_entry_number(const char *name);

/* Thread ids of process PID, a malloc'ed array.  -1 with errno ESRCH. */
ssize_t proc_threads(pid_t pid, pid_t **tids);

/* The directory of the threads of process PID, for proc_read_tasks(), which may
 * be called again and again.  A descriptor, or -1 with errno. */
int proc_open_tasks(pid_t pid);

/* As proc_threads() for the process of DIR, whoever has its pid now.  -1 with errno ESRCH, also
 * when it has ended. */
ssize_t proc_read_tasks(int dir, pid_t **tids);

#endif /* COSCHED_PROC_H */
