/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Lets calls of a program fail, each at a place that is named: put in front of
 * libc by LD_PRELOAD. */

/* A place is a function of libc with the stack that called it, as a hash of
 * module offsets: the same in each run of the same programs.
 *
 *   FAILING_PROGRAM  only in programs of this name
 *   FAILING_PLACES   file that gets a line for each place when it is first
 *                    reached: PLACE FUNCTION MODULE+OFFSET...
 *   FAILING_PLACE    the places that fail: PLACE:ERRNO,...
 *   FAILING_ONCE     directory: the first process to make DIR/PLACE fails there, once */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/syscalls.h"

#define DEPTH     10    /* frames that make a place */
#define MOST_SEEN 65536 /* a power of 2 */
#define MOST_FAIL 32

static _Atomic uint64_t seen[MOST_SEEN];
static struct wanted {
    uint64_t place;
    int number;
} wanted[MOST_FAIL];
static int wanted_count, places_fd = -1;
static const char *once;
static bool active;
static __thread int inside;

static void hash_bytes(uint64_t *h, const void *data, size_t size)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < size; i++)
        *h = (*h ^ byte[i]) * 0x100000001b3u;
}

/* The start of the module of ADDRESS, and its name without folders. */
static uintptr_t module_of(void *address, const char **name)
{
    Dl_info info;

    if (!dladdr(address, &info)) {
        *name = "?";
        return (uintptr_t)address;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    *name = slash ? slash + 1 : info.dli_fname;
    return (uintptr_t)info.dli_fbase;
}

static void tell_place(uint64_t place, const char *function, void *const *frame,
                       int n)
{
    char line[2048];
    int used = snprintf(line, sizeof(line), "%016llx %s",
                        (unsigned long long)place, function);

    for (int i = 0; i < n && used < (int)sizeof(line) - 100; i++) {
        const char *name;
        uintptr_t base = module_of(frame[i], &name);
        used += snprintf(line + used, sizeof(line) - (size_t)used,
                         " %.60s+%llx", name,
                         (unsigned long long)((uintptr_t)frame[i] - base - 1));
    }
    line[used++] = '\n';
    syscall(SYS_write, places_fd, line, used);
}

/* True when PLACE has not been seen in this process. */
static bool is_new(uint64_t place)
{
    for (size_t i = place % MOST_SEEN, n = 0; n < MOST_SEEN;
         i = (i + 1) % MOST_SEEN, n++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&seen[i], &there, place))
            return true;
        if (there == place)
            return false;
    }
    return false;
}

static bool strike(uint64_t place)
{
    char path[512];

    if (snprintf(path, sizeof(path), "%s/%016llx", once ? once : "/nonexistent",
                 (unsigned long long)place) >= (int)sizeof(path))
        return false;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_EXCL | O_CLOEXEC,
                      0600);
    if (fd < 0)
        return false;
    syscall(SYS_close, fd);
    return true;
}

/* True when this call of FUNCTION is the one that fails; errno is set then. */
static __attribute__((noinline)) bool fails(const char *function)
{
    void *frame[DEPTH + 2];
    uint64_t place = 0xcbf29ce484222325u;
    bool struck = false;

    if (!active || inside)
        return false;
    int saved = errno;
    inside++;
    int n = backtrace(frame, DEPTH + 2);
    hash_bytes(&place, function, strlen(function));
    for (int i = 2; i < n; i++) { /* without this function and the caller */
        const char *name;
        uintptr_t offset = (uintptr_t)frame[i] - module_of(frame[i], &name);
        if (!strncmp(name, "libc.so", 7) || !strncmp(name, "ld-linux", 8))
            continue;
        hash_bytes(&place, name, strlen(name));
        hash_bytes(&place, &offset, sizeof(offset));
    }
    if (places_fd >= 0 && is_new(place))
        tell_place(place, function, frame + 2, n - 2);
    for (int i = 0; i < wanted_count && !struck; i++)
        if (place == wanted[i].place && (struck = strike(place)))
            saved = wanted[i].number;
    inside--;
    errno = saved;
    return struck;
}

/* TEXT: PLACE:ERRNO,... */
static void want(const char *text)
{
    char *end;

    for (; *text && wanted_count < MOST_FAIL; text = end + (*end == ',')) {
        struct wanted *w = &wanted[wanted_count++];
        w->place = strtoull(text, &end, 16);
        w->number = (int)strtol(end + (*end == ':'), &end, 10);
    }
}

