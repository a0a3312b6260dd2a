/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Runs a program, and kills it or lets a system call fail at one of its calls:
 * callpoints.h. */

#include "tests/support/callpoints.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/syscalls.h"

static const struct {
    const char *name;
    long number;
} call_names[] = {
/* clang-format off */
#define CALL(name) {#name, SYS_##name}
    CALL(accept4), CALL(bind), CALL(brk), CALL(clone), CALL(clone3),
    CALL(close), CALL(connect), CALL(dup), CALL(dup3), CALL(epoll_create1),
    CALL(epoll_ctl), CALL(epoll_pwait), CALL(eventfd2), CALL(execve),
    CALL(fchmod), CALL(fchown), CALL(fcntl), CALL(fdatasync), CALL(fstat),
    CALL(fsync), CALL(ftruncate), CALL(futex), CALL(getdents64),
    CALL(getrandom), CALL(getsockopt), CALL(ioctl), CALL(kill), CALL(linkat),
    CALL(listen), CALL(lseek), CALL(madvise), CALL(memfd_create), CALL(mkdirat),
    CALL(mmap), CALL(mprotect), CALL(munmap), CALL(nanosleep), CALL(newfstatat),
    CALL(openat), CALL(openat2), CALL(perf_event_open), CALL(pidfd_getfd),
    CALL(pidfd_open), CALL(pidfd_send_signal), CALL(pipe2), CALL(ppoll),
    CALL(prctl), CALL(pread64), CALL(prlimit64), CALL(pwrite64), CALL(read),
    CALL(readlinkat), CALL(recvfrom), CALL(recvmsg), CALL(renameat),
    CALL(renameat2), CALL(rt_sigaction), CALL(rt_sigprocmask),
    CALL(sched_getaffinity), CALL(sched_setaffinity), CALL(sendmmsg),
    CALL(sendmsg), CALL(sendto), CALL(setsockopt), CALL(signalfd4),
    CALL(socket), CALL(socketpair), CALL(statx), CALL(timerfd_create),
    CALL(timerfd_settime), CALL(tgkill), CALL(unlinkat), CALL(wait4),
    CALL(waitid), CALL(write), CALL(writev),
#ifdef __x86_64__
    CALL(access), CALL(chmod), CALL(chown), CALL(epoll_wait), CALL(fork),
    CALL(getdents), CALL(link), CALL(lstat), CALL(mkdir), CALL(open),
    CALL(pipe), CALL(poll), CALL(readlink), CALL(rename), CALL(rmdir),
    CALL(select), CALL(stat), CALL(symlink), CALL(unlink), CALL(vfork),
#endif
#undef CALL
    /* clang-format on */
};
#define CALL_NAMES (sizeof(call_names) / sizeof(call_names[0]))

static const char *report; /* path, or NULL */

/* Only whole reports can be seen. */
static void write_report(const struct callpoints_result *result, void *arg)
{
    char path[PATH_MAX];

    (void)arg;
    if (!report ||
        snprintf(path, sizeof(path), "%s.new", report) >= (int)sizeof(path))
        return;
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fprintf(file, "{\"struck\": %u, \"matched\": %u, \"calls\": {",
            result->struck, result->matched);
    const char *comma = "";
    for (size_t i = 0; i < CALL_NAMES; i++)
        if (result->calls[call_names[i].number]) {
            fprintf(file, "%s\"%s\": %u", comma, call_names[i].name,
                    result->calls[call_names[i].number]);
            comma = ", ";
        }
    fprintf(file, "}}\n");
    if (fclose(file) == 0)
        rename(path, report);
}

/* A process of nobody's, so that the program has no child that it does not
 * know. */
static void start_tracer(pid_t program, int ready,
                         const struct callpoint *point, const char *file)
{
    struct callpoints_result result;
    pid_t pid = fork();

    if (pid != 0) {
        waitpid(pid, NULL, 0);
        return;
    }
    setsid();
    if (fork() != 0)
        _exit(0);
    int rc = callpoints_trace(program, ready, point, file, write_report, NULL,
                              &result);
    if (rc < 0)
        perror("at_call: ptrace");
    else
        write_report(&result, NULL);
    _exit(0);
}

static long call_number(const char *name)
{
    if (!strcmp(name, "changing"))
        return CALLPOINT_CHANGING;
    for (size_t i = 0; i < CALL_NAMES; i++)
        if (!strcmp(name, call_names[i].name))
            return call_names[i].number;
    fprintf(stderr, "at_call: no system call \"%s\" in the list\n", name);
    exit(2);
}

/* strerrorname_np() is of glibc 2.32. */
static const struct {
    const char *name;
    int number;
} error_names[] = {
/* clang-format off */
#define ERROR(name) {#name, name}
    ERROR(EACCES), ERROR(EADDRINUSE), ERROR(EAGAIN), ERROR(EBADF), ERROR(EBUSY), ERROR(ECHILD),
    ERROR(ECONNABORTED), ERROR(ECONNREFUSED), ERROR(ECONNRESET), ERROR(EEXIST), ERROR(EFAULT),
    ERROR(EINTR), ERROR(EINVAL), ERROR(EIO), ERROR(EMFILE), ERROR(ENFILE), ERROR(ENOBUFS),
    ERROR(ENODEV), ERROR(ENOENT), ERROR(ENOMEM), ERROR(ENOSPC), ERROR(ENOSYS), ERROR(EPERM),
    ERROR(EPIPE), ERROR(EROFS), ERROR(ESRCH), ERROR(ETIMEDOUT), ERROR(ETOOMANYREFS),
/* clang-format on */
};

static int error_number(const char *name)
{
    for (size_t i = 0; i < sizeof(error_names) / sizeof(*error_names); i++)
        if (!strcmp(name, error_names[i].name))
            return error_names[i].number;
    fprintf(stderr, "at_call: no error \"%s\" in the list\n", name);
    exit(2);
}

static void parse(int argc, char **argv, struct callpoint *point,
                  const char **file)
{
    static const struct option options[] = {
        {"call", required_argument, NULL, 'c'},
        {"number", required_argument, NULL, 'n'},
        {"times", required_argument, NULL, 't'},
        {"error", required_argument, NULL, 'e'},
        {"while", required_argument, NULL, 'w'},
        {"report", required_argument, NULL, 'r'},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "+", options, NULL)) >= 0)
        switch (c) {
        case 'c':
            point->call = call_number(optarg);
            break;
        case 'n':
            point->number = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 't':
            point->times = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'e':
            point->error = error_number(optarg);
            break;
        case 'w':
            *file = optarg;
            break;
        case 'r':
            report = optarg;
            break;
        default:
            exit(2);
        }
}

int main(int argc, char **argv)
{
    struct callpoint point = {.call = CALLPOINT_ANY};
    const char *file = "/";
    int ready[2];

    parse(argc, argv, &point, &file);
    if (optind == argc || !callpoints_supported() || pipe(ready) < 0) {
        fprintf(stderr, "at_call: no program, or no way to trace it here\n");
        return 2;
    }
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0,
          0); /* Yama; not elsewhere */
    pid_t self = getpid();
    start_tracer(self, ready[1], &point, file);
    close(ready[1]);
    callpoints_wait(ready[0]);
    execvp(argv[optind], argv + optind);
    perror(argv[optind]);
    return 127;
}
