/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Runs something again and again, and kills it, or lets a system call fail, at
 * each of its calls. */

#include "tests/support/callpoints.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/syscalls.h"

/* What no program closes: the marks of begin and end. */
#define MARK_BEGIN (-471100)
#define MARK_END   (-471101)

struct trace {
    const struct callpoint *point;
    const char *file; /* calls count while it exists; NULL: between the marks */
    void (*struck)(const struct callpoints_result *result,
                   void *arg); /* NULL: nobody asks */
    void *arg;
    struct callpoints_result *result;
    bool counting;
    pid_t failing; /* this thread, in a call that is to fail; 0: none */
};

/* ---- registers ----------------------------------------------------------- */

#if defined(__x86_64__)

bool callpoints_supported(void)
{
    return true;
}

static int set_register(pid_t tid, size_t offset, long value)
{
    return (int)ptrace(PTRACE_POKEUSER, tid, offset, value);
}

/* At its entry: TID makes no call. */
static int make_none(pid_t tid)
{
    return set_register(tid, offsetof(struct user_regs_struct, orig_rax), -1);
}

/* At its exit: it has returned VALUE. */
static int set_returned(pid_t tid, long value)
{
    return set_register(tid, offsetof(struct user_regs_struct, rax), value);
}

#elif defined(__aarch64__)

bool callpoints_supported(void)
{
    return true;
}

static int make_none(pid_t tid)
{
    int none = -1;
    struct iovec iov = {&none, sizeof(none)};

    return (int)ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &iov);
}

static int set_returned(pid_t tid, long value)
{
    struct user_regs_struct regs;
    struct iovec iov = {&regs, sizeof(regs)};

    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) < 0)
        return -1;
    regs.regs[0] = (unsigned long long)value;
    return (int)ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &iov);
}

#else

bool callpoints_supported(void)
{
    return false;
}

static int make_none(pid_t tid)
{
    (void)tid;
    errno = ENOSYS;
    return -1;
}

static int set_returned(pid_t tid, long value)
{
    (void)value;
    return make_none(tid);
}

#endif

/* ---- tracing ------------------------------------------------------------- */

/* What only looks, or concerns the process' own memory and descriptors.  An
 * open(2) that makes a file is followed by something that fills it. */
static bool changes(long call)
{
    static const long others[] = {
        SYS_brk,        SYS_close,      SYS_fstat,
        SYS_futex,      SYS_getdents64, SYS_getpid,
        SYS_lseek,      SYS_mmap,       SYS_mprotect,
        SYS_munmap,     SYS_openat,     SYS_ppoll,
        SYS_pread64,    SYS_read,       SYS_sched_getaffinity,
        SYS_newfstatat, SYS_pidfd_open,
#ifdef __x86_64__
        SYS_poll,
#endif
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (call == others[i])
            return false;
    return true;
}

static bool matches(long wanted, long call)
{
    return wanted == CALLPOINT_CHANGING
               ? changes(call)
               : wanted == CALLPOINT_ANY || wanted == call;
}

/* Count the call that TID is about to make.  True when it is to be struck. */
static bool count(struct trace *t, long call)
{
    const struct callpoint *p = t->point;
    unsigned times = p->times ? p->times : 1;

    if (t->file)
        t->counting = access(t->file, F_OK) == 0;
    if (!t->counting || call < 0 || call >= CALLPOINT_KINDS)
        return false;
    t->result->calls[call]++;
    if (!matches(p->call, call))
        return false;
    unsigned matched = ++t->result->matched;
    return p->number && matched >= p->number && matched - p->number < times;
}

static void strike(struct trace *t, pid_t pid, pid_t tid)
{
    t->result->struck++;
    if (!t->point->error)
        kill(pid, SIGKILL); /* it does not make the call any more */
    else if (make_none(tid) == 0)
        t->failing = tid;
    else
        t->result->struck--;
    if (t->struck)
        t->struck(t->result, t->arg);
}

static void at_entry(struct trace *t, pid_t pid, pid_t tid, long call,
                     int argument)
{
    if (call == SYS_close && (argument == MARK_BEGIN || argument == MARK_END))
        t->counting = argument == MARK_BEGIN;
    else if (count(t, call))
        strike(t, pid, tid);
}

static void at_call(struct trace *t, pid_t pid, pid_t tid)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        at_entry(t, pid, tid, (long)info.entry.nr, (int)info.entry.args[0]);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->failing == tid) {
        t->failing = 0;
        set_returned(tid, -t->point->error);
    }
}

/* Let TID, which has stopped with STATUS, go on. */
static void go_on(struct trace *t, pid_t pid, pid_t tid, int status)
{
    int number = WSTOPSIG(status), event = status >> 16;

    if (number == (SIGTRAP | 0x80)) {
        at_call(t, pid, tid);
        ptrace(PTRACE_SYSCALL, tid, 0, 0);
    } else if (event == PTRACE_EVENT_STOP && number != SIGTRAP) {
        ptrace(PTRACE_LISTEN, tid, 0, 0); /* stopped, as anybody may be */
    } else {
        ptrace(PTRACE_SYSCALL, tid, 0, event ? 0 : number);
    }
}

int callpoints_trace(pid_t pid, int ready, const struct callpoint *point,
                     const char *file,
                     void (*struck)(const struct callpoints_result *result,
                                    void *arg),
                     void *arg, struct callpoints_result *result)
{
    struct trace t = {point, file, struck, arg, result, false, 0};
    int options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
                  PTRACE_O_TRACECLONE;

    memset(result, 0, sizeof(*result));
    if (ptrace(PTRACE_SEIZE, pid, 0, options) < 0 ||
        ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0)
        return -1;
    close(ready);
    for (;;) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR)
            continue;
        if (tid < 0)
            return -1;
        if (WIFSTOPPED(status)) {
            go_on(&t, pid, tid, status);
        } else if (tid == pid) {
            result->status = status;
            return 0;
        }
    }
}

void callpoints_wait(int ready)
{
    char c;

    while (read(ready, &c, 1) < 0 && errno == EINTR)
        ;
    close(ready);
}

/* ---- lives ----------------------------------------------------------------
 */

/* The tracer, a process whose only child is the life.  Its exit status: 0, or
 * an errno. */
static int trace_life(void (*life)(void *arg), void *arg,
                      const struct callpoint *point,
                      struct callpoints_result *result)
{
    int ready[2];

    if (pipe(ready) < 0)
        return errno;
    pid_t pid = fork();
    if (pid == 0) {
        close(ready[1]);
        callpoints_wait(ready[0]);
        life(arg);
        _exit(0);
    }
    close(ready[0]);
    if (pid > 0 &&
        callpoints_trace(pid, ready[1], point, NULL, NULL, NULL, result) == 0)
        return 0;
    int saved = errno;
    if (pid > 0)
        kill(pid, SIGKILL);
    return saved;
}

int callpoints_run(void (*life)(void *arg), void *arg,
                   const struct callpoint *point,
                   struct callpoints_result *result)
{
    struct callpoints_result *shared = mmap(NULL, sizeof(*shared),
                                            PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;

    if (shared == MAP_FAILED)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(trace_life(life, arg, point, shared));
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    *result = *shared;
    munmap(shared, sizeof(*shared));
    if (pid > 0 && status)
        errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
    return pid < 0 || status ? -1 : 0;
}

void callpoints_begin(void)
{
    syscall(SYS_close, MARK_BEGIN);
}

void callpoints_end(void)
{
    syscall(SYS_close, MARK_END);
}