__attribute__((constructor)) static void start(void)
{
    const char *program = getenv("FAILING_PROGRAM"), *text;
    void *frame[4];

    if (!program || strcmp(program, program_invocation_short_name))
        return;
    inside++;
    backtrace(frame, 4); /* loads what it needs, now */
    if ((text = getenv("FAILING_PLACES"))) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, text,
                              O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        /* Out of the way of programs that count their descriptors. */
        places_fd = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
        syscall(SYS_close, fd);
    }
    if ((text = getenv("FAILING_PLACE")))
        want(text);
    once = getenv("FAILING_ONCE");
    inside--;
    active = true;
}

/* ---- memory ----------------------------------------------------------------
 */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    return fails("malloc") ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails("malloc") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails("malloc") ? NULL : __libc_realloc(old, size);
}

/* ---- the others
 * -------------------------------------------------------------- */

/* libc's own FUNCTION. */
#define NEXT(function) ((__typeof__(&function))next(#function))

static void *next(const char *name)
{
    inside++;
    void *found = dlsym(RTLD_NEXT, name);
    inside--;
    return found;
}

/* FUNCTION(PARAMETERS), called with ARGUMENTS: FAILED if it is to fail. */
#define WRAP(type, function, failed, parameters, ...)                          \
    type function parameters                                                   \
    {                                                                          \
        static __typeof__(&function) real;                                     \
                                                                               \
        if (!real)                                                             \
            real = NEXT(function);                                             \
        return fails(#function) ? (failed) : real(__VA_ARGS__);                \
    }

#define OPEN(function)                                                         \
    int function(const char *path, int flags, ...)                             \
    {                                                                          \
        static __typeof__(&function) real;                                     \
        mode_t mode = 0;                                                       \
        va_list ap;                                                            \
                                                                               \
        va_start(ap, flags);                                                   \
        if (flags & (O_CREAT | __O_TMPFILE))                                   \
            mode = va_arg(ap, mode_t);                                         \
        va_end(ap);                                                            \
        if (!real)                                                             \
            real = NEXT(function);                                             \
        return fails("open") ? -1 : real(path, flags, mode);                   \
    }

#define OPENAT(function)                                                       \
    int function(int folder, const char *path, int flags, ...)                 \
    {                                                                          \
        static __typeof__(&function) real;                                     \
        mode_t mode = 0;                                                       \
        va_list ap;                                                            \
                                                                               \
        va_start(ap, flags);                                                   \
        if (flags & (O_CREAT | __O_TMPFILE))                                   \
            mode = va_arg(ap, mode_t);                                         \
        va_end(ap);                                                            \
        if (!real)                                                             \
            real = NEXT(function);                                             \
        return fails("open") ? -1 : real(folder, path, flags, mode);           \
    }

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
WRAP(int, __open_2, -1, (const char *path, int flags), path, flags)
WRAP(int, __open64_2, -1, (const char *path, int flags), path, flags)
WRAP(FILE *, fopen, NULL, (const char *path, const char *mode), path, mode)
WRAP(FILE *, fopen64, NULL, (const char *path, const char *mode), path, mode)
WRAP(DIR *, opendir, NULL, (const char *path), path)
WRAP(DIR *, fdopendir, NULL, (int fd), fd)
WRAP(int, socket, -1, (int domain, int type, int protocol), domain, type,
     protocol)
WRAP(int, socketpair, -1, (int domain, int type, int protocol, int pair[2]),
     domain, type, protocol, pair)
WRAP(int, accept4, -1, (int fd, struct sockaddr *a, socklen_t *size, int flags),
     fd, a, size, flags)
WRAP(int, bind, -1, (int fd, const struct sockaddr *a, socklen_t size), fd, a,
     size)
WRAP(int, listen, -1, (int fd, int backlog), fd, backlog)
WRAP(int, connect, -1, (int fd, const struct sockaddr *a, socklen_t size), fd,
     a, size)
WRAP(int, getsockopt, -1,
     (int fd, int level, int name, void *value, socklen_t *size), fd, level,
     name, value, size)
WRAP(ssize_t, sendmsg, -1, (int fd, const struct msghdr *m, int flags), fd, m,
     flags)
WRAP(ssize_t, send, -1, (int fd, const void *data, size_t size, int flags), fd,
     data, size, flags)
WRAP(ssize_t, recvmsg, -1, (int fd, struct msghdr *m, int flags), fd, m, flags)
WRAP(ssize_t, recv, -1, (int fd, void *data, size_t size, int flags), fd, data,
     size, flags)
WRAP(ssize_t, __recv_chk, -1,
     (int fd, void *data, size_t size, size_t room, int flags), fd, data, size,
     room, flags)
WRAP(int, memfd_create, -1, (const char *name, unsigned flags), name, flags)
WRAP(void *, mmap, MAP_FAILED,
     (void *at, size_t size, int protection, int flags, int fd, off_t offset),
     at, size, protection, flags, fd, offset)
WRAP(void *, mmap64, MAP_FAILED,
     (void *at, size_t size, int protection, int flags, int fd, off64_t offset),
     at, size, protection, flags, fd, offset)
WRAP(ssize_t, read, -1, (int fd, void *data, size_t size), fd, data, size)
WRAP(ssize_t, __read_chk, -1, (int fd, void *data, size_t size, size_t room),
     fd, data, size, room)
WRAP(ssize_t, pread, -1, (int fd, void *data, size_t size, off_t at), fd, data,
     size, at)
WRAP(ssize_t, pread64, -1, (int fd, void *data, size_t size, off64_t at), fd,
     data, size, at)
WRAP(ssize_t, write, -1, (int fd, const void *data, size_t size), fd, data,
     size)
WRAP(int, fsync, -1, (int fd), fd)
WRAP(int, fdatasync, -1, (int fd), fd)
WRAP(int, ftruncate, -1, (int fd, off_t size), fd, size)
WRAP(int, ftruncate64, -1, (int fd, off64_t size), fd, size)
WRAP(int, fchmod, -1, (int fd, mode_t mode), fd, mode)
WRAP(int, mkdir, -1, (const char *path, mode_t mode), path, mode)
WRAP(int, rename, -1, (const char *from, const char *to), from, to)
WRAP(int, unlink, -1, (const char *path), path)
WRAP(int, pipe2, -1, (int ends[2], int flags), ends, flags)
WRAP(pid_t, fork, -1, (void))
WRAP(pid_t, waitpid, -1, (pid_t pid, int *status, int options), pid, status,
     options)
WRAP(int, epoll_create1, -1, (int flags), flags)
WRAP(int, epoll_wait, -1,
     (int fd, struct epoll_event *events, int most, int timeout), fd, events,
     most, timeout)
WRAP(int, poll, -1, (struct pollfd * fds, nfds_t n, int timeout), fds, n,
     timeout)
WRAP(int, __poll_chk, -1,
     (struct pollfd * fds, nfds_t n, int timeout, size_t room), fds, n, timeout,
     room)
WRAP(int, timerfd_create, -1, (int clock, int flags), clock, flags)
WRAP(int, timerfd_settime, -1,
     (int fd, int flags, const struct itimerspec *value,
      struct itimerspec *old),
     fd, flags, value, old)
WRAP(int, sched_setaffinity, -1, (pid_t pid, size_t size, const cpu_set_t *set),
     pid, size, set)
WRAP(int, sched_getaffinity, -1, (pid_t pid, size_t size, cpu_set_t *set), pid,
     size, set)
WRAP(int, kill, -1, (pid_t pid, int number), pid, number)

/* pthread functions return their error. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                   void *(*run)(void *), void *arg)
{
    static __typeof__(&pthread_create) real;

    if (!real)
        real = NEXT(pthread_create);
    return fails("pthread_create") ? errno : real(thread, attr, run, arg);
}

/* What is registered can always be removed: no kernel refuses that. */
int epoll_ctl(int fd, int op, int other, struct epoll_event *event)
{
    static __typeof__(&epoll_ctl) real;

    if (!real)
        real = NEXT(epoll_ctl);
    return op != EPOLL_CTL_DEL && fails("epoll_ctl")
               ? -1
               : real(fd, op, other, event);
}

/* Those that libc has no function for. */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    const char *name = number == SYS_pidfd_open          ? "pidfd_open"
                       : number == SYS_pidfd_send_signal ? "pidfd_send_signal"
                       : number == SYS_pidfd_getfd       ? "pidfd_getfd"
                                                         : NULL;
    long a[6];
    va_list ap;

    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (!real)
        *(void **)&real = next("syscall");
    if (name && fails(name))
        return -1;
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int fcntl(int fd, int command, ...)
{
    static int (*real)(int, int, ...);
    va_list ap;

    va_start(ap, command);
    long argument = va_arg(ap, long);
    va_end(ap);
    if (!real)
        *(void **)&real = next("fcntl");
    return fails("fcntl") ? -1 : real(fd, command, argument);
}
